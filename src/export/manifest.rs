//! The manifest beside a net: what it is, where it comes from, what it must answer. JSON.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::base::{Base, Below};
use super::golden::Golden;
use super::layout::layout;
use super::{FittedScale, FloatError, MatchedTo, PieceValues, Proof, description, golden};
use crate::architecture::{Activation, Architecture, Views};
use crate::data_file::DataFile;
use crate::digest::digest;
use crate::input;
use crate::net::{Hints, Net, NetError, Warning};
use crate::scales::{HeadFormat, Scales};

/// Raised with every change that an older reader would misunderstand. Format 1 knew nets without
/// more than [`Simple`] says, format 2 none that are added to something, format 3 none that are
/// added to nets; each net has the oldest that knows it, 2 or more.
const FORMAT: u32 = 4;
const FORMATS: std::ops::RangeInclusive<u64> = 1..=FORMAT as u64;

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
    /// The whole of it, as a config describes it.
    #[serde(deserialize_with = "architecture")]
    pub architecture: Architecture,
    /// How the rows of the accumulator are numbered, in words; null in format 1.
    #[serde(default)]
    pub index: Option<String>,
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
    pub proof: Proof,
    /// Centipawns for the side to move.
    pub golden: Vec<Golden>,
}

/// An architecture in format 1: `(inputs -> hidden)xviews -> 1`.
#[derive(Deserialize)]
struct Simple {
    inputs: usize,
    hidden: usize,
    views: usize,
    activation: Activation,
    /// Name of the feature set.
    features: String,
}

/// Reads an architecture of either format.
fn architecture<'de, D: Deserializer<'de>>(from: D) -> Result<Architecture, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    let wrong = |error: serde_json::Error| D::Error::custom(format!("`architecture`: {error}"));
    if value.get("features").is_none() {
        return serde_json::from_value(value).map_err(wrong);
    }
    let Simple { inputs, hidden, views, activation, features } =
        serde_json::from_value(value).map_err(wrong)?;
    let set = Views::named(&features).ok_or_else(|| {
        D::Error::custom(format!("feature set {features:?} is unknown to this version"))
    })?;
    let net = Architecture::simple(set, hidden, activation);
    match (inputs, views) == (net.rows(), net.views()) {
        true => Ok(net),
        false => Err(D::Error::custom(format!(
            "`architecture`: {features} has {} inputs and {} views, found {inputs} and {views}",
            net.rows(),
            net.views()
        ))),
    }
}

/// Where a net comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub licence: Option<String>,
    /// The text of the config that trained it.
    pub recipe: Option<String>,
    #[serde(with = "files")]
    pub data: Vec<DataFile>,
    /// Hashes by which the games of that data are known again.
    #[serde(default)]
    pub sketch: Option<String>,
    /// The files that only validated; none where games of the data did.
    #[serde(default, with = "files")]
    pub validation: Vec<DataFile>,
    /// Hashes of the games of those, by which the weights were chosen; null where there are none.
    #[serde(default)]
    pub validation_sketch: Option<String>,
    /// The net that training started from; null where it started from chance.
    #[serde(default)]
    pub start: Option<StartedFrom>,
    /// What the net is added to: the evaluation is the sum of both. Null where it stands alone.
    #[serde(default)]
    pub base: Option<Base>,
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

/// Files of data as a manifest tells of them.
mod files {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::DataFile;

    #[derive(Serialize, Deserialize)]
    struct Entry {
        file: String,
        sha256: String,
        bytes: u64,
        #[serde(default)]
        games: u64,
    }

    pub fn serialize<S: Serializer>(files: &[DataFile], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(files.iter().map(|DataFile { path, sha256, bytes, games, .. }| Entry {
            file: path.display().to_string(),
            sha256: sha256.clone(),
            bytes: *bytes,
            games: *games,
        }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<DataFile>, D::Error> {
        let entries = Vec::<Entry>::deserialize(from)?.into_iter();
        let file = |Entry { file, sha256, bytes, games }| DataFile {
            path: file.into(),
            format: None,
            bytes,
            sha256,
            positions: None,
            games,
            bad_records: None,
        };
        Ok(entries.map(file).collect())
    }
}

/// Mean squared errors of the final weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    pub train: Option<f64>,
    /// Of the games that validate, by which the weights were chosen.
    #[serde(alias = "held_out")]
    pub validation: Option<f64>,
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
            format: match provenance.base.as_ref().map(|base| &base.below) {
                None => FORMAT - 2,
                Some(Below::Terms(_)) => FORMAT - 1,
                Some(Below::Net(_)) => FORMAT,
            },
            file: String::new(),
            sha256: digest(&bytes),
            bytes: bytes.len() as u64,
            architecture: net.architecture().clone(),
            index: Some(net.architecture().inputs.about()),
            layout: layout(net),
            scales: net.scales(),
            provenance,
            float_error,
            fitted_scale: None,
            matched: None,
            piece_values: None,
            proof,
            golden: golden::evaluations(net),
        }
    }

    /// What the manifest says about the net's file, for reading it.
    pub fn hints(&self) -> Hints {
        Hints { net: self.architecture.clone(), scales: self.scales }
    }
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
pub(super) fn beside(net: &Path, ending: &str) -> PathBuf {
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
    #[error(transparent)]
    Description(#[from] super::DescriptionError),
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
    pub features: Option<Views>,
    pub activation: Option<Activation>,
    pub qa: Option<i32>,
    pub qb: Option<i32>,
    pub scale: Option<i32>,
    pub head_format: Option<HeadFormat>,
}

impl Given {
    /// Whether anything is given.
    pub fn is_any(&self) -> bool {
        let Self { features, activation, qa, qb, scale, head_format } = self;
        features.is_some()
            || activation.is_some()
            || head_format.is_some()
            || [qa, qb, scale].iter().any(|n| n.is_some())
    }

    /// What is given, over the rest.
    pub fn over(&self, rest: Hints) -> Hints {
        let mut net = rest.net;
        net.inputs.views = self.features.unwrap_or(net.inputs.views);
        net.activation = self.activation.unwrap_or(net.activation);
        Hints {
            net,
            scales: Scales {
                qa: self.qa.unwrap_or(rest.scales.qa),
                qb: self.qb.unwrap_or(rest.scales.qb),
                scale: self.scale.unwrap_or(rest.scales.scale),
                head_format: self.head_format.unwrap_or(rest.scales.head_format),
            },
        }
    }
}

/// A net and what stands beside it.
///
/// The net is what was given over what the manifest or the description says.
#[derive(Debug)]
pub struct Loaded {
    pub net: Net,
    pub manifest: Option<Manifest>,
    /// Whether a description stands beside it instead.
    pub described: bool,
    pub warnings: Vec<Warning>,
}

/// What stands beside a file of weights and says what it is.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a file")]
pub enum Beside {
    Manifest(Manifest),
    /// A description, see [`description`](super::description()).
    Description(Hints),
    Nothing,
}

impl Beside {
    /// What it says; none where nothing is there.
    pub fn hints(&self) -> Option<Hints> {
        match self {
            Beside::Manifest(manifest) => Some(manifest.hints()),
            Beside::Description(hints) => Some(hints.clone()),
            Beside::Nothing => None,
        }
    }
}

/// What stands beside a net of these bytes: its manifest, or else its description.
///
/// # Errors
/// If what is there cannot be read, or the manifest is that of another net.
pub fn beside_net(path: &Path, bytes: &[u8]) -> Result<Beside, LoadError> {
    let Some(manifest) = read_manifest(path)? else {
        return Ok(description(path)?.map_or(Beside::Nothing, Beside::Description));
    };
    let found = digest(bytes);
    if found != manifest.sha256 {
        return Err(LoadError::Other {
            path: path.into(),
            manifest: manifest_path(path),
            expected: manifest.sha256,
            found,
        });
    }
    Ok(Beside::Manifest(manifest))
}

/// Reads a net with its manifest or its description, if it has one; without, the defaults of
/// [`Hints`] hold.
///
/// # Errors
/// If a file cannot be read, is no net, no manifest or no description, or the manifest is that of
/// another net.
pub fn load(path: &Path, given: &Given) -> Result<Loaded, LoadError> {
    let bytes = read(path)?;
    let beside = beside_net(path, &bytes)?;
    let (net, warnings) = Net::read(&bytes, &given.over(beside.hints().unwrap_or_default()))
        .map_err(|error| LoadError::Net { path: path.into(), error })?;
    if let Beside::Description(hints) = &beside {
        super::description::agrees(path, hints, net.architecture())?;
    }
    let described = matches!(beside, Beside::Description(_));
    let manifest = match beside {
        Beside::Manifest(manifest) => Some(manifest),
        _ => None,
    };
    Ok(Loaded { net, manifest, described, warnings })
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
        Some(format) if FORMATS.contains(&format) => {}
        Some(format) => {
            let reason = format!(
                "it has format {format}, this version reads 1 to {FORMAT}; take a newer nnuance"
            );
            return Err(failed(reason));
        }
        None => {
            return Err(failed(
                "it has no field `format`; if it is no manifest, move it away".to_string(),
            ));
        }
    }
    serde_json::from_value(value).map(Some).map_err(|error| failed(error.to_string()))
}
