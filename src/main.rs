use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match nnuance::cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
