//! Scores in comments, as tournament programs and lichess write them.
//!
//! | comment after a move | score of | seen by |
//! |---|---|---|
//! | `+0.35/12 0.10s`, `-M4/20` (cutechess, fastchess) | the position before the move | the mover |
//! | `+0.35 12/18 90 40001`, `+0.35` (OpenBench) | the position before the move | the mover |
//! | `(e7e5 g1f3) +0.35/12 5` (Arena) | the position before the move | the mover |
//! | `d=26, wv=1.04,`, `wv=-M12` (TCEC) | the position before the move | White |
//! | `[%eval 0.17]`, `[%eval #-3,20]` (lichess) | the position after the move | White |
//!
//! Scores are in pawns, which are written with a point: without one they could be centipawns.
//! Numbers of mates are moves in the last form and half-moves in the others.

use shakmaty::Color;

use super::text::Outcome;
use crate::format::fields;

/// Score of a mate in n half-moves is `MATE - n`.
pub const MATE: i16 = 32_000;
pub const LARGEST: i16 = MATE - 1;
pub const LONGEST_MATE: i16 = 1000;

/// A score in a comment, in centipawns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentScore {
    /// The score of the position before the last move, for its mover.
    Before(i16),
    /// The score of the position on the board, for the side to move.
    Standing(i16),
    /// None, but the comment has a number that may be one.
    Unread,
}

/// The score in a comment, if any; `turn` is to move after the move it comments on.
pub fn score(comment: &[u8], turn: Color) -> Option<CommentScore> {
    let comment = comment.trim_ascii();
    let moves = comment.iter().position(|&byte| byte == b')').filter(|_| comment[0] == b'(');
    let behind = comment[moves.map_or(0, |end| end + 1)..].trim_ascii_start();
    if let Some((value, rest)) = number(behind)
        && (matches!(rest, [] | [b'/', b'0'..=b'9', ..]) || rest[0].is_ascii_whitespace())
    {
        return Some(CommentScore::Before(value.score(|plies| plies)));
    }
    if let Some(value) = after(comment, b"wv=") {
        let Some((value, _)) = number(value) else { return Some(CommentScore::Unread) };
        let score = fields::flip_score(value.score(|plies| plies), turn.other()).ok()?;
        return Some(CommentScore::Before(score));
    }
    let Some(value) = after(comment, b"[%eval") else { return unread(comment) };
    let Some((value, _)) = number(value.trim_ascii_start()) else {
        return Some(CommentScore::Unread);
    };
    // The side that mates makes the first move of the mate, or the other side does.
    let mates_next = value.negative == turn.is_black();
    let score = value.score(|moves| 2 * moves - i32::from(mates_next));
    fields::flip_score(score, turn).ok().map(CommentScore::Standing)
}

/// Whether a word of a comment may be a score: no move number, result or time. Behind the first
/// word only numbers with a sign or a point may be, and those that a name says to be one.
fn unread(text: &[u8]) -> Option<CommentScore> {
    let borders = |byte: &u8| byte.is_ascii_whitespace() || b"()[]=,;\"".contains(byte);
    let (mut named, mut all) = (true, text.split(borders).filter(|word| !word.is_empty()));
    let may_be = |word: &[u8]| {
        let names: [&[u8]; 6] = [b"cp", b"score", b"eval", b"%eval", b"mate", b"ev"];
        let is_named = std::mem::replace(&mut named, names.contains(&word));
        let number = word.iter().position(|byte| !b"+-#M.".contains(byte))?;
        let (_, rest) = digits(&word[number..])?;
        let (is_decimal, end) = match rest {
            [b':', ..] => return None,
            [b'.', after @ ..] => (true, digits(after)?.1),
            _ => (false, rest),
        };
        let is_marked = (number > 0 || is_decimal) && matches!(end, [] | [b'/', ..]);
        (is_marked || is_named && Outcome::from_text(word).is_none()).then_some(())
    };
    all.find_map(may_be).map(|()| CommentScore::Unread)
}

/// Text behind the name of a value, at the beginning of a word.
fn after<'a>(comment: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let first = name[0];
    (0..comment.len())
        .filter(|&at| comment[at] == first && comment[at..].starts_with(name))
        .find(|&at| at == 0 || !comment[at - 1].is_ascii_alphanumeric())
        .map(|at| &comment[at + name.len()..])
}

struct Number {
    negative: bool,
    /// Centipawns, or the length of a mate.
    size: i32,
    mate: bool,
}

impl Number {
    /// The score; `plies` converts the length of a mate to half-moves.
    fn score(&self, plies: impl Fn(i32) -> i32) -> i16 {
        let size = match self.mate {
            true => i32::from(MATE) - plies(self.size).clamp(1, LONGEST_MATE.into()),
            false => self.size.min(LARGEST.into()),
        };
        if self.negative { -(size as i16) } else { size as i16 }
    }
}

/// Parses the number at the beginning of a text, and returns the rest: `+0.35`, `-.5`, `M5`, `#-3`.
fn number(text: &[u8]) -> Option<(Number, &[u8])> {
    let sign = |text: &mut &[u8]| {
        let signed = matches!(text, [b'+' | b'-', ..]);
        let negative = signed && text[0] == b'-';
        *text = &text[usize::from(signed)..];
        negative
    };
    let mut rest = text;
    let mut negative = sign(&mut rest);
    let mate = matches!(rest, [b'M' | b'#', ..]);
    if mate {
        rest = &rest[1..];
        negative |= sign(&mut rest);
    }
    if mate {
        return digits(rest).map(|(size, rest)| (Number { negative, size, mate }, rest));
    }
    let (whole, rest) = digits(rest).unwrap_or((0, rest));
    let after = rest.strip_prefix(b".")?;
    let (_, rest) = digits(after)?;
    let fraction = &after[..after.len() - rest.len()];
    let digit = |i: usize| fraction.get(i).map_or(0, |byte| i32::from(byte - b'0'));
    let size = 100 * whole + 10 * digit(0) + digit(1) + i32::from(digit(2) >= 5);
    Some((Number { negative, size, mate }, rest))
}

/// Parses the digits at the beginning of a text, up to the largest number that a score needs.
fn digits(text: &[u8]) -> Option<(i32, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..length]
        .iter()
        .fold(0i32, |value, byte| (10 * value + i32::from(byte - b'0')).min(100_000));
    (length > 0).then_some((value, &text[length..]))
}
