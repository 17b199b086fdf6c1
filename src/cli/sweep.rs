//! `nnuance sweep`: which values of some keys are best.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Result;
use indicatif::ProgressBar;

use super::out;
use super::place::Place;
use super::progress::{self, interrupts};
use super::terminal::Terminal;
use crate::digits::{counted, grouped, percent, share};
use crate::loader::{Plan, Scan};
use crate::log::Row;
use crate::report::wrap;
use crate::run::sweep::{Asked, Axis, Follower, Outcome, Rung, Sweep, Turn};
use crate::run::train::Means;
use crate::run::{Counter, Ending, Listener, Opening};
use crate::train::ranks::Alone;
use crate::train::{self, Progress};

/// Try all combinations of some values, and find the best without training all of them in full
///
/// Successive halving: all members are trained for a ninth of the config's length, the best third
/// of them up to a third of it, and the best of these to the end. Runs pause and go on, so that one
/// that came to its end is what `nnuance train` makes of the same config. Members are chosen by their
/// loss on the validation games, mean of the seeds, and those who came to the end are measured on the
/// test games, once.
///
/// A sweep that was stopped or killed goes on with the same command; finished runs are not trained
/// again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance sweep configs/quickstart-net.toml --over hidden=16,32 --over learning_rate.from=.002,.005,.01
  nnuance sweep configs/quickstart-net.toml --over hidden=16,32 --over wdl=0,.1,.3 --seeds 3
  nnuance sweep configs/quickstart-net.toml --over 'head=[],[16],[16, 32]' --rungs 1

A key may be given by its last part, where one key alone ends so; `nnuance keys` has all of them. \
--rungs 1 trains all members in full. The folder gets report.html and the runs, each like those of \
`nnuance train`.")]
pub struct Args {
    /// The config of all members (TOML)
    config: PathBuf,
    /// A key and its values, for example model.hidden=16,32; may be repeated, and all combinations
    /// are tried
    #[arg(long, required = true, value_name = "KEY=VALUES")]
    over: Vec<String>,
    /// Change a key of the config for all members, for example schedule.epochs=4; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Seeds of each member, from the config's on; their losses are averaged
    #[arg(long, default_value = "1", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// One member in N goes on, and is trained N times as far
    #[arg(long, default_value = "3", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=100))]
    one_in: u32,
    /// How often members are compared, the last time at the end of their runs [default: 3, or fewer
    /// for few members]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=16))]
    rungs: Option<u8>,
    /// The sweep's folder [default: runs/sweep- and the config's name]
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The outcome as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// Sees a sweep from afar: of its runs no more than a bar over all of them, since each has its own
/// log, and there are many.
struct Gallery {
    start: Instant,
    terminal: Terminal,
    /// Over all runs; none before the first.
    bar: RefCell<Option<ProgressBar>>,
    /// Positions of all runs so far, but for those of this one.
    behind: Cell<u64>,
    /// What runs remarked, most of them the same.
    told: RefCell<BTreeSet<String>>,
}

impl Gallery {
    fn aside(&self, tell: impl FnOnce()) {
        match &*self.bar.borrow() {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }
}

impl Listener for Gallery {
    fn remark(&self, text: &str) {
        if self.told.borrow_mut().insert(text.to_string()) {
            self.aside(|| self.terminal.remark(text));
        }
    }

    fn count(&self, total: Option<u64>, what: &'static str) -> Counter {
        match &*self.bar.borrow() {
            Some(_) => Box::new(|_| ()),
            None => self.terminal.count(total, what),
        }
    }

    fn scanned(&self, _: &Plan, _: &Scan) {}

    fn opens(&self, _: &Opening) {}

    fn watch(&self, _: u64, done: u64) -> Box<dyn train::Watch + '_> {
        let bar = self.bar.borrow().clone();
        // A run that goes on was counted up to here.
        let behind = self.behind.get().saturating_sub(done);
        Box::new(Run { start: self.start, stop: interrupts(), bar, behind })
    }

    fn ends(&self, _: &Ending) {}
}

impl Follower for Gallery {
    fn turn(&self, turn: &Turn, path: &Path, is_done: bool) {
        let Turn { rung: [rung, rungs], run: [run, runs], positions: [behind, all] } = *turn;
        let mut bar = self.bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| progress::bar(Some(all), ""));
        self.behind.set(behind);
        bar.set_prefix(format!("rung {rung} of {rungs}, run {run} of {runs}"));
        bar.set_position(behind);
        if is_done {
            // What was trained by an earlier command tells nothing of the time left.
            bar.reset_eta();
        }
        if bar.is_hidden() {
            let done = if is_done { " is trained already" } else { "" };
            eprintln!("{}{done} (rung {rung} of {rungs}, run {run} of {runs})", path.display());
        }
    }
}

/// A run, as a part of the bar.
struct Run {
    start: Instant,
    stop: Arc<AtomicBool>,
    bar: Option<ProgressBar>,
    behind: u64,
}

impl Run {
    fn stand(&self, positions: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.behind + positions);
        }
    }
}

impl train::Watch for Run {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn step(&mut self, progress: &Progress) {
        self.stand(progress.positions);
    }

    fn row(&mut self, _: &Row) {}
}

pub fn run(args: Args) -> Result<ExitCode> {
    let gallery = Gallery {
        start: Instant::now(),
        terminal: Terminal::that_stops(false),
        bar: RefCell::default(),
        behind: Cell::default(),
        told: RefCell::default(),
    };
    let means =
        Means { place: &args.place.named(), listener: &gallery, page: false, ranks: &Alone };
    let axes = args.over.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<_>>>()?;
    let asked = Asked {
        config: &args.config,
        sets: &args.overrides,
        axes: &axes,
        over: &args.over,
        seeds: args.seeds,
        one_in: args.one_in,
        rungs: args.rungs.map(usize::from),
    };
    let out = args.out.clone().unwrap_or_else(|| default_folder(&args.config));
    let sweep = Sweep::new(&asked, &out, &means)?;
    eprintln!("{}", bill(&sweep));
    let outcome = sweep.run(&gallery);
    if let Some(bar) = gallery.bar.take() {
        bar.finish_and_clear();
    }
    let Some(outcome) = outcome? else {
        eprintln!("the sweep goes on with the same command");
        return Ok(ExitCode::from(130));
    };
    let page = sweep.write(&outcome)?;
    if args.json {
        out::line(serde_json::to_string_pretty(&outcome)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    out::line(text(&outcome).trim_end())?;
    out::line(format!("\nreport   {}", page.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// What the sweep will take.
fn bill(sweep: &Sweep) -> String {
    let rungs = sweep.rungs.iter().map(|Rung { members, part }| match part {
        1 => format!("{members} in full"),
        part => format!("{members} up to 1/{part} of the length"),
    });
    let [planned, whole] = sweep.positions();
    let mut text = String::new();
    let sentence = format!(
        "{}, {} each: {}; {} positions in all, {} of the {} that all of them in full would take. \
         They are compared by {}.",
        counted(sweep.members.len() as u64, "member"),
        counted(sweep.seeds, "seed"),
        rungs.collect::<Vec<_>>().join(", "),
        grouped(planned),
        percent(share(planned, whole)),
        grouped(whole),
        sweep.yardstick.words(),
    );
    wrap(&sentence, &mut text);
    text.trim_end().to_string()
}

fn text(outcome: &Outcome) -> String {
    let mut text = format!("{}\n", outcome.table());
    wrap(&outcome.about(), &mut text);
    text.push('\n');
    outcome.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
    text
}

fn default_folder(config: &Path) -> PathBuf {
    let name = config.file_stem().unwrap_or(config.as_os_str()).to_string_lossy();
    Path::new("runs").join(format!("sweep-{name}"))
}
