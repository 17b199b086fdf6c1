//! `nnuance devices`: the devices of this machine on which models can be computed.

use anyhow::Result;

use super::out;
use crate::digits::format_gigabytes;
use crate::model::{Adapter, Backend, SimdLevel};
use crate::report::TextTable;

/// List what `--device` can name on this machine
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance devices
  nnuance train configs/quickstart-net.toml --device wgpu:0")]
pub struct Args {}

pub fn run_command(_args: Args) -> Result<()> {
    let mut table = TextTable::with_titles(&["<--device", "<name", "<kind", "<programs"]);
    let threads = rayon::current_num_threads();
    let cpu = format!("{threads} threads");
    let cpus = [
        (Backend::Flex, SimdLevel::detect_fastest().name()),
        #[cfg(feature = "ndarray")]
        (Backend::NdArray, "plain operations"),
    ];
    for (backend, programs) in cpus {
        table.add_row([backend.name(), &cpu, "processor", programs].map(str::to_string));
    }
    for backend in [Backend::Wgpu, Backend::Vulkan] {
        let name = backend.name();
        let devices = backend.list_devices();
        match &devices {
            Err(_) => {
                let remedy = format!("build with --features {name}");
                table.add_row([name, "not in this build", "", &remedy]);
            }
            Ok(devices) if devices.is_empty() => table.add_row([name, "no driver found"]),
            Ok(_) => {}
        }
        let adapters = devices.iter().flatten().filter_map(Adapter::properties_of).enumerate();
        for (index, Adapter { name: adapter, kind, language, memory }) in adapters {
            let memory = memory.map(|bytes| format!(", {}", format_gigabytes(bytes)));
            let kind = format!("{}{}", kind.name(), memory.unwrap_or_default());
            table.add_row([&format!("{name}:{index}"), &adapter, &kind, language]);
        }
    }
    out::print_line(table.to_string().trim_end())
}
