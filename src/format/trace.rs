//! Traces: how often each term of an engine's own evaluation applies, printed by the engine.
//!
//! A text file begins with the line `nnuance-trace 1`, behind which `eval=` and `tolerance=` may
//! stand; each line after it is a position,
//!
//! ```text
//! RESULT w|b PHASE SCALE [cp=SCORE] [eval=VALUE] [game=NUMBER] | TERM:WHITE:BLACK ... [| FEN]
//! 1.0 w 24 128 | 0:5:4 17:1:0 33:0:2
//! 0.5 b 11 64 cp=-35 game=12 | 0:4:4 33:2:0 | 8/5k2/p2p4/1p1P4/1P6/P2B4/5K2/2b5 b - - 3 41
//! ```
//!
//! Result and score are White's, the score in whole centipawns. Phase and scale factor are in the
//! units of the engine, which its term list tells, as it tells what term 0 is. A term applies
//! WHITE and BLACK times; one that does not stand in the line does not apply, one that stands
//! there twice applies as often as both say. The positions of a game stand together. Blank lines,
//! Windows line ends and several files put together are fine.
//!
//! `eval=` is the engine's own evaluation of the position, in centipawns, perhaps with a fraction,
//! with the tempo in it. It is White's, unless the first line is `nnuance-trace 1
//! eval=side-to-move`. Read with a term list it must be what the counts give with the list's
//! weights, up to 2 centipawns that integer divisions may lose, or `tolerance=CENTIPAWNS` of the
//! first line.
//!
//! A binary file begins with the bytes `NNTRACE1` or `NNTRACE2`; each record after them is,
//! little-endian,
//!
//! | bytes | field |
//! |---|---|
//! | 0 | result u8: 0, 1, 2 = White lost, drew, won |
//! | 1 | side to move u8: 0 = White, 1 = Black |
//! | 2 | u8: 1 if there is a score, else 0; in version 2 plus 2 if there is an evaluation |
//! | 3 | length of the FEN u8, 0 = none |
//! | 4-5 | number of entries u16 |
//! | 6-7 | score i16 |
//! | 8-11 | phase f32 |
//! | 12-15 | scale factor f32 |
//! | 16-23 | number of the game u64, 0 = unknown |
//! | then | in version 2, where there is one: the engine's evaluation f32, White's |
//! | then | entries of 6 bytes: term u16, White's count i16, Black's count i16 |
//! | then | the FEN |
//!
//! As samples only records with a FEN can be had, whose side to move must be that of the record.

mod binary;
mod source;
mod text;
mod verify;

pub use binary::{MAGIC, MAGIC_2, write_binary};
pub use source::TraceSource;
pub use text::{HEADER, write_text};
pub use verify::{Checked, value};

use std::num::NonZeroU64;

use shakmaty::Color;

use super::{BLOCK, BadRecord, Facts, Fault, Format, Holds, Input, Reader, View, fields, fill};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample, mix};
use crate::terms::{Kind, OwnTerms};
use verify::Rules;

pub static FORMAT: Format = Format {
    name: "trace",
    about: "counts of an engine's own terms, text or binary; score in centipawns, score and \
            result seen by White; as positions only where a FEN stands behind the counts",
    extensions: &["trace"],
    facts: Facts {
        scores: Holds::Sometimes,
        plies: Holds::Never,
        moves: Holds::Never,
        games: Holds::Sometimes,
        colours: Holds::Always,
    },
    view: View::Fixed(PointOfView::White),
    recognises: |head| {
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        text.starts_with(b"nnuance-trace ") || head.starts_with(VERSIONS)
    },
    reader: |input| Box::new(Traces::new(input, None)),
    writer: None,
};

/// What binary files of all versions begin with.
const VERSIONS: &[u8] = b"NNTRACE";

/// Editors on Windows put it before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Its length has one byte in binary files.
const LONGEST_FEN: usize = 255;

/// How often a term applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the term list.
    pub term: u16,
    pub white: i16,
    pub black: i16,
}

/// One position of a trace. Result and score are seen by White.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// 0, 0.5 or 1.
    pub result: f32,
    pub turn: Color,
    /// In the engine's units, not negative.
    pub phase: f32,
    /// In the engine's units, not negative.
    pub scale: f32,
    /// Centipawns.
    pub score: Option<i16>,
    /// What the engine's own evaluation says, in centipawns; its view is that of the file.
    pub eval: Option<f32>,
    /// Equal for all positions of a game.
    pub game: Option<NonZeroU64>,
    /// In the order of the file; a term that stands there twice applies as often as both say.
    pub entries: Vec<Entry>,
    /// As it stands in the file, at most 255 bytes, not looked at yet; empty where there is none.
    pub fen: String,
}

impl Default for Traced {
    fn default() -> Self {
        Self {
            result: 0.5,
            turn: Color::White,
            phase: 0.0,
            scale: 1.0,
            score: None,
            eval: None,
            game: None,
            entries: Vec::new(),
            fen: String::new(),
        }
    }
}

impl Traced {
    /// The position and what is known of it, turned to the side to move; the error tells what is
    /// wrong with the FEN.
    pub fn sample(&self) -> Result<Sample, String> {
        if self.fen.is_empty() {
            return Err("it has no FEN; let the engine print one behind the counts, after `|`, \
                        or train the engine's own terms, which need none"
                .to_string());
        }
        let position: Position = fields::text_fen(&self.fen)?;
        if position.turn() != self.turn {
            return Err(format!(
                "the record says that {} is to move, its FEN says {}: `{}`",
                self.turn,
                position.turn(),
                self.fen
            ));
        }
        let sample = fields::seen_by_white(position, self.score, self.result)?;
        Ok(Sample { game: self.game, ..sample })
    }

    /// A hash of the counts.
    pub fn hash(&self) -> u64 {
        self.entries.iter().fold(0, |hash, entry| {
            let Entry { term, white, black } = *entry;
            let [white, black] = [white, black].map(|count| u64::from(count as u16));
            mix(hash, u64::from(term) | white << 16 | black << 32)
        })
    }

    fn set_fen(&mut self, fen: &[u8]) -> Result<(), String> {
        let text = str::from_utf8(fen).map_err(|_| "the FEN is not UTF-8".to_string())?;
        if text.len() > LONGEST_FEN {
            return Err(format!("a FEN of {} bytes, at most {LONGEST_FEN} fit", text.len()));
        }
        self.fen.clear();
        self.fen.push_str(text);
        Ok(())
    }
}

/// Tells games of the same number in different files apart: by the counts of their first
/// positions. The positions of a game stand together.
#[derive(Debug, Default)]
pub struct Games {
    number: Option<NonZeroU64>,
    id: Option<NonZeroU64>,
}

impl Games {
    /// The identity of the game of the next position.
    pub fn id(&mut self, traced: &Traced) -> Option<NonZeroU64> {
        if traced.game != self.number {
            self.number = traced.game;
            let first = |number: NonZeroU64| mix(traced.hash(), number.get());
            self.id = traced.game.map(first).and_then(|id| NonZeroU64::new(id.max(1)));
        }
        self.id
    }
}

/// Bytes to [`Traced`]s, text or binary.
pub struct Traces {
    input: Input,
    /// None before the first record.
    layout: Option<Layout>,
    own: Option<OwnTerms>,
    rules: Rules,
    checked: Checked,
    games: Games,
    /// Lines or records read.
    number: u64,
    /// The line or record at hand.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Layout {
    Text,
    /// Of this version.
    Binary(u8),
    /// Neither: nothing more is read.
    Unknown,
}

impl Traces {
    /// Records are checked against the term list where there is one.
    pub fn new(input: Input, own: Option<&OwnTerms>) -> Self {
        Self {
            input,
            layout: None,
            own: own.cloned(),
            rules: Rules::default(),
            checked: Checked::default(),
            games: Games::default(),
            number: 0,
            bytes: Vec::new(),
        }
    }

    /// The evaluations that were found to be what the counts give.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Reads the next position into `traced`, whose buffers are used again; false at the end.
    ///
    /// # Errors
    /// Records that are none; with a term list also term numbers that it does not have, a phase
    /// beyond its own, a scale factor more than twice its own, counts of Black for a COMPLEXITY
    /// term, and an evaluation that the counts do not give. What `traced` holds then means nothing.
    pub fn next(&mut self, traced: &mut Traced) -> Result<bool, Fault> {
        let layout = match self.layout {
            Some(layout) => layout,
            None => self.begin()?,
        };
        let more = match layout {
            Layout::Text => self.next_line(traced)?,
            Layout::Binary(_) => self.next_record(traced)?,
            Layout::Unknown => false,
        };
        if let Some(own) = self.own.as_ref().filter(|_| more) {
            check(traced, own).map_err(|reason| self.bad(reason))?;
            let difference = verify::check(traced, own, self.rules);
            if let Some(difference) = difference.map_err(|reason| self.bad(reason))? {
                let place = || place(self.layout, self.number);
                self.checked.add(difference, place);
            }
        }
        Ok(more)
    }

    /// Reads what stands before the first record.
    fn begin(&mut self) -> Result<Layout, Fault> {
        self.layout = Some(Layout::Unknown);
        let mut magic = [0; MAGIC.len()];
        let length = fill(&mut *self.input, &mut magic)?;
        let layout = if magic == *MAGIC {
            Layout::Binary(1)
        } else if magic == *MAGIC_2 {
            Layout::Binary(2)
        } else if magic.starts_with(VERSIONS) {
            let reason = "a trace of a later version; print version 1 or 2".to_string();
            return Err(Fault::CutOff(BadRecord { place: "byte 7".to_string(), reason }));
        } else {
            self.header(&magic[..length])?;
            Layout::Text
        };
        self.layout = Some(layout);
        Ok(layout)
    }

    /// The record at hand is none.
    fn bad(&self, reason: String) -> Fault {
        Fault::Skipped(BadRecord { place: place(self.layout, self.number), reason })
    }
}

/// Where a record stands.
fn place(layout: Option<Layout>, number: u64) -> String {
    let what = match layout {
        Some(Layout::Binary(_)) => "record",
        _ => "line",
    };
    format!("{what} {number}")
}

/// Whether a record keeps to what the term list says.
fn check(traced: &Traced, own: &OwnTerms) -> Result<(), String> {
    let Traced { phase, scale, .. } = *traced;
    if f64::from(phase) > own.phase {
        return Err(format!(
            "phase {phase}, but the term list says `phase {}` for all pieces on the board; print \
             the smaller of both, or correct the list",
            own.phase
        ));
    }
    if f64::from(scale) > 2.0 * own.scale {
        return Err(format!(
            "scale factor {scale}, more than twice the normal one of the term list, `scale {}`; \
             correct one of them",
            own.scale
        ));
    }
    for entry in &traced.entries {
        match own.list.terms.get(usize::from(entry.term)).map(|term| term.kind) {
            None => {
                return Err(format!(
                    "term {}, but the term list ends with term {}; print list and traces with the \
                     same engine",
                    entry.term,
                    own.list.len() - 1
                ));
            }
            Some(Kind::Complexity) if entry.black != 0 => {
                return Err(format!(
                    "term {} is a complexity term and has no sides, but {} stands for Black; \
                     print the whole count as White's and 0 as Black's",
                    entry.term, entry.black
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl Reader for Traces {
    fn read(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let mut traced = Traced::default();
        for _ in 0..BLOCK {
            if !self.next(&mut traced)? {
                return Ok(false);
            }
            let game = self.games.id(&traced);
            let sample = traced.sample();
            out.push(
                sample
                    .map(|sample| Sample { game, ..sample })
                    .map_err(|reason| self.bad(reason))?,
            );
        }
        Ok(true)
    }
}
