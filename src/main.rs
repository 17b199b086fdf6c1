use std::process::ExitCode;

fn main() -> ExitCode {
    nnuance::App::new().run()
}
