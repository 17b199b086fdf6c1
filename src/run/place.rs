//! Where and how models compute: device, vector instructions, fused or plain operations.

use anyhow::{Result, anyhow, ensure};

use crate::config::Config;
use crate::model::{Backend, Compute, Device, DeviceChoice, Level, Precision, ROOM, is_gpu};

/// A place in a user's terms.
#[derive(Clone, Debug)]
pub struct Place {
    /// Name of the backend, with the number of the device, or `auto`.
    pub device: String,
    /// Name of the vector instructions; none: the best available ones.
    pub level: Option<String>,
    /// Whether Burn's plain operations replace the fused ones.
    pub plain: bool,
}

impl Default for Place {
    /// The CPU with its best instructions.
    fn default() -> Self {
        Self { device: "flex".into(), level: None, plain: false }
    }
}

impl Place {
    /// # Errors
    /// If this machine has no such place, or it cannot compute with this precision.
    pub fn open(&self, precision: Precision) -> Result<(Device, Compute)> {
        let choice = DeviceChoice::named(&self.device)?;
        let device = choice.device()?;
        let level = self.level()?;
        if choice.backend == Backend::Flex && !self.plain {
            return Ok((device, Compute::Fused { level, precision }));
        }
        if is_gpu(&device) && !self.plain {
            return Ok((device, Compute::Gpu { room: ROOM }));
        }
        ensure!(
            precision == Precision::F32,
            "mixed precision needs the fused operations of `--device flex`, or of a GPU"
        );
        Ok((device, Compute::Plain))
    }

    /// Opens the place of a run of this config, which names a precision for the fused operations of
    /// the CPU, and one for those of GPUs; all others have 32 bits.
    ///
    /// # Errors
    /// If this machine has no such place, or terms are to be tuned on a GPU.
    pub fn open_for(&self, config: &Config) -> Result<(Device, Compute)> {
        let choice = DeviceChoice::named(&self.device)?;
        if !config.is_net() && is_gpu(&choice.device()?) {
            ensure!(
                self.device == "auto",
                "handcrafted terms are tuned on the CPU, not on {}; leave `--device` out",
                self.device
            );
            return Self { device: "flex".into(), ..self.clone() }.open_for(config);
        }
        let fused = choice.backend == Backend::Flex && !self.plain;
        self.open(if fused { config.precision } else { Precision::F32 })
    }

    fn level(&self) -> Result<Level> {
        let Some(name) = &self.level else { return Ok(Level::detect()) };
        let names =
            |levels: &[Level]| levels.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
        let level = Level::named(name).ok_or_else(|| {
            anyhow!("no SIMD level is named {name}; there are {}", names(&Level::ALL))
        })?;
        ensure!(
            level.is_available(),
            "this machine lacks {name}; it has {}",
            names(&Level::available())
        );
        Ok(level)
    }
}
