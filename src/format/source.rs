//! Opening, decompression and recognition of a file of samples, and reading in blocks.

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

/// The maximum number of bad records that are stored for the report.
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
    #[error(
        "{path}, {bad} (allowed: {limit}; data.bad_records of a config, or --bad-records of a command, allows more)"
    )]
    Bad { path: PathBuf, bad: BadRecord, limit: u64 },
}

/// The skipped bad records of a file.
#[derive(Clone, Debug, Default)]
pub struct BadRecords {
    /// The number of bad records.
    pub count: u64,
    /// The first few bad records.
    pub first: Vec<BadRecord>,
}

impl BadRecords {
    /// Adds bad records that were skipped after these.
    pub fn add(&mut self, next: &Self) {
        self.count += next.count;
        self.first.extend(next.first.iter().take(KEPT - self.first.len()).cloned());
    }

    /// The bad records after the first `count`.
    pub fn after_first(&self, count: u64) -> Self {
        let first = self.first.iter().skip(count as usize).cloned().collect();
        Self { count: self.count - count, first }
    }

    /// Counts a bad record. Fails beyond the limit.
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

/// The samples of one file.
pub struct SampleSource {
    path: PathBuf,
    format: &'static Format,
    reader: Box<dyn SampleReader>,
    given: GivenViews,
    limit: u64,
    bad: BadRecords,
    /// The file, whose position shows how far it was read.
    file: Option<File>,
    /// The offset of the block that is read.
    start: u64,
    /// Whether any sample was read.
    has_samples: bool,
    ended: bool,
}

impl SampleSource {
    /// Opens a file, `-` for standard input. At most `limit` bad records are skipped.
    ///
    /// # Errors
    ///
    /// Fails with [`ReadError::Open`] or [`ReadError::Io`] if the file cannot be read, with
    /// [`ReadError::Empty`] if it has no bytes, and with [`ReadError::Unrecognised`] if its first
    /// bytes fit no format, several, or only other formats than the given one.
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
        let (given, bad, file, start, has_samples, ended) = Default::default();
        let path = path.to_path_buf();
        Self { path, format, reader, given, limit, bad, file, start, has_samples, ended }
    }

    /// Sets the offset and the points of view of a block, which may have no samples.
    pub(super) fn piece_at(self, start: u64, given: GivenViews) -> Self {
        Self { start, given, has_samples: true, ..self }
    }

    /// The blocks for several threads; none if the file must be read from its beginning.
    pub fn file_blocks(&self) -> Option<FileBlocks> {
        FileBlocks::for_file(&self.path, self.format, self.given)
    }

    /// Sets the points of view of scores and results.
    ///
    /// # Errors
    ///
    /// Fails with [`ReadError::View`] for White's point of view in a format without colours.
    pub fn seen_by(mut self, given: GivenViews) -> Result<Self, ReadError> {
        let is_white = |kind: &LabelKind| given.given_view(*kind) == Some(PointOfView::White);
        if self.format.facts.colours == Presence::Never
            && let Some(kind) = LabelKind::ALL.into_iter().find(is_white)
        {
            let [key, _] = kind.view_keys();
            return Err(ReadError::View { path: self.path, format: self.format.name, key });
        }
        given.scores.into_iter().for_each(|view| self.reader.set_score_view(view));
        Ok(Self { given, ..self })
    }

    /// The share of the file's bytes that was read, above 0; 1 if unknown.
    pub fn share_read(&self) -> f64 {
        let share = |mut file: &File| {
            let length = file.metadata().ok()?.len();
            let position = file.stream_position().ok()?;
            (length > 0 && position > 0).then(|| position as f64 / length as f64)
        };
        self.file.as_ref().and_then(share).unwrap_or(1.0)
    }

    /// The point of view in which results or scores are read; for comments, of the first score.
    pub fn read_view(&self, kind: LabelKind) -> ReadView {
        let view = self.given.given_view(kind).unwrap_or(self.format.view);
        let comments = self.reader.comment_scores().filter(|_| kind == LabelKind::Score);
        comments.and_then(|it| it.first).unwrap_or(ReadView { view, follows_move: false })
    }

    /// Appends about [`BLOCK`] samples, the same at every reading. Returns false at the end.
    ///
    /// # Errors
    ///
    /// Fails with [`ReadError::Io`] if the file cannot be read, with [`ReadError::Bad`] at the
    /// first bad record beyond the limit, and with [`ReadError::NoPositions`] at the end of a file
    /// without positions. All later calls return false.
    pub fn next_block(&mut self, out: &mut Vec<Sample>) -> Result<bool, ReadError> {
        let before = out.len();
        while !self.ended && out.len() < before + BLOCK {
            let first = out.len();
            let read = self.reader.read_samples(out);
            let scores = self.given.scores.filter(|_| {
                self.reader.comment_scores().is_none() && !self.reader.has_mover_scores()
            });
            GivenViews { scores, ..self.given }.convert_samples(self.format, &mut out[first..]);
            let read = match read {
                Ok(more) => {
                    self.ended = !more;
                    Ok(())
                }
                Err(Fault::Skipped(mut bad) | Fault::CutOff(mut bad)) => {
                    bad.location = in_file(bad.location, &self.path, self.start);
                    self.bad.skip_record(bad, &self.path, self.limit)
                }
                Err(Fault::Io(error)) => Err(ReadError::Io { path: self.path.clone(), error }),
            };
            if read.is_err() {
                [self.ended, self.has_samples] = [true; 2];
            }
            read?;
        }
        self.has_samples |= out.len() > before;
        if self.ended && !self.has_samples {
            self.has_samples = true; // The error is returned once: the next call finds the end.
            return Err(ReadError::NoPositions {
                path: self.path.clone(),
                skipped: self.bad.count,
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

    /// The number of skipped games without a result so far.
    pub fn unfinished_games(&self) -> u64 {
        self.reader.unfinished_games()
    }

    /// The comments from which no score was read so far.
    pub fn unread_comments(&self) -> Option<&UnreadComments> {
        self.reader.comment_scores().map(|it| &it.unread).filter(|unread| unread.count > 0)
    }

    /// The bad records so far.
    pub fn bad_records(&self) -> &BadRecords {
        &self.bad
    }
}
fn in_file(location: RecordPlace, path: &Path, block_start: u64) -> RecordPlace {
    match location {
        RecordPlace::Line(line) if block_start > 0 => {
            RecordPlace::Line(line + lines_before(path, block_start).unwrap_or(0))
        }
        RecordPlace::Record(record) => RecordPlace::Record(record + block_start / LENGTH as u64),
        RecordPlace::Byte(what, byte, rest) => RecordPlace::Byte(what, byte + block_start, rest),
        location => location,
    }
}

fn lines_before(path: &Path, offset: u64) -> io::Result<u64> {
    let mut file = BufReader::new(File::open(path)?).take(offset);
    let mut lines = 0;
    while file.skip_until(b'\n')? > 0 {
        lines += 1;
    }
    Ok(lines)
}

/// Opens a file, decompresses it, and detects its format, which must agree with the given one.
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

/// Detects the format from the first bytes of the content, and checks the format `given`.
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
    let detected = match alike[..] {
        [] => None,
        [single] => Some(single),
        _ => {
            let names = alike.iter().map(|format| format.name).collect::<Vec<_>>().join(" or ");
            let looks = format!("it may be {names}; name the format (data.format, --format)");
            return Err(unrecognised(looks));
        }
    };
    match (given, detected) {
        (None, Some(detected)) => Ok(detected),
        (Some(given), Some(detected)) => {
            Err(unrecognised(format!("it looks like {}, not like {}", detected.name, given.name)))
        }
        // The first record may be bad; the reader then reports its location and the reason.
        (given, None) => {
            let fallback = given.or_else(|| all_formats().find(|format| format.names_path(path)));
            fallback.ok_or_else(|| {
                let names = format_names().join(", ");
                unrecognised(format!("{}, which is none of {names}", describe_start(head)))
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
