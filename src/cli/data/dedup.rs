//! `nnuance data dedup`: every position once.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use super::io::{Inputs, Writing};
use crate::data::dedup::{Averages, Seen};

/// Keep every position once
///
/// Positions are the same if pieces, side to move, castling rights and en passant square are. About
/// 16 bytes of memory a position, up to 32 while the table grows. Averages read the files three
/// times. In viriformat and PGN games stay whole, and positions that came before are marked in them.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data dedup a.bf b.bf -o once.bf
  nnuance data dedup a.bf b.bf -o once.epd --keep average")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// The file to write
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
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
    let mut written = args.writing.create(&args.output, &args.inputs)?.with_gaps();
    if args.keep == Keep::Average {
        written = written.without_games("averages are not results of games".to_string());
    }
    let averages = match args.keep {
        Keep::First => Averages::default(),
        Keep::Average => averages(&args.inputs)?,
    };
    let (mut seen, mut firsts, mut twice) = (Seen::default(), Vec::new(), 0);
    let mut tally = args.inputs.each_of_games("dedup", |source, block| {
        written.tell_losses(source);
        seen.firsts(block, &mut firsts);
        for (sample, first) in block.iter().zip(&firsts) {
            if !first {
                twice += u64::from(!sample.is_left_out());
                written.leave_out(sample)?;
                continue;
            }
            let cure = match args.keep {
                Keep::First => "",
                Keep::Average => "; epd holds averages, or pass --keep first",
            };
            written.write_or(&averages.averaged(sample), cure)?;
        }
        Ok(())
    })?;
    tally.without("seen before", twice);
    written.finish(tally)
}

/// Finds what comes more than once, and sums over it.
fn averages(inputs: &Inputs) -> Result<Averages> {
    inputs.refuse_pipe("averages read three times")?;
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
