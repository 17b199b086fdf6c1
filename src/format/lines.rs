//! Formats of one position per line.

use std::io::{self, BufRead as _, Read as _};

use super::{BadRecord, ByteInput, Fault, RecordError, RecordPlace, RecordStarts, SampleReader};
use crate::sample::Sample;

/// The starts of lines, each after the end of another line.
pub const CUT: RecordStarts = RecordStarts {
    bytes: 1 << 18,
    border: |bytes| Some(1 + bytes.iter().position(|byte| *byte == b'\n')?),
};

pub const LONGEST: usize = 4096;

pub struct Text {
    input: ByteInput,
    /// The length of the longest line in bytes; binary data would otherwise fill the memory.
    longest: usize,
    number: u64,
    line: Vec<u8>,
}

impl Text {
    pub fn new(input: ByteInput, longest: usize) -> Self {
        Self { input, longest, number: 0, line: Vec::new() }
    }

    /// Reads the next line, and stores at most one byte more than the longest line.
    pub fn read_line(&mut self) -> io::Result<bool> {
        // The rest of a long line is skipped this late, since it may be endless.
        if self.line.len() > self.longest {
            self.input.skip_until(b'\n')?;
        }
        self.line.clear();
        self.number += 1;
        let mut input = (&mut self.input).take(self.longest as u64 + 1);
        if input.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(false);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        Ok(true)
    }

    pub fn current_line(&self) -> Result<&str, RecordError> {
        match self.line.len() > self.longest {
            true => Err(format!("the line is longer than {} bytes", self.longest).into()),
            false => trim_line(&self.line),
        }
    }

    pub fn record_place(&self) -> RecordPlace {
        RecordPlace::Line(self.number)
    }

    pub fn bad_record(&self, reason: RecordError) -> BadRecord {
        BadRecord { location: self.record_place(), reason }
    }
}

/// The sample of a line, and whether its score is the side to move's, independent of the file's view.
pub type ParsedLine = (Sample, bool);

/// A reader of lines, with a function that parses a trimmed, non-blank line.
pub struct Lines {
    text: Text,
    parse: fn(&str) -> Result<ParsedLine, RecordError>,
    has_mover_score: bool,
}

impl Lines {
    pub fn new(input: ByteInput, parse: fn(&str) -> Result<ParsedLine, RecordError>) -> Self {
        Self { text: Text::new(input, LONGEST), parse, has_mover_score: false }
    }
}

impl SampleReader for Lines {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        if !self.text.read_line()? {
            return Ok(false);
        }
        let read = self.text.current_line().and_then(|line| match line {
            "" => Ok(None),
            line => (self.parse)(line).map(Some),
        });
        if let Some(line) = read.map_err(|reason| Fault::Skipped(self.text.bad_record(reason)))? {
            self.has_mover_score = line.1;
            out.push(line.0);
        }
        Ok(true)
    }

    fn has_mover_scores(&self) -> bool {
        self.has_mover_score
    }
}

fn trim_line(line: &[u8]) -> Result<&str, RecordError> {
    let line = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8")?;
    // Editors on Windows put a byte order mark before the first line.
    Ok(line.trim_start_matches('\u{feff}').trim())
}

/// The first lines of a file, without blank and binary ones.
pub fn first_lines(head: &[u8]) -> impl Iterator<Item = &str> {
    let lines = head.split(|&byte| byte == b'\n').take(100).filter(|line| line.len() <= LONGEST);
    lines.filter_map(|line| trim_line(line).ok()).filter(|line| !line.is_empty())
}

/// Whether any of the first lines can be parsed: one may be bad, and the last one incomplete.
pub fn can_parse_first(head: &[u8], parse: fn(&str) -> Result<ParsedLine, RecordError>) -> bool {
    first_lines(head).any(|line| parse(line).is_ok())
}
