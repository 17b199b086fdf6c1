//! Opening books: lines of FEN or EPD, or games in PGN, whose last positions are used.

use std::io;
use std::path::{Path, PathBuf};

use super::lines::{LONGEST, Text};
use super::{BadRecord, ByteInput, Fault, fields, pgn, unpack};
use crate::input;
use crate::sample::Position;

#[derive(Debug, thiserror::Error)]
pub enum BookError {
    #[error("cannot read {path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path}, {bad}; expected lines of FEN or EPD, or games in PGN")]
    Bad { path: PathBuf, bad: BadRecord },
    #[error("{0} has no positions")]
    Empty(PathBuf),
}

/// Reads the positions of a book in order, without blank lines and lines that begin with `#`.
///
/// # Errors
///
/// Fails with [`BookError::Io`] if the file cannot be read or needs more memory than a book may,
/// with [`BookError::Bad`] at the first illegal position or bad game, and with [`BookError::Empty`]
/// without positions.
pub fn read_book(path: &Path) -> Result<Vec<Position>, BookError> {
    let failed = |error| BookError::Io { path: path.to_path_buf(), error };
    input::require_regular(path).map_err(failed)?;
    let (head, input) = unpack::open_unpacked(path).and_then(unpack::peek_start).map_err(failed)?;
    let read =
        if (pgn::FORMAT.recognises)(&head) { pgn::last_positions(input) } else { of_lines(input) };
    match read {
        Ok(book) if book.is_empty() => Err(BookError::Empty(path.to_path_buf())),
        Ok(book) => Ok(book),
        Err(Fault::Io(error)) => Err(failed(error)),
        Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => {
            Err(BookError::Bad { path: path.to_path_buf(), bad })
        }
    }
}

fn of_lines(input: ByteInput) -> Result<Vec<Position>, Fault> {
    let mut text = Text::new(input, LONGEST);
    let mut book = Vec::new();
    while text.read_line()? {
        let position = text.current_line().and_then(|line| match line {
            "" => Ok(None),
            line if line.starts_with('#') => Ok(None),
            line => fields::text_fen(&fields::fen_of_line(line)).map(Some),
        });
        book.extend(position.map_err(|reason| Fault::Skipped(text.bad_record(reason)))?);
        require_small(book.len() * size_of::<Position>())?;
    }
    Ok(book)
}

/// Fails if positions or games take more memory than a book may.
pub(super) fn require_small(bytes: usize) -> io::Result<()> {
    let reason = || format!("it needs more than {} MiB in memory; split it", input::BOOK >> 20);
    if bytes <= input::BOOK { Ok(()) } else { Err(io::Error::other(reason())) }
}
