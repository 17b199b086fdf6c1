//! Memory that training a net takes on a GPU, from its shapes alone; and copies on a GPU, to measure
//! their rate.

use burn::tensor::{Device, Tensor};

use super::ops::strips::Strips;
use crate::architecture::{Architecture, PIECES};

const FLOAT: usize = size_of::<f32>();
/// Divisor of a GPU's memory: the quotient is for parts of a batch, and as much for cached lists.
const SHARE: u64 = 8;
/// Bounds of these bytes. The upper one keeps all numbers of a buffer within 32-bit indices.
const MIN_BUDGET: u64 = 64 << 20;
const MAX_BUDGET: u64 = 4 << 30;
/// These bytes if the driver does not say how much memory there is: four million cached lists.
pub const DEFAULT_BUDGET: usize = 512 << 20;

/// Chooses the maximum bytes of a part of a batch, and of cached lists, on a GPU with this memory.
pub fn choose_budget(memory: Option<u64>) -> usize {
    let budget = memory.map(|memory| (memory / SHARE).clamp(MIN_BUDGET, MAX_BUDGET));
    budget.and_then(|budget| usize::try_from(budget).ok()).unwrap_or(DEFAULT_BUDGET)
}

/// Counts the numbers of a position on a GPU: gradients of the accumulators; in nets whose graph
/// kernels walk also accumulators, features and sums of the first map with their gradients, and the
/// numbers whose products are the maps' gradients.
pub(super) fn floats_of_position(net: &Architecture) -> usize {
    let accumulators = net.perspective_count() * net.column_count();
    if !net.walks_graph() {
        return accumulators;
    }
    let maps = net.maps();
    let sums = net.buckets * maps[0][1];
    // The loss, the gradients of the first map's outputs, inputs and gradients of all others.
    let written: usize = maps[1..].iter().flatten().sum();
    2 * (accumulators + net.feature_count() + sums) + 1 + maps[0][1] + written + net.psqt_columns()
}

/// Bounds the bytes that training takes, with `states` arrays of the optimiser per parameter,
/// batches of `batch` positions, and parts of at most `budget` bytes.
pub fn bytes_on_gpu(net: &Architecture, batch: usize, states: usize, budget: usize) -> u64 {
    let arrays: Vec<usize> = net.list_arrays().iter().map(|array| array.len()).collect();
    let (parameters, largest) =
        (arrays.iter().sum::<usize>(), arrays.iter().max().copied().unwrap_or(0));
    let (rows, columns, perspectives) =
        (net.row_count(), net.column_count(), net.perspective_count());
    let position = floats_of_position(net);
    let part = batch.min((budget / (position * FLOAT)).max(1));
    let lists = part * perspectives;
    let sums = match net.inputs.is_pieces() {
        true => {
            let strips = Strips::new(lists, &[], 1).strip_count() + rows / PIECES;
            strips * PIECES * columns + lists * PIECES / 32
        }
        // Segments of rows, and buffers of the sort.
        false => {
            let entries = lists * net.inputs.max_active();
            (entries / 128 + rows) * columns + 5 * entries
        }
    };
    let entries = batch * perspectives * net.inputs.max_active();
    let numbers = [
        // Parameters, gradients and states, and the next ones of an array.
        parameters * (2 + states) + largest * (1 + states),
        // Rows of all sets in one array, their gradients, and those of single sets.
        3 * rows * columns,
        sums,
        part * position,
        entries,
    ];
    (numbers.iter().map(|it| *it as u64).sum::<u64>()) * FLOAT as u64 + budget as u64
}

/// Numbers on a device that are read and written again.
pub struct Copies(Tensor<1>);

impl Copies {
    pub fn new(numbers: usize, device: &Device) -> Self {
        Self(Tensor::zeros([numbers], device))
    }

    pub fn count_copy(&mut self) {
        self.0 = self.0.clone().add_scalar(1.0);
    }
}
