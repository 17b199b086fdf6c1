//! A game replayed: every position before a move becomes a sample.

use shakmaty::{
    Chess, Move, Position as _,
    san::{San, SanError},
};

use super::comment::{self, Said};
use super::shown;
use super::text::{Outcome, Tags, Token, Tokens, Wrong};
use crate::format::fields;
use crate::sample::{GameHash, Played, Position, Sample};

/// What the text of a game holds.
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
    let tags = Tags::read(text).map_err(Wrong::whole)?;
    let result = tags.outcome().map_err(Wrong::whole)?;
    if result == Some(Outcome::Unfinished) {
        return Ok(Game::Unfinished);
    }
    let chess = start(&tags).map_err(Wrong::whole)?;
    let mut tokens = Tokens::new(text, tags.end);
    let mut replay = Replay {
        ply: fields::ply_of(&chess),
        hash: GameHash::of(&Position::from_chess(&chess)),
        chess,
        standing: None,
        first: out.len(),
        out,
        result,
        ended: None,
    };
    replay.run(&mut tokens, tags.some).map_err(|reason| wrong(&tokens, &replay.chess, reason))
}

/// The position after the moves of a game, none where there is no game. Its result does not matter.
pub fn last(text: &[u8]) -> Result<Option<Position>, Wrong> {
    let tags = Tags::read(text).map_err(Wrong::whole)?;
    let mut chess = start(&tags).map_err(Wrong::whole)?;
    let (mut tokens, mut some) = (Tokens::new(text, tags.end), tags.some);
    loop {
        let next = match tokens.next() {
            Ok(None) => return Ok(some.then(|| Position::from_chess(&chess))),
            Ok(Some(Token::San(san))) => legal(san, &chess),
            Ok(Some(_)) => continue,
            Err(reason) => Err(reason),
        };
        chess.play_unchecked(next.map_err(|reason| wrong(&tokens, &chess, reason))?);
        some = true;
    }
}

/// A fault at the token read last.
fn wrong(tokens: &Tokens, chess: &Chess, reason: String) -> Wrong {
    let turn = Some((chess.fullmoves().get(), chess.turn()));
    Wrong { at: tokens.start(), turn, reason, at_end: tokens.at_end() }
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
    /// The score of the position on the board, if a comment gave it.
    standing: Option<i16>,
    /// Samples from number `first` on are of this game.
    out: &'a mut Vec<Sample>,
    first: usize,
    /// The result by the tag.
    result: Option<Outcome>,
    /// The result behind the moves.
    ended: Option<Outcome>,
}

impl Replay<'_> {
    fn run(&mut self, tokens: &mut Tokens, tagged: bool) -> Result<Game, String> {
        while let Some(token) = tokens.next()? {
            match token {
                Token::San(san) => self.play(san)?,
                Token::Comment(comment) => match comment::score(comment, self.chess.turn()) {
                    Some(Said::Before(score)) => {
                        if let Some(before) = self.out[self.first..].last_mut() {
                            before.score = Some(score);
                        }
                    }
                    Some(Said::Standing(score)) => self.standing = Some(score),
                    None => {}
                },
                Token::Outcome(outcome) => self.end(outcome)?,
            }
        }
        let moves = self.out.len() - self.first;
        match self.ended {
            Some(Outcome::Won(doubled)) => {
                let game = Some(self.hash.game());
                for sample in &mut self.out[self.first..] {
                    let turn = sample.position.turn();
                    sample.game = game;
                    sample.result = fields::turned_result(f32::from(doubled) / 2.0, turn);
                }
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
        let position = Position::from_chess(&self.chess);
        let (score, ply, played) = (self.standing.take(), Some(self.ply), Some(played));
        self.out.push(Sample { score, ply, played, ..Sample::of(position) });
        played.into_iter().for_each(|played| self.hash.play(played));
        self.chess.play_unchecked(legal);
        self.ply = self.ply.saturating_add(1);
        Ok(())
    }

    fn end(&mut self, outcome: Outcome) -> Result<(), String> {
        let before = self.ended.or(self.result).unwrap_or(outcome);
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
