//! What a net of others is, in a TOML file beside it: `NAME.toml` for `NAME.bin`.
//!
//! Its keys are those of an architecture ([`Form`](crate::architecture::Form)) and `qa`, `qb`,
//! `scale`, `head_format`; what is left out is as usual:
//! ```toml
//! inputs = "perspective"
//! hidden = 512
//! activation = "crelu"
//! output_buckets = 8
//! ```

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::manifest::beside;
use crate::architecture::Architecture;
use crate::input;
use crate::net::Hints;
use crate::scales::Scales;

/// Why a description says nothing.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("{path}, which describes {net}: {reason}")]
    Wrong { path: PathBuf, net: PathBuf, reason: String },
}

/// Where the description of a net is looked for.
pub fn description_path(net: &Path) -> PathBuf {
    match net.extension() {
        Some(ending) if ending == "nnue" || ending == "wgts" => net.with_extension("toml"),
        _ => beside(net, "toml"),
    }
}

/// What the file beside a net says of it; none where there is none.
///
/// # Errors
/// If it cannot be read, or describes no net: with the key and what it should be.
pub fn description(net: &Path) -> Result<Option<Hints>, DescriptionError> {
    let path = description_path(net);
    if !path.exists() {
        return Ok(None);
    }
    let text = input::text(&path, input::TEXT)
        .map_err(|error| DescriptionError::Read { path: path.clone(), error })?;
    let wrong = |reason| DescriptionError::Wrong { path, net: net.into(), reason };
    hints(&text).map(Some).map_err(wrong)
}

/// Whether the description says what the file's size says, too.
///
/// # Errors
/// If the hidden size is another.
pub fn agrees(net: &Path, said: &Hints, found: &Architecture) -> Result<(), DescriptionError> {
    let (said, found) = (said.net.hidden, found.hidden);
    match said == found {
        true => Ok(()),
        false => Err(DescriptionError::Wrong {
            path: description_path(net),
            net: net.into(),
            reason: format!(
                "`hidden`: {said}, but the file is as large as that of a net with {found}; correct \
                 it, or whichever other key is wrong"
            ),
        }),
    }
}

fn hints(text: &str) -> Result<Hints, String> {
    let one_line = |error: toml::de::Error| {
        let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        format!("{line}{}", error.message().lines().collect::<Vec<_>>().join(" "))
    };
    let mut table: toml::Table = toml::from_str(text).map_err(one_line)?;
    if table.contains_key("model") {
        return Err(
            "it is the config of a run; a description has the keys of a net alone, such as \
                    `inputs`, `hidden` and `activation`; rename the config"
                .into(),
        );
    }
    let mut scales = toml::Table::try_from(Scales::default()).expect("scales have a TOML form");
    for key in ["qa", "qb", "scale", "head_format"] {
        if let Some(value) = table.remove(key) {
            scales.insert(key.into(), value.clone());
            // Each alone, so that an error names its key.
            of_table::<Scales>(&scales).map_err(|reason| format!("`{key}`: {reason}"))?;
        }
    }
    let scales = of_table(&scales)?;
    let net = of_table::<Architecture>(&table)?;
    Ok(Hints { net, scales })
}

fn of_table<T: DeserializeOwned>(table: &toml::Table) -> Result<T, String> {
    table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_string())
}
