//! `nnuance train`: a config in, a run folder out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use super::options::Place;
use super::terminal::Terminal;
use super::{cluster, export, out};
use crate::config::Config;
use crate::report::Table;
use crate::run::folder::{self, RunFolder};
use crate::run::train::{FinishedRun, RunContext, RunResult, begin, join, resume};
use crate::train::End;

/// Train a net or handcrafted terms, as a config says
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance train configs/quickstart-net.toml --set net.hidden=64 --out runs/net-64
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
    place: Place,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let ranks = cluster::ranks(args.silence)?;
    let place = args.place.named();
    if !ranks.is_first() {
        let means = RunContext { place: &place, listener: &Terminal::silent(), page: false, ranks };
        let interrupted = join(&means)? == End::Interrupted;
        return Ok(if interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS });
    }
    let terminal = Terminal::that_stops();
    let means = RunContext { place: &place, listener: &terminal, page: true, ranks };
    let finished = match (&args.resume, &args.config) {
        (Some(folder), _) => resume(folder, &args.overrides, &means)?,
        (None, Some(path)) => {
            let config = Config::read(path, &args.overrides)?;
            let folder = args.out.unwrap_or_else(|| default_folder(path));
            let folder = RunFolder::take(&folder, args.overwrite, &terminal)?;
            begin(config, &folder, &means)?
        }
        (None, None) => bail!("name a config, or a run folder with --resume"),
    };
    let Some(finished) = finished else { return Ok(ExitCode::from(130)) };
    out::line(text(&finished).trim_end())?;
    finished.page.transpose().context("the run is complete, but its report cannot be written")?;
    Ok(ExitCode::SUCCESS)
}

/// Default output folder for a config.
pub fn default_folder(config: &Path) -> PathBuf {
    Path::new("runs").join(config.file_stem().unwrap_or(config.as_os_str()))
}

/// The losses and files of a run, and what changed.
fn text(finished: &FinishedRun) -> String {
    let FinishedRun { folder, what, training_loss, made, page } = finished;
    let file = |name: &str| folder.join(name).display().to_string();
    let (mut table, mut after) = (Table::facts(), Vec::new());
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("weights", format!("{what}: {}", file(folder::BEST)));
    if let Some(loss) = training_loss {
        row("training loss", format!("{loss:.6} at that step"));
    }
    match made {
        RunResult::Net(written, terms) => {
            export::add_written(&mut table, written);
            if let Some(terms) = terms {
                table.row(["terms", &format!("{}, as they learnt with the net", terms.display())]);
            }
        }
        RunResult::Terms(values) => {
            row("tables", file(folder::TERMS));
            row("changes", file(folder::TERMS_CSV));
            row("source", format!("nnuance export {} -o terms.h (or .rs)", folder.display()));
            if !values.pieces.is_empty() {
                after.push(values.table().to_string());
            }
        }
    }
    if let Some(Ok(page)) = page {
        table.row(["report", &page.display().to_string()]);
    }
    after.into_iter().fold(table.to_string(), |text, part| format!("{text}\n{part}"))
}
