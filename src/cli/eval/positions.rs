//! The positions to evaluate: from the command line, a file or standard input.

use std::io::{BufRead, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::format::unpack;
use crate::sample::Position;

/// No line is longer; what has no lines at all would else fill the memory.
const LONGEST: usize = 4096;

/// A position, and its FEN as it was written.
pub struct Asked {
    pub fen: String,
    pub position: Position,
}

impl Asked {
    /// Reads the FEN at the beginning of a line; what follows it is passed over.
    pub fn read(text: &str) -> Result<Self> {
        let fen = fen(text);
        let position = Position::from_fen(&fen).with_context(|| format!("{fen:?}"))?;
        Ok(Self { fen, position })
    }
}

/// The positions of a file, one a line, packed or not; `-` is standard input. An error names its
/// line and is the last item.
///
/// # Errors
/// If the file cannot be opened.
pub fn of_file(path: &Path) -> Result<impl Iterator<Item = Result<Asked>>> {
    let name = match path.as_os_str() == "-" {
        true => "standard input".to_string(),
        false => path.display().to_string(),
    };
    let input = unpack::open(path).with_context(|| format!("cannot read {name}"))?;
    Ok(Lines { name, input, number: 0, some: false, ended: false })
}

struct Lines<R> {
    name: String,
    input: R,
    number: u64,
    /// Whether there was any position.
    some: bool,
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// The next line; none at the end.
    fn line(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        self.number += 1;
        (&mut self.input).take(LONGEST as u64 + 1).read_until(b'\n', &mut line)?;
        ensure!(line.len() <= LONGEST, "the line is longer than {LONGEST} bytes");
        if line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8(line).ok().context("the line is not UTF-8")?;
        // Editors on Windows put the mark of byte order before the first line.
        Ok(Some(line.trim_start_matches('\u{feff}').to_string()))
    }

    fn read(&mut self) -> Result<Option<Asked>> {
        while let Some(line) = self.line()? {
            if !line.trim().is_empty() {
                return Asked::read(&line).map(Some);
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Asked>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = match self.read() {
            Ok(None) if !self.some => {
                Some(Err(anyhow::anyhow!("{} holds no positions; give one a line", self.name)))
            }
            read => {
                read.with_context(|| format!("{}, line {}", self.name, self.number)).transpose()
            }
        };
        self.some = true;
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

/// The FEN at the beginning of a line: four fields, and the two counters if both are numbers.
/// Everything else, such as the operations of EPD, is passed over.
fn fen(text: &str) -> String {
    let head = text.split([';', '|']).next().unwrap_or_default();
    let mut fields: Vec<&str> = head.split_whitespace().take(6).collect();
    let number = |field: &&str| field.bytes().all(|byte| byte.is_ascii_digit());
    if fields.len() < 6 || !fields[4..].iter().all(number) {
        fields.truncate(4);
    }
    fields.join(" ")
}
