//! `nnuance climb`: an evaluation from self-play, without data.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::value_parser;

use super::options::DeviceArgs;
use super::terminal::Terminal;
use super::train::default_folder;
use super::{INTERRUPTED, out};
use crate::config::Config;
use crate::run::climb::{Climb, ClimbSettings};
use crate::run::train::RunContext;
use crate::train::ranks::SingleRank;

/// Train a first net without data, by self-play
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance climb configs/climb.toml
  nnuance climb configs/climb.toml --start nets/quickstart-32.bin --out runs/b")]
#[command(after_help = "\
A generation plays games with the best evaluation so far, trains on the games
of the last generations, and meets the best in a match. It is kept if it scores
more than a half. The same command resumes a loop that was stopped. The folder
has a folder for each generation (001, 002, ...) with games.vf, run and
match.json. data.files of the config are these games.")]
pub struct Args {
    /// Config of each training (TOML)
    config: PathBuf,
    /// Set a key of the config; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Folder [default: runs/ and the config's name]
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Evaluation that plays the first games
    #[arg(long, default_value = "material", value_name = "EVALUATION")]
    start: String,
    /// Generations in all; a larger number continues a loop that ended
    #[arg(long, default_value = "40", value_name = "N", value_parser = value_parser!(u64).range(1..1000))]
    generations: u64,
    /// Games of a generation
    #[arg(long, default_value = "4000", value_name = "N", value_parser = value_parser!(u64).range(10..))]
    games: u64,
    /// Nodes of a move in these games after which no iteration begins
    #[arg(long, default_value = "200", value_name = "N", value_parser = value_parser!(u64).range(1..))]
    soft_nodes: u64,
    /// Generations whose games are trained on
    #[arg(long, default_value = "6", value_name = "N", value_parser = value_parser!(u64).range(1..))]
    window: u64,
    /// Pairs of games of a match
    #[arg(long, default_value = "200", value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pairs: u64,
    /// Nodes of a move in a match
    #[arg(long, default_value = "500", value_name = "N", value_parser = value_parser!(u64).range(1..))]
    nodes: u64,
    #[command(flatten)]
    device: DeviceArgs,
}

pub fn run_command(args: Args) -> Result<ExitCode> {
    let terminal = Terminal::for_many_runs();
    let device = args.device.to_options();
    let context =
        RunContext { device: &device, listener: &terminal, page: true, ranks: &SingleRank };
    let out = args.out.unwrap_or_else(|| default_folder(&args.config));
    let config = Config::read_file(&args.config, &args.overrides)?;
    let settings = ClimbSettings {
        start: args.start,
        generations: args.generations,
        games: args.games,
        soft_nodes: args.soft_nodes,
        window: args.window,
        pairs: args.pairs,
        nodes: args.nodes,
    };
    let mut climb = Climb::new(config, &settings, &out, &context)?;
    if !climb.run_generations()? {
        eprintln!("the same command goes on with the loop");
        return Ok(INTERRUPTED.into());
    }
    out::print_line(climb.generations_table())?;
    out::print_line(match climb.best_generation() {
        0 => format!("next  more generations: --generations {}", 2 * args.generations),
        best => format!("next  nnuance compare material {}", climb.evaluation_path(best).display()),
    })?;
    Ok(ExitCode::SUCCESS)
}
