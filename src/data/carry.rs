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

/// What is said of a file whose positions do not know their games any more; `why` not, where that
/// is not for the format.
pub fn games_unknown(to: &Format, why: Option<&str>) -> String {
    let why = match (why, to.facts.games) {
        (Some(why), _) => why.to_string(),
        (None, Holds::Never) => {
            format!("{} does not tell which positions are of one game", to.name)
        }
        (None, _) => "not all positions of all games are there".to_string(),
    };
    format!("games unknown: {why}; an interval measured on it is a lower bound")
}

/// Whether a format can hold a sample; the error is the reason why not.
///
/// A sample that fits alone fits behind others, too: a game that it does not go on with is ended
/// before it.
pub fn fits(sample: &Sample, format: &Format, scratch: &mut Vec<u8>) -> Result<(), String> {
    let Some(writer) = format.writer else {
        return Err(format!("{} is only read", format.name));
    };
    scratch.clear();
    writer().write(sample, scratch)
}
