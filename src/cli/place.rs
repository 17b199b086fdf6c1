//! Where and how models compute: device, vector instructions, fused or plain operations.

use anyhow::{Result, anyhow, ensure};

use crate::model::{Backend, Choice, Compute, Device, Level, Precision, ROOM, is_gpu};

/// Options of all commands that compute with floats.
#[derive(clap::Args)]
#[command(next_help_heading = "Where to compute")]
pub struct Place {
    /// flex (CPU), ndarray (CPU, slow), wgpu or vulkan (GPUs, wgpu:1 the second one), or auto: the
    /// first GPU, else flex
    #[arg(long, default_value = "flex", value_name = "NAME")]
    device: String,
    /// Vector instructions: avx512, avx2, neon or portable [default: the best that is there]
    #[arg(long, env = "NNUANCE_SIMD", value_name = "LEVEL")]
    simd: Option<String>,
    /// Burn's plain tensor operations instead of the fused ones
    #[arg(long)]
    plain: bool,
}

impl Place {
    pub fn open(&self, precision: Precision) -> Result<(Device, Compute)> {
        let choice = Choice::named(&self.device)?;
        let device = choice.device()?;
        let level = self.level()?;
        if choice.backend == Backend::Flex && !self.plain {
            return Ok((device, Compute::Fused { level, precision }));
        }
        ensure!(
            precision == Precision::F32,
            "`model.precision = \"mixed\"` needs the fused operations of `--device flex`"
        );
        let compute = match is_gpu(&device) && !self.plain {
            true => Compute::Gpu { room: ROOM },
            false => Compute::Plain,
        };
        Ok((device, compute))
    }

    fn level(&self) -> Result<Level> {
        let Some(name) = &self.simd else { return Ok(Level::detect()) };
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
