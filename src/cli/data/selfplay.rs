//! `nnuance data selfplay`: games of an engine or an evaluation against itself.

use std::process::ExitCode;

use anyhow::Result;

use super::engine::{Engines, Search, make};
use super::io::Writing;
use crate::cli::options::{Beginning, Rules};
use crate::engine::{Part, SelfplayJob, selfplay};

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
pub struct Args {
    /// How many games
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// Play a part of the games alone, such as 2/3; the files of all parts, one after the other, are
    /// those of the whole
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: Part,
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

pub fn run(args: Args) -> Result<ExitCode> {
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
