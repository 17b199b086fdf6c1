//! A game replayed: every position before a move becomes a sample.

use shakmaty::{
    Chess, Move, Position as _,
    san::{San, SanError},
};

use super::comment::{self, Said};
use super::frame::Wrong;
use super::shown;
use super::tags::{Outcome, Tags};
use super::token::{Token, Tokens};
use crate::format::fields;
use crate::sample::{GameHash, Played, Position, Sample};

/// What the text of a game turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Game {
    /// Its samples were appended.
    Whole,
    /// It has no result to learn from.
    Unfinished,
    /// No game at all: blank lines, or text between games.
    Nothing,
}

/// Appends the samples of a game; of a game that is wrong, some of them may have been appended.
pub fn replay(text: &[u8], out: &mut Vec<Sample>) -> Result<Game, Wrong> {
    let at_start = |reason| Wrong { at: 0, turn: None, reason, at_end: false };
    let tags = Tags::read(text).map_err(at_start)?;
    let said = tags.outcome().map_err(at_start)?;
    if said == Some(Outcome::Unfinished) {
        return Ok(Game::Unfinished);
    }
    let chess = start(&tags).map_err(at_start)?;
    let mut tokens = Tokens::new(text, tags.end);
    let mut replay = Replay {
        ply: fields::ply_of(&chess),
        hash: GameHash::of(&Position::from_chess(&chess)),
        part: tags.is_part(),
        chess,
        standing: None,
        first: out.len(),
        out,
        said,
        ended: None,
    };
    replay.run(&mut tokens, tags.some).map_err(|reason| Wrong {
        at: tokens.start(),
        turn: Some((replay.chess.fullmoves().get(), replay.chess.turn())),
        reason,
        at_end: tokens.at_end(),
    })
}

/// The position after the moves of a game, none where there is no game. How it ended, or whether
/// anybody says so, does not matter.
pub fn last(text: &[u8]) -> Result<Option<Position>, Wrong> {
    let at_start = |reason| Wrong { at: 0, turn: None, reason, at_end: false };
    let tags = Tags::read(text).map_err(at_start)?;
    let mut chess = start(&tags).map_err(at_start)?;
    let mut tokens = Tokens::new(text, tags.end);
    match play_on(&mut chess, &mut tokens) {
        Ok(moves) => Ok((tags.some || moves > 0).then(|| Position::from_chess(&chess))),
        Err(reason) => Err(Wrong {
            at: tokens.start(),
            turn: Some((chess.fullmoves().get(), chess.turn())),
            reason,
            at_end: tokens.at_end(),
        }),
    }
}

/// Plays all moves, and counts them.
fn play_on(chess: &mut Chess, tokens: &mut Tokens) -> Result<u64, String> {
    let mut moves = 0;
    while let Some(token) = tokens.next()? {
        if let Token::San(san) = token {
            chess.play_unchecked(legal(san, chess)?);
            moves += 1;
        }
    }
    Ok(moves)
}

fn start(tags: &Tags) -> Result<Chess, String> {
    match tags.start()? {
        Some(start) => start.to_chess().map_err(|error| error.to_string()),
        None => Ok(Chess::new()),
    }
}

struct Replay<'a> {
    /// After the moves played so far.
    chess: Chess,
    ply: u16,
    hash: GameHash,
    /// Whether the moves are not all of the game.
    part: bool,
    /// The score of the position on the board, if a comment told it.
    standing: Option<i16>,
    /// Samples from number `first` on are of this game.
    out: &'a mut Vec<Sample>,
    first: usize,
    /// The result by the tag.
    said: Option<Outcome>,
    /// The result behind the moves.
    ended: Option<Outcome>,
}

impl Replay<'_> {
    fn run(&mut self, tokens: &mut Tokens, tagged: bool) -> Result<Game, String> {
        while let Some(token) = tokens.next()? {
            match token {
                Token::San(san) => self.play(san)?,
                Token::Comment(comment) => self.hear(comment),
                Token::Outcome(outcome) => self.end(outcome)?,
            }
        }
        let moves = self.out.len() - self.first;
        match self.ended {
            Some(Outcome::Won(doubled)) => {
                self.finish(f32::from(doubled) / 2.0);
                Ok(Game::Whole)
            }
            Some(Outcome::Unfinished) => {
                self.out.truncate(self.first);
                Ok(Game::Unfinished)
            }
            None if !tagged && moves == 0 => Ok(Game::Nothing),
            None => Err("the moves end without a result".to_string()),
        }
    }

    fn play(&mut self, san: &[u8]) -> Result<(), String> {
        if self.ended.is_some() {
            return Err(format!("the move `{}` comes after the result", shown(san)));
        }
        let legal = legal(san, &self.chess)?;
        let played = Played::from_move(&legal).ok_or_else(|| not_a_move(san))?;
        self.out.push(Sample {
            position: Position::from_chess(&self.chess),
            result: 0.5,
            score: self.standing.take(),
            ply: Some(self.ply),
            played: Some(played),
            game: None,
            source: 0,
        });
        self.hash.play(played);
        self.chess.play_unchecked(legal);
        self.ply = self.ply.saturating_add(1);
        Ok(())
    }

    fn hear(&mut self, comment: &[u8]) {
        match comment::score(comment, self.chess.turn()) {
            Some(Said::Before(score)) => {
                if let Some(before) = self.out[self.first..].last_mut()
                    && !before.is_left_out()
                {
                    before.score = Some(score);
                }
            }
            Some(Said::LeftOut) => {
                if let Some(before) = self.out[self.first..].last_mut() {
                    *before = before.left_out();
                }
            }
            Some(Said::Standing(score)) => self.standing = Some(score),
            None => {}
        }
    }

    fn end(&mut self, outcome: Outcome) -> Result<(), String> {
        let before = self.ended.or(self.said).unwrap_or(outcome);
        if before != outcome {
            return Err(format!(
                "the moves end with {}, but the result before was {}",
                outcome.text(),
                before.text()
            ));
        }
        self.ended = Some(outcome);
        Ok(())
    }

    /// Tells the samples what is known only now.
    fn finish(&mut self, white_result: f32) {
        let game = (!self.part).then(|| self.hash.game());
        for sample in &mut self.out[self.first..] {
            sample.game = game;
            sample.result = fields::turned_result(white_result, sample.position.turn());
        }
    }
}

fn legal(san: &[u8], chess: &Chess) -> Result<Move, String> {
    let parsed = match san {
        b"0-0" => San::from_ascii(b"O-O"),
        b"0-0-0" => San::from_ascii(b"O-O-O"),
        _ => San::from_ascii(san),
    };
    let parsed = parsed.map_err(|_| not_a_move(san))?;
    parsed.to_move(chess).map_err(|error| {
        let what = match error {
            SanError::IllegalSan => "not legal",
            SanError::AmbiguousSan => "more than one move",
        };
        format!("`{}` is {what} in {}", shown(san), Position::from_chess(chess).fen())
    })
}

fn not_a_move(san: &[u8]) -> String {
    format!("`{}` is not a move", shown(san))
}
