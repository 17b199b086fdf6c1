//! Inputs of the kernels: a net, its numbers, a batch of positions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Level;
use crate::architecture::{Architecture, Array, Part};
use crate::batch::{Active, ChunkPlan, OneHot, Pairs};

/// A net and how it is computed.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// At most 65,535 rows; beyond 8,191 the kernels are a tenth slower. Any number of neurons;
    /// multiples of 32 waste nothing.
    pub net: Architecture,
    pub precision: Precision,
    pub level: Level,
}

/// Bits of the numbers in the inner loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats throughout.
    #[default]
    F32,
    /// 16-bit fixed point in the inner loops: the forward pass reads weights and biases rounded to
    /// multiples of 2^-12 and held within ±8, and so for the sums (a ReLU never exceeds 8); the
    /// gradients of accumulator values are rounded to 1/4095 of the largest of their chunk and
    /// column. Weights, output layer, loss and gradients of weights stay 32-bit floats.
    Mixed,
}

impl Precision {
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Mixed => "mixed",
        }
    }
}

/// Slices of the arrays of a net.
#[derive(Debug)]
pub struct Slices<T> {
    /// `[rows, N]` of each feature set.
    pub rows: Vec<T>,
    /// `[factor rows, N]` of each; empty where there is none.
    pub factors: Vec<T>,
    /// `[N]`
    pub bias: T,
    /// Weights `[buckets, outputs, inputs]` and biases `[buckets, outputs]` of each affine map
    /// behind the accumulators, the output's last.
    pub maps: Vec<[T; 2]>,
}

pub type Weights<'a> = Slices<&'a [f32]>;

/// Gradients, written over what was there.
pub type Gradients<'a> = Slices<&'a mut [f32]>;

impl<T: Default + AsRef<[f32]>> Slices<T> {
    /// Slices in the order of [`Architecture::arrays`].
    ///
    /// # Panics
    /// When a slice does not fit its array.
    pub fn new(net: &Architecture, mut slices: impl Iterator<Item = T>) -> Self {
        let mut sorted =
            Self { rows: Vec::new(), factors: Vec::new(), bias: T::default(), maps: Vec::new() };
        for array in net.arrays() {
            let slice = slices.next().unwrap_or_default();
            let Array { part, name, .. } = &array;
            assert_eq!(slice.as_ref().len(), array.len(), "numbers of {name}");
            match part {
                Part::Rows(_) => {
                    sorted.rows.push(slice);
                    sorted.factors.push(T::default());
                }
                Part::Factor(set) => sorted.factors[*set] = slice,
                Part::AccumulatorBias => sorted.bias = slice,
                Part::Layer(_) | Part::Output => sorted.maps.push([slice, T::default()]),
                Part::LayerBias(_) | Part::OutputBias => {
                    sorted.maps.last_mut().expect("weights come first")[1] = slice;
                }
            }
        }
        sorted
    }
}

/// The pairs that the lists name.
pub(super) fn pairs_of(inputs: OneHot, net: &Architecture) -> Arc<Pairs> {
    match inputs {
        OneHot::Plans([plan, ..]) => plan.pairs.clone(),
        _ => Arc::new(Pairs::none(net.rows())),
    }
}

impl Kernel {
    /// The number of positions, after checks of their shapes.
    ///
    /// # Panics
    /// When a slice does not fit the net.
    pub(super) fn check(&self, positions: OneHot) -> usize {
        let (rows, views, buckets) = (self.net.rows(), self.net.views(), self.net.buckets);
        assert!((1..=u16::MAX.into()).contains(&rows), "{rows} rows do not fit 16 bits");
        let batch = positions.len();
        match positions {
            OneHot::Lists(lists) => {
                let &Active { ref indices, buckets: ref of, places, .. } = lists;
                // The padding of another feature set would be an input of this one.
                assert_eq!((lists.rows, lists.views), (rows, views), "a batch for another net");
                assert!((1..=128).contains(&places), "{places} places a list");
                assert_eq!(indices.len() % (views * places), 0, "indices are not whole positions");
                if buckets > 1 {
                    assert_eq!(of.len(), batch, "a bucket a position");
                    assert!(of.iter().all(|it| usize::from(*it) < buckets), "buckets");
                }
            }
            OneHot::Plans(plans) => {
                plans.iter().for_each(|plan| plan.check(&self.net));
                let same = |two: &[Arc<ChunkPlan>]| Arc::ptr_eq(&two[0].pairs, &two[1].pairs);
                assert!(plans.windows(2).all(same), "plans with different pairs");
            }
        }
        batch
    }
}
