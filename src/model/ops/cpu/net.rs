//! Inputs of the kernels: a net, its numbers, a batch of positions.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SimdLevel;
use crate::architecture::{Architecture, ArrayKind, NetArray, Set};
use crate::batch::{ActiveRows, ChunkPlan, InputPairs, OneHot, RowSet};
use crate::model::grouped::Grouped;

/// A net, and how it is computed.
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
    /// Numbers of its rows among those of all sets.
    pub rows: Range<usize>,
    /// Whether its gradients have only the rows that a batch touches.
    pub is_sparse: bool,
    /// None if it is trained without a factor.
    pub factor: Option<Arc<FactorRows>>,
}

impl SetOfKernel {
    /// The touched rows that gradients have, numbered as in all sets; none: all rows.
    pub fn touched_rows<'a>(&self, touched: Option<&'a RowSet>) -> Option<&'a [u32]> {
        touched.filter(|_| self.is_sparse).map(|touched| touched.rows_within(self.rows.clone()))
    }
}

#[derive(Debug)]
pub(in crate::model::ops) struct FactorRows {
    /// The factor's row that is added to each row of the set, or [`NO_FACTOR`].
    pub of: Vec<u32>,
    /// The rows of the set by the factor's row that is added to them.
    pub sharing: Grouped,
}

/// Marks a row without a factor.
pub(super) const NO_FACTOR: u32 = u32::MAX;

/// Groups the numbers 0, 1, ... by the row of a factor that each shares.
pub(super) fn by_factor(rows: usize, of: impl Iterator<Item = u32> + Clone) -> Grouped {
    let sharing = of.enumerate().filter(|(_, row)| *row != NO_FACTOR);
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
    /// `[factor rows, N]` of each; empty where there is none.
    pub factors: Vec<T>,
    /// `[rows, buckets]` of each, the piece-square values; empty where there are none.
    pub psqt: Vec<T>,
    /// `[N]`
    pub bias: T,
    /// Weights `[buckets, outputs, inputs]` and biases of the maps behind the accumulators, in
    /// order.
    pub maps: Vec<[T; 2]>,
}

pub type SliceWeights<'a> = Slices<&'a [f32]>;
/// Gradients, which are overwritten.
pub type SliceGradients<'a> = Slices<&'a mut [f32]>;

impl<T: Default + AsRef<[f32]>> Slices<T> {
    /// Slices in the order of [`Architecture::list_arrays`]. Panics if a slice does not fit its array.
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
            let (found, wanted) = (slice.as_ref().len(), array.len());
            // Gradients may have only some rows.
            let of_some = matches!(kind, ArrayKind::Rows(_)) && found.is_multiple_of(net.hidden);
            assert!(found == wanted || of_some && found < wanted, "numbers of {name}");
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
        OneHot::First(views) => views.pairs.clone(),
        _ => Arc::new(InputPairs::without_pairs(net.row_count())),
    }
}

impl Kernel {
    pub fn new(net: &Architecture, precision: Precision, level: SimdLevel) -> Self {
        let set = |(place, set): (usize, &Set)| {
            let first = net.inputs.first_row(place);
            let factor_rows = net.inputs.factor_rows(place);
            let of: Vec<u32> = match factor_rows {
                0 => Vec::new(),
                _ => (0..set.row_count() as u32)
                    .map(|it| set.factor_row(it).unwrap_or(NO_FACTOR))
                    .collect(),
            };
            let sharing = by_factor(factor_rows, of.iter().copied());
            SetOfKernel {
                rows: first..first + set.row_count(),
                is_sparse: net.inputs.is_sparse(place),
                factor: (factor_rows > 0).then(|| Arc::new(FactorRows { of, sharing })),
            }
        };
        let sets = net.inputs.sets().iter().enumerate().map(set).collect();
        Self { net: net.clone(), precision, level, sets }
    }

    pub fn without_sparsity(mut self) -> Self {
        self.sets.iter_mut().for_each(|set| set.is_sparse = false);
        self
    }

    /// The rows that positions touch, if the kernel is sparse.
    pub fn find_touched(&self, positions: OneHot) -> Option<RowSet> {
        let is_sparse = self.sets.iter().any(|set| set.is_sparse);
        is_sparse.then(|| RowSet::of_positions(positions, &pairs_of(positions, &self.net)))
    }

    /// The touched rows of each sparse set, by its place and numbered from its first row.
    pub fn touched_rows(&self, touched: &RowSet) -> impl Iterator<Item = (usize, Arc<[u32]>)> {
        self.sets.iter().enumerate().filter(|(_, set)| set.is_sparse).map(|(place, set)| {
            let rows = touched.rows_within(set.rows.clone()).iter();
            (place, rows.map(|row| row - set.rows.start as u32).collect())
        })
    }

    /// Numbers of each array's gradients, which may have touched rows only.
    pub fn gradient_lens(&self, touched: Option<&RowSet>) -> Vec<usize> {
        let of = |array: NetArray| match array.kind {
            ArrayKind::Rows(set) => match self.sets[set].touched_rows(touched) {
                None => array.len(),
                Some(rows) => rows.len() * self.net.hidden,
            },
            _ => array.len(),
        };
        self.net.list_arrays().into_iter().map(of).collect()
    }

    /// The number of positions. Panics if a shape does not fit the net.
    pub(super) fn check_shapes(&self, positions: OneHot) -> usize {
        let (rows, views, buckets) = (self.net.row_count(), self.net.views(), self.net.buckets);
        let batch = positions.len();
        match positions {
            OneHot::Lists(lists) => {
                let &ActiveRows { ref indices, ref king_buckets, buckets: ref of, width, .. } =
                    lists;
                // The padding of another feature set would be an input of this one.
                assert_eq!((lists.rows, lists.views), (rows, views), "a batch for another net");
                assert_eq!(indices.len() % (views * width), 0, "indices are not whole positions");
                if self.net.inputs.kings().bucket_count() > 1 {
                    assert_eq!(king_buckets.len(), batch * views, "a king bucket a list");
                }
                if buckets > 1 {
                    assert_eq!(of.len(), batch, "a bucket a position");
                    assert!(of.iter().all(|it| usize::from(*it) < buckets), "buckets");
                }
            }
            OneHot::First(views) => views.check_net(&self.net),
            OneHot::Plans(plans) => {
                plans.iter().for_each(|plan| plan.check_net(&self.net));
                let same = |two: &[Arc<ChunkPlan>]| Arc::ptr_eq(&two[0].pairs, &two[1].pairs);
                assert!(plans.windows(2).all(same), "plans with different pairs");
            }
        }
        batch
    }
}
