//! `nnuance train`: training from a config to a run folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

use super::export::for_an_engine;
use super::options::DeviceArgs;
use super::terminal::Terminal;
use super::{INTERRUPTED, cluster, out};
use crate::config::Config;
use crate::data_file::are_few_for_nets;
use crate::digits::group_digits;
use crate::export::Provenance;
use crate::report::{TextTable, wrap_sentence};
use crate::run::folder::{self, RunFolder};
use crate::run::train::{FinishedRun, RunContext, RunResult, begin_training, join_run, resume_run};
use crate::train::End;

/// Train a net or handcrafted terms, as a config says
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance train configs/quickstart-net.toml --set net.hidden=64 -o runs/net-64
  nnuance train --resume runs/net-64
  nnuance train --resume runs/net-64 --set schedule.epochs=20
  nnuance train configs/hce-pst.toml --set 'data.files=[\"positions.epd\"]'")]
#[command(after_help = "\
The run folder has config.toml (complete), log.csv, report.html,
last.safetensors (to resume), best.safetensors (lowest validation loss), and
net.bin with its manifest net.json, or terms.json with terms.csv.")]
pub struct Args {
    /// Config of the run (TOML)
    #[arg(required_unless_present = "resume")]
    config: Option<PathBuf>,
    /// Set a key, such as schedule.epochs=4; may be repeated; with --resume only the length and
    /// schedule.patience
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Run folder [default: runs/ and the config's name]
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Resume the run in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "config")]
    resume: Option<PathBuf>,
    /// Replace a run that is in the folder
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
    /// Seconds that another process of `mpirun` may be late, beside four times a step
    #[arg(long, value_name = "SECONDS", default_value_t = 45)]
    silence: u16,
    #[command(flatten)]
    device: DeviceArgs,
}

pub fn run_command(args: Args) -> Result<ExitCode> {
    let ranks = cluster::ranks(args.silence)?;
    let device = args.device.to_options();
    if !ranks.is_first() {
        let context =
            RunContext { device: &device, listener: &Terminal::silent(), page: false, ranks };
        let interrupted = join_run(&context)? == End::Interrupted;
        return Ok(if interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS });
    }
    let terminal = Terminal::stoppable();
    let context = RunContext { device: &device, listener: &terminal, page: true, ranks };
    let finished = match (&args.resume, &args.config) {
        (Some(folder), _) => resume_run(folder, &args.overrides, &context)?,
        (None, Some(path)) => {
            let config = Config::read_file(path, &args.overrides)?;
            let folder = args.out.unwrap_or_else(|| default_folder(path));
            let folder = RunFolder::lock_new(&folder, args.overwrite, &terminal)?;
            begin_training(config, &folder, &context)?
        }
        (None, None) => bail!("name a config, or a run folder with --resume"),
    };
    let Some(finished) = finished else { return Ok(INTERRUPTED.into()) };
    eprintln!();
    out::print_line(format_finished(&finished))?;
    finished.require_page()?;
    Ok(ExitCode::SUCCESS)
}

pub fn default_folder(config: &Path) -> PathBuf {
    Path::new("runs").join(config.file_stem().unwrap_or(config.as_os_str()))
}

/// Formats the losses and files of a run, and the next steps; before them, why a net is worthless.
fn format_finished(finished: &FinishedRun) -> String {
    let FinishedRun { folder, validation_loss, training_loss, end, result, page, .. } = finished;
    let (mut table, mut text) = (TextTable::of_facts(), String::new());
    let run = folder.display().to_string();
    let file = |name: &str| folder.join(name).display().to_string();
    let mut row = |name: &str, value: String| table.add_row([name.to_string(), value]);
    let steps = group_digits(finished.last_step);
    let ended = match end {
        End::Converged => ", converged",
        End::StoppedEarly => ", stopped early",
        _ => "",
    };
    let origin = match finished.best_step {
        0 => format!("of the start: nothing was gained in {steps} steps{ended}"),
        step => format!("at step {} of {steps}{ended}", group_digits(step)),
    };
    match validation_loss {
        Some(loss) => row("validation loss", format!("{loss:.6} {origin}")),
        None => row("weights", origin),
    }
    if let Some(loss) = training_loss {
        row("training loss", format!("{loss:.6} there"));
    }
    match result {
        RunResult::Net { written, terms } => {
            if let Some(why) = &written.unlearnt {
                text = format!("{}\n", wrap_sentence(&format!("WARNING: {why}")));
            }
            let manifest = &written.exported.manifest;
            if let Some(error) = &manifest.float_error {
                let (mean, max) = (error.mean_cp, error.max_cp);
                row("integers", format!("{mean:.2} cp off on average, {max:.2} at most"));
            }
            row("net", format!("{}, {}", file(folder::NET), manifest.scales));
            if let Some(terms) = terms {
                row("terms", format!("{}, as they learnt with the net", terms.display()));
            }
        }
        RunResult::Terms { piece_values, .. } => {
            for (phase, name) in ["pieces, mg", "pieces, eg"].into_iter().enumerate() {
                let each =
                    piece_values.iter().map(|it| format!("{} {:.0}", it.role, it.tuned[phase]));
                if !piece_values.is_empty() {
                    row(name, each.collect::<Vec<_>>().join(", "));
                }
            }
            row("terms", format!("{}, changes in {}", file(folder::TERMS), folder::TERMS_CSV));
        }
    }
    if let Some(Ok(page)) = page {
        row("report", page.display().to_string());
    }
    let mut next = vec![
        vec!["compare", "material", &run],
        vec!["match", &run, "material"],
        vec!["export", &run, "-o", "terms.h"],
    ];
    let (config, more) = (file(folder::CONFIG), format!("{run}-more"));
    let longer;
    match result {
        RunResult::Net { written, .. } if written.unlearnt.is_some() => {
            let Provenance { data, positions, .. } = &written.exported.manifest.provenance;
            longer = format!("schedule.positions={}", 10 * positions.unwrap_or_default());
            let play = "data selfplay --engine stockfish --games 1500 --nodes 2000 -o more.vf";
            let train = ["train", &config, "--set", "data.files=[\"more.vf\"]", "--out", &more];
            next = match are_few_for_nets(data) {
                true => vec![play.split(' ').collect(), train.to_vec()],
                false => vec![vec!["train", "--resume", &run, "--set", &longer]],
            };
        }
        RunResult::Net { written, .. } => next[2] = for_an_engine(&run, written),
        // Only the engine itself can play with its terms.
        RunResult::Terms { is_foreign: true, .. } => drop(next.remove(1)),
        RunResult::Terms { is_foreign: false, .. } => {}
    }
    format!("{text}{table}{}", out::list_next_steps(None, &next))
}
