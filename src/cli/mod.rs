//! The commands, one file each. Only `cli` prints, exits, reads the clock or listens to signals.

// First, so that all others use its `eprintln!`.
#[macro_use]
mod out;

mod bench;
mod climb;
mod cluster;
mod compare;
mod completions;
mod data;
mod devices;
mod eval;
mod export;
mod inspect;
mod keys;
mod matches;
mod options;
mod quickstart;
mod report;
mod rows;
mod sweep;
mod terminal;
mod train;
mod uci;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Train evaluations of chess engines: NNUE nets and handcrafted terms
#[derive(Parser)]
#[command(version, term_width = 80, arg_required_else_help = true)]
#[command(before_help = "\
Examples:
  nnuance quickstart
  nnuance train configs/quickstart-net.toml
  nnuance compare material runs/quickstart-net")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Threads to compute with; results do not depend on it [default: all]
    #[arg(long, global = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

#[derive(Subcommand)]
enum Command {
    Quickstart(quickstart::Args),
    Data(data::Args),
    Keys(keys::Args),
    Train(train::Args),
    Compare(compare::Args),
    Match(matches::Args),
    Report(report::Args),
    Inspect(inspect::Args),
    Export(export::Args),
    Verify(verify::Args),
    Eval(eval::Args),
    Rows(rows::Args),
    Uci(uci::Args),
    Sweep(sweep::Args),
    Climb(climb::Args),
    Bench(bench::Args),
    Devices(devices::Args),
    Completions(completions::CompletionArgs),
    Man(completions::ManArgs),
}

/// Runs the program: installs additions, parses the command line, runs the command.
pub fn main(install: impl FnOnce() -> anyhow::Result<()>) -> ExitCode {
    ignore_size_signal();
    let ended = install().and_then(|()| match Cli::try_parse() {
        Ok(cli) => cli.run(),
        Err(usage) if cluster::is_first() => out::usage(&usage),
        Err(usage) => Ok(ExitCode::from(usage.exit_code() as u8)),
    });
    match ended {
        Ok(code) => {
            cluster::leave();
            code
        }
        Err(error) => {
            cluster::fail(&error);
            ExitCode::FAILURE
        }
    }
}

/// Turns the file size limit (`ulimit -f`) into an error of the file instead of a silent kill.
fn ignore_size_signal() {
    #[cfg(unix)]
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

impl Cli {
    /// Runs the command; a run that was interrupted but went well exits with 130.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global()?;
        }
        cluster::require_single_process(matches!(self.command, Command::Train(_)))?;
        match self.command {
            Command::Quickstart(args) => return quickstart::run(args),
            Command::Train(args) => return train::run(args),
            Command::Export(args) => export::run(args)?,
            Command::Verify(args) => verify::run(args)?,
            Command::Eval(args) => eval::run(args)?,
            Command::Compare(args) => compare::run(args)?,
            Command::Report(args) => report::run(args)?,
            Command::Inspect(args) => inspect::run(args)?,
            Command::Rows(args) => rows::run(args)?,
            Command::Keys(args) => keys::run(args)?,
            Command::Sweep(args) => return sweep::run(args),
            Command::Match(args) => return matches::run(args),
            Command::Climb(args) => return climb::run(args),
            Command::Uci(args) => uci::run(args)?,
            Command::Data(args) => return data::run(args),
            Command::Bench(args) => bench::run(args)?,
            Command::Devices(args) => devices::run(args)?,
            Command::Completions(args) => completions::completions(args)?,
            Command::Man(args) => completions::man(args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
