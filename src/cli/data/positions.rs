//! `nnuance data label` and `selfplay`: positions and games of players.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use super::engine::{Engines, Search, make};
use super::io::Writing;
use crate::cli::options::{Beginning, Rules};
use crate::engine::{JobPart, PositionsJob, SelfplayJob, positions, selfplay};
use crate::format::Source;
use crate::input;

/// Let an engine, or an evaluation of your own, score positions
///
/// Each position gets the score that it finds; results and order are kept. A run that was
/// stopped or killed goes on where it was when the same command is given again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance data label data/selfplay_sf151_quiet.epd --nodes 5000 -o labelled.txt
  nnuance data label games.vf --with nets/quickstart-32.bin --nodes 5000 -o labelled.vf")]
pub struct Label {
    /// Positions in any format, with results
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    search: Search,
    /// Search a part of the positions alone, such as 2/3; the files of all parts, one after the other,
    /// are those of the whole
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: JobPart,
    /// So many bad records of the input may be left out
    #[arg(long, value_name = "N", default_value_t = 0)]
    bad_records: u64,
    #[command(flatten)]
    engines: Engines,
}

pub fn label(args: Label) -> Result<ExitCode> {
    // A resumed job reads it again.
    let failed = || format!("cannot read {}", args.input.display());
    input::regular(&args.input).with_context(failed)?;
    // Reading is a thousand times faster than searching.
    let mut source = Source::open(&args.input, None, args.bad_records)?;
    let (mut block, mut count) = (Vec::new(), 0);
    while source.next_block(&mut block)? {
        count += block.len() as u64;
        block.clear();
    }
    let job = PositionsJob {
        output: args.writing.output.clone(),
        format: args.writing.format(&args.writing.output)?,
        limit: args.search.limit(&args.engines)?,
        crew: args.engines.crew()?,
        range: args.part.range(count),
        bad_records: args.bad_records,
        input: args.input,
    };
    let total = job.range.end - job.range.start;
    make(&args.writing, (total, "positions"), Some(&job.input), |watch| positions(&job, watch))
}

/// Let an engine, or an evaluation of your own, play games against itself
///
/// Every move is written with its score, and every game with its result. Games are functions of
/// the seed and their number. A run that was stopped or killed goes on where it was when the same
/// command is given again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance data selfplay --games 10000 --nodes 5000 -o games.vf
  nnuance data selfplay --with runs/first --games 10000 --soft-nodes 5000 -o games.vf")]
pub struct Selfplay {
    /// How many games
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// Play a part of the games alone, such as 2/3; the files of all parts, one after the other, are
    /// those of the whole
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: JobPart,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    search: Search,
    /// Other seeds give other games
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    beginning: Beginning,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    engines: Engines,
}

pub fn play(args: Selfplay) -> Result<ExitCode> {
    let crew = args.engines.crew()?;
    let book = args.beginning.book.clone();
    let job = SelfplayJob {
        output: args.writing.output.clone(),
        format: args.writing.format(&args.writing.output)?,
        games: args.games,
        range: args.part.range(args.games),
        seed: args.seed,
        limit: args.search.limit(&args.engines)?,
        openings: args.beginning.openings(),
        adjudication: args.rules.adjudication(),
        crew,
    };
    let total = job.range.end - job.range.start;
    make(&args.writing, (total, "games"), book.as_deref(), |watch| selfplay(&job, watch))
}
