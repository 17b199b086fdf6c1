//! Evaluations at the board: our own search with one of them, or with the sum of some, for whoever
//! wants moves.

use std::sync::atomic::Ordering;

use std::path::Path;

use anyhow::Result;
use shakmaty::Position as _;

use super::Evaluator;
use super::path::as_engines_load;
use crate::digest::digest;
use crate::engine::clock::{Alarm, Stopwatch};
use crate::engine::player::{Limit, Searched};
use crate::engine::uci::{Fault, Line};
use crate::engine::{EngineError, Entrant, Player};
use crate::interface::{Budget, Clock};
use crate::model::{Compute, Device};
use crate::progress::Progress;
use crate::search::{Evaluate, Game, Limits, Question, Searcher, Sum};

/// An evaluation that plays by our own search, on one thread for each player.
pub struct OwnPlayer {
    /// What is added up; one as a rule.
    parts: Vec<Evaluator>,
    /// Of each player's table.
    mebibytes: usize,
}

/// Milliseconds that pass between a move and its clock.
const OVERHEAD: u64 = 5;

impl OwnPlayer {
    /// A usual size of a table. It is cleared for every game or position, so a large one costs time.
    pub const MEBIBYTES: usize = 4;

    /// Opens what [`Evaluator::open`] does, the folder of a run by its net; `A+B` is the sum of two
    /// or more, where no file is called so.
    ///
    /// # Errors
    /// If it cannot be opened, or cannot play; the error says why, and what can.
    pub fn open(name: &str, place: &(Device, Compute), listener: &dyn Progress) -> Result<Self> {
        let names = if Path::new(name).exists() { vec![name] } else { name.split('+').collect() };
        let open = |name: &&str| Evaluator::open(&as_engines_load(name.trim()), place, listener);
        let parts = names.iter().map(open).collect::<Result<_>>()?;
        let player = Self { parts, mebibytes: Self::MEBIBYTES };
        player.in_search()?;
        Ok(player)
    }

    /// With tables of so many MiB, at least 1.
    pub fn with_tables(self, mebibytes: usize) -> Self {
        Self { mebibytes, ..self }
    }

    /// What goes along with a search.
    ///
    /// # Errors
    /// None, since it was tried when it was opened.
    pub fn in_search(&self) -> Result<Box<dyn Evaluate + Send + '_>> {
        let parts = self.parts.iter().map(Evaluator::in_search).collect::<Result<Vec<_>>>()?;
        Ok(match <[_; 1]>::try_from(parts) {
            Ok([one]) => one,
            Err(parts) => Box::new(Sum(parts)),
        })
    }

    /// The scale by which a search chooses its margins. Of evaluations that agree the sum is worth
    /// as many times the centipawns.
    pub fn scale(&self) -> f64 {
        self.parts.iter().map(Evaluator::scale_in_search).sum()
    }

    /// The SHA-256 of its file, or of those of its files one after the other; None if one has none.
    pub fn digest(&self) -> Option<String> {
        match &self.parts[..] {
            [one] => one.digest.clone(),
            parts => {
                let digests = parts.iter().map(|part| part.digest.as_deref());
                Some(digest(digests.collect::<Option<String>>()?.as_bytes()))
            }
        }
    }
}

impl Entrant for OwnPlayer {
    fn name(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|part| &part.name[..]).collect();
        names.join("+")
    }

    fn player(&self) -> Result<Box<dyn Player + '_>, EngineError> {
        Ok(Box::new(AtBoard {
            searcher: Searcher::new(self.mebibytes),
            evaluation: self.in_search().expect("tried before"),
            scale: self.scale(),
            alarm: None,
        }))
    }

    fn settings(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        Ok(vec![
            ("program", format!("nnuance {}", env!("CARGO_PKG_VERSION"))),
            ("evaluation", self.name()),
            ("digest", self.digest().unwrap_or_default()),
            ("scale", self.scale().to_string()),
            ("hash", self.mebibytes.to_string()),
        ])
    }
}

struct AtBoard<'a> {
    searcher: Searcher,
    evaluation: Box<dyn Evaluate + Send + 'a>,
    scale: f64,
    /// Only where time counts.
    alarm: Option<Alarm>,
}

impl Player for AtBoard<'_> {
    fn search(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault> {
        let watch = Stopwatch::start();
        let budget = budget(line, limit);
        let stop = match budget {
            Some(budget) => self.alarm.get_or_insert_default().set(budget.hard),
            None => Default::default(),
        };
        let question = Question { limits: limits(limit), scale: self.scale };
        let game = game(line);
        let is_over = || budget.is_some_and(|budget| watch.milliseconds() >= budget.soft);
        let Self { searcher, evaluation, .. } = self;
        let found = searcher.search(&game, &mut **evaluation, &question, &stop, &mut |_| {
            if is_over() {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let best = found.best().expect("a position that is searched has a legal move");
        Ok(Searched { best, score: found.line.score, pv: found.line.pv, depth: found.depth })
    }

    fn search_anew(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault> {
        self.searcher.forget();
        self.search(line, limit)
    }
}

fn limits(limit: Limit) -> Limits {
    let none = Limits::default();
    match limit {
        Limit::Depth(depth) => Limits { depth: Some(depth), ..none },
        Limit::Nodes(nodes) => Limits { nodes: Some(nodes), ..none },
        Limit::SoftNodes { soft, hard } => {
            Limits { soft_nodes: Some(soft), nodes: Some(hard), ..none }
        }
        Limit::Movetime(_) | Limit::Clocks(_) => none,
    }
}

/// How long the side to move may think; None if it does not matter.
fn budget(line: &Line, limit: Limit) -> Option<Budget> {
    match limit {
        Limit::Movetime(milliseconds) => Some(Budget::exactly(milliseconds, OVERHEAD)),
        Limit::Clocks(clocks) => {
            let clock = clocks[line.chess().turn().fold_wb(0, 1)];
            let (time, increment) = (clock.left, clock.increment);
            Some(Clock { time, increment, moves_to_go: None }.budget(OVERHEAD))
        }
        _ => None,
    }
}

fn game(line: &Line) -> Game {
    let mut game = Game::new(line.first().clone());
    line.moves().iter().for_each(|&played| game.play(played));
    game
}
