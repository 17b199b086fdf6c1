use std::process::ExitCode;

fn main() -> ExitCode {
    nnuance::cli::main()
}
