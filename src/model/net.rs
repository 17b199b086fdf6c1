//! Nets as Burn modules that mirror their definition, and their fused operations.

use std::collections::BTreeMap;

use burn::backend::Dispatch;
use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor};
use rand_distr::{Distribution, Normal};
use rand_xoshiro::{Xoroshiro128Plus, rand_core::SeedableRng};

use super::aim::HeadOutputs;
use super::ops::cpu::{Kernel, Precision, SimdLevel};
use super::ops::{FusedOps, KernelJob, StageCallback, StepMemory, TensorArrays};
use super::{
    Aim, Compute, LossGradients, TouchedRows, VisitArrays, collect_gradients, dense_counts, head,
};
use crate::architecture::{Architecture, ArrayKind, NetArray, Set};
use crate::batch::{ActiveRows, BatchInputs, InputPairs, OneHot, RowSet};
use crate::weights::{Weights, WeightsError};

/// A net. Arrays of several output buckets are flat, whatever shape a checkpoint has.
#[derive(Module, Debug)]
pub struct NetModel {
    pub sets: Vec<SetRows>,
    /// `[N]`
    pub bias: Param<Tensor<1>>,
    /// Those of [`Architecture::maps`].
    pub maps: Vec<Affine>,
    #[module(skip)]
    net: Architecture,
    /// Our kernels; None: Burn's tensor operations only, the definition.
    #[module(skip)]
    fused: Option<Fused>,
}

/// Weights `[buckets * outputs * inputs]` and biases `[buckets * outputs]`.
#[derive(Module, Debug)]
pub struct Affine {
    pub weight: Param<Tensor<1>>,
    pub bias: Param<Tensor<1>>,
}

/// Weights `[rows, N]` of a feature set, its factor `[factor rows, N]` and values `[rows,
/// buckets]`.
#[derive(Module, Debug)]
pub struct SetRows {
    pub weight: Param<Tensor<2>>,
    pub factor: Option<Param<Tensor<2>>>,
    pub psqt: Option<Param<Tensor<2>>>,
}

impl SetRows {
    /// Returns the factor of each of these rows, `[rows, N]`, or zeros; None without a factor.
    pub(super) fn factor_of_rows(&self, set: &Set, rows: &[i32]) -> Option<Tensor<2>> {
        let factor = self.factor.as_ref()?.val();
        let number = |row: &i32| set.factor_row(*row as u32).map_or(-1, |number| number as i32);
        let all: Vec<i32> = rows.iter().map(number).collect();
        let numbers = Tensor::<1, Int>::from_data(&all[..], &factor.device());
        let factors = factor.select(0, numbers.clone().clamp_min(0));
        Some(match all.contains(&-1) {
            true => factors * numbers.greater_equal_elem(0).float().unsqueeze_dim(1),
            false => factors,
        })
    }
}

#[derive(Clone)]
struct Fused {
    kernel: Kernel,
    memory: StepMemory,
    budget: usize,
}

impl Fused {
    fn new(net: &Architecture, compute: Compute) -> Option<Self> {
        let (kernel, budget) = match compute {
            Compute::Plain => return None,
            Compute::Fused { level, precision } => (Kernel::new(net, precision, level), usize::MAX),
            Compute::Gpu { budget } => {
                // The level applies to a processor only; GPUs sum gradients of all rows.
                let kernel = Kernel::new(net, Precision::F32, SimdLevel::Portable);
                (kernel.without_sparsity(), budget)
            }
        };
        Some(Self { kernel, memory: StepMemory::default(), budget })
    }

    fn fused_job<'a>(
        &'a self,
        (inputs, touched): (&'a BatchInputs, Option<&'a RowSet>),
        aim: Aim<'a>,
        on_stage: Option<StageCallback<'a>>,
    ) -> KernelJob<'a> {
        let Self { kernel, memory, budget } = self;
        KernelJob { kernel, inputs, touched, aim, memory, budget: *budget, on_stage }
    }

    /// Returns touched rows by the numbers of their arrays.
    fn touched_rows(&self, touched: Option<&RowSet>) -> TouchedRows {
        let rows = touched.into_iter().flat_map(|touched| self.kernel.touched_rows(touched));
        rows.map(|(set, rows)| (array_id(ArrayKind::Rows(set)), rows)).collect()
    }
}

impl std::fmt::Debug for Fused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kernel.fmt(f)
    }
}

/// Returns the number of an array, which identifies it in a checkpoint's optimiser state.
pub fn array_id(kind: ArrayKind) -> u64 {
    match kind {
        ArrayKind::Rows(0) => 1,
        ArrayKind::AccumulatorBias => 2,
        ArrayKind::Output => 3,
        ArrayKind::OutputBias => 4,
        ArrayKind::Factor(0) => 5,
        ArrayKind::Rows(set) => 100 + 2 * set as u64,
        ArrayKind::Factor(set) => 101 + 2 * set as u64,
        ArrayKind::Psqt(set) => 500 + set as u64,
        ArrayKind::Layer(i) => 6 + 2 * i as u64,
        ArrayKind::LayerBias(i) => 7 + 2 * i as u64,
    }
}

impl NetModel {
    /// Makes a net with these weights. Fails if an array is missing or has another shape.
    pub fn new(
        net: &Architecture,
        weights: &Weights,
        device: &Device,
        compute: Compute,
    ) -> Result<Self, WeightsError> {
        fn load_param<const D: usize>(
            array: &NetArray,
            weights: &Weights,
            device: &Device,
        ) -> Result<Param<Tensor<D>>, WeightsError> {
            let values = weights.get(&array.name, &array.shape)?;
            let shape = match D {
                1 => vec![values.len()],
                _ => array.shape.clone(),
            };
            Ok(super::new_param(array_id(array.kind), values.to_vec(), shape, device))
        }
        let fused = Fused::new(net, compute);
        // Burn drops the nodes of its graph in backward passes, which fused operations never do.
        let device = &match fused {
            Some(_) => device.clone().without_autodiff(),
            None => device.clone(),
        };
        let array = |kind| net.find_array(kind).expect("every net has it");
        let affine = |map| {
            let [weight, bias] = net.parts_of_map(map).map(array);
            let weight = load_param(&weight, weights, device)?;
            Ok::<_, WeightsError>(Affine { weight, bias: load_param(&bias, weights, device)? })
        };
        let rows = |set| {
            let optional = |kind| {
                net.find_array(kind).map(|array| load_param(&array, weights, device)).transpose()
            };
            let (factor, psqt) =
                (optional(ArrayKind::Factor(set))?, optional(ArrayKind::Psqt(set))?);
            let weight = load_param(&array(ArrayKind::Rows(set)), weights, device)?;
            Ok::<_, WeightsError>(SetRows { weight, factor, psqt })
        };
        Ok(Self {
            sets: (0..net.inputs.sets().len()).map(rows).collect::<Result<_, _>>()?,
            bias: load_param(&array(ArrayKind::AccumulatorBias), weights, device)?,
            maps: (0..net.maps().len()).map(affine).collect::<Result<_, _>>()?,
            net: net.clone(),
            fused,
        })
    }

    pub fn architecture(&self) -> &Architecture {
        &self.net
    }

    pub fn logits(&self, inputs: &BatchInputs) -> Tensor<1> {
        if let Some(fused) = &self.fused {
            let job = fused.fused_job((inputs, None), Aim::Targets(&[]), None);
            return Tensor::from_dispatch(Dispatch::net_logits(self.list_arrays(), job));
        }
        self.plain_outputs(inputs).logits
    }

    /// Computes loss and gradients; on a GPU `on_stage` is called after each stage.
    pub fn loss_gradients(
        &self,
        inputs: &BatchInputs,
        aim: Aim,
        on_stage: Option<StageCallback>,
    ) -> LossGradients {
        let Some(fused) = &self.fused else {
            let loss = aim.objective_of_head(self.plain_outputs(inputs));
            let gradients = collect_gradients(&mut loss.backward(), self);
            let (loss, touched) = (loss.inner(), TouchedRows::default());
            return LossGradients { loss, gradients, touched };
        };
        let touched = fused.kernel.find_touched(inputs.one_hot());
        let job = fused.fused_job((inputs, touched.as_ref()), aim, on_stage);
        let results = Dispatch::net_gradients(self.list_arrays(), job);
        let ids = self.net.list_arrays().into_iter().map(|array| array_id(array.kind));
        LossGradients {
            loss: Tensor::from_dispatch(results.loss),
            gradients: ids
                .zip(results.gradients.0.into_iter().map(Tensor::from_dispatch))
                .collect(),
            touched: fused.touched_rows(touched.as_ref()),
        }
    }

    pub fn touched_rows(&self, inputs: &BatchInputs) -> TouchedRows {
        let Some(fused) = &self.fused else { return TouchedRows::default() };
        fused.touched_rows(fused.kernel.find_touched(inputs.one_hot()).as_ref())
    }

    /// Computes the outputs of the head by tensor operations.
    fn plain_outputs(&self, inputs: &BatchInputs) -> HeadOutputs {
        let lists = inputs.one_hot().lists();
        let sums = self.dense_sums(lists);
        let bias = match self.net.psqt_columns() {
            0 => self.bias.val(),
            columns => {
                let zeros = Tensor::zeros([columns], &sums.device());
                Tensor::cat(vec![self.bias.val(), zeros], 0)
            }
        };
        head::head_outputs(&self.net, &self.maps, sums + bias.unsqueeze(), &lists.buckets)
    }

    /// Lists the arrays in the order of [`Architecture::list_arrays`], for the fused operations.
    fn list_arrays(&self) -> TensorArrays<Dispatch> {
        let mut arrays = BTreeMap::new();
        self.visit(&mut VisitArrays(|id, values: Tensor<1>| {
            arrays.insert(id, values.into_dispatch());
        }));
        let take =
            |array: NetArray| arrays.remove(&array_id(array.kind)).expect("a net has its arrays");
        TensorArrays(self.net.list_arrays().into_iter().map(take).collect())
    }

    /// Joins the accumulators' weights, with their factor, and piece-square values: `[rows,
    /// columns]`.
    fn accumulator_rows(&self, touched: Option<&RowSet>) -> Tensor<2> {
        let inputs = &self.net.inputs;
        let set_rows = |(index, (rows, set)): (usize, (&SetRows, &Set))| {
            let first = inputs.first_row(index);
            let indices: Vec<i32> = match touched {
                None => (0..set.row_count() as i32).collect(),
                Some(touched) => {
                    let indices = touched.rows_within(first..first + set.row_count()).iter();
                    indices.map(|row| *row as i32 - first as i32).collect()
                }
            };
            let select_touched = |all: Tensor<2>| match touched {
                None => all,
                Some(_) => {
                    let indices = Tensor::<1, Int>::from_data(&indices[..], &all.device());
                    all.select(0, indices)
                }
            };
            let mut weight = select_touched(rows.weight.val());
            if let Some(factor) = rows.factor_of_rows(set, &indices) {
                weight = weight + factor;
            }
            let psqt = rows.psqt.as_ref().map(|psqt| select_touched(psqt.val()));
            Tensor::cat([Some(weight), psqt].into_iter().flatten().collect(), 1)
        };
        let sets = self.sets.iter().zip(inputs.sets()).enumerate();
        Tensor::cat(sets.map(set_rows).collect(), 0)
    }

    /// Sums of each list by matrix products, `[batch * perspectives, columns]`, without the bias.
    fn dense_sums(&self, active: &ActiveRows) -> Tensor<2> {
        let is_large = self.net.inputs.is_large();
        let touched = is_large.then(|| {
            RowSet::of_positions(OneHot::Lists(active), &InputPairs::without_pairs(active.rows))
        });
        let rows = self.accumulator_rows(touched.as_ref());
        let [_, columns] = rows.dims();
        let device = rows.device();
        let sums =
            |side| dense_counts(active, side, touched.as_ref(), &device).matmul(rows.clone());
        let side_by_side = Tensor::cat((0..self.net.perspective_count()).map(sums).collect(), 1);
        side_by_side.reshape([active.len() * self.net.perspective_count(), columns])
    }
}

/// Draws starting weights: normal with deviation `sqrt(2 / fan-in)`; biases and factors are zero.
/// The order is array by array and row by row, as in other trainers, so that seeds agree.
pub fn initial_weights(net: &Architecture, seed: u64) -> Weights {
    let mut random = Xoroshiro128Plus::seed_from_u64(seed);
    let mut weights = Weights::default();
    for array in net.list_arrays() {
        let values = match array.kind {
            ArrayKind::Rows(_) | ArrayKind::Layer(_) | ArrayKind::Output => {
                let normal = Normal::new(0.0, (2.0 / array.fan_in as f32).sqrt())
                    .expect("the deviation is finite and not negative");
                (0..array.len()).map(|_| normal.sample(&mut random)).collect()
            }
            _ => vec![0.0; array.len()],
        };
        weights.insert(&array.name, &array.shape, values);
    }
    weights
}

/// Draws starting weights, those of each feature set multiplied by one of `sizes`.
pub fn initial_of_size(net: &Architecture, seed: u64, sizes: &[f64]) -> Weights {
    let mut weights = initial_weights(net, seed);
    for array in net.list_arrays() {
        let ArrayKind::Rows(set) = array.kind else { continue };
        let size = sizes[set];
        let values = &mut weights.0.get_mut(&array.name).expect("it has all arrays").values;
        values.iter_mut().for_each(|value| *value *= size as f32);
    }
    weights
}
