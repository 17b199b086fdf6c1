//! Devices that models compute on, and properties of GPUs.

use std::fmt;

use burn::tensor::Device;

use super::ops::cpu::{Precision, SimdLevel};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Burn's tensor operations, on any device.
    Plain,
    /// Our fused operations, on the device `flex`.
    Fused { level: SimdLevel, precision: Precision },
    /// Our fused operations, on a GPU.
    Gpu {
        /// Maximum bytes of a part of a batch, from the gradients of its accumulators on, and of
        /// cached lists. Larger batches are split.
        budget: usize,
    },
}

impl Compute {
    /// Returns the level of our operations on parameters; None for Burn's. On GPUs it has no
    /// effect.
    pub fn simd_level(self) -> Option<SimdLevel> {
        match self {
            Compute::Plain => None,
            Compute::Fused { level, .. } => Some(level),
            Compute::Gpu { .. } => Some(SimdLevel::Portable),
        }
    }
}

/// Backends by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Burn's pure Rust CPU backend.
    Flex,
    /// The ndarray CPU backend; deprecated by Burn since 0.22, slower than flex.
    NdArray,
    /// Any GPU through wgpu: WGSL, or SPIR-V or MSL if these are compiled in.
    Wgpu,
    Vulkan,
}

/// A value of `--device`: a backend, and one of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceChoice {
    pub backend: Backend,
    /// From 0, in the order of `nnuance devices`.
    pub index: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error(
        "unknown device {0}; expected flex, ndarray, wgpu, vulkan (with a number for further \
         GPUs, as in wgpu:1) or auto"
    )]
    Unknown(String),
    #[error(
        "nnuance was built without {0}; build it with `cargo build --release --features {0}`, or \
         use `--device flex`"
    )]
    NotBuilt(&'static str),
    #[error("the device failed: {0}; try again, or with `--device flex`")]
    Lost(String),
    #[error(
        "there is no device {name}:{index}; choose one of `nnuance devices`, install its driver, \
         or use `--device flex`"
    )]
    NoSuch { name: &'static str, index: usize },
    #[error(
        "{name}:{index} is a software emulation, whose driver crashes on SPIR-V; build with \
         `--features wgpu` alone, or use `--device flex`"
    )]
    Software { name: &'static str, index: usize },
}

words!(Backend: Flex = "flex", NdArray = "ndarray", Wgpu = "wgpu", Vulkan = "vulkan");

impl Backend {
    /// The first device, for models that are trained on it (`Device::autodiff`) or only read. Fails
    /// if the backend is not compiled in or finds no adapter.
    pub fn first_device(self) -> Result<Device, DeviceError> {
        DeviceChoice { backend: self, index: 0 }.open_device()
    }

    /// All devices, in the order in which [`DeviceChoice`] counts. Fails if the backend is not
    /// compiled in.
    pub fn list_devices(self) -> Result<Vec<Device>, DeviceError> {
        match self {
            Backend::Flex => Ok(vec![Device::flex()]),
            #[cfg(feature = "ndarray")]
            #[expect(deprecated, reason = "kept as a choice until Burn drops it")]
            Backend::NdArray => Ok(vec![Device::ndarray()]),
            #[cfg(feature = "wgpu")]
            Backend::Wgpu => Ok(Device::enumerate(burn::tensor::DeviceType::Wgpu).into_vec()),
            #[cfg(feature = "vulkan")]
            Backend::Vulkan => Ok(Device::enumerate(burn::tensor::DeviceType::Vulkan).into_vec()),
            #[allow(unreachable_patterns, reason = "with all features every backend has its arm")]
            _ => Err(DeviceError::NotBuilt(self.name())),
        }
    }
}

impl DeviceChoice {
    /// `wgpu`, `wgpu:1`, `flex`, or `auto`: the first graphics card, or the CPU if there is none.
    /// Fails if there is no such name.
    pub fn parse_name(text: &str) -> Result<Self, DeviceError> {
        if text == "auto" {
            // An integrated GPU shares the processor's memory, and need not be faster.
            let gpus = Backend::Wgpu.list_devices().unwrap_or_default();
            let card =
                gpus.iter().position(|gpu| AdapterKind::kind_of(gpu) == Some(AdapterKind::Card));
            let flex = Self { backend: Backend::Flex, index: 0 };
            return Ok(card.map_or(flex, |index| Self { backend: Backend::Wgpu, index }));
        }
        let (name, number) = text.split_once(':').unwrap_or((text, "0"));
        let choice = Backend::named(name).zip(number.parse().ok());
        let (backend, index) = choice.ok_or_else(|| DeviceError::Unknown(text.to_string()))?;
        Ok(Self { backend, index })
    }

    /// Opens the device. Fails if the backend is not compiled in or has fewer devices, and with
    /// SPIR-V for a software adapter.
    pub fn open_device(self) -> Result<Device, DeviceError> {
        let Self { backend, index } = self;
        let name = backend.name();
        let device = backend.list_devices()?.into_iter().nth(index);
        let device = device.ok_or(DeviceError::NoSuch { name, index })?;
        match AdapterKind::kind_of(&device) {
            Some(AdapterKind::Software) if cfg!(feature = "vulkan") => {
                Err(DeviceError::Software { name, index })
            }
            _ => Ok(device),
        }
    }
}

/// Whether a device computes asynchronously, and may be lost.
pub fn is_gpu(device: &Device) -> bool {
    AdapterKind::kind_of(&device.clone().inner()).is_some()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    pub name: String,
    pub kind: AdapterKind,
    pub language: &'static str,
    /// Bytes, if the driver says so.
    pub memory: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterKind {
    Card,
    Integrated,
    Software,
    Other,
}

words!(
    AdapterKind: Card = "graphics card",
    Integrated = "part of the processor",
    Software = "software",
    Other = "other"
);

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.language)
    }
}

#[cfg(not(feature = "wgpu"))]
impl AdapterKind {
    /// None: without a GPU backend no device is a GPU.
    pub fn kind_of(_: &Device) -> Option<Self> {
        None
    }
}

#[cfg(not(feature = "wgpu"))]
impl Adapter {
    /// None: without a GPU backend no device is a GPU.
    pub fn properties_of(_: &Device) -> Option<Self> {
        None
    }
}

#[cfg(feature = "wgpu")]
mod gpu {
    use burn::backend::DispatchDevice;
    use burn_cubecl::CubeDevice;
    use burn_cubecl::cubecl::device::{WgpuDevice, WgpuDeviceKind};

    use super::{Adapter, AdapterKind, Device};

    fn as_cube(device: &Device) -> Option<&CubeDevice> {
        match device.as_dispatch() {
            DispatchDevice::Cube(device) => Some(device),
            _ => None,
        }
    }

    impl AdapterKind {
        /// The kind of a device, without opening it; none unless it is a GPU.
        pub fn kind_of(device: &Device) -> Option<Self> {
            let CubeDevice::Wgpu(WgpuDevice { kind, .. }) = as_cube(device)? else { return None };
            Some(match kind {
                WgpuDeviceKind::DiscreteGpu(_) => AdapterKind::Card,
                WgpuDeviceKind::IntegratedGpu(_) => AdapterKind::Integrated,
                WgpuDeviceKind::Cpu => AdapterKind::Software,
                _ => AdapterKind::Other,
            })
        }
    }

    impl Adapter {
        /// The properties of a device, which is opened; none unless it is a GPU.
        pub fn properties_of(device: &Device) -> Option<Self> {
            let client = as_cube(device)?.client();
            Some(Adapter {
                name: client.properties().identity.name.clone(),
                kind: AdapterKind::kind_of(device)?,
                language: match client.name() {
                    "wgpu<spirv>" => "SPIR-V",
                    "wgpu<msl>" => "MSL",
                    "wgpu<wgsl>" => "WGSL",
                    name => name,
                },
                memory: client.properties().memory.max_memory(),
            })
        }
    }
}
