//! A GPU by itself, see `model::Probe`.

use burn::backend::DispatchDevice;
use burn::tensor::Device;

use super::gpu::{Buffer, Gpu};
use crate::model::probe::Limits;

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
        self.gpu.copy(&self.from, &self.to, 0);
    }

    pub fn upload(&self, words: Vec<u32>) {
        self.gpu.words(words);
    }

    pub fn copy(&self) {
        self.gpu.copy(&self.from, &self.to, self.words);
    }
}
