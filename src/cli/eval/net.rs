//! The quantised net that is meant, or what lies there instead and what it is good for.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cli::evaluator::{FileKind, kind_of};
use crate::cli::folder::{BEST, NET};
use crate::cli::recipe;
use crate::hce::{HceFileError, HceWeights};
use crate::input;
use crate::weights::{Packed, Weights};

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

/// Whether a file holds handcrafted terms.
pub fn are_terms(path: &Path) -> bool {
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
            Ok(Packed { facts, .. }) => match recipe::Recipe::read(&facts) {
                Ok(Some(recipe)) if !recipe.config.is_net() => Some(Other::Terms),
                _ => Some(Other::Checkpoint),
            },
            Err(_) => None,
        },
    })
}
