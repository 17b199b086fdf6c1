//! `nnuance report`: runs on one self-contained page.

use std::path::PathBuf;

use anyhow::Result;

use super::options::{DataFiles, DeviceArgs};
use super::out;
use super::terminal::Terminal;
use crate::output;
use crate::run::played;
use crate::run::report::{ShownRun, compare_runs};

/// Show runs on one page: curves, settings, comparison
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance report runs/quickstart-net runs/quickstart-hce -o report.html")]
#[command(after_help = "\
The page is one HTML file that needs no network. `train` writes one for each
run; this page has several.")]
pub struct Args {
    /// Run folders
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Page to write
    #[arg(short, long = "out", default_value = "report.html", value_name = "FILE")]
    output: PathBuf,
    /// Other evaluations to compare: nets, handcrafted weights, checkpoints
    #[arg(long, value_name = "EVALUATION", num_args = 1..)]
    with: Vec<String>,
    /// Games in PGN between some of them, for Elo beside the loss
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pgn: Vec<PathBuf>,
    #[command(flatten)]
    data: DataFiles,
    #[command(flatten)]
    device: DeviceArgs,
}

pub fn run_command(args: Args) -> Result<()> {
    out::require_page(&args.output)?;
    let terminal = Terminal::default();
    let host = args.device.open_host(&terminal)?;
    let runs: Vec<ShownRun> =
        args.runs.iter().map(|folder| ShownRun::read_folder(folder)).collect::<Result<_>>()?;
    let games = (!args.pgn.is_empty()).then(|| played::read_matches(&args.pgn)).transpose()?;
    let page = compare_runs(&runs, &args.with, args.data.read_plan(), games.as_ref(), &host)?;
    output::write_file(&args.output, page.as_bytes())?;
    let megabytes = page.len() as f64 / 1e6;
    out::print_line(format!("report   {}, {megabytes:.1} MB", args.output.display()))
}
