//! One game of an engine against itself.

use shakmaty::{Chess, Move, Position as _};

use super::adjudicate::{Adjudication, Ending, Referee};
use super::opening::Opener;
use super::pool::Obstacle;
use super::search::Limit;
use super::uci::{Line, Uci};
use crate::sample::{GameHash, Played, Position, Sample};
use crate::score::Score;

/// So many openings are tried for a game.
const ATTEMPTS: u64 = 100;

/// A move of a game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ply {
    pub played: Move,
    /// Seen by the side that played it.
    pub score: Score,
}

/// A game from its opening to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// After the random moves.
    pub start: Chess,
    pub plies: Vec<Ply>,
    pub ending: Ending,
}

/// How a game is played.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    pub limit: Limit,
    /// See [`super::opening::Openings::bound`].
    pub bound: i16,
    pub adjudication: Adjudication,
}

impl Game {
    /// Plays a game by its number. The engine forgets what it knew before, and remembers its
    /// searches within the game.
    pub fn play(
        engine: &mut Uci,
        opener: &Opener,
        number: u64,
        manner: &Manner,
    ) -> Result<Self, Obstacle> {
        let attempts = if opener.has_choice() { ATTEMPTS } else { 1 };
        let mut last = String::new();
        for start in (0..attempts).filter_map(|attempt| opener.opening(number, attempt)) {
            let mut line = Line::new(start.clone());
            let first = engine.search_anew(&line, manner.limit)?;
            if first.score.centipawns().unsigned_abs() > manner.bound.unsigned_abs() {
                last = line.start().to_string();
                continue;
            }
            let mut referee = Referee::new(manner.adjudication, &start);
            let (mut plies, mut searched) = (Vec::new(), first);
            loop {
                let (played, score) = (searched.best, searched.score);
                plies.push(Ply { played, score });
                let mover = line.chess().turn();
                line.play(played);
                if let Some(ending) = referee.moved(score.centipawns(), mover, line.chess()) {
                    return Ok(Self { start, plies, ending });
                }
                searched = engine.search(&line, manner.limit)?;
            }
        }
        let (number, bound) = (number + 1, manner.bound);
        let reason =
            format!("game {number} found no opening that is not over and within {bound} cp");
        Err(Obstacle::Item { fen: last, reason })
    }

    /// Every position in which a move was played, with its score and the result, seen by the side
    /// to move.
    pub fn samples(&self) -> Vec<Sample> {
        let mut chess = self.start.clone();
        let white = self.ending.white_result();
        let mut hash = GameHash::of(&Position::from_chess(&chess));
        let sample = |ply: &Ply| {
            let half_moves = 2 * (chess.fullmoves().get() - 1) + u32::from(chess.turn().is_black());
            let played = Played::from_move(&ply.played);
            let sample = Sample {
                position: Position::from_chess(&chess),
                result: if chess.turn().is_white() { white } else { 1.0 - white },
                score: Some(ply.score.centipawns()),
                ply: u16::try_from(half_moves).ok(),
                played,
                game: None,
            };
            played.into_iter().for_each(|played| hash.play(played));
            chess.play_unchecked(ply.played);
            sample
        };
        let mut samples: Vec<Sample> = self.plies.iter().map(sample).collect();
        samples.iter_mut().for_each(|sample| sample.game = Some(hash.game()));
        samples
    }
}
