//! Buffers on a GPU.

use burn::backend::TensorMetadata;
use burn::tensor::{Bytes, DType, Shape};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeDevice, cubecl};
use cubecl::prelude::*;
use cubecl::server::Handle;

/// A device, and the queue of what it is to do.
pub(super) struct Gpu {
    pub client: Client,
    pub device: CubeDevice,
}

/// Numbers of 32 bits on a device.
#[derive(Clone)]
pub(super) struct Buffer {
    handle: Handle,
    len: usize,
}

impl Gpu {
    /// The device that a tensor lies on.
    pub fn of(tensor: &CubeTensor) -> Self {
        Self { client: tensor.client.clone(), device: tensor.device.clone() }
    }

    /// Room for so many numbers, of any value.
    pub fn empty(&self, len: usize) -> Buffer {
        // There are no buffers without bytes.
        Buffer { handle: self.client.empty(len.max(1) * size_of::<f32>()), len }
    }

    pub fn words(&self, mut words: Vec<u32>) -> Buffer {
        let len = words.len();
        if words.is_empty() {
            words.push(0);
        }
        Buffer { handle: self.client.create(Bytes::from_elems(words)), len }
    }

    pub fn floats(&self, floats: &[f32]) -> Buffer {
        self.words(floats.iter().map(|float| float.to_bits()).collect())
    }

    /// A buffer as a tensor.
    pub fn tensor(&self, buffer: Buffer, shape: Shape) -> CubeTensor {
        let Self { client, device } = self;
        CubeTensor::new_contiguous(client.clone(), device.clone(), shape, buffer.handle, DType::F32)
    }
}

impl Buffer {
    /// The numbers of a tensor.
    pub fn of(tensor: CubeTensor) -> Self {
        let tensor = contiguous(tensor);
        Self { len: tensor.shape().num_elements(), handle: tensor.handle }
    }

    pub fn arg(&self) -> BufferArg {
        // SAFETY: the buffer was made with so many numbers.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.len.max(1)) }
    }
}

/// Numbers of 16 bits, two a word, the first one low.
pub(super) fn pairs(halves: &[u16]) -> impl Iterator<Item = u32> {
    let (pairs, rest) = halves.as_chunks::<2>();
    let pack = |[low, high]: &[u16; 2]| u32::from(*low) | u32::from(*high) << 16;
    pairs.iter().map(pack).chain(rest.iter().map(|low| u32::from(*low)))
}

/// The tensor as plain 32-bit floats, row-major: what comes in may be a view.
pub(super) fn contiguous(tensor: CubeTensor) -> CubeTensor {
    assert_eq!(tensor.dtype(), DType::F32, "all tensors of these models are f32");
    into_contiguous(tensor)
}
