//! What makes a job resumable: a small text file beside the output.
//!
//! ```text
//! nnuance journal 1
//! set limit nodes 2000
//! skip 17 8/8/8/8/8/8/8/8 w - - 0 1 | stockfish ended by itself (signal: 11)
//! done 256 items, 255 written, 16384 bytes, 2 restarts
//! ```
//!
//! The job appends a batch to the output, brings it to the disk, and only then writes its `done`
//! line; `set` lines come first and `skip` lines before the `done` line that counts them. So the
//! last whole `done` line always tells of bytes that are there, whenever the job was killed. To
//! resume, all that follows it is cut off from both files, and the item after it is the next.
//! The journal goes when the job is done.
//!
//! The file is locked while a job runs, so that no two write to one output.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::output::{self, OutputError};

const TITLE: &str = "nnuance journal 1";

/// Why a job cannot begin, resume or be written down.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{0} exists already; move it away or name another file")]
    Exists(PathBuf),
    #[error("{0} cannot be packed while it is made; leave out that ending and pack it afterwards")]
    Packed(PathBuf),
    #[error("another run is writing to {0}; wait for it or name another file")]
    Busy(PathBuf),
    #[error(
        "{journal} was begun with {key} = {old}, now it is {new}; give the same settings to \
         resume, or delete the journal and its output to begin anew"
    )]
    Settings { journal: PathBuf, key: String, old: String, new: String },
    #[error("{0} is not a journal of nnuance; delete it and its output to begin anew")]
    Strange(PathBuf),
    #[error(
        "{output} is shorter than the {bytes} bytes that {journal} counts; both were changed or \
         lost, delete them to begin anew"
    )]
    Short { output: PathBuf, journal: PathBuf, bytes: u64 },
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// An item that could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Counted from 0, in order of the input or of the games.
    pub item: u64,
    pub fen: String,
    pub reason: String,
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Items finished: written, skipped or left out.
    pub items: u64,
    /// Positions or games in the output.
    pub written: u64,
    /// Length of the output.
    pub bytes: u64,
    /// Engines that had to be started anew.
    pub restarts: u64,
}

/// An output and its journal, both open at their ends.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Locked,
    output_path: PathBuf,
    output: File,
    progress: Progress,
    skips: Vec<Skip>,
}

impl Journal {
    /// The journal of an output: its name with `.journal` added.
    pub fn path_of(output: &Path) -> PathBuf {
        let mut name = output.as_os_str().to_os_string();
        name.push(".journal");
        name.into()
    }

    /// Begins a job, or resumes it where there is a journal already, which must have been begun
    /// with the same settings: names and values, in order, without line breaks.
    pub fn open(output_path: &Path, settings: &[(&str, String)]) -> Result<Self, JournalError> {
        let end = output_path.extension();
        if end.is_some_and(|end| ["gz", "zst", "xz", "zip"].iter().any(|packed| end == *packed)) {
            return Err(JournalError::Packed(output_path.to_path_buf()));
        }
        let path = Self::path_of(output_path);
        if !path.exists() {
            if output_path.exists() {
                return Err(JournalError::Exists(output_path.to_path_buf()));
            }
            // It appears whole, so that a journal without settings is none of ours.
            output::write(&path, head(settings).as_bytes())?;
        }
        let failed = |error| OutputError::new(&path, error);
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
        lock(&file).map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::Busy(output_path.to_path_buf()),
            TryLockError::Error(error) => failed(error).into(),
        })?;
        let mut file = Locked(file);
        let mut bytes = Vec::new();
        file.0.read_to_end(&mut bytes).map_err(failed)?;
        let (progress, skips, length) = replay(&path, &bytes, settings)?;
        cut(&mut file.0, length as u64).map_err(failed)?;

        let output = Self::open_output(output_path, &path, progress.bytes)?;
        let output_path = output_path.to_path_buf();
        Ok(Self { path, file, output_path, output, progress, skips })
    }

    fn open_output(path: &Path, journal: &Path, bytes: u64) -> Result<File, JournalError> {
        let failed = |error| OutputError::new(path, error);
        let short = || JournalError::Short {
            output: path.to_path_buf(),
            journal: journal.to_path_buf(),
            bytes,
        };
        let mut options = OpenOptions::new();
        // Cut below, to what the journal counts.
        options.read(true).write(true).create(bytes == 0).truncate(false);
        let mut output = options.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if bytes > 0 => short(),
            _ => failed(error).into(),
        })?;
        if output.metadata().map_err(failed)?.len() < bytes {
            return Err(short());
        }
        cut(&mut output, bytes).map_err(failed)?;
        Ok(output)
    }

    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// What was skipped, in order.
    pub fn skips(&self) -> &[Skip] {
        &self.skips
    }

    /// Appends a batch to the output and writes down that it is there: the bytes, the progress
    /// with them (its `bytes` are set here), and what was skipped since the last batch.
    pub fn commit(
        &mut self,
        bytes: &[u8],
        progress: Progress,
        skips: &[Skip],
    ) -> Result<(), JournalError> {
        self.output
            .write_all(bytes)
            .and_then(|()| self.output.sync_data())
            .map_err(|error| OutputError::new(&self.output_path, error))?;
        let progress = Progress { bytes: self.progress.bytes + bytes.len() as u64, ..progress };
        let mut lines = String::new();
        for Skip { item, fen, reason } in skips {
            let reason = reason.replace(['\n', '\r'], " ");
            lines += &format!("skip {item} {fen} | {reason}\n");
        }
        let Progress { items, written, bytes, restarts } = progress;
        lines +=
            &format!("done {items} items, {written} written, {bytes} bytes, {restarts} restarts\n");
        self.file
            .0
            .write_all(lines.as_bytes())
            .map_err(|error| OutputError::new(&self.path, error))?;
        self.progress = progress;
        self.skips.extend_from_slice(skips);
        Ok(())
    }

    /// Removes the journal: the output is whole. An output that stayed empty goes with it.
    pub fn finish(self) -> Result<(), JournalError> {
        let Self { path, file, output_path, output, progress, .. } = self;
        // Not every system removes files that are open.
        drop((file, output));
        let remove =
            |path: &Path| fs::remove_file(path).map_err(|error| OutputError::new(path, error));
        if progress.bytes == 0 {
            remove(&output_path)?;
        }
        Ok(remove(&path)?)
    }
}

/// The journal's file, locked until it is dropped.
#[derive(Debug)]
struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // To close it is not enough while an engine that is just being started still inherits it;
        // and if it cannot be unlocked, it will be with that engine.
        let _ = self.0.unlock();
    }
}

fn head(settings: &[(&str, String)]) -> String {
    let mut head = format!("{TITLE}\n");
    for (key, value) in settings {
        head += &format!("set {key} {}\n", value.replace(['\n', '\r'], " "));
    }
    head
}

/// Forgets all of a file behind its first bytes and goes there.
fn cut(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length)).map(|_| ())
}

/// Reads a journal up to its last whole `done` line: the progress there, what was skipped until
/// then, and the length of what counts.
fn replay(
    path: &Path,
    bytes: &[u8],
    settings: &[(&str, String)],
) -> Result<(Progress, Vec<Skip>, usize), JournalError> {
    let head = head(settings);
    let Some(body) = bytes.strip_prefix(head.as_bytes()) else {
        return Err(difference(path, bytes, &head));
    };
    if body.starts_with(b"set ") {
        return Err(difference(path, bytes, &head));
    }
    let (mut progress, mut skips, mut length) = (Progress::default(), Vec::new(), head.len());
    let (mut pending, mut at) = (Vec::new(), head.len());
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        at += line.len();
        // A line that is torn or garbled, and all behind it, was under way when the power went.
        let Some(line) = std::str::from_utf8(line).ok().and_then(|line| line.strip_suffix('\n'))
        else {
            break;
        };
        if let Some(skip) = line.strip_prefix("skip ").and_then(parse_skip) {
            pending.push(skip);
        } else if let Some(done) = line.strip_prefix("done ").and_then(parse_done) {
            progress = done;
            skips.append(&mut pending);
            length = at;
        } else {
            break;
        }
    }
    Ok((progress, skips, length))
}

/// The first setting that differs.
fn difference(path: &Path, bytes: &[u8], head: &str) -> JournalError {
    let text = String::from_utf8_lossy(bytes);
    let settings = |text: &str| {
        let lines = text.lines().skip(1).map_while(|line| line.strip_prefix("set "));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let (old, new) = (settings(&text), settings(head));
    let none = "(none)".to_string();
    let differs = (0..old.len().max(new.len())).find(|&i| old.get(i) != new.get(i));
    let (true, Some(at)) = (text.lines().next() == Some(TITLE), differs) else {
        return JournalError::Strange(path.to_path_buf());
    };
    let (old, new) = (old.get(at).unwrap_or(&none), new.get(at).unwrap_or(&none));
    let (old_key, old) = old.split_once(' ').unwrap_or((old, ""));
    let (key, new) = new.split_once(' ').unwrap_or((new, ""));
    // Another kind of job has other settings, and the first of them tells the kind.
    let key = if key == old_key { key.to_string() } else { format!("{old_key} or {key}") };
    JournalError::Settings {
        journal: path.to_path_buf(),
        key,
        old: old.to_string(),
        new: new.to_string(),
    }
}

fn parse_skip(text: &str) -> Option<Skip> {
    let (item, rest) = text.split_once(' ')?;
    let (fen, reason) = rest.split_once(" | ")?;
    Some(Skip { item: item.parse().ok()?, fen: fen.to_string(), reason: reason.to_string() })
}

fn parse_done(text: &str) -> Option<Progress> {
    let mut parts = text.split(", ");
    let mut part = |unit| parts.next()?.strip_suffix(unit)?.strip_suffix(' ')?.parse().ok();
    Some(Progress {
        items: part("items")?,
        written: part("written")?,
        bytes: part("bytes")?,
        restarts: part("restarts")?,
    })
}

/// Locks a file. An engine that another thread starts at this moment holds a copy of our files for
/// the blink between fork and exec, so that a lock just given back can seem to be held.
fn lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            done => return done,
        }
    }
    file.try_lock()
}
