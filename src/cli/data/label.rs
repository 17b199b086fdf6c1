//! `nnuance data label`: scores from an engine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::engine::{Engines, Search, Target, count};
use crate::engine::{LabelJob, label};

/// Let an engine, or an evaluation of your own, score positions
///
/// Each position gets the score that it finds; results and order are kept. A run that was
/// stopped or killed goes on where it was when the same command is given again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance data label data/selfplay_sf151_quiet.epd --nodes 5000 -o labelled.txt
  nnuance data label games.vf --with nets/quickstart-32.bin --nodes 5000 -o labelled.vf")]
pub struct Args {
    /// Positions in any format, with results
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    search: Search,
    /// So many bad records of the input may be left out
    #[arg(long, value_name = "N", default_value_t = 0)]
    bad_records: u64,
    #[command(flatten)]
    engines: Engines,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let job = LabelJob {
        input: args.input,
        output: args.target.output.clone(),
        format: args.target.format()?,
        limit: args.search.limit(&args.engines)?,
        crew: args.engines.crew()?,
        bad_records: args.bad_records,
    };
    let total = count(&job.input, job.bad_records)?;
    args.target.make((total, "positions"), Some(&job.input), |watch| label(&job, watch))
}
