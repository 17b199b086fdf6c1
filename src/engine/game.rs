//! One game, whoever plays it.

use std::ops::ControlFlow;

use shakmaty::{Chess, Move, Position as _};

use super::adjudicate::{Adjudication, Ending, Referee};
use super::search::Searched;
use super::uci::Line;
use crate::sample::{GameHash, Played, Position, Sample};
use crate::score::Score;

/// A move of a game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ply {
    pub played: Move,
    /// Seen by the side that played it.
    pub score: Score,
    /// Half-moves that were searched for it.
    pub depth: u32,
}

/// A game from its opening to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// After the random moves.
    pub start: Chess,
    pub plies: Vec<Ply>,
    pub ending: Ending,
}

impl Game {
    /// Plays a game from its opening. Whose turn it is gets asked for a move, until the rules end
    /// the game, or whoever was asked does.
    ///
    /// # Errors
    /// Those of who is asked.
    pub fn play<E>(
        start: Chess,
        rules: Adjudication,
        mut ask: impl FnMut(&Line) -> Result<ControlFlow<Ending, Searched>, E>,
    ) -> Result<Self, E> {
        let mut line = Line::new(start.clone());
        let mut referee = Referee::new(rules, &start);
        let mut plies = Vec::new();
        loop {
            let ending = match ask(&line)? {
                ControlFlow::Break(ending) => Some(ending),
                ControlFlow::Continue(Searched { best: played, score, depth, .. }) => {
                    plies.push(Ply { played, score, depth });
                    let mover = line.chess().turn();
                    line.play(played);
                    referee.moved(score.centipawns(), mover, line.chess())
                }
            };
            if let Some(ending) = ending {
                return Ok(Self { start, plies, ending });
            }
        }
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
                source: 0,
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
