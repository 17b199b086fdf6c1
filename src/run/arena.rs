//! Evaluations and engines that play against each other: games in pairs, each opening twice with
//! the colours exchanged.

mod board;
mod recorder;

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::engine::adjudicate::{Adjudication, Ending};
use crate::engine::opening::{Opener, Openings};
use crate::engine::pool::{self, Obstacle, Tried, Workers};
use crate::engine::{Clock, EngineError, Entrant, Limit, Watch};
use crate::report::elo::{Decision, Meeting, Pairs, Sprt};
use board::{PlayedGame, Seats, pair};
pub use recorder::{Begun, Recorder, noted};

/// How games are played.
#[derive(Clone, Debug)]
pub struct Manner {
    pub pace: Pace,
    /// Their bound is of what either side's search says first, where another opening can be had.
    pub openings: Openings,
    pub adjudication: Adjudication,
    pub seed: u64,
    /// Games side by side, at least 1. At a pace of nodes they do not depend on it.
    pub boards: usize,
}

/// What a move may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The same for each move.
    Move(Limit),
    /// Each side has a clock.
    Clock(Clock),
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::Move(limit) => write!(f, "{limit}"),
            Pace::Clock(Clock { left, increment }) => {
                let [left, increment] = [left, increment].map(|it| *it as f64 / 1000.0);
                write!(f, "clock {left}+{increment}")
            }
        }
    }
}

impl Pace {
    /// For a first look at an opening, which no clock is charged with.
    fn at_a_glance(self) -> Limit {
        match self {
            Pace::Move(limit) => limit,
            Pace::Clock(clock) => Limit::Movetime((clock.left / 50).clamp(1, 100)),
        }
    }
}

/// Two games to play: who meets, and which of their pairs it is.
#[derive(Clone, Copy)]
struct Round {
    players: [usize; 2],
    /// From 0.
    number: u64,
}

/// A player that fails before a game is tried again so often.
const RETRIES: u32 = 2;
/// A player that fails in so many pairs in a row cannot play.
const HOPELESS: u64 = 5;

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

/// What came of a match.
#[derive(Debug, Default)]
pub struct Played {
    pub meetings: Vec<Meeting>,
    /// Games that were lost on time.
    pub late: u64,
    /// Games that were lost by a failure.
    pub failed: u64,
    /// The first of those failures.
    pub fault: Option<String>,
}

/// Each two players once.
fn meetings(players: usize) -> Vec<Meeting> {
    let of = |first| (first + 1..players).map(move |second| [first, second]);
    let each = (0..players).flat_map(of);
    each.map(|players| Meeting { players, pairs: Pairs::default() }).collect()
}

/// Each two players play `pairs` pairs, or until `sprt` decides, where it is given. What was played
/// until `stop` counts. What `recorder` has of an earlier run is not played again, and what is
/// played is given to it.
///
/// # Errors
/// If a player does not start or fails again and again, or openings cannot be had.
pub fn play<'a>(
    entrants: &'a [Box<dyn Entrant + 'a>],
    manner: &Manner,
    pairs: u64,
    sprt: Option<&Sprt>,
    mut recorder: Option<Recorder>,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Standing),
) -> Result<Played, EngineError> {
    let opener = Opener::new(&manner.openings, manner.seed, pairs)?;
    let mut played = Played { meetings: meetings(entrants.len()), ..Played::default() };
    let total = pairs * played.meetings.len() as u64;
    let whom: Vec<[usize; 2]> = played.meetings.iter().map(|meeting| meeting.players).collect();
    let decides = |pairs: &Pairs| sprt.is_some_and(|it| it.decide(pairs) != Decision::GoOn);
    let workers = Workers {
        start: || entrants.iter().map(|entrant| entrant.player().map(Some)).collect(),
        count: manner.boards,
        retries: RETRIES,
    };
    let work = |seats: &mut Seats<'a>, &Round { players, number }: &Round| {
        pair(entrants, seats, players, (&opener, number), manner)
    };
    let mut done = 0;
    while let Some(begun) = recorder.as_mut().and_then(Recorder::begun) {
        played.meetings[(done / pairs) as usize].pairs.add(begun.results);
        (played.late, played.failed) = (played.late + begun.late, played.failed + begun.failed);
        done += 1;
    }
    let decided = Cell::new(decides(&played.meetings[0].pairs));
    let round = |number| Round { players: whom[(number / pairs) as usize], number: number % pairs };
    let items = (done..total).map(|number| Ok(round(number)));
    let mut failed = 0;
    let keep = |tried: Tried<Round, [PlayedGame; 2]>| {
        if decided.get() {
            return Ok(());
        }
        let Round { players, number } = tried.item;
        let games = match tried.made {
            Ok(games) => games,
            Err(Obstacle::Item { reason, .. }) => return Err(EngineError::Match(reason)),
            Err(Obstacle::Player(fault)) => return Err(EngineError::Match(fault.to_string())),
        };
        let place = (done / pairs) as usize;
        done += 1;
        played.add(place, &games);
        if let Some(recorder) = &mut recorder {
            recorder.add(players, number, games.each_ref().map(|it| &it.game))?;
        }
        failed = if games.iter().any(|game| game.fault.is_some()) { failed + 1 } else { 0 };
        if let (HOPELESS, Some(reason)) = (failed, &played.fault) {
            return Err(EngineError::Hopeless { count: failed, reason: reason.clone() });
        }
        decided.set(decides(&played.meetings[place].pairs));
        watch(Standing { players, meetings: &played.meetings, done, total });
        Ok(())
    };
    pool::run(&workers, items, work, keep, &End { stop, decided: &decided })?;
    if let Some(recorder) = recorder.filter(|_| done == total || decided.get()) {
        recorder.finish()?;
    }
    Ok(played)
}

impl Played {
    fn add(&mut self, meeting: usize, games: &[PlayedGame; 2]) {
        let [as_white, as_black] = games.each_ref().map(|it| it.game.ending.white_result());
        self.meetings[meeting].pairs.add([as_white, 1.0 - as_black].map(f64::from));
        for PlayedGame { game, fault } in games {
            self.late += u64::from(matches!(game.ending, Ending::Late(_)));
            self.failed += u64::from(fault.is_some());
            if let (Some(fault), None) = (fault, &self.fault) {
                self.fault = Some(fault.to_string());
            }
        }
    }
}

/// When no further pair is begun.
struct End<'a> {
    stop: &'a AtomicBool,
    decided: &'a Cell<bool>,
}

impl Watch for End<'_> {
    fn progress(&self, _: u64) {}

    fn stop(&self) -> bool {
        self.decided.get() || self.stop.load(Ordering::Relaxed)
    }
}
