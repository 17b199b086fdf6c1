//! Where a model computes.

use burn::tensor::Device;

/// The backends by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Burn's pure Rust CPU backend.
    Flex,
    /// The ndarray CPU backend; deprecated by Burn since 0.22, slower than flex.
    NdArray,
    /// Any GPU through wgpu (WGSL).
    Wgpu,
    /// GPUs through Vulkan (SPIR-V).
    Vulkan,
}

/// Why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("no device is named {0}; there are flex, ndarray, wgpu and vulkan")]
    Unknown(String),
    #[error(
        "this nnuance was built without {0}; build it with `cargo build --release --features {0}`, \
         or train with `--device flex`"
    )]
    NotBuilt(&'static str),
    #[error(
        "no graphics adapter was found for {0}; install its driver, or train with `--device flex`"
    )]
    NoAdapter(&'static str),
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

    /// The device, for models that are trained on it (`Device::autodiff`) or only read.
    ///
    /// # Errors
    /// If the backend is not compiled in or finds no adapter.
    pub fn device(self) -> Result<Device, DeviceError> {
        match self {
            Backend::Flex => Ok(Device::flex()),
            #[expect(deprecated, reason = "kept as a choice until Burn drops it")]
            Backend::NdArray => Ok(Device::ndarray()),
            #[cfg(feature = "wgpu")]
            Backend::Wgpu => first(burn::tensor::DeviceType::Wgpu, self.name()),
            #[cfg(feature = "vulkan")]
            Backend::Vulkan => first(burn::tensor::DeviceType::Vulkan, self.name()),
            #[allow(unreachable_patterns, reason = "with all features every backend has its arm")]
            _ => Err(DeviceError::NotBuilt(self.name())),
        }
    }
}

/// The first adapter. Asking for a default one where there is none would panic.
#[cfg(feature = "wgpu")]
fn first(kind: burn::tensor::DeviceType, name: &'static str) -> Result<Device, DeviceError> {
    let mut devices = Device::enumerate(kind).into_vec().into_iter();
    devices.next().ok_or(DeviceError::NoAdapter(name))
}
