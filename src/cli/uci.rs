//! `nnuance uci`: an evaluation as a chess engine.

use std::io::{self, BufReader, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position as _};

use super::options::DeviceArgs;
use super::terminal::Terminal;
use crate::engine::clock::Alarm;
use crate::format::lines::Text;
use crate::interface::{self, GoCommand, UciCommand};
use crate::run::Evaluator;
use crate::sample::Position;
use crate::search::{Evaluate, SearchGame, SearchResult, SearchSettings, Searcher};

/// Play as a UCI engine, for graphical interfaces and matches
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance uci nets/quickstart-32.bin
  fastchess -engine cmd=nnuance args='uci nets/quickstart-32.bin' name=net \\
      -engine cmd=nnuance args='uci material' name=material \\
      -each tc=1+0.01 -rounds 100")]
#[command(after_help = "\
All evaluations play with the same search on one thread. `go nodes` and
`go depth` give the same answer to the same question.")]
pub struct Args {
    /// Net, handcrafted weights (JSON), material, run folder or checkpoint
    evaluation: String,
    /// Centipawns of one logit, for the margins of the search [default: the fitted scale or 200]
    #[arg(long, value_name = "CP")]
    fitted_scale: Option<f64>,
    #[command(flatten)]
    device: DeviceArgs,
}

const MEBIBYTES: usize = 16;
const MAX_MEBIBYTES: usize = 65_536;
/// Overhead between a move and its clock in milliseconds, unless the interface sets it.
const OVERHEAD: u64 = 10;
const MAX_OVERHEAD: u64 = 5_000;

pub fn run_command(args: Args) -> Result<()> {
    let terminal = Terminal::default();
    let host = args.device.open_host(&terminal)?;
    let evaluator = Evaluator::open_in_centipawns(&args.evaluation, &host)?;
    let evaluation = evaluator.search_evaluation()?;
    let scale = args.fitted_scale.unwrap_or_else(|| evaluator.search_scale());
    ensure!(scale > 0.0 && scale.is_finite(), "--fitted-scale must be above 0, found {scale}");
    let mut worker = Worker { searcher: Searcher::new(MEBIBYTES), evaluation, scale };
    let (to_worker, jobs) = channel::<UciJob>();
    let alarm = Alarm::default();
    thread::scope(|scope| {
        // The thread ends with the channel of jobs.
        scope.spawn(|| jobs.into_iter().for_each(|job| job(&mut worker)));
        let session = Session {
            name: &evaluator.name,
            worker: to_worker,
            alarm: &alarm,
            game: SearchGame::new(Chess::default()),
            mode: CastlingMode::Standard,
            overhead: OVERHEAD,
            stop: Arc::default(),
            is_endless: false,
            is_timed: false,
        };
        session.read_commands();
    });
    Ok(())
}

struct Worker<'a> {
    searcher: Searcher,
    evaluation: Box<dyn Evaluate + Send + 'a>,
    scale: f64,
}

type UciJob<'a> = Box<dyn FnOnce(&mut Worker<'a>) + Send>;

struct Session<'a, 'w> {
    name: &'a str,
    worker: Sender<UciJob<'w>>,
    alarm: &'a Alarm,
    game: SearchGame,
    mode: CastlingMode,
    overhead: u64,
    /// Flag that stops the last search.
    stop: Arc<AtomicBool>,
    /// Whether the last search runs until it is stopped.
    is_endless: bool,
    /// Whether the alarm stops the last search.
    is_timed: bool,
}

/// Longest command in bytes. Games take less.
const LONGEST: usize = 1 << 20;

impl Session<'_, '_> {
    fn read_commands(mut self) {
        let mut input = Text::new(Box::new(BufReader::new(io::stdin())), LONGEST);
        while let Ok(true) = input.read_line() {
            let line = input.current_line().map_err(|wrong| wrong.to_string());
            match line.and_then(|line| interface::parse_command(line, self.mode)) {
                Ok(Some(UciCommand::Quit)) => return self.stop_search(),
                Ok(Some(command)) => self.execute_command(command),
                Ok(None) => {}
                Err(wrong) => print_line(&format!("info string {wrong}")),
            }
        }
        // Files of commands usually lack `quit`, so searches that end are finished.
        if self.is_endless {
            self.stop_search();
        }
    }

    fn stop_search(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn execute_command(&mut self, command: UciCommand) {
        match command {
            UciCommand::Uci => self.print_identity(),
            UciCommand::IsReady => print_line("readyok"),
            UciCommand::NewGame => self.send_job(|worker| worker.searcher.clear_memory()),
            UciCommand::Set { name, value } => {
                if let Err(wrong) = self.set_option(&name, &value) {
                    print_line(&format!("info string {wrong}"));
                }
            }
            UciCommand::Position(game) => self.game = *game,
            UciCommand::Go(go) => self.start_search(go),
            UciCommand::Stop => self.stop_search(),
            UciCommand::Eval => {
                let position = Position::from_chess(self.game.chess());
                self.send_job(move |worker| {
                    worker.evaluation.refresh(&position);
                    let value = worker.evaluation.value();
                    print_line(&format!("info string {value} cp for the side to move"));
                });
            }
            UciCommand::Show => {
                print_line(
                    &Fen::from_position(self.game.chess(), EnPassantMode::Legal).to_string(),
                );
            }
            UciCommand::Quit => {}
        }
    }

    fn print_identity(&self) {
        print_line(&format!(
            "id name nnuance {} ({})\n\
             id author the nnuance developers\n\
             option name Hash type spin default {MEBIBYTES} min 1 max {MAX_MEBIBYTES}\n\
             option name Threads type spin default 1 min 1 max 1\n\
             option name Move Overhead type spin default {OVERHEAD} min 0 max {MAX_OVERHEAD}\n\
             option name UCI_Chess960 type check default false\n\
             uciok",
            env!("CARGO_PKG_VERSION"),
            self.name
        ));
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |min: u64, max: u64| match value.parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(format!("{name} lies between {min} and {max}, not `{value}`")),
        };
        match &name.to_ascii_lowercase()[..] {
            "hash" => {
                let mebibytes = number(1, MAX_MEBIBYTES as u64)? as usize;
                self.send_job(move |worker| worker.searcher = Searcher::new(mebibytes));
            }
            "threads" => drop(number(1, 1)?),
            "move overhead" => self.overhead = number(0, MAX_OVERHEAD)?,
            "uci_chess960" => {
                self.mode = match value {
                    "true" => CastlingMode::Chess960,
                    "false" => CastlingMode::Standard,
                    _ => return Err(format!("{name} is true or false, not `{value}`")),
                }
            }
            _ => return Err(format!("there is no option `{name}`")),
        }
        Ok(())
    }

    fn start_search(&mut self, go: GoCommand) {
        // There is one alarm, for one search.
        if self.is_endless || self.is_timed {
            self.stop_search();
        }
        let start = Instant::now();
        let budget = go.time_budget(self.game.chess().turn(), self.overhead);
        let stop = budget.map_or_else(Arc::default, |budget| self.alarm.set_alarm(budget.hard));
        self.stop = stop.clone();
        self.is_endless = go.is_endless(self.game.chess().turn(), self.overhead);
        self.is_timed = budget.is_some();
        let (mut game, mode) = (self.game.clone(), self.mode);
        game.restrict_moves(&go.searchmoves);
        self.send_job(move |Worker { searcher, evaluation, scale }| {
            let settings = SearchSettings { limits: go.limits, scale: *scale };
            let milliseconds = || start.elapsed().as_millis() as u64;
            let mut printed = Vec::new();
            let mut watch = |result: &SearchResult| {
                printed.clone_from(&result.pv);
                print_line(&interface::format_info(result, milliseconds(), mode));
                if budget.is_some_and(|budget| milliseconds() >= budget.soft) {
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let result =
                searcher.search_position(&game, &mut **evaluation, &settings, &stop, &mut watch);
            if result.depth == 0 || printed.first() != result.pv.first() {
                // The best move of an unfinished iteration is played, so it is printed too.
                print_line(&interface::format_info(&result, milliseconds(), mode));
            }
            // The answer to `go infinite` comes after `stop`.
            while go.infinite && !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            print_line(&interface::format_best_move(result.pv.first().copied(), mode));
            stop.store(true, Ordering::Relaxed);
        });
    }

    fn send_job(&self, job: impl FnOnce(&mut Worker) + Send + 'static) {
        // The search thread ends after this job.
        self.worker.send(Box::new(job)).expect("the searching thread waits for jobs");
    }
}

/// Prints a line. Errors are ignored: if the reader is gone, standard input ends too.
fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
