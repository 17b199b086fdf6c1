//! `nnuance verify`: a net against its manifest.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::out;
use crate::export::{self, Check};
use crate::report::Table;
use crate::run::folder::NET;
use crate::run::path::in_folder;

/// Check nets against their manifests
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance verify nets/quickstart-32.bin")]
#[command(after_help = "\
Hash, golden evaluations and the bounds of all sums are computed again. Floats
beside a net are quantised again. Losses and hashes of data are not checked.")]
pub struct Args {
    /// Nets or run folders
    #[arg(required = true, value_name = "NET")]
    nets: Vec<PathBuf>,
}

pub fn run(args: Args) -> Result<()> {
    let mut bad = Vec::new();
    for net in &args.nets {
        let mut table = Table::titled(&["<"; 3]);
        // An unreadable net must not hide the checks of the others.
        let checks = checks(net).unwrap_or_else(|error| {
            vec![Check { name: "file", passed: false, found: format!("{error:#}") }]
        });
        for Check { name, passed, found } in &checks {
            table.row([if *passed { "ok" } else { "FAIL" }, name, found]);
        }
        out::line(format!("{}\n{table}", net.display()))?;
        if checks.iter().any(|check| !check.passed) {
            bad.push(net.display().to_string());
        }
    }
    out::line("not checked: config, data, losses, float error, fitted scale, licence")?;
    let bad = bad.join(", ");
    ensure!(bad.is_empty(), "checks failed: {bad}; export again, or name another file");
    Ok(())
}

fn checks(net: &Path) -> Result<Vec<Check>> {
    Ok(export::verify(&in_folder(net, NET)?)?)
}
