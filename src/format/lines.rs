//! Formats of one position a line.

use std::io::{self, BufRead as _, Read as _};

use super::{BLOCK, BadRecord, Fault, Input, Reader};
use crate::sample::Sample;

/// No line of ours is longer; binary data read as text would else fill the memory.
const LONGEST: usize = 4096;

pub struct Text {
    input: Input,
    number: u64,
    line: Vec<u8>,
}

impl Text {
    pub fn new(input: Input) -> Self {
        Self { input, number: 0, line: Vec::new() }
    }

    /// Goes to the next line, of which at most [`LONGEST`] bytes and one more are kept.
    pub fn next(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.number += 1;
        let mut input = (&mut self.input).take(LONGEST as u64 + 1);
        if input.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(false);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if self.line.len() > LONGEST {
            self.input.skip_until(b'\n')?;
        }
        Ok(true)
    }

    pub fn line(&self) -> Result<&str, String> {
        trimmed(&self.line)
    }

    /// The line at hand is not what it should be.
    pub fn bad(&self, reason: String) -> BadRecord {
        BadRecord { place: format!("line {}", self.number), reason }
    }
}

/// Reads lines, with what turns one line, trimmed and not blank, into a sample.
pub struct Lines {
    text: Text,
    parse: fn(&str) -> Result<Sample, String>,
}

impl Lines {
    pub fn new(input: Input, parse: fn(&str) -> Result<Sample, String>) -> Self {
        Self { text: Text::new(input), parse }
    }
}

impl Reader for Lines {
    fn read(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let enough = out.len() + BLOCK;
        while out.len() < enough {
            if !self.text.next()? {
                return Ok(false);
            }
            match self.text.line().and_then(|line| sample(line, self.parse)) {
                Ok(Some(sample)) => out.push(sample),
                Ok(None) => {}
                Err(reason) => return Err(Fault::Skipped(self.text.bad(reason))),
            }
        }
        Ok(true)
    }
}

/// A line as text, without what stands around it.
fn trimmed(line: &[u8]) -> Result<&str, String> {
    if line.len() > LONGEST {
        return Err(format!("the line is longer than {LONGEST} bytes"));
    }
    let line = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_string())?;
    // Editors on Windows put the mark of byte order before the first line.
    Ok(line.trim_start_matches('\u{feff}').trim())
}

/// The sample of a line, none if the line is blank.
fn sample(line: &str, parse: fn(&str) -> Result<Sample, String>) -> Result<Option<Sample>, String> {
    if line.is_empty() { Ok(None) } else { parse(line).map(Some) }
}

/// The first lines of a file that are text and not blank.
pub fn first(head: &[u8]) -> impl Iterator<Item = &str> {
    let lines = head.split(|&byte| byte == b'\n').take(100);
    lines.filter_map(|line| trimmed(line).ok()).filter(|line| !line.is_empty())
}

/// Whether any of the first lines can be read: one line may be bad, and the last one cut.
pub fn recognises(head: &[u8], parse: fn(&str) -> Result<Sample, String>) -> bool {
    first(head).any(|line| parse(line).is_ok())
}
