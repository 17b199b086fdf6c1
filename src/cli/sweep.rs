//! `nnuance sweep`: the best values of config keys.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use super::options::DeviceArgs;
use super::terminal::Terminal;
use super::{INTERRUPTED, out};
use crate::digits::group_digits;
use crate::report::{wrap_all, wrap_sentence};
use crate::run::sweep::{MemberScore, Sweep, SweepAxis, SweepOutcome};
use crate::run::train::RunContext;
use crate::train::ranks::SingleRank;

/// Train all combinations of some values, and find the best
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance sweep configs/quickstart-net.toml --over net.hidden=16,32 --seeds 3
  nnuance sweep configs/quickstart-net.toml --over 'net.head=[],[16],[16, 32]'
  nnuance sweep configs/quickstart-net.toml --over data.share=0.25,0.5,1 \\
      --set schedule.positions=2000000")]
#[command(after_help = "\
Members are chosen by their validation loss, the mean over seeds, and measured
on the test games. The same command resumes a sweep that was stopped. The last
example measures what more data are worth. `nnuance keys` lists all keys.")]
pub struct Args {
    /// Config of all members (TOML)
    config: PathBuf,
    /// Key and values, such as net.hidden=16,32; may be repeated for all combinations
    #[arg(long, required = true, value_name = "KEY=VALUES")]
    over: Vec<String>,
    /// Set a key of all members, such as schedule.epochs=4; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Seeds of each member, whose losses are averaged
    #[arg(long, default_value = "1", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Folder of the runs [default: runs/sweep- and the config's name]
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

pub fn run_command(args: Args) -> Result<ExitCode> {
    let terminal = Terminal::for_many_runs();
    let device = args.device.to_options();
    let context =
        RunContext { device: &device, listener: &terminal, page: false, ranks: &SingleRank };
    let axes =
        args.over.iter().map(|text| SweepAxis::parse_axis(text)).collect::<Result<Vec<_>>>()?;
    let out = args.out.unwrap_or_else(|| {
        let name = args.config.file_stem().unwrap_or(args.config.as_os_str()).to_string_lossy();
        Path::new("runs").join(format!("sweep-{name}"))
    });
    let sweep =
        Sweep::new(&args.config, &args.overrides, &axes, args.seeds, out.clone(), &context)?;
    let Some(outcome) = sweep.run_members()? else {
        eprintln!("or go on with the sweep: the same command again");
        return Ok(INTERRUPTED.into());
    };
    let (best, seed) = (&outcome.members[0].name, sweep.members[0].config.file.seed);
    let best = out.join(format!("{best}-seed-{seed}"));
    out::print_result(args.json, &outcome, format_outcome(&outcome, &best))?;
    Ok(ExitCode::SUCCESS)
}

/// Formats the table of the members, how to read it, and the next step for the `best` run.
fn format_outcome(outcome: &SweepOutcome, best: &Path) -> String {
    let against = match outcome.loss {
        MemberScore::Target => "target",
        MemberScore::Results => "results",
    };
    let mut text = format!("{}\n", outcome.to_table());
    let positions = group_digits(outcome.positions as u64);
    text += &wrap_sentence(&format!(
        "test: squared error against the {against} of {positions} positions, with 95 % \
         intervals; better, worse: over games and seeds, Holm"
    ));
    let cautions = outcome.cautions.iter().map(|why| format!("unclear, all of it: {why}"));
    text += &wrap_all(cautions);
    text += &match outcome.seeds {
        1 => "next  the same command with --seeds 3: one seed does not say how far seeds vary\n"
            .into(),
        _ => format!("next  nnuance compare material {}\n", best.display()),
    };
    text
}
