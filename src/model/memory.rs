//! How much memory training takes on a GPU, known before it starts.

use burn::tensor::Device;

use super::adapter::Adapter;
use super::device::DeviceError;
use super::ops::strips::Strips;
use super::{Compute, Kind};
use crate::architecture::{Architecture, MOST_PIECES, PIECES};
use crate::batch::PAIRS;

/// Bytes that the gradients of accumulators may take on a GPU, and what is computed behind them:
/// more would save a few launches of kernels a step at most. And bytes that lists may take which stay
/// there, because they come again: four million positions.
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
    /// What the fused operations of a GPU take, and an optimiser that keeps so many numbers for each
    /// weight; none where nobody knows.
    pub fn of(kind: &Kind, batch: usize, compute: Compute, kept: u64) -> Option<Self> {
        let (Kind::Net(net) | Kind::Sum(net, _), Compute::Gpu { room }) = (kind, compute) else {
            return None;
        };
        let (views, hidden) = (net.views(), net.hidden);
        let floats = |count: usize| count as u64 * size_of::<f32>() as u64;
        let rows = floats(net.rows() * hidden);
        let arrays: Vec<u64> = net.arrays().iter().map(|array| floats(array.len())).collect();
        let weights = arrays.iter().sum::<u64>();
        // What all king buckets share is added to a copy.
        let merged = if net.inputs.factorised { rows } else { 0 };
        let position = floats(floats_of_position(net));
        let part = batch.clamp(1, (room as u64 / position).max(1) as usize);
        let (slopes, behind) = (floats(part * views * hidden), position * part as u64);
        let kings = net.inputs.kings.count();
        // Pairs have rows beside the inputs', in a copy of the weights and in gradients.
        let (inputs, paired) = match kings {
            1 => (PIECES + PAIRS, 2 * floats((PIECES + PAIRS) * hidden)),
            _ => (PIECES, 0),
        };
        let [strips, length] = Strips::bound(part * views, kings);
        let sums = (strips * inputs) as u64 * floats(hidden);
        let bits = (strips * inputs * length / 8) as u64;
        let parts = batch.div_ceil(part);
        let tiles = match net.is_deep() {
            true => 0,
            // The last tile of each output bucket is not full.
            false => {
                floats((batch.div_ceil(16) + parts * (net.buckets - 1)) * (views + 1) * hidden)
            }
        };
        let lists = (batch * views * MOST_PIECES * size_of::<u16>()) as u64;
        // Of several king buckets a table says which lists stand where.
        let order = if kings > 1 { parts as u64 * floats(strips * length) } else { 0 };
        // Weights, gradients, what is kept, and what the next step makes of them.
        let step = merged + paired + behind + sums + bits + tiles + lists + order;
        // What comes to the device waits beside it until its step is over.
        let waiting = steps_ahead(batch) as u64 * (lists + order);
        let total = 2 * (2 + kept) * weights + step + waiting;
        let largest = arrays.into_iter().chain([slopes, sums, bits, tiles, lists + order]).max();
        Some(Self { total, largest: largest.unwrap_or(0) })
    }

    /// With lists of so many positions, which stay there as far as they have room.
    pub fn with_lists(self, positions: u64, compute: Compute) -> Self {
        let Compute::Gpu { room } = compute else { return self };
        let position = (2 * MOST_PIECES * size_of::<u16>()) as u64;
        let lists = (positions * position).min(room as u64);
        // Those that pass stand behind them; and what has become too small is copied.
        Self { total: self.total + lists + lists / 2, largest: self.largest.max(lists) }
    }

    /// # Errors
    /// If the device is a GPU that says that it has less.
    pub fn check(self, device: &Device) -> Result<(), DeviceError> {
        Adapter::of(device).map_or(Ok(()), |adapter| self.check_adapter(&adapter))
    }

    /// # Errors
    /// If the GPU says that it has less.
    pub fn check_adapter(self, adapter: &Adapter) -> Result<(), DeviceError> {
        let mebibytes = |bytes: u64| bytes >> 20;
        let name = adapter.name.clone();
        if self.largest > adapter.largest {
            let (has, needs) = (mebibytes(adapter.largest), mebibytes(self.largest));
            return Err(DeviceError::TooLarge { name, has, needs });
        }
        match adapter.memory {
            Some(memory) if self.total > memory => {
                let (has, needs) = (mebibytes(memory), mebibytes(self.total));
                Err(DeviceError::TooLittle { name, has, needs })
            }
            _ => Ok(()),
        }
    }
}

/// Floats of each position that a GPU holds at a time.
///
/// Where the output follows the accumulators, these are the gradients of the latter. Else they are
/// what Burn's operations keep for the way back, and their gradients, counted by reading
/// `head::logits`.
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
