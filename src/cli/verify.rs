//! `nnuance verify`: a net against its manifest.

use std::path::PathBuf;

use crate::export;

/// Check a net against the manifest beside it: hash, layout, golden evaluations, overflow
///
/// Where the floats stand beside the net too, they are quantised again and compared.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  nnuance verify nets/first.bin")]
pub struct Args {
    /// The nets
    #[arg(required = true, value_name = "NET")]
    nets: Vec<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let mut failed = 0;
    for net in &args.nets {
        println!("{}", net.display());
        for check in export::verify(net, [])? {
            let word = if check.passed { "ok  " } else { "FAIL" };
            println!("  {word} {}: {}", check.name, check.found);
            failed += usize::from(!check.passed);
        }
    }
    anyhow::ensure!(failed == 0, "{failed} checks failed; export the net again");
    Ok(())
}
