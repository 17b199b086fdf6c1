//! How much memory training takes on a GPU, known before it starts.

use burn::tensor::Device;

use super::adapter::Adapter;
use super::device::DeviceError;
use super::{Compute, Kind, NetShape};

/// Bytes that the gradients of accumulators may take on a GPU. More would save a few launches of
/// kernels a step at most.
pub const ROOM: usize = 512 << 20;

/// Bytes of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// All that is alive at a time, roughly.
    pub total: u64,
    /// The largest buffer.
    pub largest: u64,
}

impl Need {
    /// What the fused operations of a GPU and Adam take; none where nobody knows.
    pub fn of(kind: Kind, batch: usize, compute: Compute) -> Option<Self> {
        let (Kind::Net(shape), Compute::Gpu { room }) = (kind, compute) else { return None };
        let NetShape { inputs, views, hidden, .. } = shape;
        let floats = |count: usize| count as u64 * size_of::<f32>() as u64;
        let weights = floats(inputs * hidden);
        let slopes = floats(batch * views * hidden).min(room as u64).max(floats(views * hidden));
        // A list has 32 places, an input's lists come in segments of 256 at most, and of those
        // pieces of 4096 lists of which it has any.
        let partial = slopes / 8 + (slopes / floats(4096 * hidden) + 1) * weights;
        let tiles = floats(batch.div_ceil(16) * (views + 1) * hidden);
        let lists = (batch * views * 32 * size_of::<u16>()) as u64;
        let index = 2 * lists;
        // Weights, gradients, both means, and what the next step makes of them.
        let total = 8 * weights + slopes + partial + tiles + lists + index;
        let largest = [weights, slopes, partial, tiles, lists].into_iter().max();
        Some(Self { total, largest: largest.unwrap_or(0) })
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
