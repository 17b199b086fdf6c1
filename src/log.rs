//! `log.csv`, with one row for each validation.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::input;
use crate::output::OutputError;

/// The first line of a log.
pub const HEADER: &str = "step,positions,train_loss,validation_loss,validation_result_loss,\
                      learning_rate,wdl,positions_per_second\n";

/// The state of training after a step.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct TrainStep {
    pub step: u64,
    pub positions: u64,
    /// The loss of this step's batch before the step; on a GPU the last loss that was read back.
    pub loss: f64,
    pub learning_rate: f64,
    /// Whether another step would change nothing.
    pub converged: bool,
}

/// A row of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct LogRow {
    pub step: u64,
    /// The number of positions trained on, with repetitions.
    pub positions: u64,
    /// The mean over the steps since the last row.
    pub train_loss: Option<f64>,
    /// The loss against the training target at the end of the run.
    pub held_out_loss: Option<f64>,
    /// The loss against the result.
    pub held_out_result_loss: Option<f64>,
    /// None for direct methods.
    pub learning_rate: Option<f64>,
    pub wdl: f64,
    pub positions_per_second: Option<f64>,
}

impl LogRow {
    /// Formats the row as a line of the log.
    pub fn to_line(&self) -> String {
        let cell = |value: Option<f64>, digits: usize| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        format!(
            "{},{},{},{},{},{},{},{}\n",
            self.step,
            self.positions,
            cell(self.train_loss, 8),
            cell(self.held_out_loss, 8),
            cell(self.held_out_result_loss, 8),
            self.learning_rate.map_or(String::new(), |rate| format!("{rate:e}")),
            self.wdl,
            cell(self.positions_per_second, 0),
        )
    }

    /// Parses a line without its end; none if it is not a row.
    pub fn parse_line(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let cells: [&str; 8] = cells.try_into().ok()?;
        Some(Self {
            step: cells[0].parse().ok()?,
            positions: cells[1].parse().ok()?,
            train_loss: parse_cell(cells[2])?,
            held_out_loss: parse_cell(cells[3])?,
            held_out_result_loss: parse_cell(cells[4])?,
            learning_rate: parse_cell(cells[5])?,
            wdl: cells[6].parse().ok()?,
            positions_per_second: parse_cell(cells[7])?,
        })
    }
}

/// Parses a cell that may be empty; none if it is not a number.
fn parse_cell(cell: &str) -> Option<Option<f64>> {
    if cell.is_empty() { Some(None) } else { cell.parse().ok().map(Some) }
}

/// The log of a run, open for writing.
pub struct Log {
    path: PathBuf,
    file: File,
    rows: u64,
}

impl Log {
    /// Opens a log and drops all rows after the first `rows`; a resumed run writes them again.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or written.
    pub fn open_truncated(path: &Path, rows: u64) -> Result<Self, OutputError> {
        let failed = |error| OutputError::new(path, error);
        let text = match input::read_bytes(path, input::TEXT) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed)?,
        };
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(false);
        let mut file = options.open(path).map_err(failed)?;
        let lines = text.split_inclusive(|byte| *byte == b'\n').filter(|it| it.ends_with(b"\n"));
        let remaining: Vec<&[u8]> =
            lines.take(if rows == 0 { 0 } else { (rows as usize).saturating_add(1) }).collect();
        let bytes: usize = remaining.iter().map(|line| line.len()).sum();
        file.set_len(bytes as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let rows = (remaining.len() as u64).saturating_sub(1);
        let mut log = Self { path: path.to_path_buf(), file, rows };
        if bytes == 0 {
            log.write_line(HEADER)?;
        }
        Ok(log)
    }

    /// Appends a row; returns the number of rows.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn add(&mut self, line: &str) -> Result<u64, OutputError> {
        self.write_line(line)?;
        self.rows += 1;
        Ok(self.rows)
    }

    fn write_line(&mut self, text: &str) -> Result<(), OutputError> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| OutputError::new(&self.path, error))
    }
}

/// The reason why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {error}")]
pub struct LogError {
    path: PathBuf,
    error: Error,
}

/// Reads the rows of a log. An unfinished last line is skipped.
///
/// # Errors
///
/// Fails if the file cannot be read, or a line is not a row of this version.
pub fn read_rows(path: &Path) -> Result<Vec<LogRow>, LogError> {
    let failed = |error| LogError { path: path.to_path_buf(), error };
    let text = input::read_text(path, input::TEXT).map_err(failed)?;
    let bad = |line: usize| {
        let reason = format!("line {line} is not a row of a log of this version");
        failed(Error::new(ErrorKind::InvalidData, reason))
    };
    let mut lines = text.split_inclusive('\n').enumerate();
    if lines.next().is_none_or(|(_, header)| header != HEADER) {
        return Err(bad(1));
    }
    let complete = lines.filter(|(_, line)| line.ends_with('\n'));
    complete
        .map(|(number, line)| LogRow::parse_line(line.trim_end()).ok_or_else(|| bad(number + 1)))
        .collect()
}
