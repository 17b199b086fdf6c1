//! `nnuance data`: preparation of files of positions for training.

mod doctor;
mod engine;
mod io;
mod positions;
pub mod select;
mod shuffle;
mod stats;

pub use engine::{open_engine, parse_option, start_or_resume};
pub use io::Reading;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Convert, check, filter and make files of positions
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance data doctor games.pgn
  nnuance data shuffle a.bf b.bf -o shuffled.bf")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Doctor(doctor::Args),
    Stats(stats::Args),
    Convert(select::Convert),
    Filter(select::FilterArgs),
    Dedup(select::Dedup),
    Sample(select::SampleArgs),
    Shuffle(shuffle::Args),
    Selfplay(positions::Selfplay),
    Label(positions::LabelArgs),
}

pub fn run_command(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Convert(args) => select::convert_files(args),
        Command::Shuffle(args) => shuffle::run_command(args),
        Command::Dedup(args) => select::remove_duplicates(args),
        Command::Filter(args) => select::filter_files(args),
        Command::Sample(args) => select::sample_games(args),
        Command::Stats(args) => stats::run_command(args),
        Command::Doctor(args) => doctor::run_command(args),
        Command::Label(args) => positions::label_file(args),
        Command::Selfplay(args) => positions::selfplay_file(args),
    }
}
