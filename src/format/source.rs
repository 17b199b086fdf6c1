//! A file of samples: opened, decompressed, recognised, and read block by block.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use super::record::LENGTH;
use super::{
    BLOCK, BadRecord, ByteInput, Fault, FileBlocks, Format, GivenViews, LabelKind, Presence,
    ReadView, RecordPlace, SampleReader, UnreadComments, all_formats, format_names, unpack,
};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

/// Most bad records that are stored for the report.
const KEPT: usize = 5;

#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum ReadError {
    #[error("cannot open {path}: {error}")]
    Open { path: PathBuf, error: io::Error },
    #[error("cannot read {path}: {error}{}", match error.kind() {
        io::ErrorKind::Unsupported => "",
        _ => "; it may be damaged or truncated, download or create it again",
    })]
    Io { path: PathBuf, error: io::Error },
    #[error("{0} is empty")]
    Empty(PathBuf),
    #[error(
        "{path} has no positions ({skipped} bad records were skipped, and {unfinished} games \
         without a result)"
    )]
    NoPositions { path: PathBuf, skipped: u64, unfinished: u64 },
    #[error("cannot recognise the format of {path}: {looks}")]
    Unrecognised { path: PathBuf, looks: String },
    #[error(
        "{path} is {format}, which does not store which side is White; set {key} to side-to-move"
    )]
    View { path: PathBuf, format: &'static str, key: &'static str },
    #[error("{path}, {bad} (data.bad_records or --bad-records allows {limit} of them)")]
    Bad { path: PathBuf, bad: BadRecord, limit: u64 },
}

/// Bad records of a file that were skipped.
#[derive(Clone, Debug, Default)]
pub struct BadRecords {
    /// Number of bad records.
    pub count: u64,
    /// The first few of them.
    pub first: Vec<BadRecord>,
}

impl BadRecords {
    /// Adds bad records that were skipped behind these.
    pub fn add(&mut self, next: &Self) {
        self.count += next.count;
        self.first.extend(next.first.iter().take(KEPT - self.first.len()).cloned());
    }

    /// The bad records behind the first `count`.
    pub fn after_first(&self, count: u64) -> Self {
        let first = self.first.iter().skip(count as usize).cloned().collect();
        Self { count: self.count - count, first }
    }

    /// Counts a bad record; an error beyond the limit.
    pub(super) fn skip_record(
        &mut self,
        bad: BadRecord,
        path: &Path,
        limit: u64,
    ) -> Result<(), ReadError> {
        self.count += 1;
        if self.count > limit {
            return Err(ReadError::Bad { path: path.to_path_buf(), bad, limit });
        }
        if self.first.len() < KEPT {
            self.first.push(bad);
        }
        Ok(())
    }
}

/// Samples of one file.
pub struct SampleSource {
    path: PathBuf,
    format: &'static Format,
    reader: Box<dyn SampleReader>,
    given: GivenViews,
    limit: u64,
    bad: BadRecords,
    /// The file, whose position shows how far it was read.
    file: Option<File>,
    /// Where the block begins that is read.
    from: u64,
    /// Whether any sample was read.
    some: bool,
    ended: bool,
}

impl SampleSource {
    /// Opens a file, `-` for standard input; more than `limit` bad records are an error.
    pub fn open_file(
        path: &Path,
        format: Option<&'static Format>,
        limit: u64,
    ) -> Result<Self, ReadError> {
        let (format, input, file) = open_format(path, format)?;
        Ok(Self { file, ..Self::new(path, format, (format.reader)(input), limit) })
    }

    pub(super) fn new(
        path: &Path,
        format: &'static Format,
        reader: Box<dyn SampleReader>,
        limit: u64,
    ) -> Self {
        let (path, bad) = (path.to_path_buf(), BadRecords::default());
        let (given, file, from, some, ended) = (GivenViews::default(), None, 0, false, false);
        Self { path, format, reader, given, limit, bad, file, from, some, ended }
    }

    /// Marks a block of a file, which may have no samples, and sets its points of view.
    pub(super) fn piece_at(self, from: u64, given: GivenViews) -> Self {
        Self { from, given, some: true, ..self }
    }

    /// Blocks that several threads may read; none if the file must be read from its beginning.
    pub fn file_blocks(&self) -> Option<FileBlocks> {
        FileBlocks::for_file(&self.path, self.format, self.given)
    }

    /// Sets the points of view of scores and results; an error if it is White's in a format without
    /// colours.
    pub fn seen_by(mut self, given: GivenViews) -> Result<Self, ReadError> {
        let is_white = |kind: &LabelKind| given.given_view(*kind) == Some(PointOfView::White);
        if self.format.facts.colours == Presence::Never
            && let Some(kind) = LabelKind::ALL.into_iter().find(is_white)
        {
            let (format, [key, _]) = (self.format.name, kind.view_keys());
            return Err(ReadError::View { path: self.path, format, key });
        }
        given.scores.into_iter().for_each(|view| self.reader.set_score_view(view));
        Ok(Self { given, ..self })
    }

    /// The share of the file's bytes that was read, above 0; 1 if unknown.
    pub fn share_read(&self) -> f64 {
        let share = |mut file: &File| {
            let (length, read) = (file.metadata().ok()?.len(), file.stream_position().ok()?);
            (length > 0 && read > 0).then(|| read as f64 / length as f64)
        };
        self.file.as_ref().and_then(share).unwrap_or(1.0)
    }

    /// How results or scores are read; of comments, the first score.
    pub fn read_view(&self, kind: LabelKind) -> ReadView {
        let view = self.given.given_view(kind).unwrap_or(self.format.view);
        let comments = self.reader.comment_scores().filter(|_| kind == LabelKind::Score);
        comments.and_then(|it| it.first).unwrap_or(ReadView { view, follows_move: false })
    }

    /// Appends about [`BLOCK`] samples, the same at every reading; false at the end.
    pub fn next_block(&mut self, out: &mut Vec<Sample>) -> Result<bool, ReadError> {
        let before = out.len();
        while !self.ended && out.len() < before + BLOCK {
            let from = out.len();
            let read = self.reader.read_samples(out);
            let scores = self.given.scores.filter(|_| {
                self.reader.comment_scores().is_none() && !self.reader.has_mover_scores()
            });
            GivenViews { scores, ..self.given }.convert_samples(self.format, &mut out[from..]);
            let read = match read {
                Ok(more) => {
                    self.ended = !more;
                    Ok(())
                }
                Err(Fault::Skipped(mut bad) | Fault::CutOff(mut bad)) => {
                    bad.place = in_file(bad.place, &self.path, self.from);
                    self.bad.skip_record(bad, &self.path, self.limit)
                }
                Err(Fault::Io(error)) => Err(ReadError::Io { path: self.path.clone(), error }),
            };
            if read.is_err() {
                (self.ended, self.some) = (true, true);
            }
            read?;
        }
        self.some |= out.len() > before;
        if self.ended && !self.some {
            let (path, skipped) = (self.path.clone(), self.bad.count);
            self.some = true; // An error once: the next call finds the end.
            return Err(ReadError::NoPositions {
                path,
                skipped,
                unfinished: self.unfinished_games(),
            });
        }
        Ok(out.len() > before)
    }

    /// The format of the file.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Games without a result so far, which were skipped.
    pub fn unfinished_games(&self) -> u64 {
        self.reader.unfinished_games()
    }

    /// Comments of which no score was read so far.
    pub fn unread_comments(&self) -> Option<&UnreadComments> {
        self.reader.comment_scores().map(|it| &it.unread).filter(|unread| unread.count > 0)
    }

    /// Bad records so far.
    pub fn bad_records(&self) -> &BadRecords {
        &self.bad
    }
}

/// Converts a place in a block to one in the file.
fn in_file(place: RecordPlace, path: &Path, from: u64) -> RecordPlace {
    match place {
        RecordPlace::Line(line) if from > 0 => {
            RecordPlace::Line(line + lines_before(path, from).unwrap_or(0))
        }
        RecordPlace::Record(record) => RecordPlace::Record(record + from / LENGTH as u64),
        RecordPlace::Byte(what, byte, rest) => RecordPlace::Byte(what, byte + from, rest),
        place => place,
    }
}

fn lines_before(path: &Path, place: u64) -> io::Result<u64> {
    let (mut file, mut lines) = (BufReader::new(File::open(path)?).take(place), 0);
    loop {
        let bytes = file.fill_buf()?;
        let count = bytes.len();
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        match count {
            0 => return Ok(lines),
            _ => file.consume(count),
        }
    }
}

/// Opens a file, decompresses it and detects its format, which is checked against the given one.
pub(super) fn open_format(
    path: &Path,
    given: Option<&'static Format>,
) -> Result<(&'static Format, ByteInput, Option<File>), ReadError> {
    let path_buf = || path.to_path_buf();
    let (input, file) =
        unpack::open_input(path).map_err(|error| ReadError::Open { path: path_buf(), error })?;
    let (head, input) =
        unpack::peek_start(input).map_err(|error| ReadError::Io { path: path_buf(), error })?;
    if head.is_empty() {
        return Err(ReadError::Empty(path_buf()));
    }
    let format = detect_format(path, &head, given)?;
    Ok((format, input, file))
}

/// Detects the format by the first bytes of the content, and checks the format `given`.
fn detect_format(
    path: &Path,
    head: &[u8],
    given: Option<&'static Format>,
) -> Result<&'static Format, ReadError> {
    let unrecognised = |looks| ReadError::Unrecognised { path: path.to_path_buf(), looks };
    if let Some(given) = given.filter(|format| (format.recognises)(head)) {
        return Ok(given);
    }
    let alike: Vec<_> = all_formats().filter(|format| (format.recognises)(head)).collect();
    let found = match alike[..] {
        [] => None,
        [one] => Some(one),
        _ => {
            let names = alike.iter().map(|format| format.name).collect::<Vec<_>>().join(" or ");
            let looks = format!("it may be {names}; name the format (data.format, --format)");
            return Err(unrecognised(looks));
        }
    };
    match (given, found) {
        (None, Some(found)) => Ok(found),
        (Some(given), Some(found)) => {
            Err(unrecognised(format!("it looks like {}, not like {}", found.name, given.name)))
        }
        // Its first record may be bad; the reader then reports where and why.
        (given, None) => {
            let named = given.or_else(|| all_formats().find(|format| format.names_path(path)));
            named.ok_or_else(|| {
                let (start, names) = (describe_start(head), format_names().join(", "));
                unrecognised(format!("{start}, which is none of {names}"))
            })
        }
    }
}

/// The first line of a text, or the first bytes, for a message.
fn describe_start(head: &[u8]) -> String {
    let line = head.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
    match std::str::from_utf8(line).map(str::trim) {
        Ok(line) if !line.is_empty() && !line.contains(char::is_control) => {
            format!("its first line is `{}`", line.chars().take(80).collect::<String>())
        }
        _ => {
            let bytes: Vec<_> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("it begins with the bytes {}", bytes.join(" "))
        }
    }
}
