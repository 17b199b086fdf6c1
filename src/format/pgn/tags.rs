//! The tags before the moves, in bytes, since names of players come in every encoding.

use super::frame::{tag_name, without_mark};
use super::shown;
use crate::format::fields;
use crate::sample::Position;

/// The tag of moves that are not all of a game.
pub const UNKNOWN: (&str, &str) = ("Game", "unknown");

/// The tags without which a game is not understood.
const MATTER: [&[u8]; 4] = [b"Result", b"FEN", b"Variant", b"Game"];

/// The tags of a game, and where its moves begin.
#[derive(Default)]
pub struct Tags<'a> {
    /// Names and values, as they come; those without an end to their value are left out.
    all: Vec<(&'a [u8], &'a [u8])>,
    /// Whether there were any, of whatever name.
    pub some: bool,
    /// The first byte behind them.
    pub end: usize,
}

/// How a game ended, as its tag `Result` or the end of its moves says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Twice the result as White sees it.
    Won(u8),
    /// `*`: still going on, given up, or unknown.
    Unfinished,
}

impl Outcome {
    pub fn from_text(text: &[u8]) -> Option<Self> {
        match text {
            b"1-0" => Some(Outcome::Won(2)),
            b"1/2-1/2" => Some(Outcome::Won(1)),
            b"0-1" => Some(Outcome::Won(0)),
            b"*" => Some(Outcome::Unfinished),
            _ => None,
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Outcome::Won(2) => "1-0",
            Outcome::Won(1) => "1/2-1/2",
            Outcome::Won(_) => "0-1",
            Outcome::Unfinished => "*",
        }
    }
}

impl<'a> Tags<'a> {
    /// Reads the tags of a game. Of those that do not matter here, whatever their values are
    /// passes.
    pub fn read(text: &'a [u8]) -> Result<Self, String> {
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
            tags.some = true;
            let quote = rest.iter().position(|&byte| byte == b'"').expect("a tag has a quote");
            let value = &rest[quote + 1..][..length_of_line(&rest[quote + 1..])];
            let closing = closing_quote(value);
            match closing {
                Some(closing) => tags.all.push((name, &value[..closing])),
                None if MATTER.contains(&name) => {
                    return Err(format!("the tag {} has no closing quote", shown(name)));
                }
                None => {}
            }
            // Another tag may follow on the same line; else what is left of it does not matter.
            let after = closing.map_or(&[][..], |closing| value[closing + 1..].trim_ascii_start());
            tags.end = match after.strip_prefix(b"]") {
                Some(after) => tags.end + quote + 1 + value.len() - after.len(),
                None => tags.end + quote + 1 + value.len(),
            };
        }
    }

    /// The value of a tag; the last one, where it comes several times.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        self.all.iter().rev().find(|(it, _)| *it == name.as_bytes()).map(|(_, value)| *value)
    }

    /// Names and values as text, whatever their encoding, with quotes as they were before they
    /// were escaped.
    pub fn texts(&self) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let plain = |value: &[u8]| text(value).replace("\\\"", "\"").replace("\\\\", "\\");
        self.all.iter().map(|(name, value)| (text(name), plain(value))).collect()
    }

    /// What the tag `Result` says, none if there is none.
    pub fn outcome(&self) -> Result<Option<Outcome>, String> {
        let Some(result) = self.value("Result") else { return Ok(None) };
        match Outcome::from_text(result.trim_ascii()) {
            Some(outcome) => Ok(Some(outcome)),
            // What PGN has for values that nobody knows.
            None if result == b"?" => Ok(Some(Outcome::Unfinished)),
            None => Err(format!(
                "the tag Result is `{}`, expected 1-0, 0-1, 1/2-1/2 or *",
                shown(result)
            )),
        }
    }

    /// Whether the moves are not all of a game, as our own tag [`UNKNOWN`] says.
    pub fn is_part(&self) -> bool {
        self.value(UNKNOWN.0) == Some(UNKNOWN.1.as_bytes())
    }

    /// The position before the first move, none if it is the usual one.
    pub fn start(&self) -> Result<Option<Position>, String> {
        let said = self.value("Variant").unwrap_or_default();
        let variant: String = said
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
                let variant = shown(said);
                return Err(format!("the tag Variant is `{variant}`, expected chess or Chess960"));
            }
        };
        match self.value("FEN") {
            Some(fen) => {
                let fen = std::str::from_utf8(fen).map_err(|_| "the FEN is not text")?;
                fields::text_fen(fen.trim()).map(Some)
            }
            None if any_start => {
                Err("a game of Chess960 without the tag FEN: its start is unknown".to_string())
            }
            None => Ok(None),
        }
    }
}

/// The bytes up to the end of the first line.
fn length_of_line(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len())
}

/// Where the first quote stands that no backslash stands before.
fn closing_quote(value: &[u8]) -> Option<usize> {
    let mut escaped = false;
    value.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}
