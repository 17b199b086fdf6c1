//! The manifest beside a net: what it is, where it comes from, what it must answer. JSON.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{FittedScale, FloatError, Margins, MatchedTo, PieceValues, Proof, golden};
use crate::architecture::{Activation, Architecture};
use crate::features::Features;
use crate::input;
use crate::net::{Hints, Net, NetError, Warning};
use crate::scales::Scales;

/// Raised with every change that an older reader would misunderstand.
const FORMAT: u32 = 1;

/// Everything about a net that its file does not say. Optional facts are `null`, never left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// Name of the net's file, without folder.
    pub file: String,
    /// Hexadecimal.
    pub sha256: String,
    /// Size of the file.
    pub bytes: u64,
    pub architecture: Facts,
    /// The file's layout in words.
    pub layout: String,
    pub scales: Scales,
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Integers against floats; null if no positions were given.
    pub float_error: Option<FloatError>,
    /// What the net's centipawns mean; null if no results were given.
    #[serde(default)]
    pub fitted_scale: Option<FittedScale>,
    /// Null if SCALE was not matched to another net.
    #[serde(default)]
    pub matched: Option<MatchedTo>,
    /// Null in nets of older versions.
    #[serde(default)]
    pub piece_values: Option<PieceValues>,
    /// Null if no other evaluation was compared with.
    #[serde(default)]
    pub margins: Option<Margins>,
    pub proof: Proof,
    /// Centipawns for the side to move.
    pub golden: Vec<Golden>,
}

/// An architecture, spelt out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub inputs: usize,
    pub hidden: usize,
    pub views: usize,
    pub activation: Activation,
    /// Name of the feature set.
    pub features: String,
    /// The convention of its index, in words.
    pub index: String,
}

/// Where a net comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub licence: Option<String>,
    /// The text of the config that trained it.
    pub recipe: Option<String>,
    pub data: Vec<DataFile>,
    /// Hashes by which the games of that data are known again.
    #[serde(default)]
    pub sketch: Option<String>,
    /// The files that only validated; none where games of the data did.
    #[serde(default)]
    pub validation: Vec<DataFile>,
    /// Hashes of the games of those, by which the weights were chosen; null where there are none.
    #[serde(default)]
    pub validation_sketch: Option<String>,
    /// The net that training started from; null where it started from chance.
    #[serde(default)]
    pub start: Option<StartedFrom>,
    /// Positions trained on, repeats counted.
    pub positions: Option<u64>,
    pub losses: Losses,
}

/// What a run took its first weights from. The games that it had seen are in the run's sketch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedFrom {
    pub file: String,
    pub sha256: String,
    /// Why it may know games that the run holds out; null where it does not.
    pub doubt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    pub file: String,
    pub sha256: String,
    pub bytes: u64,
    /// Games in it; 0 where they are unknown.
    #[serde(default)]
    pub games: u64,
}

/// Mean squared errors of the final weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    pub train: Option<f64>,
    /// Of the games that validate, by which the weights were chosen.
    #[serde(alias = "held_out")]
    pub validation: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    pub fen: String,
    pub cp: i32,
}

impl Manifest {
    /// The manifest of a net; the name of its file is still to be set, and what its centipawns
    /// mean where that is known.
    pub fn new(
        net: &Net,
        proof: Proof,
        float_error: Option<FloatError>,
        provenance: Provenance,
    ) -> Self {
        let bytes = net.to_bytes();
        Self {
            format: FORMAT,
            file: String::new(),
            sha256: digest(&bytes),
            bytes: bytes.len() as u64,
            architecture: Facts::of(net.architecture()),
            layout: layout(net.architecture()),
            scales: net.scales(),
            provenance,
            float_error,
            fitted_scale: None,
            matched: None,
            piece_values: None,
            margins: None,
            proof,
            golden: golden::evaluations(net),
        }
    }

    /// What the manifest says about the net's file, for reading it.
    pub fn hints(&self) -> Result<Hints, String> {
        let name = &self.architecture.features;
        let features = Features::named(name)
            .ok_or_else(|| format!("feature set {name:?} is unknown to this version"))?;
        let activation = self.architecture.activation;
        Ok(Hints { features, activation, scales: self.scales })
    }
}

impl Facts {
    pub fn of(architecture: &Architecture) -> Self {
        let Architecture { features, hidden, activation } = *architecture;
        Self {
            inputs: features.inputs,
            hidden,
            views: features.views,
            activation,
            features: features.name.to_string(),
            index: features.about.to_string(),
        }
    }
}

pub(super) fn layout(architecture: &Architecture) -> String {
    let Architecture { features, hidden, activation } = *architecture;
    let Features { inputs, views, .. } = *features;
    let outputs = views * hidden;
    let order = if views > 1 { " (side to move first)" } else { "" };
    let (clamped, sum) = match activation {
        Activation::ReLU => ("max(0, accumulator)", "sum"),
        Activation::CReLU => ("clamp(accumulator, 0, QA)", "sum"),
        Activation::SCReLU => ("clamp(accumulator, 0, QA)^2", "sum / QA"),
    };
    format!(
        "i16, little-endian: accumulator weights [{inputs}][{hidden}] x QA, accumulator biases \
         [{hidden}] x QA, output weights [{outputs}]{order} x QB, output bias x QA*QB, then \
         the text \"bullet\" repeated up to a multiple of 64 bytes. sum = output weights x \
         {clamped}; centipawns = ({sum} + bias) * SCALE / (QA*QB); divisions truncate toward zero"
    )
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `NAME.json` for `NAME.bin`.
pub fn manifest_path(net: &Path) -> PathBuf {
    beside(net, "json")
}

/// `NAME.safetensors` for `NAME.bin`.
pub fn floats_path(net: &Path) -> PathBuf {
    beside(net, "safetensors")
}

/// Only `.bin` is an ending to be replaced: what follows the dot of `net-0.5` is a part of its
/// name, and `net-0.6` beside it must not get the same manifest.
fn beside(net: &Path, ending: &str) -> PathBuf {
    match net.extension() {
        Some(bin) if bin == "bin" => net.with_extension(ending),
        _ => {
            let mut name = net.as_os_str().to_os_string();
            name.push(".");
            name.push(ending);
            name.into()
        }
    }
}

/// Why a net, or its manifest, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("{path}: {error}")]
    Net { path: PathBuf, error: NetError },
    #[error("{path} is not a manifest of this version: {reason}")]
    Manifest { path: PathBuf, reason: String },
    #[error(
        "{manifest} describes another file than {path}: sha256 {expected}, found {found}; export \
         again, or move the manifest away"
    )]
    Other { path: PathBuf, manifest: PathBuf, expected: String, found: String },
}

/// What a caller knows about a net better than its manifest or the defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    pub features: Option<&'static Features>,
    pub activation: Option<Activation>,
    pub qa: Option<i32>,
    pub qb: Option<i32>,
    pub scale: Option<i32>,
}

impl Given {
    /// What is given, over the rest.
    pub fn over(&self, rest: Hints) -> Hints {
        Hints {
            features: self.features.unwrap_or(rest.features),
            activation: self.activation.unwrap_or(rest.activation),
            scales: Scales {
                qa: self.qa.unwrap_or(rest.scales.qa),
                qb: self.qb.unwrap_or(rest.scales.qb),
                scale: self.scale.unwrap_or(rest.scales.scale),
            },
        }
    }
}

/// A net and what stands beside it.
///
/// The net is what was given over what the manifest says.
#[derive(Debug)]
pub struct Loaded {
    pub net: Net,
    pub manifest: Option<Manifest>,
    pub warnings: Vec<Warning>,
}

/// Reads a net with its manifest, if it has one; without, the defaults of [`Hints`] hold.
///
/// # Errors
/// If a file cannot be read, is no net or no manifest, or the manifest is that of another net.
pub fn load(path: &Path, given: &Given) -> Result<Loaded, LoadError> {
    let bytes = read(path)?;
    let manifest = read_manifest(path)?;
    if let Some(manifest) = &manifest {
        let found = digest(&bytes);
        if found != manifest.sha256 {
            return Err(LoadError::Other {
                path: path.into(),
                manifest: manifest_path(path),
                expected: manifest.sha256.clone(),
                found,
            });
        }
    }
    let hints = match &manifest {
        None => Hints::default(),
        Some(manifest) => manifest
            .hints()
            .map_err(|reason| LoadError::Manifest { path: manifest_path(path), reason })?,
    };
    let (net, warnings) = Net::read(&bytes, &given.over(hints))
        .map_err(|error| LoadError::Net { path: path.into(), error })?;
    Ok(Loaded { net, manifest, warnings })
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    input::read(path, input::WEIGHTS).map_err(|error| LoadError::Read { path: path.into(), error })
}

/// The manifest beside a net; None if there is no such file.
pub(super) fn read_manifest(net: &Path) -> Result<Option<Manifest>, LoadError> {
    let path = manifest_path(net);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = read(&path)?;
    let failed = |reason: String| LoadError::Manifest { path: path.clone(), reason };
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            let reason = format!("it has format {format}, this version reads {FORMAT}");
            return Err(failed(reason));
        }
        None => return Err(failed("it has no field `format`".to_string())),
    }
    serde_json::from_value(value).map(Some).map_err(|error| failed(error.to_string()))
}
