//! Files that are read whole: regular ones of a limited size.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Most bytes of a config, a list of terms, a manifest or a log.
pub const TEXT: u64 = 64 << 20;
/// Most bytes of a book of openings.
pub const BOOK: u64 = 1 << 30;
/// Most bytes of a net or a checkpoint.
pub const WEIGHTS: u64 = 4 << 30;

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// If it cannot be read, is longer, or is not a regular file.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    regular(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(most)).unwrap_or(0));
    if length > most || file.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        let reason = format!("it is larger than {} MiB; is it the right file?", most >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// Reads a UTF-8 text file of at most `most` bytes.
///
/// # Errors
/// As [`read`], and if the file is not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let reason = format!("line {line} is not UTF-8; save it as UTF-8 text");
        io::Error::new(ErrorKind::InvalidData, reason)
    })
}

/// Metadata of a path.
///
/// # Errors
/// If the path does not exist.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    path.metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound if path == Path::new("-") => {
            let reason = "standard input cannot be read twice; write it to a file";
            io::Error::new(ErrorKind::NotFound, reason)
        }
        ErrorKind::NotFound => {
            let reason =
                "there is no such file; check its name, and the folder that nnuance runs in";
            io::Error::new(ErrorKind::NotFound, reason)
        }
        _ => error,
    })
}

/// # Errors
/// If the path is not a regular file, which has to be read whole, or more than once.
pub fn regular(path: &Path) -> io::Result<()> {
    let found = metadata(path)?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        let reason = "it is a pipe or a device, expected a regular file; write it to one first";
        return Err(io::Error::new(ErrorKind::InvalidInput, reason));
    }
    Ok(())
}
