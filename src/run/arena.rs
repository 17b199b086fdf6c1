//! Evaluations that play against each other: games in pairs, each opening twice with the colours
//! exchanged, by the same search and the same nodes.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use rayon::prelude::*;
use shakmaty::Position as _;

use super::Evaluator;
use crate::engine::adjudicate::{Adjudication, Ending, Referee};
use crate::engine::opening::{Opener, Openings};
use crate::report::elo::{Decision, Meeting, Pairs, Sprt};
use crate::search::{Evaluate, Game, Limits, Question, Searched, Searcher};

/// How games are played.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Nodes a move: no iteration begins beyond them, and none goes on beyond [`HARD`] times as
    /// many.
    pub nodes: u64,
    /// Of the transposition table of each side.
    pub mebibytes: usize,
    /// Its bound is of what either side's search says first.
    pub openings: Openings,
    pub adjudication: Adjudication,
    pub seed: u64,
}

/// An iteration that has begun may take so many times the nodes of a move.
const HARD: u64 = 3;

/// So many openings are tried for a pair.
const ATTEMPTS: u64 = 100;

/// An evaluation that plays.
pub struct Player {
    pub evaluator: Evaluator,
    /// See [`Question::scale`].
    pub scale: f64,
}

/// How far a match is.
pub struct Standing<'a> {
    /// Those that meet.
    pub players: [usize; 2],
    /// What each two that meet have played, in the order of [`meetings`].
    pub meetings: &'a [Meeting],
    /// Pairs that are played, and that will be at most.
    pub done: u64,
    pub total: u64,
}

/// Each two players once.
fn meetings(players: usize) -> Vec<Meeting> {
    let of = |first| (first + 1..players).map(move |second| [first, second]);
    let each = (0..players).flat_map(of);
    each.map(|players| Meeting { players, pairs: Pairs::default() }).collect()
}

/// Each two players play `pairs` pairs, or until `sprt` decides, where it is given. What was played
/// until `stop` counts; the games are the same for any number of threads.
///
/// # Errors
/// If an evaluation cannot play, or openings cannot be had.
pub fn play(
    players: &[Player],
    manner: &Manner,
    pairs: u64,
    sprt: Option<&Sprt>,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Standing),
) -> Result<Vec<Meeting>> {
    players.iter().try_for_each(|player| player.evaluator.in_search().map(drop))?;
    let opener = Opener::new(&manner.openings, manner.seed, pairs)?;
    let mut meetings = meetings(players.len());
    let total = pairs * meetings.len() as u64;
    let mut done = 0;
    // The same for any number of threads: a test that decides looks after each of these.
    const ROUND: u64 = 16;
    for number in 0..meetings.len() {
        let [first, second] = meetings[number].players;
        let two = [&players[first], &players[second]];
        let mut next = 0;
        while next < pairs && !stop.load(Ordering::Relaxed) {
            let round = next..pairs.min(next + ROUND);
            let played: Result<Vec<[f64; 2]>> = round
                .clone()
                .into_par_iter()
                .map(|number| pair(two, &opener, number, manner))
                .collect();
            played?.into_iter().for_each(|results| meetings[number].pairs.add(results));
            (next, done) = (round.end, done + round.end - round.start);
            watch(Standing { players: [first, second], meetings: &meetings, done, total });
            let decided = |sprt: &Sprt| sprt.decide(&meetings[number].pairs) != Decision::GoOn;
            if sprt.is_some_and(decided) {
                break;
            }
        }
    }
    Ok(meetings)
}

/// The results of both games as the first player sees them.
fn pair(players: [&Player; 2], opener: &Opener, number: u64, manner: &Manner) -> Result<[f64; 2]> {
    let attempts = if opener.has_choice() { ATTEMPTS } else { 1 };
    let mut sides = [side(players[0], manner)?, side(players[1], manner)?];
    let is_level = |start: &Game| {
        let bound = manner.openings.bound.unsigned_abs();
        let seen = sides.each_mut().map(|side| side.search(start).score().centipawns());
        seen.into_iter().all(|score| score.unsigned_abs() <= bound)
    };
    let mut starts = (0..attempts).filter_map(|attempt| opener.opening(number, attempt));
    let Some(start) = starts.by_ref().map(Game::new).find(is_level) else {
        bail!(
            "no opening of pair {} is level enough for both sides, in {attempts} that were tried",
            number + 1
        );
    };
    let as_white = game(&mut sides, start.clone(), manner);
    sides.reverse();
    let as_black = game(&mut sides, start, manner);
    Ok([as_white.white_result(), 1.0 - as_black.white_result()].map(f64::from))
}

/// A player at the board.
struct Side<'a> {
    searcher: Searcher,
    evaluation: Box<dyn Evaluate + Send + 'a>,
    question: Question,
}

impl Side<'_> {
    fn search(&mut self, game: &Game) -> Searched {
        let never = AtomicBool::new(false);
        let Self { searcher, evaluation, question } = self;
        searcher.search(game, &mut **evaluation, question, &never, &mut |_| {})
    }
}

fn side<'a>(player: &'a Player, manner: &Manner) -> Result<Side<'a>> {
    let nodes = Some(manner.nodes * HARD);
    let limits = Limits { nodes, soft_nodes: Some(manner.nodes), ..Limits::default() };
    Ok(Side {
        searcher: Searcher::new(manner.mebibytes),
        evaluation: player.evaluator.in_search()?,
        question: Question { limits, lines: 1, scale: player.scale },
    })
}

/// Plays a game; White is the first side.
fn game(sides: &mut [Side; 2], mut game: Game, manner: &Manner) -> Ending {
    sides.iter_mut().for_each(|side| side.searcher.forget());
    let mut referee = Referee::new(manner.adjudication, game.chess());
    loop {
        let turn = game.chess().turn();
        let found = sides[turn.fold_wb(0, 1)].search(&game);
        let best = found.best().expect("the referee sees the end of a game");
        game.play(best);
        if let Some(ending) = referee.moved(found.score().centipawns(), turn, game.chess()) {
            return ending;
        }
    }
}
