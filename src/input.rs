//! A file that is read whole: a regular one, and no larger than files of its kind are.
//!
//! Without a limit `/dev/zero` would fill the memory, and a pipe keep everyone waiting.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a config, a list of terms, a manifest, a log.
pub const TEXT: u64 = 64 << 20;
/// Bytes of a book of openings.
pub const BOOK: u64 = 1 << 30;
/// Bytes of a net or a checkpoint.
pub const WEIGHTS: u64 = 4 << 30;

/// Reads a file of at most so many bytes.
///
/// # Errors
/// If it cannot be read, is longer, or is no regular file.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    regular(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(most)).unwrap_or(0));
    if length > most || file.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        let reason = format!("it is larger than {} MiB; is it the right file?", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// Reads a file of UTF-8 text of at most so many bytes.
///
/// # Errors
/// Those of [`read`], and what is no UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let reason = format!("line {line} is not UTF-8; save it as UTF-8 text");
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}

/// # Errors
/// If there is no regular file, where it must be read whole, or more than once.
pub fn regular(path: &Path) -> io::Result<()> {
    let found = path.metadata().map_err(|error| match path == Path::new("-") {
        true => {
            io::Error::new(error.kind(), "standard input cannot be read twice; write it to a file")
        }
        false => error,
    })?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        let reason = "it is a pipe or a device, and must be a regular file; write it to one first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(())
}
