//! A file that is read whole: a regular one, and no larger than files of its kind are.
//!
//! Without a limit `/dev/zero` would fill the memory, and a pipe keep everyone waiting.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

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
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
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
        io::Error::new(ErrorKind::InvalidData, reason)
    })
}

/// What lies at a path.
///
/// # Errors
/// If nothing does: with the name that was probably meant, or where to look.
pub fn found(path: &Path) -> io::Result<Metadata> {
    path.metadata().map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, missing(path)),
        _ => error,
    })
}

/// What is missing, and the cure.
fn missing(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input cannot be read twice; write it to a file".to_string();
    }
    if path.is_symlink() {
        return "it is a link to what is not there; mend the link, or name the file".to_string();
    }
    // The first part of the path that is not there.
    let is_gone = |part: &&Path| !part.exists() && part.file_name().is_some();
    let gone = path.ancestors().take_while(is_gone).last().unwrap_or(path);
    let what = match gone == path {
        true => "there is no such file".to_string(),
        false => format!("there is no folder {}", gone.display()),
    };
    let cure = match (near(gone), path.is_relative()) {
        (Some(near), _) => format!("did you mean {}?", near.display()),
        (None, true) => "a relative path begins in the folder where nnuance runs".to_string(),
        (None, false) => "check its name".to_string(),
    };
    format!("{what}; {cure}")
}

/// What is called nearly like this in the same folder.
fn near(path: &Path) -> Option<PathBuf> {
    /// Names that are less alike have nothing to do with each other.
    const ALIKE: f64 = 0.85;
    let folder = path.parent()?;
    let here = if folder == Path::new("") { Path::new(".") } else { folder };
    let wanted = path.file_name()?.to_string_lossy();
    let likeness = |name: OsString| (strsim::jaro_winkler(&wanted, &name.to_string_lossy()), name);
    let names = here.read_dir().ok()?.flatten().map(|entry| likeness(entry.file_name()));
    let (likeness, name) = names.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    (likeness > ALIKE).then(|| folder.join(name))
}

/// # Errors
/// If there is no regular file, where it must be read whole, or more than once.
pub fn regular(path: &Path) -> io::Result<()> {
    let found = found(path)?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        let reason = "it is a pipe or a device, and must be a regular file; write it to one first";
        return Err(io::Error::new(ErrorKind::InvalidInput, reason));
    }
    Ok(())
}
