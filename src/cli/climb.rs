//! `nnuance climb`: from no data at all to an evaluation.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};
use indicatif::ProgressBar;

use super::data::Screen;
use super::out;
use super::place::Place;
use super::progress::{bar, interrupts};
use super::terminal::Terminal;
use super::train::default_folder;
use crate::config::Config;
use crate::engine::Watch;
use crate::loader::{Plan, Scan};
use crate::log::Row;
use crate::run::climb::{ClimbFolder, Spectator, climb};
use crate::run::train::Means;
use crate::run::{Counter, Ending, Listener, Opening};
use crate::train::ranks::Alone;
use crate::train::{self, Progress};

/// Make a first evaluation without any data: games of the best so far, training, a match, again
///
/// Each generation plays games against itself with the best evaluation so far (material at first),
/// trains on the games of the last generations, and meets the best: it is kept where it scores more
/// than a half. Nobody else's data or nets are in what comes out. A climb that was stopped or killed
/// goes on with the same command; what is finished is not made again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance climb configs/climb.toml
  nnuance climb configs/climb.toml --set climb.generations=40
  nnuance climb configs/climb.toml --set climb.start=nets/quickstart-32.bin --out runs/higher

The folder gets config.toml, climb.csv and report.html, and for each generation, 001, 002 and so \
on, its games (games.vf), its training (run, an ordinary run) and its matches (generation.json). A \
climb that has ended goes on where climb.generations is raised; nothing else of its config may \
change.")]
pub struct Args {
    /// The climb's config (TOML), with a section [climb]
    config: PathBuf,
    /// Change a key of the config, for example climb.games=10000; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// The climb's folder [default: runs/ and the config's name]
    #[arg(short, long, alias = "output", value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

/// Sees a climb from afar: of trainings no more than a bar, since each run has its own log and
/// page, and there are many of them.
struct Hall {
    start: Instant,
    terminal: Terminal,
}

impl Listener for Hall {
    fn remark(&self, text: &str) {
        self.terminal.remark(text);
    }

    fn count(&self, total: Option<u64>, what: &'static str) -> Counter {
        self.terminal.count(total, what)
    }

    fn scanned(&self, _: &Plan, _: &Scan) {}

    fn opens(&self, _: &Opening) {}

    fn watch(&self, total: u64, done: u64) -> Box<dyn train::Watch + '_> {
        let bar = bar(Some(total), "training");
        bar.set_position(done);
        bar.reset_eta();
        Box::new(Lesson { start: Instant::now(), stop: interrupts(), bar })
    }

    fn ends(&self, _: &Ending) {}
}

/// A training, as a bar.
struct Lesson {
    start: Instant,
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
}

impl train::Watch for Lesson {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn step(&mut self, progress: &Progress) {
        self.bar.set_position(progress.positions);
    }

    fn row(&mut self, _: &Row) {}
}

impl Drop for Lesson {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Spectator for Hall {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn watch(&self, total: u64, noun: &'static str, resumes: bool) -> Box<dyn Watch + '_> {
        Box::new(Screen::new(total, noun, resumes))
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let hall = Hall { start: Instant::now(), terminal: Terminal::that_stops(false) };
    let means = Means { place: &args.place.named(), listener: &hall, page: true, ranks: &Alone };
    let config = Config::read(&args.config, &args.overrides)?;
    ensure!(
        config.climb.is_some(),
        "{} has no section [climb], which says how games are made; write one, as in \
         configs/climb.toml",
        args.config.display()
    );
    let out = args.out.unwrap_or_else(|| default_folder(&args.config));
    let folder = ClimbFolder::take(&out, &config, &hall)?;
    let Some(ladder) = climb(&config, &folder, &means, &hall)? else {
        eprintln!("the climb goes on with the same command");
        return Ok(ExitCode::from(130));
    };
    out::line(ladder.table())?;
    out::line(ladder.sentence())?;
    if ladder.best() > 0 {
        out::line(format!("best     {}", folder.evaluation(ladder.best()).display()))?;
    }
    out::line(format!("report   {}", out.join(ClimbFolder::REPORT).display()))?;
    Ok(ExitCode::SUCCESS)
}
