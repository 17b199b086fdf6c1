//! Nets as Burn modules, which read like their definition, and their fused operations.

use std::sync::{Arc, Mutex};

use burn::backend::Dispatch;
use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use rand_distr::{Distribution, Normal};
use rand_xoshiro::{Xoroshiro128Plus, rand_core::SeedableRng};

use super::ops::cpu::{Kernel, Level, Precision, Scratch};
use super::ops::{Arrays, Done, FusedOps, Job, Kept};
use super::{Aim, Compute, Slope, dense, head};
use crate::architecture::{Architecture, Array, PIECES, Part};
use crate::batch::{Active, Inputs, OneHot};
use crate::weights::{Weights, WeightsError};

/// A net. Arrays of several output buckets are flat, whatever shape a checkpoint gives them.
#[derive(Module, Debug)]
pub struct NetModel {
    pub accumulator: Affine<2>,
    /// `[768, N]`, counts in every king bucket.
    pub factoriser: Option<Factoriser>,
    pub head: Vec<Affine<1>>,
    pub output: Affine<1>,
    #[module(skip)]
    net: Architecture,
    /// None: the plain tensor operations.
    #[module(skip)]
    fused: Option<Fused>,
}

/// Weights, `[rows, N]` or `[buckets * outputs * inputs]`, and biases, `[N]` or `[buckets *
/// outputs]`.
#[derive(Module, Debug)]
pub struct Affine<const D: usize> {
    pub weight: Param<Tensor<D>>,
    pub bias: Param<Tensor<1>>,
}

#[derive(Module, Debug)]
pub struct Factoriser {
    pub weight: Param<Tensor<2>>,
}

/// A net as the fused operations take it, and the memory that they work in.
#[derive(Clone)]
struct Fused {
    kernel: Kernel,
    scratch: Arc<Mutex<Scratch>>,
    kept: Kept,
    room: usize,
}

impl Fused {
    fn new(net: &Architecture, compute: Compute) -> Option<Self> {
        let (level, precision, room) = match compute {
            Compute::Plain => return None,
            Compute::Fused { level, precision } => (level, precision, usize::MAX),
            // The level is for the computations of a processor.
            Compute::Gpu { room } => (Level::Portable, Precision::F32, room),
        };
        let kernel = Kernel { net: net.clone(), precision, level };
        Some(Self { kernel, scratch: Arc::default(), kept: Kept::default(), room })
    }

    fn job<'a>(&'a self, inputs: OneHot<'a>, aim: Aim<'a>, done: Option<Done<'a>>) -> Job<'a> {
        let Self { kernel, room, .. } = self;
        let (scratch, kept) = (self.scratch.clone(), self.kept.clone());
        Job { kernel, inputs, aim, scratch, kept, room: *room, done }
    }
}

impl std::fmt::Debug for Fused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kernel.fmt(f)
    }
}

/// The number of an array, so that a checkpoint's optimiser state finds it again.
fn id(part: Part) -> u64 {
    match part {
        Part::Accumulator => 1,
        Part::AccumulatorBias => 2,
        Part::Output => 3,
        Part::OutputBias => 4,
        Part::Factoriser => 5,
        Part::Layer(i) => 6 + 2 * i as u64,
        Part::LayerBias(i) => 7 + 2 * i as u64,
    }
}

impl NetModel {
    /// # Errors
    /// If an array is missing or has another shape.
    pub fn new(
        net: &Architecture,
        weights: &Weights,
        device: &Device,
        compute: Compute,
    ) -> Result<Self, WeightsError> {
        fn param<const D: usize>(
            array: &Array,
            weights: &Weights,
            device: &Device,
        ) -> Result<Param<Tensor<D>>, WeightsError> {
            let values = weights.get(&array.name, &array.shape)?;
            let shape = match D {
                1 => vec![values.len()],
                _ => array.shape.clone(),
            };
            Ok(super::param(id(array.part), values.to_vec(), shape, device))
        }
        let array = |part| net.array(part).expect("every net has it");
        let affine = |weight, bias| {
            let weight = param(&array(weight), weights, device)?;
            Ok::<_, WeightsError>(Affine { weight, bias: param(&array(bias), weights, device)? })
        };
        let factoriser = net.array(Part::Factoriser);
        let factoriser = factoriser.map(|array| param(&array, weights, device)).transpose()?;
        let head = (0..net.head.len()).map(|i| affine(Part::Layer(i), Part::LayerBias(i)));
        Ok(Self {
            accumulator: Affine {
                weight: param(&array(Part::Accumulator), weights, device)?,
                bias: param(&array(Part::AccumulatorBias), weights, device)?,
            },
            factoriser: factoriser.map(|weight| Factoriser { weight }),
            head: head.collect::<Result<_, _>>()?,
            output: affine(Part::Output, Part::OutputBias)?,
            net: net.clone(),
            fused: Fused::new(net, compute),
        })
    }

    pub fn architecture(&self) -> &Architecture {
        &self.net
    }

    /// See [`Model::logits`](super::Model::logits).
    pub fn logits(&self, inputs: &Inputs) -> Tensor<1> {
        if let Some(fused) = &self.fused {
            let job = fused.job(inputs.one_hot(), Aim::Targets(&[]), None);
            return Tensor::from_dispatch(Dispatch::net_logits(self.arrays(), job));
        }
        let active = inputs.one_hot().lists();
        let device = self.output.bias.val().device();
        let accumulators = self.accumulators(active, &device);
        head::logits(&self.net, &self.maps(), accumulators, &active.buckets)
    }

    /// See [`Model::slope`](super::Model::slope). `done` is called after each stage on a GPU; elsewhere
    /// there are none.
    pub fn slope(&self, inputs: &Inputs, aim: Aim, done: Option<Done>) -> Slope {
        let Some(fused) = &self.fused else {
            let loss = aim.of(self.logits(inputs), 0);
            return Slope::by_autodiff(loss, self);
        };
        let job = fused.job(inputs.one_hot(), aim, done);
        let found = Dispatch::net_gradients(self.arrays(), job);
        let mut gradients = GradientsParams::new();
        for (array, gradient) in self.net.arrays().iter().zip(found.gradients.0) {
            let id = id(array.part).into();
            match array.part {
                Part::Accumulator | Part::Factoriser => {
                    gradients.register(id, Tensor::<2>::from_dispatch(gradient));
                }
                _ => gradients.register(id, Tensor::<1>::from_dispatch(gradient)),
            }
        }
        Slope { loss: Tensor::from_dispatch(found.loss), gradients }
    }

    /// The arrays in the order of [`Architecture::arrays`], as the fused operations take them.
    fn arrays(&self) -> Arrays<Dispatch> {
        fn inner<const D: usize>(param: &Param<Tensor<D>>) -> Tensor<D> {
            super::inner(param.val())
        }
        let of = |part| match part {
            Part::Accumulator => inner(&self.accumulator.weight).into_dispatch(),
            Part::AccumulatorBias => inner(&self.accumulator.bias).into_dispatch(),
            Part::Factoriser => {
                let factoriser = self.factoriser.as_ref().expect("its architecture has one");
                inner(&factoriser.weight).into_dispatch()
            }
            Part::Layer(i) => inner(&self.head[i].weight).into_dispatch(),
            Part::LayerBias(i) => inner(&self.head[i].bias).into_dispatch(),
            Part::Output => inner(&self.output.weight).into_dispatch(),
            Part::OutputBias => inner(&self.output.bias).into_dispatch(),
        };
        Arrays(self.net.arrays().iter().map(|array| of(array.part)).collect())
    }

    /// The accumulators' weights, `[rows, N]`, with what all king buckets share.
    fn rows(&self) -> Tensor<2> {
        let weight = self.accumulator.weight.val();
        match &self.factoriser {
            None => weight,
            Some(factoriser) => {
                let buckets = self.net.rows() / PIECES;
                weight + factoriser.weight.val().repeat_dim(0, buckets)
            }
        }
    }

    /// `a = H x + b` of each view, `[batch * views, N]`.
    fn accumulators(&self, active: &Active, device: &Device) -> Tensor<2> {
        let (rows, bias) = (self.rows(), self.accumulator.bias.val());
        let view = |view| {
            let x = dense(active, view, device); // [batch, rows]
            x.matmul(rows.clone()) + bias.clone().unsqueeze() // [batch, N]
        };
        let (views, hidden) = (self.net.views(), self.net.hidden);
        let side_by_side = Tensor::cat((0..views).map(view).collect(), 1);
        side_by_side.reshape([active.len() * views, hidden])
    }

    /// The affine maps behind the accumulators.
    fn maps(&self) -> Vec<head::Map> {
        let maps = self.head.iter().chain([&self.output]);
        maps.map(|map| [map.weight.val(), map.bias.val()]).collect()
    }
}

/// The starting weights of a net: normal with standard deviation `sqrt(2 / fan-in)`; biases, and
/// what king buckets share, zero.
///
/// Draws run through the arrays in their order, row by row, so that the seed of a net trained
/// elsewhere by the same rule gives the same start.
pub fn initial(net: &Architecture, seed: u64) -> Weights {
    let mut random = Xoroshiro128Plus::seed_from_u64(seed);
    let mut weights = Weights::default();
    for array in net.arrays() {
        let values = match array.part.starts_at_zero() {
            true => vec![0.0; array.len()],
            false => {
                let normal = Normal::new(0.0, (2.0 / array.fan_in as f32).sqrt())
                    .expect("the deviation is finite and not negative");
                (0..array.len()).map(|_| normal.sample(&mut random)).collect()
            }
        };
        weights.insert(&array.name, &array.shape, values);
    }
    weights
}

/// The same with the weights of the accumulators `size` times as large.
pub fn initial_of_size(net: &Architecture, seed: u64, size: f64) -> Weights {
    let mut weights = initial(net, seed);
    for array in net.arrays().iter().filter(|array| array.part == Part::Accumulator) {
        let values = &mut weights.0.get_mut(&array.name).expect("it has all arrays").values;
        values.iter_mut().for_each(|value| *value *= size as f32);
    }
    weights
}
