//! The parts that written games are made of: tags, and moves in lines that are not too long.

use shakmaty::{File, Role};

use super::comment::{LARGEST, LONGEST_MATE, MATE};
use crate::sample::Position;

/// Lines are broken before they are longer.
const WIDTH: usize = 80;
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// The moves of a game under way.
#[derive(Default)]
pub struct Movetext {
    text: Vec<u8>,
    /// The length of the line under way.
    column: usize,
}

impl Movetext {
    pub fn word(&mut self, word: &str) {
        if self.column > 0 {
            let breaks = self.column + 1 + word.len() > WIDTH;
            self.text.push(if breaks { b'\n' } else { b' ' });
            self.column = if breaks { 0 } else { self.column + 1 };
        }
        self.text.extend_from_slice(word.as_bytes());
        self.column += word.len();
    }

    /// Appends all moves and the blank line behind a game, and begins anew.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.text);
        out.extend_from_slice(b"\n\n");
        self.column = 0;
    }
}

/// Appends a tag; quotes in its value are escaped.
pub fn tag(name: &str, value: &str, out: &mut Vec<u8>) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    out.extend_from_slice(format!("[{name} \"{value}\"]\n").as_bytes());
}

/// Appends the tags of the first position, none if it is the usual one.
pub fn start_tags(start: &Position, out: &mut Vec<u8>) {
    let fen = start.fen();
    if fen != START {
        if castles_unusually(start) {
            tag("Variant", "Chess960", out);
        }
        tag("SetUp", "1", out);
        tag("FEN", &fen, out);
    }
}

/// Whether a king or a rook that may still castle stands on another file than in usual chess.
fn castles_unusually(position: &Position) -> bool {
    let king = |color| {
        position
            .pieces()
            .find(|piece| piece.role == Role::King && piece.color == color)
            .map(|piece| piece.square)
    };
    position.pieces().filter(|piece| piece.castles).any(|rook| {
        !matches!(rook.square.file(), File::A | File::H)
            || king(rook.color).is_some_and(|king| king.file() != File::E)
    })
}

/// A score of the mover with its depth, as cutechess writes it: `{+0.35/12}`, `{-M4/9}`.
///
/// # Errors
/// If the score is out of range.
pub fn score_text(score: i16, depth: u32) -> Result<String, String> {
    let size = score.unsigned_abs();
    let sign = match score {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    if size > LARGEST.unsigned_abs() {
        return Err(format!("score {score} is out of range, expected -{LARGEST} to {LARGEST}"));
    }
    Ok(if size >= (MATE - LONGEST_MATE).unsigned_abs() {
        format!("{{{sign}M{}/{depth}}}", MATE.unsigned_abs() - size)
    } else {
        format!("{{{sign}{}.{:02}/{depth}}}", size / 100, size % 100)
    })
}
