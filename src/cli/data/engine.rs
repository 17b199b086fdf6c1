//! Options shared by the commands that make data with an engine, and the summary of a job.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};

use super::io::Writing;
use crate::cli::terminal::Terminal;
use crate::cli::{INTERRUPTED, out};
use crate::digits::group_digits;
use crate::engine::{
    EngineError, EngineSettings, JobReport, JournalError, Limit, ParallelPlayers, PlayerFactory,
};
use crate::evaluation::Evaluation;
use crate::output;
use crate::progress::Progress;
use crate::run::{DeviceOptions, Evaluator, SearchPlayer};

/// Folder of games on Debian and related systems.
const GAMES: &str = "/usr/games";
/// Largest number of skipped items that are shown.
const SHOWN: usize = 5;

/// Which engines.
#[derive(clap::Args)]
#[command(next_help_heading = "Engine")]
pub struct Engines {
    /// Evaluation that plays by the search of nnuance: a net, handcrafted weights (JSON), material,
    /// a run folder or a checkpoint
    #[arg(long, value_name = "EVALUATION", conflicts_with_all = ["engine", "arguments", "options"])]
    with: Option<String>,
    /// UCI engine [default: stockfish]
    #[arg(long, value_name = "PATH")]
    engine: Option<PathBuf>,
    /// Argument of the engine's command line; may be repeated
    #[arg(long = "argument", value_name = "TEXT", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Engines or searches at a time; results do not depend on it [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    engines: Option<u16>,
    /// UCI option of the engine; may be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_option)]
    options: Vec<(String, String)>,
    /// Hash table of each engine in MB, cleared for each position or game [default: 16; 4 with
    /// --with]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    hash: Option<u32>,
    /// Seconds after which a silent engine is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    patience: u64,
}

/// How far each search goes.
#[derive(clap::Args)]
#[command(next_help_heading = "Length of a search")]
#[group(required = true, multiple = true)]
pub struct SearchArgs {
    /// Nodes of each search; with --soft-nodes its limit [default there: ten times as many]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Nodes after which no iteration begins; needs --with
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with_all = ["depth", "movetime"])]
    soft_nodes: Option<u64>,
    /// Depth of each search in half-moves
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with_all = ["nodes", "movetime"])]
    depth: Option<u32>,
    /// Milliseconds of each search; scores differ from run to run
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with_all = ["nodes", "depth"])]
    movetime: Option<u64>,
}

pub fn parse_option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("expected Name=Value".to_string()),
    }
}

impl Engines {
    /// Opens the evaluation of `--with`, to label positions without a search.
    pub fn open_static(&self) -> Result<Evaluation> {
        let name = self.with.as_ref().context(
            "a static label is the value of an evaluation: name one with --with, a net for example",
        )?;
        Evaluator::open_static(name, &DeviceOptions::default().open_host(&Terminal::default())?)
    }

    pub fn parallel_players(&self) -> Result<ParallelPlayers> {
        let players = self.engines.map_or_else(rayon::current_num_threads, usize::from);
        Ok(ParallelPlayers { entrant: self.player_factory()?, players })
    }

    fn player_factory(&self) -> Result<Arc<dyn PlayerFactory>> {
        if let Some(name) = &self.with {
            let terminal = Terminal::default();
            let host = DeviceOptions::default().open_host(&terminal)?;
            return Ok(Arc::new(SearchPlayer::open_player(name, self.hash, &host)?));
        }
        let program = match &self.engine {
            Some(program) => program.clone(),
            None => find_stockfish().context(
                "no stockfish is installed here; install it (apt install stockfish), name an \
                 engine with --engine PATH, or an evaluation with --with",
            )?,
        };
        let settings = open_engine(&program, &self.arguments, &self.options, self.hash);
        Ok(Arc::new(EngineSettings { patience_ms: self.patience * 1000, ..settings }))
    }
}

/// Describes a UCI program with arguments and options.
pub fn open_engine(
    program: &Path,
    arguments: &[String],
    options: &[(String, String)],
    hash: Option<u32>,
) -> EngineSettings {
    let hash = hash.map(|size| ("Hash".to_string(), size.to_string()));
    let options = hash.into_iter().chain(options.iter().cloned()).collect();
    EngineSettings { arguments: arguments.to_vec(), options, ..EngineSettings::new(program) }
}

/// Finds Stockfish: as a shell does, or in Debian's folder, which may not be on PATH.
fn find_stockfish() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from(GAMES)]);
    let name = format!("stockfish{}", std::env::consts::EXE_SUFFIX);
    folders.map(|folder| folder.join(&name)).find(|program| program.is_file())
}

impl SearchArgs {
    /// Fails if UCI engines lack such a limit.
    pub fn search_limit(&self, engines: &Engines) -> Result<Limit> {
        if let Some(soft) = self.soft_nodes {
            ensure!(
                engines.with.is_some(),
                "engines that speak UCI know no --soft-nodes; give --nodes, or an evaluation of \
                 your own with --with"
            );
            let hard = self.nodes.unwrap_or(soft.saturating_mul(10));
            ensure!(soft <= hard, "--soft-nodes {soft} lies above --nodes {hard}");
            return Ok(Limit::SoftNodes { soft, hard });
        }
        let nodes = self.nodes.map(Limit::Nodes);
        let depth = self.depth.map(Limit::Depth);
        let movetime = self.movetime.map(Limit::Movetime);
        Ok(nodes.or(depth).or(movetime).expect("clap requires one of them"))
    }
}

/// Runs a job of `total` items ("positions", "games") to its end, or until Ctrl-C, and prints its
/// result. `input` must not be overwritten.
pub fn run_job(
    writing: &Writing,
    (total, noun): (u64, &'static str),
    input: Option<&Path>,
    job: impl Fn(&dyn Progress) -> Result<JobReport, EngineError>,
) -> Result<ExitCode> {
    let path = &writing.output;
    let is_input = input.is_some_and(|input| output::is_same(input, path));
    ensure!(!is_input, "{} is the input, too; name another file with --out", path.display());
    let report = start_or_resume(path, writing.overwrite, || job(&Terminal::stoppable()))?;
    if report.stopped {
        let (done, total) = (group_digits(report.done), group_digits(total));
        eprintln!("stopped after {done} of {total} {noun}; the same command goes on from there");
        return Ok(INTERRUPTED.into());
    }
    let bad = &report.bad_records;
    let bad = bad.first.first().map(|first| {
        format!("{} bad records left out, the first {first}", group_digits(bad.count))
    });
    let skipped = report.skipped.iter().take(SHOWN).map(|skip| {
        let noun = noun.trim_end_matches('s');
        format!("{noun} {} was skipped: {}", group_digits(skip.item + 1), skip.reason)
    });
    let counts = [report.done, report.written, report.skipped.len() as u64];
    let [done, written, left_out] = counts.map(group_digits);
    let name = path.display();
    let last = format!("{done} {noun} done: {written} written, {left_out} skipped: {name}");
    let [unscored, moves] = report.unscored.map(group_digits);
    let unscored = (report.unscored[0] > 0).then(|| {
        format!("{unscored} of {moves} moves have no score: the engine gave none, or bounds alone")
    });
    out::print_lines(bad.into_iter().chain(skipped).chain(unscored).chain([last]).map(Ok))?;
    Ok(ExitCode::SUCCESS)
}

/// Starts or resumes a file; replaces a complete one only if requested.
pub fn start_or_resume<T>(
    path: &Path,
    overwrite: bool,
    open: impl Fn() -> Result<T, EngineError>,
) -> Result<T> {
    let name = path.display();
    ensure!(
        !output::is_standard(path) && !output::is_device(path),
        "{name} is no regular file, and what can be resumed needs one; name another"
    );
    match open() {
        Err(EngineError::Journal(JournalError::Exists(_)) | EngineError::MatchComplete(_))
            if overwrite =>
        {
            // The file is removed only after all other checks.
            fs::remove_file(path).with_context(|| format!("cannot replace {name}"))?;
            Ok(open()?)
        }
        result => Ok(result?),
    }
}
