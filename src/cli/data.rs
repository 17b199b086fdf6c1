//! `nnuance data`: files of positions, turned into what training wants.

mod convert;
mod dedup;
pub mod doctor;
mod engine;
mod extract;
pub mod filter;
mod interleave;
mod io;
mod positions;
mod sample;
mod selfplay;
mod shuffle;
mod split;
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
    Convert(convert::Args),
    Shuffle(shuffle::Args),
    Interleave(interleave::Args),
    Split(split::Args),
    Dedup(dedup::Args),
    Filter(filter::Args),
    Sample(sample::Args),
    Stats(stats::Args),
    Extract(extract::Args),
    Doctor(doctor::Args),
    Label(positions::Label),
    Resolve(positions::Resolve),
    Selfplay(selfplay::Args),
}

pub fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Convert(args) => convert::run(args),
        Command::Shuffle(args) => shuffle::run(args),
        Command::Interleave(args) => interleave::run(args),
        Command::Split(args) => split::run(args),
        Command::Dedup(args) => dedup::run(args),
        Command::Filter(args) => filter::run(args),
        Command::Sample(args) => sample::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Extract(args) => extract::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Label(args) => positions::label(args),
        Command::Resolve(args) => positions::resolve(args),
        Command::Selfplay(args) => selfplay::run(args),
    }
}
