//! What becomes of positions in another format.

use crate::format::{Format, Holds};
use crate::sample::Sample;

/// What the positions of `from` may hold and `to` cannot, in words for a sentence.
pub fn lost(from: &Format, to: &Format) -> Vec<&'static str> {
    let (before, after) = (from.facts, to.facts);
    let mut lost = Vec::new();
    for (holds, carries, fact) in [
        (before.scores, after.scores, "scores"),
        (before.plies, after.plies, "plies"),
        (before.moves, after.moves, "the moves played"),
        (before.games, after.games, "which positions are of one game"),
        (
            before.colours,
            after.colours,
            "who is White, castling rights, en passant squares and counters",
        ),
    ] {
        if holds != Holds::Never && carries == Holds::Never {
            lost.push(fact);
        }
    }
    lost
}

/// Writes a sample into `scratch`; the error says why the format cannot hold it.
pub fn fits(sample: &Sample, format: &Format, scratch: &mut Vec<u8>) -> Result<(), String> {
    let Some(writer) = format.writer else {
        return Err(format!("{} is only read", format.name));
    };
    scratch.clear();
    writer().write(sample, scratch)
}
