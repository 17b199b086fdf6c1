//! A GPU by itself, see `model::Probe`.

use burn::backend::DispatchDevice;
use burn::tensor::Device;
use burn_cubecl::cubecl;
use cubecl::prelude::*;

use super::form::grid;
use super::gpu::{Buffer, Gpu};
use crate::model::probe::Limits;

/// Units of a cube.
const UNITS: usize = 256;

pub struct Probe {
    gpu: Gpu,
    from: Buffer,
    to: Buffer,
    words: usize,
}

impl Probe {
    pub fn new(device: &Device, words: usize) -> Option<Self> {
        let DispatchDevice::Cube(device) = device.as_dispatch() else { return None };
        let gpu = Gpu { client: device.client(), device: device.clone() };
        let (from, to) = (gpu.words(vec![1; words]), gpu.empty(words));
        Some(Self { gpu, from, to, words })
    }

    pub fn limits(&self) -> Limits {
        let properties = self.gpu.client.properties();
        let hardware = &properties.hardware;
        Limits {
            units: hardware.max_units_per_cube,
            shared_memory: hardware.max_shared_memory_size,
            buffers: hardware.max_bindings,
            planes: [hardware.plane_size_min, hardware.plane_size_max],
            cache: hardware.last_level_cache_size,
            processors: hardware.num_streaming_multiprocessors,
            target: properties.identity.fingerprint.clone(),
        }
    }

    pub fn launch(&self) {
        self.run(0);
    }

    pub fn upload(&self, words: Vec<u32>) {
        self.gpu.words(words);
    }

    pub fn copy(&self) {
        self.run(self.words);
    }

    /// Copies so many words.
    fn run(&self, words: usize) {
        // SAFETY: neither array has fewer words.
        unsafe {
            copy::launch_unchecked(
                &self.gpu.client,
                grid(words.div_ceil(UNITS)),
                CubeDim::new_1d(UNITS as u32),
                self.from.arg(),
                self.to.arg(),
                words as u32,
            );
        }
    }
}

#[cube(launch_unchecked)]
fn copy(from: &[u32], to: &mut [u32], words: u32) {
    let i = CUBE_POS * UNITS + UNIT_POS_X as usize;
    if i < words as usize {
        to[i] = from[i];
    }
}
