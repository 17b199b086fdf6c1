//! Interpretation of paths: a file, or the folder of a run.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::folder::{BEST, NET};
use super::recipe;
use crate::input;

pub enum FileKind {
    Weights,
    Json,
    Other,
}

/// Returns whether bytes begin as JSON. Nets may have the same first byte, but not only text.
fn is_json(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    let begins =
        bytes.strip_prefix(input::MARK).unwrap_or(bytes).trim_ascii_start().starts_with(b"{");
    begins && bytes.iter().take(64).all(is_text)
}

pub fn kind_of(bytes: &[u8]) -> FileKind {
    let length = bytes.first_chunk().map_or(u64::MAX, |length| u64::from_le_bytes(*length));
    if bytes.get(8) == Some(&b'{') && length < bytes.len() as u64 {
        FileKind::Weights
    } else if is_json(bytes) || input::wide_encoding(bytes).is_some() {
        FileKind::Json
    } else {
        FileKind::Other
    }
}

/// Returns a file, or the file of this name in a run folder.
pub fn in_folder(path: &Path, name: &str) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join(name);
    ensure!(
        file.exists(),
        "{} holds no {name}; resume the run, or name another file",
        path.display()
    );
    Ok(file)
}

/// Returns a file, or the best weights in a run folder.
pub fn weights_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(BEST) } else { path.to_path_buf() }
}

/// Returns the file that is evaluated for a name: for a run's folder its net, if it has one.
pub fn evaluated_file(name: &str) -> String {
    let net = Path::new(name).join(NET);
    if net.exists() { net.to_string_lossy().into_owned() } else { name.to_string() }
}

/// Returns whether a file, or the best weights of a run folder, are handcrafted terms.
pub fn holds_terms(path: &Path) -> bool {
    let path = weights_file(path);
    let Ok(bytes) = input::read_bytes(&path, input::WEIGHTS) else { return false };
    match kind_of(&bytes) {
        FileKind::Json => path.extension().is_some_and(|extension| extension == "json"),
        FileKind::Weights => {
            recipe::open_checkpoint(&path).is_ok_and(|(_, recipe)| !recipe.config.is_net())
        }
        FileKind::Other => false,
    }
}
