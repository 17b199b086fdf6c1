//! The text of games: a file split into games, their tags, and the tokens of their moves.

use std::io::{self, BufRead, Read};

use shakmaty::Color;
use shakmaty::san::San;

use super::{not_a_move, show_start};
use crate::format::{ByteInput, RecordError, fields};
use crate::sample::Position;

/// The length of the longest game in bytes, with its comments.
pub const LONGEST: usize = 1 << 24;

#[derive(Default)]
pub struct GameFrame {
    text: Vec<u8>,
    pub line: u64,
    pub last: bool,
    /// Whether the game is longer than 16 MiB, so that `text` is incomplete.
    too_long: bool,
}

impl GameFrame {
    pub fn valid_bytes(&self) -> Result<&[u8], RecordError> {
        match self.too_long {
            false => Ok(&self.text),
            true => Err(format!("the game is longer than {} MiB", LONGEST >> 20).into()),
        }
    }

    pub fn line_of(&self, offset: usize) -> u64 {
        self.line + self.text[..offset].iter().filter(|&&byte| byte == b'\n').count() as u64
    }
}

pub struct GameError {
    pub offset: usize,
    /// The number and side of the wrong move.
    pub turn: Option<(u32, Color)>,
    pub reason: RecordError,
    /// Whether the text ends at the error, and may be cut off.
    pub at_end: bool,
}

/// An error in the tags or the whole of a game.
impl From<RecordError> for GameError {
    fn from(reason: RecordError) -> Self {
        Self { offset: 0, turn: None, reason, at_end: false }
    }
}

/// The games of a file. A game ends before a tag that follows its moves, or a second tag `Event`.
pub struct Frames {
    input: ByteInput,
    lines: u64,
    /// The first line of the next game.
    pending: Vec<u8>,
}

impl Frames {
    pub fn new(input: ByteInput) -> Self {
        Self { input, lines: 0, pending: Vec::new() }
    }

    /// Reads the next game into `frame`; false at the end.
    pub fn next(&mut self, frame: &mut GameFrame) -> io::Result<bool> {
        frame.text.clear();
        frame.text.append(&mut self.pending);
        // A pending line with a line break was counted.
        frame.line = self.lines + u64::from(!frame.text.ends_with(b"\n"));
        frame.last = false;
        frame.too_long = false;
        let [mut event, mut moves, mut starts] = [is_event(&frame.text), false, true];
        loop {
            let line_start = frame.text.len();
            let limit = (LONGEST - line_start) as u64;
            let length = self.input.by_ref().take(limit).read_until(b'\n', &mut frame.text)?;
            let line = &frame.text[line_start..];
            if length == 0 {
                frame.last = true;
                return Ok(line_start > 0 || frame.too_long);
            }
            let ends = line.ends_with(b"\n");
            self.lines += u64::from(ends);
            if starts {
                if tag_name(line).is_some() || !ends && is_cut_tag(line) {
                    if moves || event && is_event(line) {
                        self.pending = frame.text.split_off(line_start);
                        return Ok(true);
                    }
                    event |= is_event(line);
                } else {
                    moves |= !is_empty(line);
                }
            }
            starts = ends;
            if frame.text.len() == LONGEST {
                [frame.too_long, moves] = [true; 2];
                frame.text.clear();
            }
        }
    }
}

/// Whether a line may be a tag cut off by the end of the file.
fn is_cut_tag(line: &[u8]) -> bool {
    let inside = without_mark(line).trim_ascii_start().strip_prefix(b"[");
    inside.is_some_and(|inside| inside.trim_ascii().iter().all(u8::is_ascii_alphanumeric))
}

fn is_event(line: &[u8]) -> bool {
    tag_name(line).is_some_and(|name| name.eq_ignore_ascii_case(b"Event"))
}

/// Whether a line is blank in PGN.
fn is_empty(line: &[u8]) -> bool {
    let line = without_mark(line);
    line.starts_with(b"%") || line.trim_ascii().is_empty()
}

/// The text without the byte order mark of Windows editors.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// The name of the tag at the start of a text: `[Name "`.
pub fn tag_name(text: &[u8]) -> Option<&[u8]> {
    let inside = without_mark(text).trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start();
    let end = inside.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
    let (name, rest) = inside.split_at(end);
    let is_name = name.first().is_some_and(u8::is_ascii_alphabetic);
    (is_name && rest.trim_ascii_start().starts_with(b"\"")).then_some(name)
}

/// The tags that are needed to read a game.
const MATTER: [&str; 4] = ["Result", "FEN", "SetUp", "Variant"];

/// The tags of a game, and the offset of its moves.
#[derive(Default)]
pub struct Tags<'a> {
    /// The names and values in order, except values without a closing quote.
    entries: Vec<(&'a [u8], &'a [u8])>,
    /// Whether there were any tags.
    pub has_tags: bool,
    pub end: usize,
}

/// The outcome of a game, by its tag `Result` or the end of its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagOutcome {
    /// A result, as twice White's result.
    Won(u8),
    /// `*`: in progress, abandoned, or unknown.
    Unfinished,
}

impl TagOutcome {
    pub fn from_text(text: &[u8]) -> Option<Self> {
        match text {
            b"1-0" => Some(TagOutcome::Won(2)),
            b"1/2-1/2" | b"1/2" | b"\xc2\xbd-\xc2\xbd" | b"\xc2\xbd" => Some(TagOutcome::Won(1)),
            b"0-1" => Some(TagOutcome::Won(0)),
            b"*" => Some(TagOutcome::Unfinished),
            _ => None,
        }
    }

    pub fn as_text(self) -> &'static str {
        match self {
            TagOutcome::Won(2) => "1-0",
            TagOutcome::Won(1) => "1/2-1/2",
            TagOutcome::Won(_) => "0-1",
            TagOutcome::Unfinished => "*",
        }
    }
}

impl<'a> Tags<'a> {
    /// Reads the tags of a game; values of irrelevant tags are arbitrary.
    pub fn parse_tags(text: &'a [u8]) -> Result<Self, RecordError> {
        let mut tags = Self::default();
        loop {
            let rest = without_mark(&text[tags.end..]).trim_ascii_start();
            tags.end = text.len() - rest.len();
            let starts_line = tags.end == 0 || text[tags.end - 1] == b'\n';
            if rest.starts_with(b"%") && starts_line {
                tags.end += length_of_line(rest);
                continue;
            }
            let Some(name) = tag_name(rest) else { return Ok(tags) };
            tags.has_tags = true;
            let quote = rest.iter().position(|&byte| byte == b'"').expect("a tag has a quote");
            let value = &rest[quote + 1..][..length_of_line(&rest[quote + 1..])];
            let closing = closing_quote(value);
            match closing {
                Some(closing) => tags.entries.push((name, &value[..closing])),
                None if MATTER.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes())) => {
                    let name = show_start(name);
                    return Err(format!("the tag {name} has no closing quote").into());
                }
                None => {}
            }
            // Another tag may follow on the same line; the rest is ignored.
            let after = closing.map_or(&[][..], |closing| value[closing + 1..].trim_ascii_start());
            tags.end = match after.strip_prefix(b"]") {
                Some(after) => tags.end + quote + 1 + value.len() - after.len(),
                None => tags.end + quote + 1 + value.len(),
            };
        }
    }

    /// The value of a tag in upper or lower case; the last value if there are several.
    pub fn tag_value(&self, name: &str) -> Option<&'a [u8]> {
        let is_named = |it: &&(&[u8], _)| it.0.eq_ignore_ascii_case(name.as_bytes());
        self.entries.iter().rev().find(is_named).map(|(_, value)| *value)
    }

    /// The names and values as text of any encoding, without escapes.
    pub fn tag_texts(&self) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let plain = |value: &[u8]| text(value).replace("\\\"", "\"").replace("\\\\", "\\");
        self.entries.iter().map(|(name, value)| (text(name), plain(value))).collect()
    }

    /// The outcome of the tag `Result`; None without one.
    pub fn parse_outcome(&self) -> Result<Option<TagOutcome>, RecordError> {
        let Some(result) = self.tag_value("Result") else { return Ok(None) };
        match TagOutcome::from_text(result.trim_ascii()) {
            Some(outcome) => Ok(Some(outcome)),
            None if is_unknown(result) => Ok(Some(TagOutcome::Unfinished)),
            None => {
                let result = show_start(result);
                let expected = "expected 1-0, 0-1, 1/2-1/2 or *";
                Err(format!("the tag Result is `{result}`, {expected}").into())
            }
        }
    }

    /// Whether the game ended by the clock, a lost connection or a broken rule, in the words of
    /// servers and tournament programs, in its tags or in a comment after its last move.
    pub fn is_forfeit(&self, text: &[u8]) -> bool {
        let names = ["Termination", "TerminationDetails", "ICCResult"];
        let mut ends: Vec<&[u8]> = names.iter().filter_map(|name| self.tag_value(name)).collect();
        let mut segments = text.rsplit(|byte| b"{}".contains(byte));
        let end = segments.next().unwrap_or_default().trim_ascii();
        if end.is_empty() || TagOutcome::from_text(end).is_some() {
            ends.extend(segments.next());
        }
        names_forfeit(&String::from_utf8_lossy(&ends.join(&b';')))
    }

    /// The position before the first move; none for the initial position of chess.
    pub fn parse_start(&self) -> Result<Option<Position>, RecordError> {
        let value = self.tag_value("Variant").unwrap_or_default();
        let variant: String = value
            .iter()
            .filter(|byte| byte.is_ascii_alphanumeric())
            .map(|&byte| char::from(byte.to_ascii_lowercase()))
            .collect();
        let any_start = match variant.as_str() {
            "" | "standard" | "chess" | "normal" | "fromposition" => false,
            "chess960"
            | "fischerandom"
            | "fischerrandom"
            | "frc"
            | "dfrc"
            | "doublefischerandom"
            | "doublefischerrandom"
            | "doublechess960" => true,
            _ => {
                let value = show_start(value);
                let expected = "expected chess or Chess960";
                return Err(format!("the tag Variant is `{value}`, {expected}").into());
            }
        };
        match self.tag_value("FEN").filter(|fen| !is_unknown(fen)) {
            Some(fen) => {
                let fen = std::str::from_utf8(fen).map_err(|_| "the FEN is not text")?;
                fields::text_fen(fen.trim()).map(Some)
            }
            None if any_start => {
                Err("a game of Chess960 without the tag FEN: its start is unknown".into())
            }
            None if self.tag_value("SetUp").is_some_and(|set| set != b"0" && !is_unknown(set)) => {
                Err("the tag SetUp is set, but the tag FEN is missing: its start is unknown".into())
            }
            None => Ok(None),
        }
    }
}

/// Whether a tag has no value, or an unknown one, `?` or `-` in PGN.
fn is_unknown(value: &[u8]) -> bool {
    matches!(value.trim_ascii(), b"" | b"?" | b"-")
}

fn length_of_line(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len())
}

/// The index of the first quote without a backslash before it.
fn closing_quote(value: &[u8]) -> Option<usize> {
    let mut escaped = false;
    value.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// A token of the moves; numbers, NAGs and variations are skipped.
#[derive(Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A move in SAN, without check signs and marks such as `!?`.
    San(&'a [u8]),
    Comment(&'a [u8]),
    Outcome(TagOutcome),
}

pub struct Tokens<'a> {
    text: &'a [u8],
    offset: usize,
    /// The offset of the last token.
    pub start: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens from an offset on, after the tags.
    pub fn new(text: &'a [u8], offset: usize) -> Self {
        Self { text, offset, start: offset }
    }

    /// Whether only white space follows the last token.
    pub fn at_end(&self) -> bool {
        self.text[self.offset..].trim_ascii().is_empty()
    }

    /// Whether words of prose follow, as between games, but not the tags of another game.
    pub fn is_prose(&self) -> bool {
        match (Tokens { ..*self }).next() {
            Ok(Some(Token::San(san))) => San::from_ascii(san).is_err(),
            read => read.is_err() && tag_name(&self.text[self.offset..]).is_none(),
        }
    }

    /// The next token, none at the end of the text.
    pub fn next(&mut self) -> Result<Option<Token<'a>>, RecordError> {
        loop {
            let Some(&byte) = self.text.get(self.offset) else {
                self.start = self.offset;
                return Ok(None);
            };
            self.start = self.offset;
            match byte {
                b'%' if self.offset == 0 || self.text[self.offset - 1] == b'\n' => self.pass_line(),
                b';' => self.pass_line(),
                b'{' => return self.read_comment().map(Token::Comment).map(Some),
                b'(' => self.pass_variation()?,
                b'$' => self.offset += 1 + count_digits(&self.text[self.offset + 1..]),
                _ if byte.is_ascii_whitespace() => self.offset += 1,
                _ => match self.move_number_length() {
                    Some(length) => self.offset += length,
                    None => {
                        if let Some(token) = self.read_word()? {
                            return Ok(Some(token));
                        }
                    }
                },
            }
        }
    }

    fn pass_line(&mut self) {
        self.offset += length_of_line(&self.text[self.offset..]);
    }

    /// The length of a move number with its dot, or of a byte order mark.
    fn move_number_length(&self) -> Option<usize> {
        let rest = &self.text[self.offset..];
        let digits = count_digits(rest);
        match rest.get(digits) {
            _ if digits == 0 => {
                Some(rest.len() - without_mark(rest).len()).filter(|&mark| mark > 0)
            }
            // These are castling, or a null move.
            _ if matches!(&rest[..digits], b"00" | b"000" | b"0000") => None,
            None => Some(digits),
            Some(b'.') => Some(digits + 1),
            Some(byte) => (byte.is_ascii_whitespace() || b"{(;".contains(byte)).then_some(digits),
        }
    }

    fn read_comment(&mut self) -> Result<&'a [u8], RecordError> {
        let rest = &self.text[self.offset + 1..];
        let Some(end) = rest.iter().position(|&byte| byte == b'}') else {
            self.offset = self.text.len();
            return Err("a comment is not closed; the game or the file is cut off".into());
        };
        self.offset += end + 2;
        Ok(&rest[..end])
    }

    /// Skips a variation, which may contain variations, and comments with parentheses.
    fn pass_variation(&mut self) -> Result<(), RecordError> {
        let mut depth = 0u32;
        while let Some(byte) = self.text.get(self.offset) {
            match byte {
                b'{' => {
                    self.read_comment()?;
                    continue;
                }
                b';' => {
                    self.pass_line();
                    continue;
                }
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            self.offset += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err("a variation is not closed; the game or the file is cut off".into())
    }

    /// Reads a move or the end of the game; none for separate dots and marks.
    fn read_word(&mut self) -> Result<Option<Token<'a>>, RecordError> {
        let rest = &self.text[self.offset..];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"{}()[];$".contains(byte);
        let length = match rest {
            // This is a misplaced tag, or the rest of one.
            [b'[', ..] => length_of_line(rest),
            // Any other byte that cannot begin a word is read as a word.
            _ => rest.iter().position(ends).unwrap_or(rest.len()).max(1),
        };
        // The parentheses belong to a promotion such as `e8(Q)`, or to `exd6(ep)`.
        let length = match &rest[length..] {
            [b'(', b'Q' | b'R' | b'B' | b'N', b')', ..] => length + 3,
            [b'(', b'e', b'p', b')', ..] => length + 4,
            _ => length,
        };
        self.offset += length;
        let word = &rest[..length];
        if let Some(outcome) = TagOutcome::from_text(word) {
            return Ok(Some(Token::Outcome(outcome)));
        }
        let dots = word.iter().take_while(|&&byte| byte == b'.').count();
        let mut san = &word[dots..];
        self.start += dots;
        // Signs such as `±` are not ASCII.
        while let [before @ .., b'!' | b'?' | b'+' | b'#' | 0x80..] = san {
            san = before;
        }
        match san {
            b"--" | b"Z0" | b"null" | b"@@@@" | b"0000" => {
                Err(format!("`{}` is a null move, which no game has", show_start(san)).into())
            }
            // `N` marks a new move, `D` a diagram.
            b"e.p." | b"e.p" | b"ep." | b"ep" | b"N" | b"D" => Ok(None),
            _ if san.iter().all(|byte| b"+-=/~".contains(byte)) => Ok(None),
            [b'a'..=b'h' | b'N' | b'B' | b'R' | b'Q' | b'K' | b'O' | b'0' | b'o' | b'P', ..] => {
                Ok(Some(Token::San(san)))
            }
            _ => Err(not_a_move(word)),
        }
    }
}

fn count_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether the words for the end of a game mean a forfeit.
pub fn names_forfeit(end: &str) -> bool {
    let words = "forfeit|on time|of time|timeout|abandon|infraction|illegal|stall|disconnect|crash";
    words.split('|').any(|word| end.to_lowercase().contains(word))
}
