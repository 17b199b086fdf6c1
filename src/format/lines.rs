//! Formats of one position a line.

use std::io::{self, BufRead as _, Read as _};

use super::{BLOCK, BadRecord, Fault, Input, Reader};
use crate::sample::Sample;

/// No line of ours is longer; binary data read as text would else fill the memory.
const LONGEST: usize = 4096;

/// Reads lines, with what turns one line, trimmed and not blank, into a sample.
pub struct Lines {
    input: Input,
    parse: fn(&str) -> Result<Sample, String>,
    number: u64,
    line: Vec<u8>,
}

impl Lines {
    pub fn new(input: Input, parse: fn(&str) -> Result<Sample, String>) -> Self {
        Self { input, parse, number: 0, line: Vec::new() }
    }

    /// Reads a line into `self.line`, at most one byte more than allowed of it; false at the end.
    fn next(&mut self) -> io::Result<bool> {
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
}

impl Reader for Lines {
    fn read(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let enough = out.len() + BLOCK;
        while out.len() < enough {
            if !self.next()? {
                return Ok(false);
            }
            let number = self.number;
            let bad =
                |reason| Fault::Skipped(BadRecord { place: format!("line {number}"), reason });
            match sample(&self.line, self.parse) {
                Ok(Some(sample)) => out.push(sample),
                Ok(None) => {}
                Err(reason) => return Err(bad(reason)),
            }
        }
        Ok(true)
    }
}

/// The sample of a line, none if the line is blank.
fn sample(
    line: &[u8],
    parse: fn(&str) -> Result<Sample, String>,
) -> Result<Option<Sample>, String> {
    if line.len() > LONGEST {
        return Err(format!("the line is longer than {LONGEST} bytes"));
    }
    let line = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_string())?;
    // Editors on Windows put the mark of byte order before the first line.
    let line = line.trim_start_matches('\u{feff}').trim();
    if line.is_empty() { Ok(None) } else { parse(line).map(Some) }
}

/// Whether any of the first lines can be read: one line may be bad, and the last one cut.
pub fn recognises(head: &[u8], parse: fn(&str) -> Result<Sample, String>) -> bool {
    head.split(|&byte| byte == b'\n')
        .take(100)
        .any(|line| matches!(sample(line, parse), Ok(Some(_))))
}
