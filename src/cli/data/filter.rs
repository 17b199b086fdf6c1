//! `nnuance data filter`: leave out what is not worth learning from.

use std::process::ExitCode;

use anyhow::Result;

use super::io::{Inputs, Writing};
use crate::loader::{Filter, Rejected};

/// Leave out positions, by the keys of [data.filter] in configs
///
/// A key that asks for a fact which the format never tells is refused. The output is a format of
/// single positions.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data filter games.vf -o quiet.bf --min-ply 16 --min-pieces 4 --skip-in-check \\
      --skip-captures --skip-promotions --max-score 10000")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    keys: FilterKeys,
}

/// The keys of [data.filter] in configs.
#[derive(clap::Args)]
#[command(next_help_heading = "Positions to skip")]
pub struct FilterKeys {
    /// Half-moves since the start of the game, at least
    #[arg(long, value_name = "N")]
    min_ply: Option<u16>,
    /// Pieces at least, kings included
    #[arg(long, alias = "min-men", value_name = "N")]
    min_pieces: Option<usize>,
    /// Pieces at most, kings included
    #[arg(long, alias = "max-men", value_name = "N")]
    max_pieces: Option<usize>,
    /// The largest |score| in centipawns
    #[arg(long, value_name = "CP")]
    max_score: Option<u16>,
    /// Leave out positions whose side to move is in check
    #[arg(long)]
    skip_in_check: bool,
    /// Leave out positions in which a capture was played
    #[arg(long)]
    skip_captures: bool,
    /// Leave out positions in which a promotion was played
    #[arg(long)]
    skip_promotions: bool,
}

impl FilterKeys {
    /// The filter, if a key was given.
    pub fn given(&self) -> Option<Filter> {
        let filter = self.filter();
        (filter != Filter::default()).then_some(filter)
    }

    fn filter(&self) -> Filter {
        Filter {
            min_ply: self.min_ply,
            skip_in_check: self.skip_in_check,
            skip_captures: self.skip_captures,
            skip_promotions: self.skip_promotions,
            max_score: self.max_score,
            min_pieces: self.min_pieces,
            max_pieces: self.max_pieces,
        }
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let filter = args.keys.filter();
    let mut written = args.writing.create_selection(&args.inputs)?;
    let mut rejected = Rejected::default();
    let mut tally = args.inputs.each("filter", |source, block| {
        filter.check(source.path(), source.format())?;
        written.print_losses(source);
        for sample in block {
            match filter.rejects(sample) {
                Some(rejection) => rejected.count(rejection),
                None => written.write(sample)?,
            }
        }
        Ok(())
    })?;
    for (key, count) in rejected.counts() {
        tally.without(key, count);
    }
    written.finish(tally)
}
