//! The commands, one file each. Only `cli` prints, exits, reads the clock, or listens to signals.

// The first module, so that all others use its `eprintln!`.
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

/// The exit code of a run that Ctrl-C stopped and that may be resumed.
const INTERRUPTED: u8 = 130;

/// Runs the program: installs additions, parses the command line, runs the command.
pub fn run_program(install: impl FnOnce() -> anyhow::Result<()>) -> ExitCode {
    ignore_size_signal();
    let ended = install().and_then(|()| match Cli::try_parse() {
        Ok(cli) => cli.run_command(),
        Err(usage) if cluster::is_first() => out::print_usage(&usage),
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
    /// Runs the command. An interrupted run without an error exits with 130.
    pub fn run_command(self) -> anyhow::Result<ExitCode> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global()?;
        }
        cluster::require_single_process(matches!(self.command, Command::Train(_)))?;
        match self.command {
            Command::Quickstart(args) => return quickstart::run_command(args),
            Command::Train(args) => return train::run_command(args),
            Command::Export(args) => export::run_command(args)?,
            Command::Verify(args) => verify::run_command(args)?,
            Command::Eval(args) => eval::run_command(args)?,
            Command::Compare(args) => compare::run_command(args)?,
            Command::Report(args) => report::run_command(args)?,
            Command::Inspect(args) => inspect::run_command(args)?,
            Command::Rows(args) => rows::run_command(args)?,
            Command::Keys(args) => keys::run_command(args)?,
            Command::Sweep(args) => return sweep::run_command(args),
            Command::Match(args) => return matches::run_command(args),
            Command::Climb(args) => return climb::run_command(args),
            Command::Uci(args) => uci::run_command(args)?,
            Command::Data(args) => return data::run_command(args),
            Command::Bench(args) => bench::run_command(args)?,
            Command::Devices(args) => devices::run_command(args)?,
            Command::Completions(args) => completions::write_completions(args)?,
            Command::Man(args) => completions::write_manual(args)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
