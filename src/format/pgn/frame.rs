//! A file of games cut into single games, before anybody looks at their moves.

use std::io::{self, BufRead, Read};

use shakmaty::Color;

use crate::format::Input;

/// No game is longer, not even one whose comments hold long lines of play.
const LONGEST: usize = 1 << 24;

/// The text of a game and where it stands.
#[derive(Default)]
pub struct Frame {
    pub text: Vec<u8>,
    /// The number of its first line.
    pub line: u64,
    /// Whether the file ends with it.
    pub last: bool,
    /// Whether it was too long to be held, so that `text` is no more than a part of it.
    pub too_long: bool,
}

impl Frame {
    /// The number of the line on which a byte stands.
    pub fn line_of(&self, at: usize) -> u64 {
        self.line + self.text[..at].iter().filter(|&&byte| byte == b'\n').count() as u64
    }
}

/// Why a game is none.
pub struct Wrong {
    /// The byte where that shows.
    pub at: usize,
    /// The number of the move in question, and whose it is.
    pub turn: Option<(u32, Color)>,
    pub reason: String,
    /// Whether that may come of the text breaking off.
    pub at_end: bool,
}

/// The games of a file, one after the other.
///
/// A game ends where a tag begins a line after its moves, or where the tag `Event` comes again
/// before any move. Blank lines count for nothing, so that they may be missing, or stand between
/// the moves; and a comment without an end takes no more than its own game along.
pub struct Frames {
    input: Input,
    /// The lines read so far.
    lines: u64,
    /// The first line of the next game.
    pending: Vec<u8>,
}

impl Frames {
    pub fn new(input: Input) -> Self {
        Self { input, lines: 0, pending: Vec::new() }
    }

    /// Reads the next game into `frame`; false if nothing is left.
    pub fn next(&mut self, frame: &mut Frame) -> io::Result<bool> {
        frame.text.clear();
        frame.text.append(&mut self.pending);
        // A pending line was counted if it has an end.
        frame.line = self.lines + u64::from(!frame.text.ends_with(b"\n"));
        (frame.last, frame.too_long) = (false, false);
        let (mut event, mut moves) = (is_event(&frame.text), false);
        let mut starts = true;
        loop {
            let from = frame.text.len();
            let room = (LONGEST - from) as u64;
            let length = self.input.by_ref().take(room).read_until(b'\n', &mut frame.text)?;
            let line = &frame.text[from..];
            if length == 0 {
                frame.last = true;
                return Ok(from > 0 || frame.too_long);
            }
            let ends = line.ends_with(b"\n");
            self.lines += u64::from(ends);
            if starts {
                if tag_name(line).is_some() || !ends && is_cut_tag(line) {
                    if moves || event && is_event(line) {
                        self.pending = frame.text.split_off(from);
                        return Ok(true);
                    }
                    event |= is_event(line);
                } else {
                    moves |= !is_empty(line);
                }
            }
            starts = ends;
            if frame.text.len() == LONGEST {
                (frame.too_long, moves) = (true, true);
                frame.text.clear();
            }
        }
    }
}

/// The fault of a game that is too long to be held.
pub fn too_long() -> Wrong {
    let reason = format!("the game is longer than {} MiB", LONGEST >> 20);
    Wrong { at: 0, turn: None, reason, at_end: false }
}

/// Whether a line may be a tag that the end of the file cut off.
fn is_cut_tag(line: &[u8]) -> bool {
    let inside = without_mark(line).trim_ascii_start().strip_prefix(b"[");
    inside.is_some_and(|inside| inside.trim_ascii().iter().all(u8::is_ascii_alphanumeric))
}

fn is_event(line: &[u8]) -> bool {
    tag_name(line) == Some(b"Event")
}

/// Whether a line holds nothing, or what PGN lets pass as nothing.
fn is_empty(line: &[u8]) -> bool {
    let line = without_mark(line);
    line.starts_with(b"%") || line.trim_ascii().is_empty()
}

/// The text without the mark of byte order that editors on Windows put before it.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// The name of the tag with which a text begins: `[Name "`.
pub fn tag_name(text: &[u8]) -> Option<&[u8]> {
    let inside = without_mark(text).trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start();
    let end = inside.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
    let (name, rest) = inside.split_at(end);
    let named = name.first().is_some_and(u8::is_ascii_alphabetic);
    (named && rest.trim_ascii_start().starts_with(b"\"")).then_some(name)
}
