//! Conversion of bytes to [`Sample`]s and back. A [`Format`] is in [`ALL`], or added by a program. It
//! recognises files, has a [`SampleReader`] and a [`SampleWriter`], and declares the facts that it
//! stores. Score and result of samples have the side to move's point of view.

#[doc(hidden)]
pub mod binpack;
#[doc(hidden)]
pub mod book;
#[doc(hidden)]
pub mod bulletformat;
#[doc(hidden)]
pub mod epd;
mod fields;
#[doc(hidden)]
pub mod lines;
#[doc(hidden)]
pub mod marlinformat;
#[doc(hidden)]
pub mod pgn;
#[doc(hidden)]
mod pieces;
#[doc(hidden)]
pub mod plain;
mod record;
mod sink;
mod source;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod trace;
#[doc(hidden)]
pub mod unpack;
#[doc(hidden)]
pub mod view;
#[doc(hidden)]
pub mod viriformat;

pub(crate) use fields::{GameReplay, half_moves};
pub use fields::{RecordError, fen_of_line};
pub use pieces::{FileBlocks, RecordStarts};
pub use sink::{FileSink, WriteError};
pub use source::{BadRecords, ReadError, SampleSource};
pub use view::{GivenViews, LabelKind, ReadView};

use std::fmt;
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use crate::digits::count_noun;
use crate::point_of_view::PointOfView;
use crate::registry::{self, NameMissing, NameTaken, RegistryKind};
use crate::sample::Sample;

/// The unpacked bytes of a file.
pub type ByteInput = Box<dyn BufRead + Send>;
/// The approximate number of samples that a source yields at a time; games stay whole.
pub const BLOCK: usize = 4096;

/// The presence of a fact in the samples of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names describe them")]
pub enum Presence {
    Never,
    /// The fact is present in some samples.
    Sometimes,
    Always,
}

/// The facts that a format stores.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Facts {
    pub scores: Presence,
    pub plies: Presence,
    pub moves: Presence,
    pub games: Presence,
    /// The fact that a game was forfeited.
    pub forfeits: Presence,
    /// The colours. If `Never`, White is to move in every sample, and there are no counters.
    pub colours: Presence,
}

impl Facts {
    /// All facts of every sample, except forfeits.
    pub const ALL: Self = {
        let [all, forfeits] = [Presence::Always, Presence::Never];
        Self { scores: all, plies: all, moves: all, games: all, forfeits, colours: all }
    };
}

/// A file format. `src/format/text.rs` is a short example.
pub struct Format {
    /// The name in configs and options.
    pub name: &'static str,
    /// The description of the record, its point of view, and the tolerance of the reader.
    pub about: &'static str,
    /// The common file name extensions, without the dot.
    pub extensions: &'static [&'static str],
    /// The facts of the samples.
    pub facts: Facts,
    /// The point of view of score and result in the file, unless another one is given.
    pub view: PointOfView,
    /// Whether the first bytes of a file, perhaps cut within a record, look like this format.
    pub recognises: fn(&[u8]) -> bool,
    /// The function that opens a reader of the bytes of a file.
    pub reader: fn(ByteInput) -> Box<dyn SampleReader>,
    /// The starts of records, for blocks in built-in formats: a reader then also gets blocks from
    /// the middle of the file, without its beginning. None: files are read as a whole.
    pub cut: Option<RecordStarts>,
    /// The function that creates a writer; none if samples lack facts that the format needs.
    pub writer: Option<fn() -> Box<dyn SampleWriter>>,
}

/// The extensions of compressed files.
pub const PACKED: [&str; 2] = ["gz", "zst"];
/// The built-in formats.
pub static ALL: [&Format; 9] = [
    &viriformat::FORMAT,
    &binpack::FORMAT,
    &bulletformat::FORMAT,
    &marlinformat::FORMAT,
    &pgn::FORMAT,
    &text::FORMAT,
    &epd::FORMAT,
    &plain::FORMAT,
    &trace::FORMAT,
];

impl RegistryKind for Format {
    const NOUN: &'static str = "format";
}

/// All formats, built-in ones first.
pub fn all_formats() -> impl Iterator<Item = &'static Format> {
    ALL.into_iter().chain(registry::all::<Format>().into_iter().map(|added| added.value))
}

/// The names of all formats, built-in and added.
pub fn format_names() -> Vec<&'static str> {
    all_formats().map(|format| format.name).collect()
}

impl Format {
    /// Finds a format by name.
    ///
    /// # Errors
    ///
    /// Fails if no format has this name.
    pub fn named(name: &str) -> Result<&'static Format, NameMissing> {
        let format = all_formats().find(|format| format.name == name);
        format.ok_or_else(|| NameMissing::of::<Self>(name, &format_names()))
    }

    /// Adds a format to the built-in ones.
    ///
    /// # Errors
    ///
    /// Fails if a format has this name.
    pub fn register_format(self) -> Result<(), NameTaken> {
        match Self::named(self.name) {
            Err(_) => registry::add(self.name, self),
            Ok(_) => Err(NameTaken { noun: Self::NOUN, name: self.name.into() }),
        }
    }

    /// Creates a writer.
    ///
    /// # Errors
    ///
    /// Fails with [`WriteError::NoWriter`] if samples lack facts that the format needs.
    pub fn new_writer(&self, path: &Path) -> Result<Box<dyn SampleWriter>, WriteError> {
        let no_writer = || WriteError::NoWriter { path: path.to_path_buf(), format: self.name };
        Ok(self.writer.ok_or_else(no_writer)?())
    }

    /// Whether a file name has an extension of this format, apart from a compression's extension.
    pub fn names_path(&self, path: &Path) -> bool {
        let packed = PACKED.iter().any(|end| path.extension().is_some_and(|it| it == *end));
        let name = if packed { path.with_extension("") } else { path.to_path_buf() };
        let ending = name.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| self.extensions.contains(&ending))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Format").field(&self.name).finish()
    }
}

/// A reader of the samples of one file.
pub trait SampleReader: Send {
    /// Appends the samples of the next record, game or block, even before a fault; false at the end.
    ///
    /// # Errors
    ///
    /// Fails with [`Fault::Skipped`] after a bad record, with [`Fault::CutOff`] if the file ends
    /// within a record, and with [`Fault::Io`] if it cannot be read.
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault>;

    /// The number of games skipped so far since they have no result; they are not faulty.
    fn unfinished_games(&self) -> u64 {
        0
    }

    /// Whether the score of the last record is the side to move's, independent of the file's view.
    fn has_mover_scores(&self) -> bool {
        false
    }

    /// The scores of comments, in formats with comments.
    fn comment_scores(&self) -> Option<&CommentScores> {
        None
    }

    /// Sets the point of view of all comments; scores without comments are converted by the caller.
    fn set_score_view(&mut self, _view: PointOfView) {}
}

/// The points of view of scores in comments.
#[derive(Clone, Debug, Default)]
pub struct CommentScores {
    /// The given point of view; none: it depends on the comment.
    given: Option<PointOfView>,
    /// The point of view in which the first score was read.
    first: Option<ReadView>,
    unread: UnreadComments,
}

/// The comments with numbers from which no score was read.
#[derive(Clone, Debug, Default)]
pub struct UnreadComments {
    count: u64,
    first: String,
    /// The remedy that makes the first one a score.
    pub cure: &'static str,
}

impl UnreadComments {
    fn add(&mut self, text: impl Fn() -> String, cure: &'static str) {
        if self.count == 0 {
            (self.first, self.cure) = (text(), cure);
        }
        self.count += 1;
    }
}

impl fmt::Display for UnreadComments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, first, .. } = self;
        let count = count_noun(*count, "comment");
        write!(f, "{count} with a number of which no score was read, such as {{{first}}}")
    }
}

/// A writer of samples to one file.
pub trait SampleWriter: Send {
    /// Appends the bytes of a sample, now or later. A writer that failed cannot be used again.
    ///
    /// # Errors
    ///
    /// Fails if the format cannot store the sample, such as one without a score that it needs.
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError>;

    /// Appends the remaining bytes after the last sample.
    fn finish_output(&mut self, _out: &mut Vec<u8>) {}
}

/// A record that is not a legal position or game.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct BadRecord {
    pub location: RecordPlace,
    pub reason: RecordError,
}

/// The location of a record in a reader's input. Lines and records count from 1, bytes from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names describe them")]
pub enum RecordPlace {
    Line(u64),
    Record(u64),
    /// A game or chunk, its offset, and further words.
    Byte(&'static str, u64, String),
    /// Words such as `game 3, line 17`.
    Words(String),
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordPlace::Line(line) => write!(f, "line {line}"),
            RecordPlace::Record(record) => write!(f, "record {record}"),
            RecordPlace::Byte(what, byte, rest) => write!(f, "{what} at byte {byte}{rest}"),
            RecordPlace::Words(words) => f.write_str(words),
        }
    }
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |letter: char| letter.is_control().then(|| letter.escape_debug().to_string());
        write!(f, "{}: ", self.location)?;
        let reason = self.reason.to_string();
        reason.chars().try_for_each(|it| write!(f, "{}", escaped(it).unwrap_or(it.into())))
    }
}

/// The reason why a reader stops or skips.
#[derive(Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub enum Fault {
    /// The record was skipped; the next call continues after it.
    Skipped(BadRecord),
    /// The file ends within the record; the next call finds the end.
    CutOff(BadRecord),
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

/// Fills a small buffer as [`fill_buffer`] does, fast if the bytes are contiguous.
///
/// # Errors
///
/// Fails with the error of the input.
pub fn fill_array<const N: usize>(
    input: &mut dyn BufRead,
    buffer: &mut [u8; N],
) -> io::Result<usize> {
    match input.fill_buf() {
        Ok(bytes) if bytes.len() >= N => buffer.copy_from_slice(&bytes[..N]),
        Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
        _ => return fill_buffer(input, buffer),
    }
    input.consume(N);
    Ok(N)
}

/// Fills `buffer` as far as the input reaches, and returns the number of bytes.
///
/// # Errors
///
/// Fails with the error of the input.
pub fn fill_buffer(input: &mut dyn BufRead, mut buffer: &mut [u8]) -> io::Result<usize> {
    let mut bytes = input.take(buffer.len() as u64);
    io::copy(&mut bytes, &mut buffer).map(|count| count as usize)
}
