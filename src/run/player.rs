//! Evaluations that play with the built-in search.

use std::sync::atomic::Ordering;

use anyhow::Result;
use shakmaty::Position as _;

use super::{Evaluator, Host};
use crate::engine::clock::{Alarm, Stopwatch};
use crate::engine::player::{Limit, MoveResult};
use crate::engine::uci::{EngineFault, GameLine};
use crate::engine::{EngineError, Player, PlayerFactory};
use crate::interface::Budget;
use crate::search::{Evaluate, Limits, SearchGame, SearchSettings, Searcher};

/// An evaluation that plays with the built-in search, on one thread per player.
pub struct SearchPlayer {
    evaluator: Evaluator,
    /// Size of each player's table in MiB.
    mebibytes: usize,
}

/// Overhead between a move and its clock in milliseconds.
const OVERHEAD: u64 = 5;

/// Usual size of a table in MiB. It is often cleared, so a large one costs time.
const MEBIBYTES: u32 = 4;

impl SearchPlayer {
    /// Opens an evaluation that can play; `hash` is the size of its tables in MiB.
    ///
    /// # Errors
    ///
    /// Fails as [`Evaluator::open_in_centipawns`] and [`Evaluator::search_evaluation`] do.
    pub fn open_player(name: &str, hash: Option<u32>, host: &Host) -> Result<Self> {
        let evaluator = Evaluator::open_in_centipawns(name, host)?;
        evaluator.search_evaluation()?;
        Ok(Self { evaluator, mebibytes: hash.unwrap_or(MEBIBYTES) as usize })
    }
}

impl PlayerFactory for SearchPlayer {
    fn player_name(&self) -> String {
        self.evaluator.name.clone()
    }

    fn start_player(&self) -> Result<Box<dyn Player + '_>, EngineError> {
        Ok(Box::new(AtBoard {
            searcher: Searcher::new(self.mebibytes),
            evaluation: self.evaluator.search_evaluation().expect("tried when it was opened"),
            scale: self.evaluator.search_scale(),
            alarm: None,
        }))
    }

    fn list_settings(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        Ok(vec![
            ("program", format!("nnuance {}", env!("CARGO_PKG_VERSION"))),
            ("evaluation", self.player_name()),
            ("digest", self.evaluator.digest.clone().unwrap_or_default()),
            ("scale", self.evaluator.search_scale().to_string()),
            ("hash", self.mebibytes.to_string()),
        ])
    }
}

struct AtBoard<'a> {
    searcher: Searcher,
    evaluation: Box<dyn Evaluate + Send + 'a>,
    scale: f64,
    /// Alarm that stops a search; None until time is limited.
    alarm: Option<Alarm>,
}

impl Player for AtBoard<'_> {
    fn search_line(&mut self, line: &GameLine, limit: Limit) -> Result<MoveResult, EngineFault> {
        let watch = Stopwatch::start();
        let (mut limits, mut budget) = (Limits::default(), None);
        match limit {
            Limit::Depth(depth) => limits.depth = Some(depth),
            Limit::Nodes(nodes) => limits.nodes = Some(nodes),
            Limit::SoftNodes { soft, hard } => {
                (limits.soft_nodes, limits.nodes) = (Some(soft), Some(hard));
            }
            Limit::Movetime(time) => budget = Some(Budget::exact_time(time, OVERHEAD)),
            Limit::Clocks(clocks) => {
                budget = Some(clocks[line.chess.turn().fold_wb(0, 1)].divide_time(OVERHEAD));
            }
        }
        let stop = match budget {
            Some(budget) => self.alarm.get_or_insert_default().set_alarm(budget.hard),
            None => Default::default(),
        };
        let settings = SearchSettings { limits, scale: self.scale };
        let mut game = SearchGame::new(line.first.clone());
        line.moves.iter().for_each(|&played| game.play_move(played));
        let is_over = || budget.is_some_and(|budget| watch.elapsed_milliseconds() >= budget.soft);
        let Self { searcher, evaluation, .. } = self;
        let result =
            searcher.search_position(&game, &mut **evaluation, &settings, &stop, &mut |_| {
                if is_over() {
                    stop.store(true, Ordering::Relaxed);
                }
            });
        let best = *result.pv.first().expect("a position that is searched has a legal move");
        Ok(MoveResult { best, score: Some(result.score), depth: result.depth })
    }

    fn clear_memory(&mut self, _line: &GameLine) -> Result<(), EngineFault> {
        self.searcher.clear_memory();
        Ok(())
    }
}
