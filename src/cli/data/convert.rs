//! `nnuance data convert`: positions in another format.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::io::{Inputs, Writing};
use crate::data::carry;

/// Write positions in another format
///
/// Scores and results are turned to whoever sees them there. What the other format does not hold
/// is said first.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data convert games.pgn -o games.vf.zst
  nnuance data convert lines.epd --point-of-view side-to-move -o lines.bf --skip-unfit")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// The file to write; .gz, .zst or .xz at its end packs it
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    writing: Writing,
    /// Skip positions that the format cannot hold, such as those without a score
    #[arg(long)]
    skip_unfit: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let mut written = args.writing.create(&args.output, &args.inputs)?;
    if args.skip_unfit {
        written = written.with_gaps();
    }
    let format = written.format;
    let mut scratch = Vec::new();
    let mut unfit = 0;
    let mut tally = args.inputs.each_of_games("convert", |source, block| {
        written.tell_losses(source);
        for sample in block {
            if sample.is_left_out() {
                written.leave_out(sample)?;
            } else if args.skip_unfit && carry::fits(sample, format, &mut scratch).is_err() {
                unfit += 1;
                written.leave_out(sample)?;
            } else {
                let cure = "; or leave out what does not fit with --skip-unfit";
                written.write_or(sample, cure)?;
            }
        }
        Ok(())
    })?;
    tally.without(format!("unfit for {}", format.name), unfit);
    written.finish(tally)
}
