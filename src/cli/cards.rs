//! Why `--device auto` takes no graphics card.

use std::path::Path;

use crate::input;
use crate::model::{AdapterKind, Backend};

/// Who makes graphics processors, by the numbers of the PCI bus.
const MAKERS: [(&str, &str); 3] = [("0x10de", "NVIDIA"), ("0x1002", "AMD"), ("0x8086", "Intel")];

/// Where Linux shows what is on the bus.
const BUS: &str = "/sys/bus/pci/devices";

/// Why `auto` takes no graphics card; none where it takes one.
pub fn why_none() -> Option<String> {
    let Ok(kinds) = Backend::Wgpu.kinds() else {
        return Some("this nnuance was built without `--features wgpu`".to_string());
    };
    if kinds.contains(&AdapterKind::Card) {
        return None;
    }
    let makers = makers(Path::new(BUS));
    let found: Vec<String> = kinds
        .iter()
        .enumerate()
        .map(|(index, kind)| format!("wgpu:{index} ({})", kind.name()))
        .collect();
    // Hardware of the others may be the part of a processor that has just been found.
    let only_software = kinds.iter().all(|kind| *kind == AdapterKind::Software);
    let silent = makers.into_iter().find(|maker| *maker == "NVIDIA" || only_software);
    let driver = silent.map_or(String::new(), |maker| {
        format!("; {maker}'s hardware is there without a Vulkan driver: install it")
    });
    Some(match &found[..] {
        [] => format!("no graphics adapter was found{driver}"),
        _ => format!(
            "only graphics cards are taken unasked, and there is {}, which `--device` can \
             name{driver}",
            found.join(", ")
        ),
    })
}

/// The makers of the graphics processors on the bus, where the system tells.
fn makers(bus: &Path) -> Vec<&'static str> {
    let Ok(entries) = bus.read_dir() else { return Vec::new() };
    let maker = |folder: &Path| {
        let word = |name: &str| input::text(&folder.join(name), input::TEXT).ok();
        // Displays have the class 3.
        word("class").filter(|class| class.starts_with("0x03"))?;
        let vendor = word("vendor")?;
        MAKERS.iter().find(|(number, _)| *number == vendor.trim()).map(|(_, name)| *name)
    };
    entries.flatten().filter_map(|entry| maker(&entry.path())).collect()
}
