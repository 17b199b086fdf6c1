//! A folder that belongs to one climb or one sweep, and that only one process works in.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::folder::{LOCK, lock, missing_above, remove_empty};
use super::listener::Listener;
use crate::input;

/// What a folder holds, and how it is known again.
pub struct Holds {
    /// In a word, such as `climb`.
    pub what: &'static str,
    /// The name of the file that says what was asked for.
    pub file: &'static str,
    /// How that file begins.
    pub header: &'static str,
}

/// A folder that was taken.
pub struct Claim {
    pub path: PathBuf,
    /// The folders above it that were made for it, the nearest first.
    made: Vec<PathBuf>,
    /// Released when the process ends, by whatever death.
    _lock: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path.join(LOCK));
        remove_empty(&self.path, &self.made);
    }
}

impl Claim {
    /// Takes a new folder, or one that holds such a thing: then with the text of its file.
    ///
    /// # Errors
    /// If it cannot be written to, holds something else, or another process works there.
    pub fn take(
        path: &Path,
        Holds { what, file, header }: &Holds,
        listener: &dyn Listener,
    ) -> Result<(Self, Option<String>)> {
        let name = path.display();
        ensure!(!path.starts_with("-"), "a {what} is a folder; name one with --out");
        let file = path.join(file);
        let foreign =
            || format!("{name} holds files that are no {what}; choose another folder with --out");
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            entries => Some(entries.with_context(|| name.to_string())?),
        };
        let hidden = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with('.');
        let is_empty = entries.is_none_or(|all| all.flatten().all(|it| hidden(&it)));
        ensure!(is_empty || file.exists(), foreign());
        let made = missing_above(path);
        fs::create_dir_all(path).with_context(|| format!("cannot make {name}"))?;
        let claim = Self { path: path.to_path_buf(), made, _lock: lock(path, listener)? };
        if !file.exists() {
            return Ok((claim, None));
        }
        let text = input::text(&file, input::TEXT).with_context(foreign)?;
        ensure!(text.starts_with(header), foreign());
        Ok((claim, Some(text)))
    }
}
