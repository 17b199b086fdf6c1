//! Where and how models compute, as options.

use std::sync::Once;

use anyhow::Result;

use super::cards;
use crate::model::{Compute, Device, Precision};
use crate::run;

/// What `--device` says where the device is to be found.
const AUTO: &str = "auto";

/// Options of all commands that compute with floats.
#[derive(clap::Args)]
#[command(next_help_heading = "Where to compute")]
pub struct Place {
    /// flex (CPU), ndarray (CPU, slow), wgpu or vulkan (GPUs, wgpu:1 the second one), or auto: the
    /// first graphics card, else flex
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
    pub fn named(&self) -> run::Place {
        let Self { device, simd, plain } = self;
        static SAID: Once = Once::new();
        if device == AUTO {
            SAID.call_once(|| {
                if let Some(why) = cards::why_none() {
                    eprintln!("--device auto is the CPU: {why}");
                }
            });
        }
        run::Place { device: device.clone(), level: simd.clone(), plain: *plain }
    }

    pub fn open(&self, precision: Precision) -> Result<(Device, Compute)> {
        self.named().open(precision)
    }
}
