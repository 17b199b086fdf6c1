//! `nnuance data resolve`: positions to the quiet ends of their principal variations.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::engine::{Engines, Search, Target, count};
use crate::engine::{ResolveJob, resolve};

/// Let an engine, or an evaluation of your own, play out positions until they are quiet
///
/// Each position gives way to the end of the principal variation that it finds, as in
/// Ethereal's data; score and result are turned to the side to move there. Ends in check, without
/// a legal move, or where a piece hangs that has just taken, are left out. Handcrafted terms are best
/// tuned on such positions. A run that was stopped or killed goes on where it was when the same
/// command is given again.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data resolve data/selfplay_sf151_scored.txt --depth 8 -o resolved.txt")]
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
    let crew = args.engines.crew()?;
    let job = ResolveJob {
        input: args.input,
        output: args.target.output.clone(),
        format: args.target.format()?,
        limit: args.search.limit(&args.engines)?,
        crew,
        bad_records: args.bad_records,
    };
    let total = || count(&job.input, job.bad_records);
    args.target.make((total, "positions"), Some(&job.input), |watch| resolve(&job, watch))
}
