//! What a path means: a file, the folder of a run, and what lies there.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use super::folder::{BEST, NET, TERMS};
use super::recipe::{self, Recipe};
use crate::hce::{HceFileError, HceWeights};
use crate::input;
use crate::weights::{Weights, WeightsFile};

/// An error that says so if nothing lies at a path that a user named.
pub fn must_be_there(path: &Path) -> Result<()> {
    let name = path.display();
    ensure!(
        path.exists(),
        "there is no file or folder {name}; name a checkpoint, a net, or the folder of a run"
    );
    Ok(())
}

/// What the first bytes of a file say.
pub enum FileKind {
    Weights,
    Json,
    Other,
}

pub fn kind_of(bytes: &[u8]) -> FileKind {
    let length = bytes.first_chunk().map_or(u64::MAX, |length| u64::from_le_bytes(*length));
    if bytes.get(8) == Some(&b'{') && length < bytes.len() as u64 {
        FileKind::Weights
    } else if bytes.trim_ascii_start().first() == Some(&b'{') {
        FileKind::Json
    } else {
        FileKind::Other
    }
}

/// A file, or the one of this name in a run folder.
pub fn in_folder(path: &Path, name: &str) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join(name);
    ensure!(file.exists(), "{} holds no {name}; name the file itself", path.display());
    Ok(file)
}

/// The file that is evaluated where a name is that of a run's folder: its net, if it has one, as
/// engines load it.
pub fn as_engines_load(name: &str) -> String {
    let path = Path::new(name);
    match path.is_dir() && path.join(NET).exists() {
        true => path.join(NET).to_string_lossy().into_owned(),
        false => name.to_string(),
    }
}

/// The file that plays where a name is that of a file or of a run's folder.
pub fn file_as_engines_load(name: &str) -> PathBuf {
    let path = PathBuf::from(as_engines_load(name));
    if path.is_dir() { path.join(BEST) } else { path }
}

/// What is no quantised net.
enum Other {
    Terms,
    Checkpoint,
}

/// The file of a quantised net, which may be that of a run's folder.
///
/// # Errors
/// If it is the folder of a run without a net, a checkpoint, or handcrafted terms; what is no net
/// for other reasons the reader of nets finds.
pub fn net_at(path: &Path) -> Result<PathBuf> {
    let name = path.display();
    let net = path.join(NET);
    if !path.is_dir() || net.exists() {
        let file = if path.is_dir() { net } else { path.to_path_buf() };
        return match what_is(&file)? {
            None => Ok(file),
            Some(Other::Terms) => bail!(
                "{name} holds handcrafted terms, no net; see them with `nnuance eval {name} \
                 --board FEN`, or make code of them with `nnuance export {name} -o terms.h`"
            ),
            Some(Other::Checkpoint) => bail!(
                "{name} is a checkpoint of floats; make a net of it first, `nnuance export {name} \
                 -o NET`"
            ),
        };
    }
    match what_is(&path.join(BEST))? {
        None => bail!("{name} holds no {NET}; name the file itself"),
        Some(Other::Terms) => bail!(
            "{name} is a run of handcrafted terms, no net; see them with `nnuance eval {name} \
             --board FEN`, or make code of them with `nnuance export {name} -o terms.h`"
        ),
        Some(Other::Checkpoint) => bail!(
            "{name} holds no {NET}, since its run has not ended or its net was refused; `nnuance \
             export {name} -o NET` makes a net of its best checkpoint"
        ),
    }
}

/// Whether a file, or the best weights of a run folder, are handcrafted terms that can be exported.
pub fn terms_to_export(path: &Path) -> bool {
    if path.is_dir() {
        // A run that has not ended has a best checkpoint, and no tables yet.
        return path.join(TERMS).exists() || terms_to_export(&path.join(BEST));
    }
    let Ok(bytes) = input::read(path, input::WEIGHTS) else { return false };
    match kind_of(&bytes) {
        FileKind::Json => path.extension().is_some_and(|extension| extension == "json"),
        FileKind::Weights => recipe::open(path).is_ok_and(|(_, recipe)| !recipe.config.is_net()),
        FileKind::Other => false,
    }
}

/// Whether a path is that of handcrafted terms: a file of them, or the folder of their run.
pub fn terms_to_inspect(path: &Path) -> bool {
    are_terms(&if path.is_dir() { path.join(BEST) } else { path.to_path_buf() })
}

/// Whether a file holds handcrafted terms.
fn are_terms(path: &Path) -> bool {
    matches!(what_is(path), Ok(Some(Other::Terms)))
}

/// None for nets, for files of other kinds, and where nothing lies at all.
fn what_is(path: &Path) -> Result<Option<Other>> {
    let Ok(bytes) = input::read(path, input::WEIGHTS) else { return Ok(None) };
    Ok(match kind_of(&bytes) {
        FileKind::Other => None,
        FileKind::Json => {
            let text = String::from_utf8_lossy(&bytes);
            match HceWeights::from_json(&text) {
                Err(error @ HceFileError::Manifest) => bail!("{}: {error}", path.display()),
                Ok(_) | Err(HceFileError::Own) => Some(Other::Terms),
                Err(_) => None,
            }
        }
        FileKind::Weights => match Weights::from_bytes(&bytes) {
            Ok(WeightsFile { facts, .. }) => match Recipe::read(&facts) {
                Ok(Some(recipe)) if !recipe.config.is_net() => Some(Other::Terms),
                _ => Some(Other::Checkpoint),
            },
            Err(_) => None,
        },
    })
}
