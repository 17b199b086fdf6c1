//! `nnuance data dedup`: every position once.

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use super::io::{Inputs, Writing};
use crate::data::dedup::{Averages, Seen};

/// Keep every position once
///
/// Positions are the same if pieces, side to move, castling rights and en passant square are. About
/// 16 bytes of memory a position, up to 32 while the table grows. Averages read the files three
/// times. The output is a format of single positions.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data dedup a.bf b.bf -o once.bf
  nnuance data dedup a.bf b.bf -o once.epd --keep average")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    writing: Writing,
    /// The score and result to keep: those that come first, or their averages (most formats hold
    /// no result but 0, 0.5 and 1; epd does)
    #[arg(long, value_enum, default_value = "first")]
    keep: Keep,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Keep {
    First,
    Average,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let mut written = args.writing.create_selection(&args.inputs)?;
    let (averages, remedy) = match args.keep {
        Keep::First => (Averages::default(), ""),
        Keep::Average => (averages(&args.inputs)?, "; epd holds averages, or pass --keep first"),
    };
    let (mut seen, mut firsts, mut twice) = (Seen::default(), Vec::new(), 0);
    let mut tally = args.inputs.each("dedup", |source, block| {
        written.print_losses(source);
        seen.firsts(block, &mut firsts);
        for (sample, first) in block.iter().zip(&firsts) {
            match first {
                true => written.write_or(&averages.averaged(sample), remedy)?,
                false => twice += 1,
            }
        }
        Ok(())
    })?;
    tally.without("seen before", twice);
    written.finish(tally)
}

/// Finds what comes more than once, and sums over it.
fn averages(inputs: &Inputs) -> Result<Averages> {
    inputs.require_files("averages read three times")?;
    let (mut seen, mut averages) = (Seen::default(), Averages::default());
    let mut firsts = Vec::new();
    inputs.each("look for duplicates", |_, block| {
        seen.firsts(block, &mut firsts);
        let again = block.iter().zip(&firsts).filter(|(_, first)| !**first);
        again.for_each(|(sample, _)| averages.expect(sample));
        Ok(())
    })?;
    inputs.each("average", |_, block| {
        block.iter().for_each(|sample| averages.add(sample));
        Ok(())
    })?;
    Ok(averages)
}
