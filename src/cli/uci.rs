//! `nnuance uci`: an evaluation as a chess engine.

use std::io::{self, BufRead, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position as _};

use super::options::{Place, Shape};
use super::terminal::Terminal;
use crate::engine::Entrant as _;
use crate::interface::{self, Budget, Command, Go};
use crate::model::Precision;
use crate::run::OwnPlayer;
use crate::sample::Position;
use crate::search::{Evaluate, Game, Question, Report, Searched, Searcher};

/// Be a chess engine that plays with an evaluation, for graphical interfaces and for matches
///
/// It speaks UCI on standard input and output. All evaluations play with the same search, on one
/// thread; with `go nodes` or `go depth` the same question gets the same answer.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance uci nets/quickstart-32.bin
  nnuance uci runs/quickstart-hce
  fastchess -engine cmd=nnuance args='uci nets/quickstart-32.bin' name=net \\
            -engine cmd=nnuance args='uci material' name=material -each tc=1+0.01 -rounds 100")]
pub struct Args {
    /// A net, handcrafted weights (JSON or a run), material; a run folder, a checkpoint; or the sum of
    /// several, A+B
    evaluation: String,
    /// What the evaluation's centipawns are worth: a share of sigmoid(cp / CP) of the points.
    /// Margins of the search go by it [default: what was fitted to results, else 200]
    #[arg(long, value_name = "CP")]
    fitted_scale: Option<f64>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shape: Shape,
}

const MEBIBYTES: usize = 16;
const MOST_MEBIBYTES: usize = 65_536;
const MOST_LINES: usize = 218;
/// Milliseconds between a move and its clock, unless the interface says otherwise.
const OVERHEAD: u64 = 10;
const MOST_OVERHEAD: u64 = 5_000;

pub fn run(args: Args) -> Result<()> {
    let place = args.place.open(Precision::F32)?;
    let (given, terminal) = (args.shape.given(), Terminal::default());
    let player = OwnPlayer::open(&args.evaluation, &given, &place, &terminal)?;
    let scale = args.fitted_scale.unwrap_or_else(|| player.scale());
    ensure!(scale > 0.0 && scale.is_finite(), "--fitted-scale must be above 0, found {scale}");
    let evaluation = player.in_search()?;
    let (to_worker, jobs) = channel();
    thread::scope(|scope| {
        // Its end is the end of the jobs, which comes when the talk is over.
        scope.spawn(|| work(jobs, evaluation, scale));
        Talk::new(&player.name(), to_worker).listen()
    })
}

/// What the searching thread does, one after the other.
enum Job {
    Forget,
    Hash(usize),
    Search(Box<Search>),
    Eval(Box<Game>),
}

struct Search {
    game: Game,
    go: Go,
    lines: usize,
    mode: CastlingMode,
    /// When it began, and how long it may take.
    began: Instant,
    budget: Option<Budget>,
    /// Set where it must end, and where it has.
    stop: Arc<AtomicBool>,
}

fn work(jobs: Receiver<Job>, mut evaluation: Box<dyn Evaluate + Send + '_>, scale: f64) {
    let mut searcher = Searcher::new(MEBIBYTES);
    for job in jobs {
        match job {
            Job::Forget => searcher.forget(),
            Job::Hash(mebibytes) => searcher = Searcher::new(mebibytes),
            Job::Eval(game) => {
                evaluation.refresh(&Position::from_chess(game.chess()));
                say(&format!("info string {} cp for the side to move", evaluation.value()));
            }
            Job::Search(search) => answer(&mut searcher, &mut *evaluation, scale, &search),
        }
    }
}

/// Searches, tells what is found, and at the end the move.
fn answer(searcher: &mut Searcher, evaluation: &mut dyn Evaluate, scale: f64, search: &Search) {
    let Search { game, go, lines, mode, began, budget, stop } = search;
    let question = Question { limits: go.limits, lines: *lines, scale };
    let milliseconds = || began.elapsed().as_millis() as u64;
    let mut told = Vec::new();
    let found = searcher.search(game, evaluation, &question, stop, &mut |report| {
        if report.number == 1 {
            told.clone_from(&report.line.pv);
        }
        say(&interface::info(&report, milliseconds(), *mode));
        if budget.is_some_and(|budget| milliseconds() >= budget.soft) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    if found.depth == 0 || told.first() != found.lines[0].pv.first() {
        // What an iteration found before it was stopped is played, so it is told as well.
        let Searched { ref lines, depth, seldepth, nodes } = found;
        let report = Report { depth, seldepth, nodes, number: 1, line: &lines[0], full: 0 };
        say(&interface::info(&report, milliseconds(), *mode));
    }
    // Who asked for no end must not be told of one before it is time.
    while go.infinite && !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(1));
    }
    say(&interface::best(&found.lines[0].pv, *mode));
    stop.store(true, Ordering::Relaxed);
}

/// The talk with an interface.
struct Talk<'a> {
    name: &'a str,
    worker: Sender<Job>,
    game: Game,
    mode: CastlingMode,
    lines: usize,
    overhead: u64,
    /// Of the last search.
    stop: Arc<AtomicBool>,
    /// When that must have ended.
    deadline: Option<Instant>,
    /// Whether that goes on until it is stopped.
    is_endless: bool,
}

impl<'a> Talk<'a> {
    fn new(name: &'a str, worker: Sender<Job>) -> Self {
        Self {
            name,
            worker,
            game: Game::new(Chess::default()),
            mode: CastlingMode::Standard,
            lines: 1,
            overhead: OVERHEAD,
            stop: Arc::default(),
            deadline: None,
            is_endless: false,
        }
    }

    /// Until the interface says `quit`, or says no more.
    fn listen(mut self) -> Result<()> {
        let lines = lines();
        loop {
            let line = match self.deadline {
                None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => lines.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match line {
                Ok(line) => match interface::read(&line, self.mode) {
                    Ok(Some(Command::Quit)) => break,
                    Ok(Some(command)) => self.obey(command),
                    Ok(None) => {}
                    Err(wrong) => say(&format!("info string {wrong}")),
                },
                Err(RecvTimeoutError::Timeout) => self.halt(),
                // A file of commands has no `quit` as a rule: what it asked for is finished.
                Err(RecvTimeoutError::Disconnected) => {
                    self.settle();
                    return Ok(());
                }
            }
        }
        self.halt();
        Ok(())
    }

    /// Waits for the end of a search that has its time, and ends one that would have no end.
    fn settle(&mut self) {
        while let (false, Some(at)) = (self.stop.load(Ordering::Relaxed), self.deadline) {
            if at <= Instant::now() {
                self.halt();
            }
            thread::sleep(Duration::from_millis(1));
        }
        if self.is_endless {
            self.halt();
        }
    }

    fn halt(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.deadline = None;
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Uci => self.introduce(),
            Command::IsReady => say("readyok"),
            Command::NewGame => self.order(Job::Forget),
            Command::Set { name, value } => {
                if let Err(wrong) = self.set(&name, &value) {
                    say(&format!("info string {wrong}"));
                }
            }
            Command::Position(game) => self.game = *game,
            Command::Go(go) => self.go(go),
            Command::Stop => self.halt(),
            // Pondering goes on until it is told to stop; the move is the answer.
            Command::PonderHit => self.halt(),
            Command::Eval => self.order(Job::Eval(Box::new(self.game.clone()))),
            Command::Show => {
                say(&Fen::from_position(self.game.chess(), EnPassantMode::Legal).to_string());
            }
            Command::Quit => {}
        }
    }

    fn introduce(&self) {
        say(&format!("id name nnuance {} ({})", env!("CARGO_PKG_VERSION"), self.name));
        say("id author the nnuance developers");
        say(&format!("option name Hash type spin default {MEBIBYTES} min 1 max {MOST_MEBIBYTES}"));
        say("option name Threads type spin default 1 min 1 max 1");
        say(&format!("option name MultiPV type spin default 1 min 1 max {MOST_LINES}"));
        say(&format!(
            "option name Move Overhead type spin default {OVERHEAD} min 0 max {MOST_OVERHEAD}"
        ));
        say("option name UCI_Chess960 type check default false");
        say("option name Ponder type check default false");
        say("uciok");
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |least: u64, most: u64| match value.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(format!("{name} lies between {least} and {most}, not `{value}`")),
        };
        match &name.to_ascii_lowercase()[..] {
            "hash" => self.order(Job::Hash(number(1, MOST_MEBIBYTES as u64)? as usize)),
            "threads" => drop(number(1, 1)?),
            "multipv" => self.lines = number(1, MOST_LINES as u64)? as usize,
            "move overhead" => self.overhead = number(0, MOST_OVERHEAD)?,
            "uci_chess960" => {
                self.mode = match value {
                    "true" => CastlingMode::Chess960,
                    "false" => CastlingMode::Standard,
                    _ => return Err(format!("{name} is true or false, not `{value}`")),
                }
            }
            "ponder" => {}
            _ => return Err(format!("there is no option `{name}`")),
        }
        Ok(())
    }

    fn go(&mut self, go: Go) {
        self.settle();
        let began = Instant::now();
        let budget = go.budget(self.game.chess().turn(), self.overhead);
        self.stop = Arc::default();
        self.is_endless = go.infinite;
        self.deadline = budget.map(|budget| began + Duration::from_millis(budget.hard));
        let (game, lines, mode) = (self.game.clone(), self.lines, self.mode);
        let stop = self.stop.clone();
        self.order(Job::Search(Box::new(Search { game, go, lines, mode, began, budget, stop })));
    }

    fn order(&self, job: Job) {
        // It ends after this one does.
        self.worker.send(job).expect("the searching thread waits for jobs");
    }
}

/// The lines of standard input, as they come. A thread waits for them that nobody waits for: who
/// reads cannot be called off.
fn lines() -> Receiver<String> {
    let (to, lines) = channel();
    thread::spawn(move || {
        let known = |line: io::Result<String>| line.ok();
        io::stdin().lock().lines().map_while(known).try_for_each(|line| to.send(line).ok())
    });
    lines
}

/// An interface that has gone hears nothing; the end of standard input ends the talk.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
