//! The manifest beside a net in JSON: its architecture, origin and golden evaluations. A net of
//! another trainer may have a description instead, `NAME.toml`: `qa`, `qb`, `scale`, `head_format`
//! and the keys of a [`NetForm`](crate::architecture::NetForm), with defaults.
#![allow(missing_docs, reason = "names and messages describe themselves")]

use std::io;
use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::verify::{Golden, golden_evaluations};
use super::{FittedScale, FloatError, Proof, ScaleReference, ZeroBlocks};
use crate::architecture::Architecture;
use crate::data_file::DataFile;
use crate::digest::sha256_prefix;
use crate::input;
use crate::net::{Hints, Net, NetError};
use crate::scales::Scales;

/// Version; raised with every change that an older reader would misunderstand.
const FORMAT: u64 = 5;

/// Facts about a net that its file lacks. Optional facts are `null`, never left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u64,
    /// Hash of the net's file, hexadecimal.
    pub sha256: String,
    /// The complete architecture, as in a config.
    pub architecture: Architecture,
    pub scales: Scales,
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Difference of integers and floats; null without positions.
    pub float_error: Option<FloatError>,
    /// Null without results.
    pub fitted_scale: Option<FittedScale>,
    /// Zeros among the inputs of the first layer of a deep net; null without positions.
    #[serde(default)]
    pub zero_blocks: Option<ZeroBlocks>,
    /// Null unless SCALE was matched to another evaluation.
    pub matched: Option<ScaleReference>,
    pub proof: Proof,
    /// Centipawns for the side to move.
    pub golden: Vec<Golden>,
}

/// Source of a net: data, run and licence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub licence: Option<String>,
    /// Text of the config that trained it.
    pub recipe: Option<String>,
    pub data: Vec<DataFile>,
    /// Smallest hashes of that data's games.
    pub sketch: Option<String>,
    /// The files for validation only; none if games of the data were used.
    pub validation: Vec<DataFile>,
    /// Hashes of the games of those, on which the weights were chosen; null without any.
    pub validation_sketch: Option<String>,
    /// The net that training started from; null for random weights.
    pub start: Option<StartNet>,
    /// The base evaluation that the net is added to; null without one.
    pub base: Option<StoredBase>,
    /// Positions trained on, with repetitions.
    pub positions: Option<u64>,
    pub losses: ManifestLosses,
}

/// The net of a run's starting weights. Its training games are part of the run's sketch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartNet {
    pub file: String,
    pub sha256: String,
    /// Reason why it may have seen games that the run holds out; null if it has not.
    pub doubt: Option<String>,
    /// Text of the config that trained it; null if it is unknown.
    #[serde(default)]
    pub recipe: Option<String>,
    /// The files that trained it.
    #[serde(default)]
    pub data: Vec<DataFile>,
    /// The net that its own training started from; null for random weights.
    #[serde(default)]
    pub start: Option<Box<StartNet>>,
}

/// Mean squared errors of the final weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ManifestLosses {
    pub train: Option<f64>,
    /// Loss on the validation games, on which the weights were chosen.
    pub validation: Option<f64>,
}

impl Manifest {
    /// The manifest of a net, without fitted scales.
    pub fn new(
        net: &Net,
        proof: Proof,
        float_error: Option<FloatError>,
        provenance: Provenance,
    ) -> Self {
        Self {
            format: FORMAT,
            sha256: sha256_prefix(&net.to_bytes()),
            architecture: net.architecture().clone(),
            scales: net.scales(),
            provenance,
            float_error,
            fitted_scale: None,
            zero_blocks: None,
            matched: None,
            proof,
            golden: golden_evaluations(net),
        }
    }

    /// Parses the bytes of a file.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ManifestError> {
        let text = input::decode_utf8(bytes.to_vec())?;
        let value: serde_json::Value = serde_json::from_str(&text)?;
        if value["format"] != FORMAT {
            return Err(ManifestError::Format(value["format"].clone()));
        }
        Ok(serde_json::from_value(value)?)
    }

    /// Facts that reading the net needs.
    pub fn to_hints(&self) -> Hints {
        Hints { net: self.architecture.clone(), scales: self.scales }
    }
}

/// `NAME.json` for `NAME.bin`.
pub fn manifest_path(net: &Path) -> PathBuf {
    sibling_path(net, "json", &["bin"])
}

/// `NAME.safetensors` for `NAME.bin`.
pub fn floats_path(net: &Path) -> PathBuf {
    sibling_path(net, "safetensors", &["bin"])
}

/// `NAME.toml` for `NAME.bin`, and for the files of others.
pub fn description_path(net: &Path) -> PathBuf {
    sibling_path(net, "toml", &["bin", "nnue", "wgts"])
}

/// Other endings are part of the name: `net-0.5` and `net-0.6` have two manifests.
fn sibling_path(net: &Path, ending: &str, replaced: &[&str]) -> PathBuf {
    let found = net.extension().unwrap_or_default();
    match replaced.iter().any(|ending| found == *ending) {
        true => net.with_extension(ending),
        false => net.with_added_extension(ending),
    }
}

/// Reason why a manifest or a description, or a net within one, is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Text(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("its `format` is {0}, expected {FORMAT}; export the net again, or remove the manifest")]
    Format(serde_json::Value),
    /// The line or key, and what is wrong with it.
    #[error("{0}{1}")]
    Toml(String, String),
    #[error(
        "`hidden` is {0}, but the size of the file is that of a net with {1}; correct this or \
         another key"
    )]
    Hidden(usize, usize),
    #[error("its file is not base64: {0}")]
    Base64(base64::DecodeError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("its file is of {0}, expected {1}")]
    OtherNet(Box<Architecture>, Box<Architecture>),
}

#[derive(Debug, thiserror::Error)]
pub enum NetLoadError {
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("{path}: {error}")]
    Net { path: PathBuf, error: NetError },
    #[error("{path}, which describes {net}: {reason}")]
    Description { path: PathBuf, net: PathBuf, reason: ManifestError },
    #[error("{path} is not a readable manifest: {reason}")]
    Manifest { path: PathBuf, reason: ManifestError },
    #[error("{path} is missing: a net is verified against its manifest")]
    Missing { path: PathBuf },
    #[error(
        "{manifest} describes another file than {path}: sha256 {expected}, found {found}; export \
         again, or move the manifest away"
    )]
    Other { path: PathBuf, manifest: PathBuf, expected: String, found: String },
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a file")]
pub enum Sidecar {
    Manifest(Manifest),
    /// Its hints, and the hidden size that it names.
    Description(Hints, Option<usize>),
    Nothing,
}

impl Sidecar {
    /// Facts that reading the net needs.
    pub fn to_hints(&self) -> Option<Hints> {
        match self {
            Sidecar::Manifest(manifest) => Some(manifest.to_hints()),
            Sidecar::Description(hints, _) => Some(hints.clone()),
            Sidecar::Nothing => None,
        }
    }
}

/// Reads the description beside a net with these bytes.
pub fn sidecar_of(path: &Path, bytes: &[u8]) -> Result<Sidecar, NetLoadError> {
    let Some(manifest) = read_manifest(path)? else {
        let description = read_description(path)?;
        return Ok(description
            .map_or(Sidecar::Nothing, |(hints, hidden)| Sidecar::Description(hints, hidden)));
    };
    let (path, found) = (path.to_path_buf(), sha256_prefix(bytes));
    let (manifest_path, expected) = (manifest_path(&path), manifest.sha256.clone());
    match found == expected {
        true => Ok(Sidecar::Manifest(manifest)),
        false => Err(NetLoadError::Other { path, manifest: manifest_path, expected, found }),
    }
}

/// A net, read with the file that describes it.
#[derive(Debug)]
pub struct LoadedNet {
    pub net: Net,
    pub manifest: Option<Manifest>,
    /// Whether a manifest or a description says what the net is.
    pub described: bool,
}

/// Loads a net with its manifest or description, else with the default [`Hints`].
pub fn load_net(path: &Path) -> Result<LoadedNet, NetLoadError> {
    let bytes = read_net_file(path)?;
    let sidecar = sidecar_of(path, &bytes)?;
    let hints = sidecar.to_hints();
    let has_hints = hints.is_some();
    let net = Net::read(&bytes, &hints.unwrap_or_default())
        .map_err(|error| NetLoadError::Net { path: path.into(), error })?;
    if let Sidecar::Description(_, hidden) = &sidecar {
        check_agreement(path, *hidden, net.architecture())?;
    }
    let manifest = match sidecar {
        Sidecar::Manifest(manifest) => Some(manifest),
        Sidecar::Description(..) | Sidecar::Nothing => None,
    };
    let described = has_hints || net.is_foreign();
    Ok(LoadedNet { net, manifest, described })
}

pub(super) fn read_net_file(path: &Path) -> Result<Vec<u8>, NetLoadError> {
    input::read_bytes(path, input::WEIGHTS)
        .map_err(|error| NetLoadError::Read { path: path.into(), error })
}

pub(super) fn read_manifest(net: &Path) -> Result<Option<Manifest>, NetLoadError> {
    let path = manifest_path(net);
    if !path.exists() {
        return Ok(None);
    }
    let found = Manifest::from_json(&read_net_file(&path)?);
    found.map(Some).map_err(|reason| NetLoadError::Manifest { path, reason })
}

fn read_description(net: &Path) -> Result<Option<(Hints, Option<usize>)>, NetLoadError> {
    let path = description_path(net);
    if !path.exists() {
        return Ok(None);
    }
    let text = input::read_text(&path, input::TEXT)
        .map_err(|error| NetLoadError::Read { path: path.clone(), error })?;
    let wrong = |reason| NetLoadError::Description { path, net: net.into(), reason };
    parse_description(&text).map(Some).map_err(wrong)
}

/// Checks that the description of a net matches the size of its file.
pub fn check_agreement(
    net: &Path,
    hidden: Option<usize>,
    found: &Architecture,
) -> Result<(), NetLoadError> {
    let found = found.hidden;
    match hidden.filter(|hidden| *hidden != found) {
        None => Ok(()),
        Some(hidden) => Err(NetLoadError::Description {
            path: description_path(net),
            net: net.into(),
            reason: ManifestError::Hidden(hidden, found),
        }),
    }
}

/// Parses the text of a description; also returns the hidden size, if it is given.
pub fn parse_description(text: &str) -> Result<(Hints, Option<usize>), ManifestError> {
    let one_line = |error: toml::de::Error| {
        let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        ManifestError::Toml(line, error.message().lines().collect::<Vec<_>>().join(" "))
    };
    let mut table: toml::Table = toml::from_str(text).map_err(one_line)?;
    let mut scales = toml::Table::try_from(Scales::default()).expect("scales have a TOML form");
    for key in ["qa", "qb", "scale", "head_format", "head_shift", "head_round"] {
        if let Some(value) = table.remove(key) {
            scales.insert(key.into(), value.clone());
            // One by one, so that an error names its key.
            parse_table::<Scales>(&scales, &format!("`{key}`: "))?;
        }
    }
    let has_hidden = table.contains_key("hidden");
    // Pairwise nets need an even size.
    let usual: [(&str, toml::Value); 3] =
        [("inputs", "perspective".into()), ("activation", "screlu".into()), ("hidden", 2.into())];
    for (key, usual) in usual {
        table.entry(key).or_insert(usual);
    }
    let hints = Hints { net: parse_table(&table, "")?, scales: parse_table(&scales, "")? };
    let hidden = has_hidden.then_some(hints.net.hidden);
    Ok((hints, hidden))
}

/// Parses a table; `key` begins the error.
fn parse_table<T: DeserializeOwned>(table: &toml::Table, key: &str) -> Result<T, ManifestError> {
    let wrong = |error: toml::de::Error| ManifestError::Toml(key.into(), error.message().into());
    table.clone().try_into().map_err(wrong)
}

/// The base evaluation of a net, as files contain it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredBase {
    pub name: String,
    /// Hash of its file; null if it is built in.
    pub sha256: Option<String>,
    /// As [`StartNet::doubt`](super::StartNet::doubt).
    pub doubt: Option<String>,
    /// Centipawns per logit, of the base and of the net: SCALE.
    pub scale: f64,
    #[serde(flatten)]
    pub below: StoredEvaluation,
}

/// An evaluation that a net corrects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredEvaluation {
    /// The text of a JSON file of all handcrafted terms.
    Terms(String),
    Net(Box<EmbeddedNet>),
}

impl StoredEvaluation {
    /// The noun that messages use.
    pub fn noun(&self) -> &'static str {
        match self {
            StoredEvaluation::Terms(_) => "these terms",
            StoredEvaluation::Net(_) => "that net",
        }
    }
}

/// A quantised net, and all facts needed to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedNet {
    pub architecture: Architecture,
    pub scales: Scales,
    /// Its file in base64.
    pub file: String,
}

impl EmbeddedNet {
    /// Largest file of a net in bytes, as headers of checkpoints and manifests contain it.
    pub const MOST: usize = 32 << 20;

    /// Encodes a net as text.
    pub fn new(net: &Net) -> Self {
        let (architecture, scales) = (net.architecture().clone(), net.scales());
        Self { architecture, scales, file: STANDARD.encode(net.to_bytes()) }
    }

    /// Fails, with the reason, if its file is not one of this net.
    pub fn read_net(&self) -> Result<Net, ManifestError> {
        let hints = Hints { net: self.architecture.clone(), scales: self.scales };
        let file = STANDARD.decode(&self.file).map_err(ManifestError::Base64)?;
        let net = Net::read(&file, &hints)?;
        let (found, expected) = (net.architecture(), &self.architecture);
        match found == expected {
            true => Ok(net),
            false => Err(ManifestError::OtherNet(found.clone().into(), expected.clone().into())),
        }
    }
}
