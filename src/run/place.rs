//! Where and how models compute: device, vector instructions, fused or plain operations.

use anyhow::{Result, anyhow, ensure};

use crate::config::Config;
use crate::model::{Backend, Choice, Compute, Device, Level, Precision, ROOM, is_gpu};

/// A place as a user names it.
#[derive(Clone, Debug)]
pub struct Place {
    /// Of the backend, with the number of the device, or `auto`.
    pub device: String,
    /// Of the vector instructions; none: the best that are there.
    pub level: Option<String>,
    /// Whether Burn's plain operations take the place of the fused ones.
    pub plain: bool,
}

impl Default for Place {
    /// The CPU, as fast as it can.
    fn default() -> Self {
        Self { device: "flex".into(), level: None, plain: false }
    }
}

impl Place {
    /// # Errors
    /// If there is no such place here, or it cannot compute with this precision.
    pub fn open(&self, precision: Precision) -> Result<(Device, Compute)> {
        let choice = Choice::named(&self.device)?;
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

    /// The place where a run of this config computes. It names a precision for the fused operations
    /// of the processor, and one for those of GPUs; all others have 32 bits.
    ///
    /// # Errors
    /// If there is no such place here, or terms are to be tuned on a GPU.
    pub fn open_for(&self, config: &Config) -> Result<(Device, Compute)> {
        let choice = Choice::named(&self.device)?;
        if !config.is_net() && is_gpu(&choice.device()?) {
            ensure!(
                self.device == "auto",
                "handcrafted terms are tuned on the CPU, not on {}; leave `--device` out",
                self.device
            );
            return Self { device: "flex".into(), ..self.clone() }.open_for(config);
        }
        let fused = choice.backend == Backend::Flex && !self.plain;
        self.open(if fused { config.precision() } else { Precision::F32 })
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
