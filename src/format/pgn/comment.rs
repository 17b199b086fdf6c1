//! Scores in comments, as tournament programs, lichess and annotators write them; docs/formats.md has
//! their forms. Scores are in pawns with a decimal point: other numbers could be centipawns.
//!
//! A number alone may be OpenBench's, as `+0.35`, or pgn-extract's, as `0.35`. The [`Signs`] of the
//! game decide about negative numbers.

use shakmaty::Color;

use super::text::TagOutcome;
use crate::format::ReadView;
use crate::point_of_view::PointOfView;

/// The base of scores of mates: a mate in n half-moves is `MATE - n`.
pub const MATE: i16 = 32_000;
pub const LARGEST: i16 = MATE - 1;
pub const LONGEST_MATE: i16 = 1000;

/// The number of a comment that is, or may be, a score.
#[derive(Clone, Copy, Debug)]
pub enum Comment {
    /// A score whose side and position are known.
    Score(CommentNumber, ReadView),
    /// A score whose side and position follow from the signs of the game, and whether it has a depth.
    Signed(CommentNumber, bool),
    Unknown,
}

const MOVER: ReadView = ReadView { view: PointOfView::SideToMove, follows_move: false };
const WHITE: ReadView = ReadView { view: PointOfView::White, follows_move: true };

/// The signs of the numbers of a game that have no other mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signs {
    has_plus: bool,
    /// Whether any positive number without a depth has no sign.
    has_unsigned: bool,
}

impl Signs {
    pub fn add(&mut self, comment: Comment) {
        if let Comment::Signed(number, has_depth) = comment {
            self.has_plus |= number.sign == Some(b'+');
            self.has_unsigned |= !has_depth && number.sign.is_none() && number.size > 0;
        }
    }

    /// The point of view of a number; none if it may be White's or the mover's.
    fn read_view(self, number: CommentNumber, has_depth: bool) -> Option<ReadView> {
        match (self.has_plus, self.has_unsigned) {
            (true, _) if has_depth => Some(MOVER),
            (has_plus, false) if has_plus || has_depth => Some(MOVER),
            (false, true) if !has_depth && !number.mate => Some(WHITE),
            _ => None,
        }
    }
}

impl Comment {
    /// Parses a comment; none without a number that may be a score.
    pub fn parse_comment(comment: &[u8]) -> Option<Self> {
        let comment = comment.trim_ascii();
        let moves = comment.iter().position(|&byte| byte == b')').filter(|_| comment[0] == b'(');
        let rest_of_comment = comment[moves.map_or(0, |end| end + 1)..].trim_ascii_start();
        if let Some((value, rest)) = parse_number(rest_of_comment)
            && (matches!(rest, [b'/', b'0'..=b'9', ..]) || is_end(rest))
        {
            // `/12`, or ` 12/18` of OpenBench.
            let next = rest.trim_ascii_start().split(u8::is_ascii_whitespace).next();
            let has_depth = moves.is_some() || next.is_some_and(|word| word.contains(&b'/'));
            return Some(Comment::Signed(value, has_depth));
        }
        let score = |(number, _), follows_move| {
            let read = ReadView { view: PointOfView::White, follows_move };
            Comment::Score(CommentNumber { in_moves: follows_move, ..number }, read)
        };
        for (name, follows_move) in [(&b"wv="[..], false), (b"[%eval", true)] {
            if let Some(value) = value_after(comment, name) {
                let number = parse_number(value.trim_ascii_start());
                return Some(number.map_or(Comment::Unknown, |it| score(it, follows_move)));
            }
        }
        behind_depth(comment).map(|it| score(it, true)).or_else(|| find_unread_score(comment))
    }

    /// Returns the number and its point of view, which is the given one, if any.
    pub fn read_number(
        self,
        signs: Signs,
        given: Option<PointOfView>,
    ) -> Option<(CommentNumber, ReadView)> {
        let (number, read) = match self {
            Comment::Score(number, read) => (number, Some(read)),
            Comment::Signed(number, has_depth) => (number, signs.read_view(number, has_depth)),
            Comment::Unknown => return None,
        };
        let given_view = given.map(|view| if view == PointOfView::White { WHITE } else { MOVER });
        let read = read.or(given_view)?;
        Some((number, ReadView { view: given.unwrap_or(read.view), ..read }))
    }

    /// The remedy that makes the number a score.
    pub fn cure_text(self) -> &'static str {
        match self {
            Comment::Signed(..) => "set data.score_view or --score-view (docs/formats.md)",
            _ => "write scores in pawns, as {+0.35/12} (docs/formats.md)",
        }
    }
}

/// Whether a text begins with the end of a word.
fn is_end(text: &[u8]) -> bool {
    text.first().is_none_or(u8::is_ascii_whitespace)
}

/// Parses a score after a depth and a colon, as Scid writes it, sometimes after a name.
fn behind_depth(comment: &[u8]) -> Option<(CommentNumber, &[u8])> {
    let ends_name = |it: &[u8]| it[0] == b':' && it[1].is_ascii_whitespace();
    let names = comment.windows(2).enumerate().filter(|(_, it)| ends_name(it));
    std::iter::once(0).chain(names.map(|(start, _)| start + 2)).find_map(|start| {
        let (_, rest) = parse_digits(&comment[start..])?;
        let (number, rest) = parse_number(rest.strip_prefix(b":")?)?;
        // A number without a sign may be a time.
        ((number.sign.is_some() || number.mate) && is_end(rest)).then_some((number, rest))
    })
}

/// Finds a word of a comment that may be a score, and not a move number, result or time. After the
/// first word, only numbers with a sign, a point or a name before them may be scores.
fn find_unread_score(text: &[u8]) -> Option<Comment> {
    let mate = [&b"mate in "[..], b"Mate in "].iter().find_map(|name| value_after(text, name));
    if mate.is_some_and(|length| parse_digits(length).is_some()) {
        return Some(Comment::Unknown);
    }
    let borders = |byte: &u8| byte.is_ascii_whitespace() || b"()[]=,;\"".contains(byte);
    let mut words = text.split(borders).filter(|word| !word.is_empty());
    let mut is_named_value = true;
    let check_word = |word: &[u8]| {
        let names: [&[u8]; 6] = [b"cp", b"score", b"eval", b"%eval", b"mate", b"ev"];
        let is_named = std::mem::replace(&mut is_named_value, names.contains(&word));
        let number = word.iter().position(|byte| !b"+-#M.".contains(byte))?;
        let (_, rest) = parse_digits(&word[number..])?;
        let (is_decimal, end) = match rest {
            [b':', b'+' | b'-' | b'M' | b'#', ..] => return Some(()),
            [b':', ..] => return None,
            [b'.', after @ ..] => (true, parse_digits(after)?.1),
            _ => (false, rest),
        };
        let is_marked = (number > 0 || is_decimal) && matches!(end, [] | [b'/', ..]);
        (is_marked || is_named && TagOutcome::from_text(word).is_none()).then_some(())
    };
    words.find_map(check_word).map(|()| Comment::Unknown)
}

/// The text after the name of a value, which begins a word.
fn value_after<'a>(comment: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let first = name[0];
    (0..comment.len())
        .filter(|&start| comment[start] == first && comment[start..].starts_with(name))
        .find(|&start| start == 0 || !comment[start - 1].is_ascii_alphanumeric())
        .map(|start| &comment[start + name.len()..])
}

/// A number of pawns, or the length of a mate.
#[derive(Clone, Copy, Debug)]
pub struct CommentNumber {
    /// The sign `+` or `-`, if there is one.
    sign: Option<u8>,
    /// The centipawns, or the length of a mate.
    size: i32,
    mate: bool,
    /// Whether the length of a mate counts moves, not half-moves.
    in_moves: bool,
}

impl CommentNumber {
    /// Converts to the score for `turn`, the side to move in the score's position.
    pub fn to_score(self, read: ReadView, turn: Color) -> i16 {
        let is_flipped = match read.view {
            PointOfView::White => turn.is_black(),
            PointOfView::SideToMove => read.follows_move,
        };
        let is_negative = (self.sign == Some(b'-')) != is_flipped;
        // Either side may make the first move of the mate.
        let plies = if self.in_moves { 2 * self.size - i32::from(!is_negative) } else { self.size };
        let size = match self.mate {
            true => i32::from(MATE) - plies.clamp(1, LONGEST_MATE.into()),
            false => self.size.min(LARGEST.into()),
        };
        if is_negative { -(size as i16) } else { size as i16 }
    }
}

/// Parses the number at the beginning of a text, and returns the rest: `+0.35`, `-.5`, `M5`, `#-3`.
fn parse_number(text: &[u8]) -> Option<(CommentNumber, &[u8])> {
    let sign = |text: &mut &[u8]| {
        let sign = text.first().copied().filter(|byte| b"+-".contains(byte));
        *text = &text[usize::from(sign.is_some())..];
        sign
    };
    let mut rest = text;
    let mut before = sign(&mut rest);
    let mate = matches!(rest, [b'M' | b'#', ..]);
    if mate {
        rest = &rest[1..];
        before = sign(&mut rest).or(before);
    }
    let number = |size| CommentNumber { sign: before, size, mate, in_moves: false };
    if mate {
        return parse_digits(rest).map(|(size, rest)| (number(size), rest));
    }
    let (whole, rest) = parse_digits(rest).unwrap_or((0, rest));
    let after = rest.strip_prefix(b".")?;
    let (_, rest) = parse_digits(after)?;
    let fraction = &after[..after.len() - rest.len()];
    let digit = |i: usize| fraction.get(i).map_or(0, |byte| i32::from(byte - b'0'));
    let size = 100 * whole + 10 * digit(0) + digit(1) + i32::from(digit(2) >= 5);
    Some((number(size), rest))
}

/// Parses the digits at the beginning of a text, up to the largest number that a score needs.
fn parse_digits(text: &[u8]) -> Option<(i32, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = text[..length]
        .iter()
        .fold(0i32, |value, byte| (10 * value + i32::from(byte - b'0')).min(100_000));
    (length > 0).then_some((value, &text[length..]))
}
