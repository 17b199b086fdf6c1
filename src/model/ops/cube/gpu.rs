//! Buffers on a GPU.

use burn::backend::{Cube, TensorMetadata};
use burn::tensor::{Bytes, DType, Shape, Tensor};
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
        // Buffers cannot be empty.
        if cfg!(debug_assertions) {
            return Buffer { len, ..self.upload_words(vec![f32::NAN.to_bits(); len.max(1)]) };
        }
        Buffer { handle: self.client.empty(len.max(1) * size_of::<f32>()), len }
    }

    /// Makes a buffer of at least one word.
    pub fn upload_words(&self, words: Vec<u32>) -> Buffer {
        Buffer { len: words.len(), handle: self.client.create(Bytes::from_elems(words)) }
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

    pub fn tensor<const D: usize>(&self, buffer: Buffer, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_primitive::<Cube>(self.cube_tensor(buffer, Shape::new(shape)))
    }

    pub fn flat_tensor(&self, buffer: Buffer) -> CubeTensor {
        let len = buffer.len;
        self.cube_tensor(buffer, Shape::new([len]))
    }

    fn cube_tensor(&self, buffer: Buffer, shape: Shape) -> CubeTensor {
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
    pub fn from_tensor<const D: usize>(tensor: Tensor<D>) -> Self {
        Self::from_cube(tensor.try_into_primitive::<Cube>().expect("it was made here"))
    }

    /// Takes the numbers of a tensor, row-major; the tensor may be a slice of another.
    pub fn from_cube(tensor: CubeTensor) -> Self {
        assert_eq!(tensor.dtype(), DType::F32, "all tensors of these models are f32");
        let tensor = into_contiguous(tensor);
        Self { len: tensor.shape().num_elements(), handle: tensor.handle }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn launch_arg(&self) -> BufferArg {
        // SAFETY: the buffer was made with this many numbers.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.len.max(1)) }
    }
}
