//! `nnuance verify`: a net against its manifest.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::out;
use crate::export::{self, Check};
use crate::run::folder::NET;
use crate::run::path::in_folder;

/// Check a net against the manifest beside it: hash, golden evaluations, overflow
///
/// Where the floats stand beside the net too, they are quantised again and compared. What nothing
/// here can bear out, such as losses and the hashes of data, is named as not checked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  nnuance verify nets/quickstart-32.bin")]
pub struct Args {
    /// The nets, or run folders for their net.bin
    #[arg(required = true, value_name = "NET")]
    nets: Vec<PathBuf>,
}

pub fn run(args: Args) -> Result<()> {
    let mut failed = 0;
    let mut bad = Vec::new();
    for net in &args.nets {
        out::line(net.display())?;
        let before = failed;
        // A net that cannot be read must not hide what is to be said of the others.
        match checks(net) {
            Ok(checks) => {
                for Check { name, passed, found } in checks {
                    let word = if passed { "ok  " } else { "FAIL" };
                    out::line(format_args!("  {word} {name}: {found}"))?;
                    failed += usize::from(!passed);
                }
                out::line(
                    "  not checked: config, data, losses, float error, fitted scale, licence",
                )?;
            }
            Err(error) => {
                out::line(format_args!("  FAIL {error:#}"))?;
                failed += 1;
            }
        }
        if failed > before {
            bad.push(net.display().to_string());
        }
    }
    let checks = if failed == 1 { "check" } else { "checks" };
    let bad = bad.join(", ");
    ensure!(failed == 0, "{failed} {checks} failed: {bad}; export again, or name another file");
    Ok(())
}

fn checks(net: &Path) -> Result<Vec<Check>> {
    Ok(export::verify(&in_folder(net, NET)?)?)
}
