//! `log.csv` and `sources.csv`: one row each time the validation loss is measured.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::TrainError;
use crate::input;
use crate::log::{HEADER, OLD_HEADER, Row};

/// The file, open for appending.
pub struct Log {
    path: PathBuf,
    file: File,
    rows: u64,
}

impl Log {
    /// Opens a log with this first line and drops what lies behind the first `rows`: those of steps that a run which
    /// was killed had done after its last checkpoint, and will do again.
    pub fn open(path: &Path, header: &str, rows: u64) -> Result<Self, TrainError> {
        let failed = |error| TrainError::Log { path: path.to_path_buf(), error };
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let kept: Vec<&str> = text.split_inclusive('\n').take(1 + rows as usize).collect();
        let whole = kept.iter().filter(|line| line.ends_with('\n'));
        let bytes: usize = if rows == 0 { 0 } else { whole.clone().map(|line| line.len()).sum() };
        file.set_len(bytes as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let rows = if rows == 0 { 0 } else { (whole.count() as u64).saturating_sub(1) };
        let mut log = Self { path: path.to_path_buf(), file, rows };
        if bytes == 0 {
            log.write(header)?;
        }
        Ok(log)
    }

    /// Adds a row; the number of rows with it.
    pub fn add(&mut self, line: &str) -> Result<u64, TrainError> {
        self.write(line)?;
        self.rows += 1;
        Ok(self.rows)
    }

    fn write(&mut self, text: &str) -> Result<(), TrainError> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| TrainError::Log { path: self.path.clone(), error })
    }
}

/// The rows of a log, in order; a last line that a killed run left unfinished is passed over.
///
/// # Errors
/// If the file cannot be read, or a line is no row of this version.
pub fn read(path: &Path) -> Result<Vec<Row>, TrainError> {
    let failed = |error| TrainError::LogRead { path: path.to_path_buf(), error };
    let text = input::text(path, input::TEXT).map_err(failed)?;
    let bad = |line: usize| {
        let reason = format!("line {line} is no row of a log of this version");
        failed(std::io::Error::new(std::io::ErrorKind::InvalidData, reason))
    };
    let mut lines = text.split_inclusive('\n').enumerate();
    if lines.next().is_none_or(|(_, header)| header != HEADER && header != OLD_HEADER) {
        return Err(bad(1));
    }
    let whole = lines.filter(|(_, line)| line.ends_with('\n'));
    whole.map(|(number, line)| Row::parse(line.trim_end()).ok_or_else(|| bad(number + 1))).collect()
}
