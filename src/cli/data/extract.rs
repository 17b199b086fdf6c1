//! `nnuance data extract`: positions of games that are worth learning from.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{Inputs, Writing, count};
use crate::data::extract::Extract;
use crate::format::Holds;
use crate::loader::{Filter, Rejected};
use crate::sample::Sample;

/// Scores this far from zero or farther are mates.
const MATE: u16 = 31_000;

/// Choose positions from games: PGN, viriformat, binpack
///
/// Neighbouring positions of a game share its result and are nearly the same, so a few of each
/// game teach about as much as all. The choice depends on a game's moves and the seed alone. The
/// output is a format of single positions; .epd holds those without a score.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data extract games.pgn -o positions.epd --skip-plies 16 --per-game 10 --quiet")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    writing: Writing,
    /// The first half-moves of each game that are left out
    #[arg(long, value_name = "N", default_value = "0")]
    skip_plies: u16,
    /// Positions of each game at most, spread over it [default: all]
    #[arg(long, value_name = "N", value_parser = count)]
    per_game: Option<u64>,
    /// Only where the side to move is not in check and plays neither capture nor promotion
    #[arg(long)]
    quiet: bool,
    /// Leave out positions with the score of a mate
    #[arg(long)]
    no_mates: bool,
    /// Pieces at least, kings included
    #[arg(long, alias = "min-men", value_name = "N", default_value = "0")]
    min_pieces: usize,
    /// Seed of what is drawn from games with more positions than wanted
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let filter = Filter {
        min_ply: (args.skip_plies > 0).then_some(args.skip_plies),
        skip_in_check: args.quiet,
        skip_captures: args.quiet,
        skip_promotions: args.quiet,
        max_score: args.no_mates.then_some(MATE - 1),
        min_pieces: (args.min_pieces > 0).then_some(args.min_pieces),
        max_pieces: None,
    };
    let mut written = args.writing.create_selection(&args.inputs)?;
    let per_game = args.per_game.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    let mut extract = Extract::new(per_game, args.seed);
    let (mut rejected, mut drawn) = (Rejected::default(), Vec::<Sample>::new());
    let mut tally = args.inputs.each("extract", |source, block| {
        filter.check(source.path(), source.format())?;
        ensure!(
            per_game.is_none() || source.format().facts.games != Holds::Never,
            "{}: --per-game needs to know games, which {} does not tell; extract from games",
            source.path().display(),
            source.format().name
        );
        written.print_losses(source);
        for sample in block {
            match filter.rejects(sample) {
                Some(rejection) => rejected.count(rejection),
                None => extract.push(sample, &mut drawn),
            }
        }
        drawn.drain(..).try_for_each(|sample| written.write(&sample))
    })?;
    extract.finish(&mut drawn);
    drawn.iter().try_for_each(|sample| written.write(sample))?;
    rejected.counts().for_each(|(key, count)| tally.without(key, count));
    tally.without("others of the game drawn", extract.left_out);
    written.finish(tally)
}
