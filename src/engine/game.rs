//! A single game between players.

use std::fmt;
use std::ops::ControlFlow;

use shakmaty::{Chess, Color, EnPassantMode, Position as _, zobrist::Zobrist64};

use super::player::MoveResult;
use super::uci::GameLine;
use crate::format::pgn::AnnotatedPly;
use crate::format::{GameReplay, half_moves};
use crate::sample::Sample;
use crate::score::Score;

#[derive(Clone, Debug, PartialEq)]
pub struct EngineGame {
    /// Position after the random moves.
    pub start: Chess,
    pub plies: Vec<AnnotatedPly>,
    pub ending: Ending,
}

impl EngineGame {
    /// Plays a game. `next_move` returns each move, until the rules or the player end it.
    pub fn play_game<E>(
        start: Chess,
        rules: Adjudication,
        mut next_move: impl FnMut(&GameLine) -> Result<ControlFlow<Ending, MoveResult>, E>,
    ) -> Result<Self, E> {
        let mut line = GameLine::new(start.clone());
        let mut referee = Referee::new(rules, &start);
        let mut plies = Vec::new();
        loop {
            let ending = match next_move(&line)? {
                ControlFlow::Break(ending) => Some(ending),
                ControlFlow::Continue(MoveResult { best: played, score, depth, .. }) => {
                    plies.push(AnnotatedPly { played, score, depth });
                    let mover = line.chess.turn();
                    line.push_move(played);
                    referee.add_move(score.map(Score::to_centipawns), mover, &line.chess)
                }
            };
            if let Some(ending) = ending {
                return Ok(Self { start, plies, ending });
            }
        }
    }

    /// Returns all positions with a played move; score and result are for the side to move.
    pub fn to_samples(&self) -> Vec<Sample> {
        let mut game = GameReplay::from_start(self.start.clone());
        let white = self.ending.white_result();
        let sample = |ply: &AnnotatedPly| Sample {
            result: if game.chess.turn().is_white() { white } else { 1.0 - white },
            score: ply.score.map(Score::to_centipawns),
            ..game.play_move(ply.played)
        };
        let mut samples: Vec<Sample> = self.plies.iter().map(sample).collect();
        game.set_game(&mut samples);
        samples
    }
}

/// Rules by which scores end a game early. Plies are half-moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjudication {
    /// Smallest score that wins, if every score of the last `win_plies` moves is for the same side.
    pub win_score: i16,
    pub win_plies: u32,
    /// Largest score that draws, if no score of the last `draw_plies` moves exceeds it for a side.
    pub draw_score: i16,
    pub draw_plies: u32,
    /// First half-move at which scores draw, counted from move number 1.
    pub draw_from: u32,
    /// Number of half-moves after which a game is drawn, without the opening.
    pub max_plies: u32,
}

impl Default for Adjudication {
    fn default() -> Self {
        Self {
            win_score: 1000,
            win_plies: 6,
            draw_score: 8,
            draw_plies: 16,
            draw_from: 80,
            max_plies: 400,
        }
    }
}

/// Describes the rules for readers of the games.
impl fmt::Display for Adjudication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pawns = |score: i16| f64::from(score) / 100.0;
        write!(
            f,
            "won at {:.2} over {} half-moves, drawn within {:.2} over {} from {} on, or after {}",
            pawns(self.win_score),
            self.win_plies,
            pawns(self.draw_score),
            self.draw_plies,
            self.draw_from,
            self.max_plies
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Checkmate, with the winner.
    Checkmate(Color),
    Stalemate,
    /// Insufficient material of both sides.
    Material,
    /// Fifty moves of both sides without a capture or pawn move.
    FiftyMoves,
    Repetition,
    /// Win by adjudication, with the winner.
    Won(Color),
    Level,
    TooLong,
    /// Win on time, with the winner.
    Late(Color),
    /// Failure of a player, which exited, was silent, or sent an illegal move; with the winner.
    Failed(Color),
}

impl Ending {
    /// Returns the result for White: 1, 0.5 or 0.
    pub fn white_result(self) -> f32 {
        match self {
            Self::Checkmate(winner) | Self::Won(winner) => winner.fold_wb(1.0, 0.0),
            Self::Late(winner) | Self::Failed(winner) => winner.fold_wb(1.0, 0.0),
            Self::Stalemate | Self::Material | Self::FiftyMoves | Self::Repetition => 0.5,
            Self::Level | Self::TooLong => 0.5,
        }
    }
}

#[derive(Debug)]
pub struct Referee {
    rules: Adjudication,
    /// Keys of the positions since the last irreversible move.
    keys: Vec<Zobrist64>,
    /// Side that the last scores favour, and number of these moves.
    favours: Option<(Color, u32)>,
    /// Number of last moves with level scores.
    level: u32,
    plies: u32,
}

impl Referee {
    /// Starts to referee a game at its first position.
    pub fn new(rules: Adjudication, first: &Chess) -> Self {
        Self { rules, keys: vec![zobrist_key(first)], favours: None, level: 0, plies: 0 }
    }

    /// Returns the end of a game by rules that need no history, if a position ends it.
    pub fn is_over(chess: &Chess) -> Option<Ending> {
        if chess.is_checkmate() {
            Some(Ending::Checkmate(chess.turn().other()))
        } else if chess.is_stalemate() {
            Some(Ending::Stalemate)
        } else if chess.is_insufficient_material() {
            Some(Ending::Material)
        } else {
            (chess.halfmoves() >= 100).then_some(Ending::FiftyMoves)
        }
    }

    /// Adds a move: its score, the side that played it, and the position after it. A move without
    /// a score interrupts a series of scores that would end the game.
    pub fn add_move(&mut self, score: Option<i16>, mover: Color, after: &Chess) -> Option<Ending> {
        self.plies += 1;
        let rules = self.rules;
        let wins = |score: &i16| score.unsigned_abs() >= rules.win_score.unsigned_abs();
        self.favours = score.filter(wins).map(|score| {
            let favoured = if score > 0 { mover } else { mover.other() };
            match self.favours {
                Some((same, plies)) if same == favoured => (favoured, plies + 1),
                _ => (favoured, 1),
            }
        });
        let is_level = score.is_some_and(|it| it.unsigned_abs() <= rules.draw_score.unsigned_abs());
        self.level = if is_level { self.level + 1 } else { 0 };

        if after.halfmoves() == 0 {
            self.keys.clear();
        }
        let key = zobrist_key(after);
        self.keys.push(key);
        if let Some(ending) = Self::is_over(after) {
            return Some(ending);
        }
        if self.keys.iter().filter(|&&it| it == key).count() == 3 {
            return Some(Ending::Repetition);
        }
        if let Some((favoured, plies)) = self.favours
            && plies >= rules.win_plies
        {
            return Some(Ending::Won(favoured));
        }
        let from_start = half_moves(after.fullmoves().get(), after.turn());
        if self.level >= rules.draw_plies && u32::from(from_start) >= rules.draw_from {
            return Some(Ending::Level);
        }
        (self.plies >= rules.max_plies).then_some(Ending::TooLong)
    }
}

fn zobrist_key(chess: &Chess) -> Zobrist64 {
    chess.zobrist_hash(EnPassantMode::Legal)
}
