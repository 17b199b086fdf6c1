//! `nnuance data label`: scores from an engine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::engine::{Engines, Search, Target, count};
use crate::engine::{LabelJob, Mix, label};

/// Let an engine, or an evaluation of your own, score positions
///
/// Each position gets the score that it finds; results and order are kept. A run that was
/// stopped or killed goes on where it was when the same command is given again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance data label data/selfplay_sf151_quiet.epd --nodes 5000 -o labelled.txt
  nnuance data label games.vf --with nets/quickstart-32.bin --nodes 5000 -o labelled.vf
  nnuance data label games.vf --with runs/teacher --depth 1 --mix 0.5 --score-scale 126 -o new.vf")]
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
    /// How much the score that is found counts, above 0 and below 1; the rest is that of the input,
    /// where it has one. They are mixed as expected results, at --score-scale
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "score_scale")]
    mix: Option<f64>,
    /// With --mix: the centipawns of the scores that make one logit, as `nnuance data doctor`
    /// measures it
    #[arg(long, value_name = "CP", value_parser = scale, requires = "mix")]
    score_scale: Option<f64>,
    #[command(flatten)]
    engines: Engines,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if 0.0 < share && share < 1.0 => Ok(share),
        _ => Err("a share above 0 and below 1".into()),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(scale) if (1.0..=1e6).contains(&scale) => Ok(scale),
        _ => Err("a number of centipawns from 1 to a million".into()),
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let crew = args.engines.crew()?;
    let job = LabelJob {
        input: args.input,
        output: args.target.output.clone(),
        format: args.target.format()?,
        limit: args.search.limit(&args.engines)?,
        crew,
        mix: args.mix.zip(args.score_scale).map(|(share, scale)| Mix { share, scale }),
        bad_records: args.bad_records,
    };
    let total = || count(&job.input, job.bad_records);
    args.target.make((total, "positions"), Some(&job.input), |watch| label(&job, watch))
}
