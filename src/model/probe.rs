//! A GPU by itself, for whoever times it.

use burn::tensor::Device;
use serde::Serialize;

/// What a GPU says of its limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Units of a cube.
    pub units: u32,
    /// Bytes that a cube shares.
    pub shared_memory: usize,
    /// Buffers of a kernel.
    pub buffers: u32,
    /// Units that work in step, the fewest and the most.
    pub planes: [u32; 2],
    /// Bytes of its last cache, and its processors, where it tells.
    pub cache: Option<usize>,
    pub processors: Option<u32>,
    /// What its programs are compiled for.
    pub target: String,
}

/// Two arrays on a GPU, and what can be done with them. The GPU is told, and not waited for.
pub struct Probe(gpu::Probe);

impl Probe {
    /// With so many words in each array, one at least; none on a device that is no GPU.
    pub fn new(device: &Device, words: usize) -> Option<Self> {
        gpu::Probe::new(device, words.max(1)).map(Self)
    }

    pub fn limits(&self) -> Limits {
        self.0.limits()
    }

    /// A kernel that does nothing.
    pub fn launch(&self) {
        self.0.launch();
    }

    /// Words from the processor.
    pub fn upload(&self, words: Vec<u32>) {
        self.0.upload(words);
    }

    /// One array into the other, on the device.
    pub fn copy(&self) {
        self.0.copy();
    }
}

#[cfg(feature = "wgpu")]
use super::ops::probe as gpu;

/// Without a GPU backend no device is a GPU.
#[cfg(not(feature = "wgpu"))]
mod gpu {
    use super::{Device, Limits};

    pub enum Probe {}

    impl Probe {
        pub fn new(_device: &Device, _words: usize) -> Option<Self> {
            None
        }

        pub fn limits(&self) -> Limits {
            match *self {}
        }

        pub fn launch(&self) {
            match *self {}
        }

        pub fn upload(&self, _words: Vec<u32>) {
            match *self {}
        }

        pub fn copy(&self) {
            match *self {}
        }
    }
}
