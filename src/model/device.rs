//! Devices that models compute on, and properties of GPUs.

use std::fmt;

use burn::tensor::Device;

/// The backends by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Burn's pure Rust CPU backend.
    Flex,
    /// The ndarray CPU backend; deprecated by Burn since 0.22, slower than flex.
    NdArray,
    /// Any GPU through wgpu: WGSL, or SPIR-V or MSL where these are built in.
    Wgpu,
    /// GPUs through Vulkan (SPIR-V).
    Vulkan,
}

/// A value of `--device`: a backend, and one of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub backend: Backend,
    /// From 0, as `nnuance devices` counts.
    pub index: usize,
}

/// Reasons why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error(
        "no device is named {0}; there are flex, ndarray, wgpu and vulkan, the GPUs with a number \
         where there are several (wgpu:1), and auto"
    )]
    Unknown(String),
    #[error(
        "this nnuance was built without {0}; build it with `cargo build --release --features {0}`, \
         or train with `--device flex`"
    )]
    NotBuilt(&'static str),
    #[error("the device failed: {0}; try again, or with `--device flex`")]
    Lost(String),
    #[error(
        "no graphics adapter was found for {0}; install its driver, or train with `--device flex`"
    )]
    NoAdapter(&'static str),
    #[error(
        "there is no {name}:{index}; `nnuance devices` lists those from {name}:0 to {name}:{last}"
    )]
    NoSuch { name: &'static str, index: usize, last: usize },
    #[error(
        "{name}:{index} is a program on the processor, whose driver crashes on SPIR-V, and this \
         nnuance sends that; build one with `--features wgpu` alone, or train with `--device flex`"
    )]
    Software { name: &'static str, index: usize },
    #[error(
        "training needs {needs} MiB of {what} on {name}, which has {has} MiB; choose a smaller batch \
         or net, or train with `--device flex`"
    )]
    TooSmall { what: &'static str, name: String, has: u64, needs: u64 },
}

impl Backend {
    pub const ALL: [Backend; 4] = [Backend::Flex, Backend::NdArray, Backend::Wgpu, Backend::Vulkan];

    pub fn name(self) -> &'static str {
        match self {
            Backend::Flex => "flex",
            Backend::NdArray => "ndarray",
            Backend::Wgpu => "wgpu",
            Backend::Vulkan => "vulkan",
        }
    }

    pub fn named(name: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown(name.to_string());
        Self::ALL.into_iter().find(|backend| backend.name() == name).ok_or_else(unknown)
    }

    /// The first device, for models that are trained on it (`Device::autodiff`) or only read.
    ///
    /// # Errors
    /// If the backend is not compiled in or finds no adapter.
    pub fn device(self) -> Result<Device, DeviceError> {
        Choice { backend: self, index: 0 }.device()
    }

    /// All devices, in the order in which [`Choice`] counts.
    ///
    /// # Errors
    /// If the backend is not compiled in.
    pub fn devices(self) -> Result<Vec<Device>, DeviceError> {
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

    /// How the GPUs of [`Backend::devices`] are built into the machine; none of them is opened.
    ///
    /// # Errors
    /// If the backend is not compiled in.
    pub fn kinds(self) -> Result<Vec<AdapterKind>, DeviceError> {
        Ok(self.devices()?.iter().filter_map(AdapterKind::of).collect())
    }
}

impl Choice {
    /// `wgpu`, `wgpu:1`, `flex`, or `auto`: the first graphics card, and the CPU where there is none.
    ///
    /// # Errors
    /// If there is no such name.
    pub fn named(text: &str) -> Result<Self, DeviceError> {
        if text == "auto" {
            return Ok(Self::auto());
        }
        let Some((name, number)) = text.split_once(':') else {
            return Ok(Self { backend: Backend::named(text)?, index: 0 });
        };
        let unknown = |_| DeviceError::Unknown(text.to_string());
        Ok(Self { backend: Backend::named(name)?, index: number.parse().map_err(unknown)? })
    }

    fn auto() -> Self {
        Self::among(&Backend::Wgpu.kinds().unwrap_or_default())
    }

    /// The choice of `auto` among GPUs of these kinds: the first graphics card. A GPU that is part of
    /// the processor shares its memory with it, and need not be faster.
    pub fn among(gpus: &[AdapterKind]) -> Self {
        match gpus.iter().position(|kind| *kind == AdapterKind::Card) {
            Some(index) => Self { backend: Backend::Wgpu, index },
            None => Self { backend: Backend::Flex, index: 0 },
        }
    }

    /// The device.
    ///
    /// # Errors
    /// If the backend is not compiled in, finds no adapter, or has fewer of them; SPIR-V for an
    /// adapter in software.
    pub fn device(self) -> Result<Device, DeviceError> {
        let Self { backend, index } = self;
        let devices = backend.devices()?;
        let last = devices.len().checked_sub(1).ok_or(DeviceError::NoAdapter(backend.name()))?;
        let no_such = DeviceError::NoSuch { name: backend.name(), index, last };
        let device = devices.into_iter().nth(index).ok_or(no_such)?;
        match AdapterKind::of(&device) {
            Some(AdapterKind::Software) if cfg!(feature = "vulkan") => {
                Err(DeviceError::Software { name: backend.name(), index })
            }
            _ => Ok(device),
        }
    }
}

/// Whether a device computes asynchronously, and may be lost.
pub fn is_gpu(device: &Device) -> bool {
    AdapterKind::of(&device.clone().inner()).is_some()
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    pub name: String,
    pub kind: AdapterKind,
    /// The language of its programs.
    pub language: &'static str,
    /// Bytes, where the backend reports it: Vulkan does, WGSL does not.
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

    /// The kind of a device; none for one that is no GPU.
    #[cfg(feature = "wgpu")]
    pub fn of(device: &Device) -> Option<Self> {
        gpu::kind(device)
    }

    /// None: without a GPU backend no device is a GPU.
    #[cfg(not(feature = "wgpu"))]
    pub fn of(_: &Device) -> Option<Self> {
        None
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

    /// The properties of a device, which opens it; none for one that is no GPU.
    #[cfg(feature = "wgpu")]
    pub fn of(device: &Device) -> Option<Self> {
        gpu::adapter(device)
    }

    #[cfg(not(feature = "wgpu"))]
    pub fn of(_: &Device) -> Option<Self> {
        None
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
