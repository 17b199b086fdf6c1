//! The journal of a job: JSON lines beside the output. The first line is
//! `{"journal":2,"settings":[...]}`. Each batch has a line, which is written after its bytes are on
//! the disk. On a resume, both files are cut after the last whole line. A running job locks it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::format::PACKED;
use crate::output::{self, OutputError};

const VERSION: u32 = 2;
/// Largest size of a journal in bytes: some ten million games.
const MAX_BYTES: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{0} exists already; replace it with --overwrite, or choose another name")]
    Exists(PathBuf),
    #[error(
        "{0} cannot be compressed while it is written; leave out that ending and compress it \
         afterwards"
    )]
    Packed(PathBuf),
    #[error("another process writes to {0}; wait for it, or name another file")]
    Busy(PathBuf),
    #[error(
        "{journal} was started with {key} = {old}, now it is {new}; give the same settings to \
         resume, or delete the journal and its output to start again"
    )]
    Settings { journal: PathBuf, key: String, old: String, new: String },
    #[error("{0} is not a journal of nnuance; delete it and its output to start again")]
    Strange(PathBuf),
    #[error(
        "{output} is shorter than the {bytes} bytes recorded in {journal}; delete both to start \
         again"
    )]
    Short { output: PathBuf, journal: PathBuf, bytes: u64 },
    #[error(transparent)]
    Output(#[from] OutputError),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgress {
    /// Number of finished items: written, skipped or left out.
    pub items: u64,
    pub written: u64,
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct JournalHead {
    journal: u32,
    settings: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct JournalEntry<N> {
    #[serde(flatten)]
    progress: JobProgress,
    notes: Vec<N>,
}

/// An output and its journal, both open at their ends. `N` are the notes of the job.
#[derive(Debug)]
pub struct Journal<N> {
    path: PathBuf,
    file: LockedFile,
    output_path: PathBuf,
    output: File,
    pub progress: JobProgress,
    pub notes: Vec<N>,
}

/// Returns the path of an output's journal: its name plus `.journal`.
pub fn path_of(output: &Path) -> PathBuf {
    output.with_added_extension("journal")
}

impl<N: Clone + Serialize + DeserializeOwned> Journal<N> {
    /// Starts a job, or resumes one with the same settings.
    pub fn open_job(output_path: &Path, settings: &[(&str, String)]) -> Result<Self, JournalError> {
        if output_path.extension().is_some_and(|end| PACKED.iter().any(|packed| end == *packed)) {
            return Err(JournalError::Packed(output_path.to_path_buf()));
        }
        let path = path_of(output_path);
        let settings = settings.iter().map(|(key, value)| (key.to_string(), value.clone()));
        let settings: Vec<_> = settings.collect();
        if !path.exists() {
            if output_path.exists() {
                return Err(JournalError::Exists(output_path.to_path_buf()));
            }
            // It appears whole: every journal has settings.
            output::write_file(
                &path,
                &json_line(&JournalHead { journal: VERSION, settings: settings.clone() }),
            )?;
        }
        let failed = |error| OutputError::new(&path, error);
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
        lock_file(&file).map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::Busy(output_path.to_path_buf()),
            TryLockError::Error(error) => failed(error).into(),
        })?;
        let mut file = LockedFile(file);
        let mut bytes = Vec::new();
        (&mut file.0).take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let head = lines.next().unwrap_or_default();
        let strange = || JournalError::Strange(path.clone());
        let JournalHead { journal, settings: old } =
            serde_json::from_slice(head).map_err(|_| strange())?;
        if journal != VERSION || bytes.len() as u64 == MAX_BYTES {
            return Err(strange());
        }
        if let Some((key, old, new)) = first_difference(&old, &settings) {
            return Err(JournalError::Settings { journal: path, key, old, new });
        }
        let (mut progress, mut notes, mut length) =
            (JobProgress::default(), Vec::new(), head.len());
        // A torn or garbled line, and all after it, was being written when the power failed.
        for line in lines.take_while(|line| line.ends_with(b"\n")) {
            let Ok(entry) = serde_json::from_slice::<JournalEntry<N>>(line) else { break };
            progress = entry.progress;
            notes.extend(entry.notes);
            length += line.len();
        }
        truncate_file(&mut file.0, length as u64).map_err(failed)?;

        let failed = |error| OutputError::new(output_path, error);
        let bytes = progress.bytes;
        let short =
            || JournalError::Short { output: output_path.into(), journal: path.clone(), bytes };
        let mut options = OpenOptions::new();
        // Truncated below, to the journal's count.
        options.read(true).write(true).create(bytes == 0).truncate(false);
        let mut output = options.open(output_path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if bytes > 0 => short(),
            _ => failed(error).into(),
        })?;
        if output.metadata().map_err(failed)?.len() < bytes {
            return Err(short());
        }
        truncate_file(&mut output, bytes).map_err(failed)?;
        Ok(Self { path, file, output_path: output_path.to_path_buf(), output, progress, notes })
    }

    /// Appends a batch to the output, then its line to the journal.
    pub fn commit_batch(
        &mut self,
        bytes: &[u8],
        progress: JobProgress,
        notes: &[N],
    ) -> Result<(), JournalError> {
        self.output
            .write_all(bytes)
            .and_then(|()| self.output.sync_data())
            .map_err(|error| OutputError::new(&self.output_path, error))?;
        let progress = JobProgress { bytes: self.progress.bytes + bytes.len() as u64, ..progress };
        let entry = json_line(&JournalEntry { progress, notes: notes.to_vec() });
        self.file.0.write_all(&entry).map_err(|error| OutputError::new(&self.path, error))?;
        self.progress = progress;
        self.notes.extend_from_slice(notes);
        Ok(())
    }

    /// Removes output and journal.
    pub fn discard_job(mut self) -> Result<(), JournalError> {
        self.progress.bytes = 0;
        self.finish_job()
    }

    /// Removes the journal of a complete output; an empty output is removed as well.
    pub fn finish_job(self) -> Result<(), JournalError> {
        let Self { path, file, output_path, output, progress, .. } = self;
        // Some systems cannot remove open files.
        drop((file, output));
        let remove =
            |path: &Path| fs::remove_file(path).map_err(|error| OutputError::new(path, error));
        if progress.bytes == 0 {
            remove(&output_path)?;
        }
        Ok(remove(&path)?)
    }
}

fn json_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("plain data has a JSON form");
    line.push(b'\n');
    line
}

/// Returns the first setting that differs, such as the kind of job: its name and both values.
fn first_difference(
    old: &[(String, String)],
    new: &[(String, String)],
) -> Option<(String, String, String)> {
    let index = (0..old.len().max(new.len())).find(|&i| old.get(i) != new.get(i))?;
    let none = ("(none)".to_string(), String::new());
    let [old, new] = [old, new].map(|settings| settings.get(index).unwrap_or(&none));
    let key = if old.0 == new.0 { old.0.clone() } else { format!("{} or {}", old.0, new.0) };
    Some((key, old.1.clone(), new.1.clone()))
}

/// The journal's file, locked until it is dropped.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        // A starting engine may still inherit the file, so closing it would not unlock it.
        let _ = self.0.unlock();
    }
}

/// Cuts a file to its first `length` bytes and seeks to its end.
fn truncate_file(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length)).map(|_| ())
}

/// Locks a file. An engine that another thread starts inherits our files between fork and exec, so
/// that a released lock can seem taken for a moment.
fn lock_file(file: &File) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            done => return done,
        }
    }
    file.try_lock()
}
