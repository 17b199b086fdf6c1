//! `nnuance data`: files of positions, turned into what training wants.

pub mod doctor;
mod engine;
mod io;
mod order;
mod positions;
pub mod select;
mod stats;

pub use engine::{option, resumable};
pub use io::Reading;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Convert, check and make files of positions
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Convert(select::Convert),
    Shuffle(order::ShuffleArgs),
    Interleave(order::InterleaveArgs),
    Split(order::SplitArgs),
    Dedup(select::Dedup),
    Filter(select::FilterArgs),
    Sample(select::SampleArgs),
    Stats(stats::Args),
    Extract(select::ExtractArgs),
    Doctor(doctor::Args),
    Label(positions::Label),
    Resolve(positions::Resolve),
    Selfplay(positions::Selfplay),
}

pub fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Convert(args) => select::convert(args),
        Command::Shuffle(args) => order::shuffle(args),
        Command::Interleave(args) => order::interleave(args),
        Command::Split(args) => order::split(args),
        Command::Dedup(args) => select::dedup(args),
        Command::Filter(args) => select::filter(args),
        Command::Sample(args) => select::sample(args),
        Command::Stats(args) => stats::run(args),
        Command::Extract(args) => select::extract(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Label(args) => positions::label(args),
        Command::Resolve(args) => positions::resolve(args),
        Command::Selfplay(args) => positions::play(args),
    }
}
