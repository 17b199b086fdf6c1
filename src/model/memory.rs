//! Memory that training takes on a GPU, estimated before it starts.

use burn::tensor::Device;

use super::ops::strips::Strips;
use super::{Adapter, Compute, DeviceError, Kind};
use crate::architecture::{Architecture, MOST_PIECES, PIECES};
use crate::batch::PAIRS;

/// Bytes that the gradients of accumulators, and the layers behind them, may take on a GPU: more
/// would save a few launches of kernels a step at most. And bytes of cached lists: four million
/// positions.
pub const ROOM: usize = 512 << 20;

/// Positions that are on their way to a GPU, at most, or one batch: a processor that is ahead of it
/// waits. Their lists lie in memory that the GPU reads.
const AHEAD: usize = 1 << 19;

/// Steps that a processor is ahead of a GPU, at most: that often it reads their losses, and the GPU
/// runs dry for a moment.
const STEPS_AHEAD: usize = 64;

/// Bytes of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// All that is alive at a time, roughly.
    pub total: u64,
    /// The largest buffer.
    pub largest: u64,
}

impl Need {
    /// The memory of the fused operations of a GPU, and of an optimiser with `kept` numbers for each
    /// weight; of so many positions the lists are cached. None where it is unknown.
    pub fn of(kind: &Kind, batch: usize, compute: Compute, kept: u64, cached: u64) -> Option<Self> {
        let (Kind::Net(net) | Kind::Sum(net, _), Compute::Gpu { room }) = (kind, compute) else {
            return None;
        };
        let (views, hidden, kings) = (net.views(), net.hidden, net.inputs.kings.count());
        let floats = |count: usize| (count * size_of::<f32>()) as u64;
        let arrays: Vec<u64> = net.arrays().iter().map(|array| floats(array.len())).collect();
        let weights = arrays.iter().sum::<u64>();
        let position = floats(floats_of_position(net));
        let part = batch.clamp(1, (room as u64 / position).max(1) as usize);
        // Pairs have rows beside the inputs', in a copy of the weights and in gradients.
        let inputs = if kings == 1 { PIECES + PAIRS } else { PIECES };
        let rows = floats(inputs * kings * hidden);
        let [strips, _] = Strips::bound(part * views, kings);
        let sums = (strips * inputs) as u64 * floats(hidden);
        // Sums of each 16 positions.
        let tiles = if net.is_deep() { 0 } else { batch.div_ceil(16) * (views + 1) * hidden };
        let tiles = floats(tiles);
        let lists = (batch * views * MOST_PIECES * size_of::<u16>()) as u64;
        let cached = (cached * (2 * MOST_PIECES * size_of::<u16>()) as u64).min(room as u64);
        // Weights, gradients, the optimiser's, and the same after the next step; a step; lists that
        // wait beside it; cached lists, and a copy while their buffer grows.
        let step = position * part as u64 + sums + tiles + 2 * rows;
        let waiting = (1 + steps_ahead(batch) as u64) * lists;
        let total = 2 * (2 + kept) * weights + step + waiting + cached + cached / 2;
        let slopes = floats(part * views * hidden);
        let largest = arrays.into_iter().chain([slopes, sums, tiles, lists, cached]).max();
        Some(Self { total, largest: largest.unwrap_or(0) })
    }

    /// # Errors
    /// If the device is a GPU that reports less.
    pub fn check(self, device: &Device) -> Result<(), DeviceError> {
        Adapter::of(device).map_or(Ok(()), |adapter| self.check_adapter(&adapter))
    }

    /// # Errors
    /// If the GPU reports less.
    pub fn check_adapter(self, adapter: &Adapter) -> Result<(), DeviceError> {
        let total = ("memory", adapter.memory.unwrap_or(u64::MAX), self.total);
        for (what, has, needs) in [("a buffer", adapter.largest, self.largest), total] {
            if needs > has {
                let (has, needs) = (has >> 20, needs >> 20);
                return Err(DeviceError::TooSmall { what, name: adapter.name.clone(), has, needs });
            }
        }
        Ok(())
    }
}

/// Floats of each position that a GPU holds at a time.
///
/// Where the output follows the accumulators, these are the gradients of the latter. Else they are
/// the tensors that Burn's operations keep for the backward pass, and their gradients, counted by
/// reading `head::logits`.
pub fn floats_of_position(net: &Architecture) -> usize {
    let accumulators = net.views() * net.hidden;
    if !net.is_deep() {
        return accumulators;
    }
    let of_map = |[inputs, outputs]: [usize; 2]| 4 * inputs + 6 * net.buckets * outputs;
    7 * accumulators + net.maps().into_iter().map(of_map).sum::<usize>()
}

/// Steps of so many positions that a processor is ahead of a GPU, at most.
pub fn steps_ahead(batch: usize) -> usize {
    (AHEAD / batch.max(1)).clamp(1, STEPS_AHEAD)
}
