//! `nnuance devices`: where models can be computed here.

use anyhow::Result;

use super::out;
use crate::model::{Adapter, Backend, Level};
use crate::report::Table;

/// List what `--device` can name on this machine
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance devices
  nnuance train configs/quickstart-net.toml --device wgpu:0")]
pub struct Args {}

pub fn run(_args: Args) -> Result<()> {
    let mut table = Table::titled(&["<--device", "<name", "<kind", "<programs"]);
    let threads = rayon::current_num_threads();
    let cpu = format!("{threads} threads");
    let cpus = [
        (Backend::Flex, Level::detect().name()),
        #[cfg(feature = "ndarray")]
        (Backend::NdArray, "plain operations"),
    ];
    for (backend, programs) in cpus {
        table.row([backend.name(), &cpu, "processor", programs].map(str::to_string));
    }
    let mut absent = Vec::new();
    for backend in [Backend::Wgpu, Backend::Vulkan] {
        let devices = backend.devices().unwrap_or_else(|error| {
            absent.push(error);
            Vec::new()
        });
        for (index, adapter) in devices.iter().filter_map(Adapter::of).enumerate() {
            let Adapter { name, kind, language } = adapter;
            let place = format!("{}:{index}", backend.name());
            table.row([place, name, kind.name().to_string(), language.to_string()]);
        }
    }
    out::line(table)?;
    absent.into_iter().try_for_each(out::line)
}
