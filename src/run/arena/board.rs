//! A board between two players: a pair of games from one opening, by nodes or by clocks.

use std::convert::Infallible;
use std::ops::ControlFlow;

use shakmaty::{Chess, Position as _};

use super::{Manner, Pace};
use crate::engine::adjudicate::Ending;
use crate::engine::clock::Stopwatch;
use crate::engine::game::Game;
use crate::engine::opening::Opener;
use crate::engine::pool::Obstacle;
use crate::engine::search::{Limit, Searched};
use crate::engine::uci::{Fault, Line};
use crate::engine::{Clock, EngineError, Entrant, Player};

/// Milliseconds by which a clock may be overdrawn: what the machine takes, not the player.
const GRACE: u64 = 20;

/// A game, and what went wrong in it.
pub struct PlayedGame {
    pub game: Game,
    /// Whoever failed has lost.
    pub fault: Option<Fault>,
}

/// Players at their places, one of each entrant; none where one has failed.
pub type Seats<'a> = Vec<Option<Box<dyn Player + 'a>>>;

/// Both games of a pair by its number, the first with the first player as White.
///
/// # Errors
/// If there is no opening, or a player fails before the game begins, or does not start.
pub fn pair<'a>(
    entrants: &'a [Box<dyn Entrant + 'a>],
    seats: &mut Seats<'a>,
    players: [usize; 2],
    (opener, number): (&Opener, u64),
    manner: &Manner,
) -> Result<[PlayedGame; 2], Obstacle> {
    let mut sides = sit_down(entrants, seats, players)?;
    let start = opening(&mut sides, opener, number, manner)?;
    let [first, second] = players;
    let as_white = game(entrants, seats, [first, second], start.clone(), manner)?;
    let as_black = game(entrants, seats, [second, first], start, manner)?;
    Ok([as_white, as_black])
}

/// The two players, anew where one has failed.
fn sit_down<'a, 's>(
    entrants: &'a [Box<dyn Entrant + 'a>],
    seats: &'s mut Seats<'a>,
    players: [usize; 2],
) -> Result<[&'s mut Box<dyn Player + 'a>; 2], Obstacle> {
    for player in players {
        if seats[player].is_none() {
            let failed = |error: EngineError| Obstacle::Item {
                fen: String::new(),
                reason: error.to_string(),
            };
            seats[player] = Some(entrants[player].player().map_err(failed)?);
        }
    }
    let sides = seats.get_disjoint_mut(players).expect("two different players");
    Ok(sides.map(|seat| seat.as_mut().expect("all sit")))
}

/// The first opening that both sides see as level, where there is a choice.
fn opening(
    sides: &mut [&mut Box<dyn Player + '_>; 2],
    opener: &Opener,
    number: u64,
    manner: &Manner,
) -> Result<Chess, Obstacle> {
    let bound = manner.openings.bound.unsigned_abs();
    'next: for start in opener.openings(number) {
        let line = Line::new(start.clone());
        if opener.has_choice() {
            for side in &mut *sides {
                let seen = side.search_anew(&line, manner.pace.at_a_glance())?.score;
                if seen.centipawns().unsigned_abs() > bound {
                    continue 'next;
                }
            }
        }
        return Ok(start);
    }
    let number = number + 1;
    let reason = format!("no opening of pair {number} is level enough for both sides");
    Err(Obstacle::Item { fen: String::new(), reason })
}

/// Plays a game; White is the first player.
fn game<'a>(
    entrants: &'a [Box<dyn Entrant + 'a>],
    seats: &mut Seats<'a>,
    players: [usize; 2],
    start: Chess,
    manner: &Manner,
) -> Result<PlayedGame, Obstacle> {
    let mut sides = sit_down(entrants, seats, players)?;
    let mut clocks = match manner.pace {
        Pace::Clock(clock) => [clock; 2],
        Pace::Move(_) => Default::default(),
    };
    let mut fault = None;
    let mut has_begun = [false; 2];
    let ask = |line: &Line| -> Result<ControlFlow<Ending, Searched>, Infallible> {
        let turn = line.chess().turn();
        let side = turn.fold_wb(0, 1);
        let limit = match manner.pace {
            Pace::Clock(_) => Limit::Clocks(clocks),
            Pace::Move(limit) => limit,
        };
        let begun = std::mem::replace(&mut has_begun[side], true);
        let watch = Stopwatch::start();
        let answer = match begun {
            true => sides[side].search(line, limit),
            false => sides[side].search_anew(line, limit),
        };
        let in_time = press(&mut clocks[side], watch.milliseconds());
        if matches!(manner.pace, Pace::Clock(_)) && !in_time {
            return Ok(ControlFlow::Break(Ending::Late(turn.other())));
        }
        Ok(match answer {
            Ok(searched) => ControlFlow::Continue(searched),
            Err(error) => {
                fault = Some((side, error));
                ControlFlow::Break(Ending::Failed(turn.other()))
            }
        })
    };
    let Ok(game) = Game::play(start, manner.adjudication, ask);
    let fault = fault.map(|(side, fault)| {
        seats[players[side]] = None;
        fault
    });
    Ok(PlayedGame { game, fault })
}

/// Takes off what a move took; false once the time is up.
fn press(clock: &mut Clock, milliseconds: u64) -> bool {
    let in_time = milliseconds <= clock.left + GRACE;
    clock.left = clock.left.saturating_sub(milliseconds) + clock.increment;
    in_time
}
