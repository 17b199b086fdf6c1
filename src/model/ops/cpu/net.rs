//! Inputs of the kernels: a net, its numbers, a batch of positions.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SimdLevel;
use crate::architecture::{Architecture, ArrayKind, NetArray, Set};
use crate::batch::{ActiveRows, ChunkPlan, InputPairs, OneHot, RowSet};
use crate::model::grouped::Grouped;

/// Net, and how it is computed.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Above 8,191 rows the kernels are a tenth slower. Multiples of 32 neurons waste nothing.
    pub net: Architecture,
    pub precision: Precision,
    pub level: SimdLevel,
    pub(in crate::model::ops) sets: Vec<SetOfKernel>,
}

#[derive(Clone, Debug)]
pub(in crate::model::ops) struct SetOfKernel {
    /// Its rows among those of all sets.
    pub rows: Range<usize>,
    /// Whether its gradients have only the rows that a batch touches.
    pub is_sparse: bool,
    /// None if it is trained without a factor.
    pub factor: Option<Arc<FactorRows>>,
}

impl SetOfKernel {
    /// Returns the touched rows that gradients have, as numbered in all sets; None: all rows.
    pub fn touched_rows<'a>(&self, touched: Option<&'a RowSet>) -> Option<&'a [u32]> {
        touched.filter(|_| self.is_sparse).map(|touched| touched.rows_within(self.rows.clone()))
    }
}

#[derive(Debug)]
pub(in crate::model::ops) struct FactorRows {
    /// Row of the factor that is added to each row of the set, or [`NO_FACTOR`].
    pub factor_rows: Vec<u32>,
    /// Rows of the set by the row of the factor that is added to them.
    pub sharing: Grouped,
}

/// Marks a row without a factor.
pub(super) const NO_FACTOR: u32 = u32::MAX;

/// Groups the numbers 0, 1, ... by the row of a factor that each shares.
pub(super) fn by_factor(rows: usize, factor_rows: impl Iterator<Item = u32> + Clone) -> Grouped {
    let sharing = factor_rows.enumerate().filter(|(_, row)| *row != NO_FACTOR);
    Grouped::new(rows, sharing.map(|(number, row)| (row as usize, number as u32)))
}

/// Number format of the inner loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats throughout.
    #[default]
    F32,
    /// 16-bit fixed point in the inner loops: the forward pass reads weights and biases rounded to
    /// multiples of 2^-12 and clamped to ±8, as are the sums (a ReLU never exceeds 8); the
    /// gradients of accumulator values are rounded to 1/4095 of the largest of their chunk and
    /// column. Weights, output layer, loss and gradients of weights stay 32-bit floats.
    Mixed,
}

words!(Precision: F32 = "f32", Mixed = "mixed");

#[derive(Debug)]
pub struct Slices<T> {
    /// `[rows, N]` of each feature set.
    pub rows: Vec<T>,
    /// `[factor rows, N]` of each set; empty without a factor.
    pub factors: Vec<T>,
    /// `[rows, buckets]` of each set, the piece-square values; empty without any.
    pub psqt: Vec<T>,
    /// `[N]`
    pub bias: T,
    /// Weights `[buckets, outputs, inputs]` and biases of the maps after the accumulators, in
    /// order.
    pub maps: Vec<[T; 2]>,
}

pub type SliceWeights<'a> = Slices<&'a [f32]>;
/// Gradients, which are overwritten.
pub type SliceGradients<'a> = Slices<&'a mut [f32]>;

impl<T: Default + AsRef<[f32]>> Slices<T> {
    /// Sorts slices in the order of [`Architecture::list_arrays`]. Panics if one does not fit its
    /// array.
    pub fn new(net: &Architecture, mut slices: impl Iterator<Item = T>) -> Self {
        let mut sorted = Self {
            rows: Vec::new(),
            factors: Vec::new(),
            psqt: Vec::new(),
            bias: T::default(),
            maps: Vec::new(),
        };
        for array in net.list_arrays() {
            let slice = slices.next().unwrap_or_default();
            let NetArray { kind, name, .. } = &array;
            let (len, full_len) = (slice.as_ref().len(), array.len());
            // Gradients may have only touched rows.
            let is_sparse = matches!(kind, ArrayKind::Rows(_)) && len.is_multiple_of(net.hidden);
            assert!(len == full_len || is_sparse && len < full_len, "numbers of {name}");
            match kind {
                ArrayKind::Rows(_) => {
                    sorted.rows.push(slice);
                    sorted.factors.push(T::default());
                    sorted.psqt.push(T::default());
                }
                ArrayKind::Factor(set) => sorted.factors[*set] = slice,
                ArrayKind::AccumulatorBias => sorted.bias = slice,
                ArrayKind::Psqt(set) => sorted.psqt[*set] = slice,
                ArrayKind::Layer(_) | ArrayKind::Output => sorted.maps.push([slice, T::default()]),
                ArrayKind::LayerBias(_) | ArrayKind::OutputBias => {
                    sorted.maps.last_mut().expect("weights come first")[1] = slice;
                }
            }
        }
        sorted
    }
}

pub(super) fn pairs_of(inputs: OneHot, net: &Architecture) -> Arc<InputPairs> {
    match inputs {
        OneHot::Plans([plan, ..]) => plan.pairs.clone(),
        OneHot::First(first_views) => first_views.pairs.clone(),
        _ => Arc::new(InputPairs::without_pairs(net.row_count())),
    }
}

impl Kernel {
    pub fn new(net: &Architecture, precision: Precision, level: SimdLevel) -> Self {
        let set = |(index, set): (usize, &Set)| {
            let first = net.inputs.first_row(index);
            let count = net.inputs.factor_rows(index);
            let factor_rows: Vec<u32> = match count {
                0 => Vec::new(),
                _ => (0..set.row_count() as u32)
                    .map(|it| set.factor_row(it).unwrap_or(NO_FACTOR))
                    .collect(),
            };
            let sharing = by_factor(count, factor_rows.iter().copied());
            SetOfKernel {
                rows: first..first + set.row_count(),
                is_sparse: net.inputs.is_sparse(index),
                factor: (count > 0).then(|| Arc::new(FactorRows { factor_rows, sharing })),
            }
        };
        let sets = net.inputs.sets().iter().enumerate().map(set).collect();
        Self { net: net.clone(), precision, level, sets }
    }

    pub fn without_sparsity(mut self) -> Self {
        self.sets.iter_mut().for_each(|set| set.is_sparse = false);
        self
    }

    /// Finds the rows that positions touch, if the kernel is sparse.
    pub fn find_touched(&self, positions: OneHot) -> Option<RowSet> {
        let is_sparse = self.sets.iter().any(|set| set.is_sparse);
        is_sparse.then(|| RowSet::of_positions(positions, &pairs_of(positions, &self.net)))
    }

    /// Iterates over sparse sets: the index of each, and its touched rows, numbered from its first.
    pub fn touched_rows(&self, touched: &RowSet) -> impl Iterator<Item = (usize, Arc<[u32]>)> {
        self.sets.iter().enumerate().filter(|(_, set)| set.is_sparse).map(|(index, set)| {
            let rows = touched.rows_within(set.rows.clone()).iter();
            (index, rows.map(|row| row - set.rows.start as u32).collect())
        })
    }

    /// Returns the length of each array's gradients, which may have touched rows only.
    pub fn gradient_lens(&self, touched: Option<&RowSet>) -> Vec<usize> {
        let gradient_len = |array: NetArray| match array.kind {
            ArrayKind::Rows(set) => match self.sets[set].touched_rows(touched) {
                None => array.len(),
                Some(rows) => rows.len() * self.net.hidden,
            },
            _ => array.len(),
        };
        self.net.list_arrays().into_iter().map(gradient_len).collect()
    }

    /// Returns the number of positions. Panics if a shape does not fit the net.
    pub(in crate::model::ops) fn check_shapes(&self, positions: OneHot) -> usize {
        let (net, batch) = (&self.net, positions.len());
        match positions {
            OneHot::Lists(lists) => {
                let ActiveRows { rows, perspectives, king_buckets, buckets, .. } = lists;
                // The padding of another feature set would be an input of this one.
                let fits = *rows == net.row_count() && *perspectives == net.perspective_count();
                assert!(fits, "a batch for another net");
                let entries = perspectives * lists.width;
                assert_eq!(lists.indices.len() % entries, 0, "indices are not whole positions");
                if net.inputs.kings().bucket_count() > 1 {
                    assert_eq!(king_buckets.len(), batch * perspectives, "a king bucket a list");
                }
                if net.buckets > 1 {
                    assert_eq!(buckets.len(), batch, "a bucket a position");
                    assert!(buckets.iter().all(|it| usize::from(*it) < net.buckets), "buckets");
                }
            }
            OneHot::First(first_views) => first_views.check_net(net),
            OneHot::Plans(plans) => {
                plans.iter().for_each(|plan| plan.check_net(net));
                let same = |plans: &[Arc<ChunkPlan>]| Arc::ptr_eq(&plans[0].pairs, &plans[1].pairs);
                assert!(plans.windows(2).all(same), "plans with different pairs");
            }
        }
        batch
    }
}
