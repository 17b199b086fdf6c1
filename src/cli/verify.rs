//! `nnuance verify`: checks of nets against their manifests.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::out;
use crate::export::{self, Check};
use crate::report::TextTable;
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
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct VerifiedNet {
    net: PathBuf,
    checks: Vec<Check>,
}

pub fn run_command(args: Args) -> Result<()> {
    // An unreadable net must not hide the checks of other nets.
    let verify = |net: &PathBuf| {
        let checks = in_folder(net, NET).and_then(|net| Ok(export::verify_net(&net)?));
        let checks = checks.unwrap_or_else(|error| {
            vec![Check { name: "file", passed: false, found: format!("{error:#}") }]
        });
        VerifiedNet { net: net.clone(), checks }
    };
    let verified: Vec<VerifiedNet> = args.nets.iter().map(verify).collect();
    let tables: String = verified.iter().map(format_checks).collect();
    let text = tables + "not checked: config, data, losses, float error, fitted scale, licence";
    out::print_result(args.json, &verified, text)?;
    let failed = verified.iter().filter(|it| it.checks.iter().any(|check| !check.passed));
    let names = failed.map(|it| it.net.display().to_string()).collect::<Vec<_>>().join(", ");
    ensure!(names.is_empty(), "checks failed: {names}; export again, or name another file");
    Ok(())
}

fn format_checks(VerifiedNet { net, checks }: &VerifiedNet) -> String {
    let mut table = TextTable::with_titles(&["<"; 3]);
    for Check { name, passed, found } in checks {
        table.add_row([if *passed { "ok" } else { "FAIL" }, name, found]);
    }
    format!("{}\n{table}\n", net.display())
}
