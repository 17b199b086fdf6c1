//! What a GPU says of itself.

use std::fmt;

use burn::tensor::Device;

use super::device::{Backend, DeviceError};

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    pub name: String,
    pub kind: AdapterKind,
    /// What its programs are written in.
    pub language: &'static str,
    /// Bytes, where the backend tells: Vulkan does, WGSL does not.
    pub memory: Option<u64>,
    /// Bytes of a buffer, at most.
    pub largest: u64,
}

/// How a GPU is built into the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterKind {
    Card,
    Integrated,
    Virtual,
    /// A program on the CPU that behaves like a GPU.
    Software,
    Unknown,
}

impl AdapterKind {
    pub fn name(self) -> &'static str {
        match self {
            AdapterKind::Card => "graphics card",
            AdapterKind::Integrated => "part of the processor",
            AdapterKind::Virtual => "virtual",
            AdapterKind::Software => "software",
            AdapterKind::Unknown => "unknown",
        }
    }

    /// That of a device; none for one that is no GPU.
    pub fn of(device: &Device) -> Option<Self> {
        gpu::kind(device)
    }
}

impl Adapter {
    /// All GPUs that a backend finds, in the order in which `--device` counts them.
    ///
    /// # Errors
    /// If the backend is not compiled in.
    pub fn all(backend: Backend) -> Result<Vec<Self>, DeviceError> {
        let devices = backend.devices()?;
        Ok(devices.iter().filter_map(Self::of).collect())
    }

    /// What a device says of itself, which opens it; none for one that is no GPU.
    pub fn of(device: &Device) -> Option<Self> {
        gpu::adapter(device)
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.language)
    }
}

#[cfg(feature = "wgpu")]
mod gpu {
    use burn::backend::DispatchDevice;
    use burn_cubecl::CubeDevice;
    use burn_cubecl::cubecl::device::{WgpuDevice, WgpuDeviceKind};

    use super::{Adapter, AdapterKind, Device};

    fn cube(device: &Device) -> Option<&CubeDevice> {
        match device.as_dispatch() {
            DispatchDevice::Cube(device) => Some(device),
            _ => None,
        }
    }

    pub fn kind(device: &Device) -> Option<AdapterKind> {
        let CubeDevice::Wgpu(WgpuDevice { kind, .. }) = cube(device)? else { return None };
        Some(match kind {
            WgpuDeviceKind::DiscreteGpu(_) => AdapterKind::Card,
            WgpuDeviceKind::IntegratedGpu(_) => AdapterKind::Integrated,
            WgpuDeviceKind::VirtualGpu(_) => AdapterKind::Virtual,
            WgpuDeviceKind::Cpu => AdapterKind::Software,
            _ => AdapterKind::Unknown,
        })
    }

    pub fn adapter(device: &Device) -> Option<Adapter> {
        let client = cube(device)?.client();
        let properties = client.properties();
        Some(Adapter {
            name: properties.identity.name.clone(),
            kind: kind(device)?,
            language: match client.name() {
                "wgpu<spirv>" => "SPIR-V",
                "wgpu<msl>" => "MSL",
                "wgpu<wgsl>" => "WGSL",
                other => other,
            },
            memory: properties.memory.max_memory(),
            largest: properties.memory.max_page_size,
        })
    }
}

/// Without a GPU backend no device is a GPU.
#[cfg(not(feature = "wgpu"))]
mod gpu {
    use super::{Adapter, AdapterKind, Device};

    pub fn kind(_device: &Device) -> Option<AdapterKind> {
        None
    }

    pub fn adapter(_device: &Device) -> Option<Adapter> {
        None
    }
}
