//! `nnuance data extract`: positions of games that are worth learning from.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{Inputs, Writing, count};
use crate::data::extract::{Extract, Rules};
use crate::format::Holds;
use crate::sample::Sample;

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
    let mut extract = Extract::new(Rules {
        skip_plies: args.skip_plies,
        per_game: args.per_game.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
        quiet: args.quiet,
        mates: !args.no_mates,
        min_pieces: args.min_pieces,
        seed: args.seed,
    });
    let mut written = args.writing.create_selection(&args.inputs)?;
    let mut kept: Vec<Sample> = Vec::new();
    let mut tally = args.inputs.each("extract", |source, block| {
        let (path, format) = (source.path().display(), source.format());
        let facts = format.facts;
        for (option, asked, holds, fact) in [
            ("--skip-plies", args.skip_plies > 0, facts.plies, "the ply"),
            ("--quiet", args.quiet, facts.moves, "the move played"),
            ("--per-game", args.per_game.is_some(), facts.games, "games"),
        ] {
            ensure!(
                !asked || holds != Holds::Never,
                "{path}: {option} needs to know {fact}, which {} does not tell; leave it out, or \
                 extract from games",
                format.name
            );
        }
        written.print_losses(source);
        extract.push(block, &mut kept);
        kept.drain(..).try_for_each(|sample| written.write(&sample))
    })?;
    extract.finish(&mut kept);
    kept.iter().try_for_each(|sample| written.write(sample))?;
    let counts = extract.counts();
    for (reason, count) in [
        ("ply, move or game unknown", counts.unknown),
        ("too early", counts.early),
        ("too few pieces", counts.few_pieces),
        ("score of a mate", counts.mate),
        ("in check", counts.in_check),
        ("capture or promotion", counts.tactical),
        ("others of the game drawn", counts.crowded),
    ] {
        tally.without(reason, count);
    }
    written.finish(tally)
}
