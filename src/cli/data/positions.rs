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

/// Score positions with an engine or an evaluation
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance data label data/selfplay_sf151_quiet.epd --nodes 5000 -o labelled.txt
  nnuance data label games.vf --with nets/quickstart-32.bin --nodes 5000 \\
      -o labelled.vf")]
#[command(after_help = "\
Results and order are kept. The same command resumes a job that was stopped.")]
#[command(override_usage = "nnuance data label [OPTIONS] --out <FILE> --nodes <N> <FILE>")]
pub struct Label {
    /// Positions in any format, with results
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    search: Search,
    /// Score part I of N; the parts one after the other are the whole
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: JobPart,
    /// Bad records of the input to skip
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

/// Play games of an engine or an evaluation against itself
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance data selfplay --games 10000 --nodes 5000 -o games.vf
  nnuance data selfplay --with runs/first --games 10000 --soft-nodes 5000 \\
      -o games.vf")]
#[command(after_help = "\
Every move is written with its score, every game with its result. Games
depend on the seed and their number. The same command resumes a job that was
stopped.")]
#[command(override_usage = "nnuance data selfplay [OPTIONS] --games <N> --out <FILE> --nodes <N>")]
pub struct Selfplay {
    /// Games to play
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// Play part I of N; the parts one after the other are the whole
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: JobPart,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    search: Search,
    /// Seed of the games
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
