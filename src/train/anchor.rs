//! A folder that must stay the one it was.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A folder, known again however it is named. While this lives, no other folder can be taken for
/// it.
#[derive(Debug)]
pub struct Anchor {
    path: PathBuf,
    /// Open, so that the system gives its number to no other folder; not all systems can.
    folder: Option<File>,
}

/// The folder is no longer where it was.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} was moved, removed or replaced while the run was under way, and nothing more is written: \
     put it back and go on with `nnuance train --resume {0}`, or name its new place there"
)]
pub struct Moved(PathBuf);

impl Anchor {
    /// # Errors
    /// If there is no such folder.
    pub fn of(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: path.to_path_buf(), folder: File::open(path).ok() })
    }

    /// An error if the name means another folder now, or none.
    pub fn check(&self) -> Result<(), Moved> {
        let same = match (&self.folder, std::fs::metadata(&self.path)) {
            (Some(folder), Ok(now)) => folder.metadata().is_ok_and(|then| same(&then, &now)),
            (None, Ok(now)) => now.is_dir(),
            (_, Err(_)) => false,
        };
        if same { Ok(()) } else { Err(Moved(self.path.clone())) }
    }
}

#[cfg(unix)]
fn same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same(_: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    other.is_dir()
}
