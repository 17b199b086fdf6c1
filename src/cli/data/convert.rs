//! `nnuance data convert`: positions in another format.

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
    #[command(flatten)]
    writing: Writing,
    /// Skip positions that the format cannot hold, such as those without a score; not with formats
    /// of games
    #[arg(long)]
    skip_unfit: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let mut written = match args.skip_unfit {
        true => args.writing.create_selection(&args.inputs)?,
        false => args.writing.create(&args.inputs)?,
    };
    let format = written.format;
    let remedy = "; or leave out what does not fit with --skip-unfit";
    let (mut scratch, mut unfit) = (Vec::new(), 0);
    let mut tally = args.inputs.each("convert", |source, block| {
        written.print_losses(source);
        for sample in block {
            if args.skip_unfit && carry::fits(sample, format, &mut scratch).is_err() {
                unfit += 1;
            } else {
                written.write_or(sample, remedy)?;
            }
        }
        Ok(())
    })?;
    tally.without(format!("unfit for {}", format.name), unfit);
    written.finish(tally)
}
