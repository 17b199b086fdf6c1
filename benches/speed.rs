//! `cargo bench` is `nnuance bench`; options go behind two dashes:
//! `cargo bench --bench speed -- --hidden 32 --seconds 6`

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    // Cargo says `--bench` when it wants to measure, and nothing when it only tests targets.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    let options = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let bench = Command::new(env!("CARGO_BIN_EXE_nnuance")).arg("bench").args(options).status();
    match bench {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot start nnuance: {error}");
            ExitCode::FAILURE
        }
    }
}
