//! PGN: games in the notation that people and tournament programs write.
//!
//! Each move gives one sample, its position the one before the move. `ply` and `game` are those
//! of viriformat. The result is that of the tag `Result`, which must agree with the end of the
//! moves, or that end where the tag is missing. Games whose result is `*` or `?` are passed over and
//! counted. Scores are read from comments, see [`comment`].
//!
//! Tags may be in any encoding, and blank lines may be missing or stand between the moves. A game
//! that is wrong (illegal or unreadable moves, open comments, results that contradict each other) is
//! refused whole; the crate `pgn-reader` would pass over what it cannot read, and yield another game.

pub mod comment;
mod game;
mod scoresheet;
mod text;
mod write;

pub use scoresheet::Scoresheet;
pub use write::{Annotated, Ply};

use shakmaty::Color;

use super::{BLOCK, BadRecord, Facts, Fault, Format, Holds, Input, Reader, View};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};
use game::Game;
use text::{Frame, Frames, Wrong, tag_name};

pub static FORMAT: Format = Format {
    name: "pgn",
    about: "games in PGN; scores from comments such as {+0.35/12}, seen by the mover, {wv=0.35} \
            and {[%eval 0.35]}, seen by White, in pawns; every move must be legal; games without \
            a result are passed over",
    extensions: &["pgn"],
    facts: Facts {
        scores: Holds::Sometimes,
        plies: Holds::Always,
        moves: Holds::Always,
        games: Holds::Always,
        colours: Holds::Always,
    },
    view: View::Fixed(PointOfView::White),
    recognises,
    reader: |input| Box::new(PgnReader::new(input)),
    writer: Some(|| Box::new(write::PgnWriter::default())),
};

/// Whether one of the first lines is a tag.
fn recognises(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').take(100).any(|line| tag_name(line).is_some())
}

struct PgnReader {
    frames: Frames,
    frame: Frame,
    games: u64,
    unfinished: u64,
}

impl PgnReader {
    fn new(input: Input) -> Self {
        Self { frames: Frames::new(input), frame: Frame::default(), games: 0, unfinished: 0 }
    }

    /// The fault of the game in `self.frame`.
    fn fault(&self, wrong: Wrong) -> Fault {
        let line = self.frame.line_of(wrong.at);
        let mut place = format!("game {}, line {line}", self.games);
        if let Some((number, turn)) = wrong.turn {
            let dots = if turn == Color::White { "." } else { "..." };
            place = format!("{place}, move {number}{dots}");
        }
        let bad = BadRecord { place, reason: wrong.reason };
        if self.frame.last && wrong.at_end { Fault::CutOff(bad) } else { Fault::Skipped(bad) }
    }
}

/// The position after the moves of each game, whatever its result: a book of openings.
pub(super) fn last_positions(input: Input) -> Result<Vec<Position>, Fault> {
    each(input, |frame| game::last(frame.whole()?))
}

/// The games of a file by their tags, who played and with what result; moves are not replayed.
///
/// # Errors
/// At the first game that is none: tags or comments without an end, results that contradict each
/// other, starts that are no positions.
pub fn scoresheets(input: Input) -> Result<Vec<Scoresheet>, Fault> {
    each(input, Scoresheet::read)
}

/// What is made of each game, up to the first that is wrong; of some texts nothing is.
fn each<T>(input: Input, of: impl Fn(&Frame) -> Result<Option<T>, Wrong>) -> Result<Vec<T>, Fault> {
    let (mut reader, mut all) = (PgnReader::new(input), Vec::new());
    while reader.frames.next(&mut reader.frame)? {
        match of(&reader.frame) {
            Ok(None) => continue,
            Ok(Some(made)) => all.push(made),
            Err(wrong) => {
                reader.games += 1;
                return Err(reader.fault(wrong));
            }
        }
        reader.games += 1;
    }
    Ok(all)
}

impl Reader for PgnReader {
    fn read(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let enough = out.len() + BLOCK;
        while out.len() < enough {
            if !self.frames.next(&mut self.frame)? {
                return Ok(false);
            }
            let kept = out.len();
            match self.frame.whole().and_then(|text| game::replay(text, out)) {
                Ok(Game::Nothing) => continue,
                Ok(Game::Whole) => {}
                Ok(Game::Unfinished) => self.unfinished += 1,
                Err(wrong) => {
                    self.games += 1;
                    out.truncate(kept);
                    return Err(self.fault(wrong));
                }
            }
            self.games += 1;
        }
        Ok(true)
    }

    fn unfinished(&self) -> u64 {
        self.unfinished
    }
}

/// The beginning of a text that may be anything, fit for a message.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(80)]);
    text.chars().filter(|letter| !letter.is_control()).take(40).collect()
}
