//! Reading of whole files: regular files of a limited size.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The maximum number of bytes of a config, a list of terms, a manifest or a log.
pub const TEXT: u64 = 64 << 20;
/// The maximum number of bytes in memory of an opening book, or of the games of a match.
pub const BOOK: usize = 2 << 30;
/// The maximum number of bytes of a net or a checkpoint.
pub const WEIGHTS: u64 = 4 << 30;

/// Reads a file of at most `limit` bytes. Fails if it is unreadable, longer, or not a regular file.
pub fn read_bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    require_regular(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(limit)).unwrap_or(0));
    if length > limit || file.take(limit + 1).read_to_end(&mut bytes)? as u64 > limit {
        let reason = format!("it is larger than {} MiB; is it the right file?", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// Reads a UTF-8 text file of at most `limit` bytes. Fails as [`read_bytes`] and [`decode_utf8`] do.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    read_bytes(path, limit).and_then(decode_utf8)
}

/// Converts UTF-8 to text, without the byte order mark of Windows editors. Fails for other encodings.
pub fn decode_utf8(bytes: Vec<u8>) -> io::Result<String> {
    if let Some(encoding) = wide_encoding(&bytes) {
        let reason = format!("it is {encoding} text; save it as UTF-8 text");
        return Err(io::Error::other(reason));
    }
    let mark = if bytes.starts_with(MARK) { MARK.len() } else { 0 };
    String::from_utf8(bytes[mark..].to_vec()).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        io::Error::other(format!("line {line} is not UTF-8; save it as UTF-8 text"))
    })
}

/// The byte order mark of UTF-8.
pub const MARK: &[u8] = b"\xef\xbb\xbf";

/// The encoding of a text of two or four bytes per letter, with or without a byte order mark.
/// Positions in binary formats may begin with the bytes of a mark, but not with such letters.
pub fn wide_encoding(head: &[u8]) -> Option<&'static str> {
    let is_ascii = |it: u8| it.is_ascii_graphic() || it.is_ascii_whitespace();
    let is_text = |letter: &u32| u8::try_from(*letter).is_ok_and(is_ascii);
    let begins = |width: usize, is_big: bool| {
        let value = |bytes: &[u8]| {
            let add = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
            if is_big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
        };
        let letters: Vec<u32> = head.chunks_exact(width).take(9).map(value).collect();
        match &letters[..] {
            [0xfeff, text @ ..] => !text.is_empty() && text.iter().all(is_text),
            text => text.len() > 8 && text.iter().all(is_text),
        }
    };
    let is_wide = |width| begins(width, false) || begins(width, true);
    if is_wide(4) { Some("UTF-32") } else { is_wide(2).then_some("UTF-16") }
}

/// Reads the metadata of a path. Fails if the path does not exist.
pub fn read_metadata(path: &Path) -> io::Result<Metadata> {
    path.metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let reason = match path.to_str() {
                Some("-") => "standard input cannot be read twice; write it to a file",
                _ => "there is no such file; check its name, and the folder that nnuance runs in",
            };
            io::Error::new(ErrorKind::NotFound, reason)
        }
        _ => error,
    })
}

/// Fails if the path is not a regular file, which can be read completely and more than once.
pub fn require_regular(path: &Path) -> io::Result<()> {
    let metadata = read_metadata(path)?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        let reason = "it is a pipe or a device, expected a regular file; write it to one first";
        return Err(io::Error::new(ErrorKind::InvalidInput, reason));
    }
    Ok(())
}
