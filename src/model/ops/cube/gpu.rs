//! Buffers on a GPU.

use burn::backend::TensorMetadata;
use burn::tensor::{Bytes, DType, Shape};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeDevice, cubecl};
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::form::{UNITS, launch_grid};

#[derive(Clone)]
pub(super) struct Gpu {
    pub client: Client,
    pub device: CubeDevice,
}

#[derive(Clone)]
pub(super) struct Buffer {
    handle: Handle,
    len: usize,
}

impl Gpu {
    pub fn of_tensor(tensor: &CubeTensor) -> Self {
        Self { client: tensor.client.clone(), device: tensor.device.clone() }
    }

    /// Allocates `len` arbitrary numbers. Not every language clears memory, so debug builds fill it
    /// with NaN: nothing may be read before it is written.
    pub fn empty_buffer(&self, len: usize) -> Buffer {
        if cfg!(debug_assertions) {
            return self.padded_buffer(len, vec![f32::NAN.to_bits(); len.max(1)]);
        }
        // Buffers cannot be empty.
        Buffer { handle: self.client.empty(len.max(1) * size_of::<f32>()), len }
    }

    pub fn upload_words(&self, mut words: Vec<u32>) -> Buffer {
        let len = words.len();
        if words.is_empty() {
            words.push(0);
        }
        self.padded_buffer(len, words)
    }

    /// Writes whole words into a buffer from word `first` on, after all earlier work of the device.
    pub fn write_words(&self, buffer: &Buffer, first: usize, words: Bytes) {
        let first = first * size_of::<u32>();
        let rest = buffer.len.max(1) * size_of::<u32>() - first - words.len();
        let range = buffer.handle.clone().offset_start(first as u64).offset_end(rest as u64);
        self.client.write(&range, words);
    }

    /// Copies the first words of a buffer to another one.
    pub fn copy_words(&self, from: &Buffer, to: &Buffer, words: usize) {
        // SAFETY: neither buffer has fewer words.
        unsafe {
            copy::launch_unchecked(
                &self.client,
                launch_grid(words.div_ceil(UNITS)),
                CubeDim::new_1d(UNITS as u32),
                from.launch_arg(),
                to.launch_arg(),
                words as u32,
            );
        }
    }

    fn padded_buffer(&self, len: usize, words: Vec<u32>) -> Buffer {
        Buffer { handle: self.client.create(Bytes::from_elems(words)), len }
    }

    pub fn flat_tensor(&self, buffer: Buffer) -> CubeTensor {
        let len = buffer.len;
        self.shaped_tensor(buffer, Shape::new([len]))
    }

    pub fn shaped_tensor(&self, buffer: Buffer, shape: Shape) -> CubeTensor {
        let Self { client, device } = self;
        CubeTensor::new_contiguous(client.clone(), device.clone(), shape, buffer.handle, DType::F32)
    }
}

#[cube(launch_unchecked)]
fn copy(from: &[u32], to: &mut [u32], words: u32) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < words as usize {
        to[i] = from[i];
    }
}

impl Buffer {
    pub fn from_tensor(tensor: CubeTensor) -> Self {
        let tensor = make_contiguous(tensor);
        Self { len: tensor.shape().num_elements(), handle: tensor.handle }
    }

    pub fn launch_arg(&self) -> BufferArg {
        // SAFETY: the buffer was made with this many numbers.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.len.max(1)) }
    }
}

/// Makes a tensor row-major; the input may be a slice of another.
pub(super) fn make_contiguous(tensor: CubeTensor) -> CubeTensor {
    assert_eq!(tensor.dtype(), DType::F32, "all tensors of these models are f32");
    into_contiguous(tensor)
}
