//! A game as those see it who count results: its tags, how it began, how it ended.

use super::text::{Frame, Outcome, Tags, Token, Tokens, Wrong};

/// What tournament programs write behind a move of their book.
const BOOK: &[u8] = b"book";

/// Who played, and what came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scoresheet {
    /// The number of its first line.
    pub line: u64,
    /// 0, 0.5 or 1; None where the game has none, or the file breaks off in it.
    pub white_result: Option<f64>,
    /// The first position and the moves of a book, as text; empty for a game from the usual start
    /// without such moves.
    pub opening: String,
    /// Names and values, in order.
    tags: Vec<(String, String)>,
}

impl Scoresheet {
    /// The value of a tag, without white space around it; None too where it is `?` or `-`, which
    /// PGN has for what is unknown or does not apply.
    pub fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().rev().find(|(it, _)| it == name);
        let value = found.map(|(_, value)| value.trim());
        value.filter(|value| !matches!(*value, "" | "?" | "-"))
    }

    /// Reads a game; none where a text holds no game.
    pub(super) fn read(frame: &Frame) -> Result<Option<Self>, Wrong> {
        let text = frame.whole()?;
        let tags = Tags::read(text).map_err(Wrong::whole)?;
        let said = tags.outcome().map_err(Wrong::whole)?;
        let start = tags.start().map_err(Wrong::whole)?;
        let mut tokens = Tokens::new(text, tags.end);
        let played = Moves::read(&mut tokens);
        let at = tokens.start();
        let wrong = |reason| Wrong { at, turn: None, reason, at_end: tokens.at_end() };
        let (moves, cut_off) = match played {
            Ok(moves) => {
                let cut_off = frame.last && moves.outcome.is_none();
                (moves, cut_off)
            }
            Err(_) if frame.last && tokens.at_end() => (Moves::default(), true),
            Err(reason) => return Err(wrong(reason)),
        };
        if !tags.some && moves.count == 0 {
            return Ok(None);
        }
        let outcome = match (said, moves.outcome) {
            _ if cut_off => None,
            (Some(said), Some(ended)) if said != ended => {
                return Err(wrong(format!(
                    "the moves end with {}, the tag Result says {}",
                    ended.text(),
                    said.text()
                )));
            }
            (_, Some(ended)) => Some(ended),
            (_, None) => return Err(wrong("the moves end without a result".to_string())),
        };
        let white_result = match outcome {
            Some(Outcome::Won(doubled)) => Some(f64::from(doubled) / 2.0),
            Some(Outcome::Unfinished) | None => None,
        };
        let start = start.map(|start| start.fen());
        let opening = start.into_iter().chain(moves.book).collect::<Vec<_>>().join(" ");
        Ok(Some(Self { line: frame.line, white_result, opening, tags: tags.texts() }))
    }
}

/// What the moves of a game tell without being replayed.
#[derive(Default)]
struct Moves {
    count: u64,
    /// Those before the first that is not of a book.
    book: Vec<String>,
    outcome: Option<Outcome>,
}

impl Moves {
    fn read(tokens: &mut Tokens) -> Result<Self, String> {
        let (mut moves, mut last) = (Self::default(), None);
        while let Some(token) = tokens.next()? {
            match token {
                Token::San(san) => {
                    moves.count += 1;
                    last = Some(String::from_utf8_lossy(san).into_owned());
                }
                Token::Comment(comment) => {
                    let own = moves.book.len() as u64 + 1 == moves.count;
                    let of_book = own && comment.trim_ascii() == BOOK;
                    moves.book.extend(last.take().filter(|_| of_book));
                }
                Token::Outcome(outcome) => moves.outcome = Some(outcome),
            }
        }
        Ok(moves)
    }
}
