//! `nnuance devices`: where models can be computed here.

use anyhow::Result;

use super::out;
use crate::model::{Adapter, Backend, DeviceError, Level};
use crate::report::Table;

/// List what `--device` can name on this machine
///
/// The memory of a graphics card is known to nnuance where Vulkan tells it; a net whose training
/// does not fit there is refused before it starts.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance devices
  nnuance train configs/quickstart-net.toml --device wgpu:0")]
pub struct Args {}

pub fn run(_args: Args) -> Result<()> {
    let mut table =
        Table::titled(&["<--device", "<name", "<kind", "<programs", "memory", "a buffer, at most"]);
    let threads = rayon::current_num_threads();
    let cpu = format!("{threads} threads");
    let cpus = [
        (Backend::Flex, Level::detect().name()),
        #[cfg(feature = "ndarray")]
        (Backend::NdArray, "plain operations"),
    ];
    for (backend, programs) in cpus {
        table.row([backend.name(), &cpu, "processor", programs, "", ""].map(str::to_string));
    }
    let mut absent = Vec::new();
    for backend in [Backend::Wgpu, Backend::Vulkan] {
        let adapters = match Adapter::all(backend) {
            Ok(adapters) if adapters.is_empty() => {
                absent.push(DeviceError::NoAdapter(backend.name()));
                adapters
            }
            Ok(adapters) => adapters,
            Err(error) => {
                absent.push(error);
                Vec::new()
            }
        };
        for (index, adapter) in adapters.into_iter().enumerate() {
            let Adapter { name, kind, language, memory, largest } = adapter;
            table.row([
                format!("{}:{index}", backend.name()),
                name,
                kind.name().to_string(),
                language.to_string(),
                memory.map_or("not told".to_string(), mebibytes),
                mebibytes(largest),
            ]);
        }
    }
    out::line(table)?;
    absent.into_iter().try_for_each(out::line)
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
