//! The JSON manifest beside a net, with its architecture, origin and golden evaluations. A net of
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

/// The version, raised with every change that older readers would misunderstand.
const FORMAT: u64 = 5;

/// The facts about a net that its file lacks. Missing facts are `null`, never omitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u64,
    /// The hash of the net's file, hexadecimal.
    pub sha256: String,
    /// The complete architecture, as in a config.
    pub architecture: Architecture,
    pub scales: Scales,
    #[serde(flatten)]
    pub provenance: Provenance,
    /// The difference between integers and floats; null without positions.
    pub float_error: Option<FloatError>,
    /// The fitted scale; null without results.
    pub fitted_scale: Option<FittedScale>,
    /// The zeros among the inputs of the first layer of a deep net; null without positions.
    #[serde(default)]
    pub zero_blocks: Option<ZeroBlocks>,
    /// The evaluation to which SCALE was matched; null if it was not.
    pub matched: Option<ScaleReference>,
    pub proof: Proof,
    /// The evaluations of fixed positions, in centipawns for the side to move.
    pub golden: Vec<Golden>,
}

/// The source of a net: data, run and licence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub licence: Option<String>,
    /// The text of the training config.
    pub recipe: Option<String>,
    pub data: Vec<DataFile>,
    /// The smallest hashes of the data's games.
    pub sketch: Option<String>,
    /// The files for validation only; empty if games of the data were used.
    pub validation: Vec<DataFile>,
    /// The hashes of these files' games, on which the weights were chosen; null without files.
    pub validation_sketch: Option<String>,
    /// The net of the initial weights; null for random weights.
    pub start: Option<StartNet>,
    /// The base evaluation to which the net is added; null without one.
    pub base: Option<StoredBase>,
    /// The number of positions trained on, with repetitions.
    pub positions: Option<u64>,
    pub losses: ManifestLosses,
}

/// The net of a run's initial weights. Its training games are part of the run's sketch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartNet {
    pub file: String,
    pub sha256: String,
    /// The reason why held-out games of the run may have trained it; null if they have not.
    pub doubt: Option<String>,
    /// The text of the training config; null if it is unknown.
    #[serde(default)]
    pub recipe: Option<String>,
    /// The training files.
    #[serde(default)]
    pub data: Vec<DataFile>,
    /// The net of the initial weights of its training; null for random weights.
    #[serde(default)]
    pub start: Option<Box<StartNet>>,
}

/// The mean squared errors of the final weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ManifestLosses {
    pub train: Option<f64>,
    /// The loss on the validation games, on which the weights were chosen.
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
    ///
    /// # Errors
    ///
    /// Fails with [`ManifestError::Text`] if the bytes are not UTF-8, with [`ManifestError::Json`]
    /// if they are not JSON, or if a fact is missing or wrong, and with [`ManifestError::Format`]
    /// for another version.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ManifestError> {
        let text = input::decode_utf8(bytes.to_vec())?;
        let value: serde_json::Value = serde_json::from_str(&text)?;
        if value["format"] != FORMAT {
            return Err(ManifestError::Format(value["format"].clone()));
        }
        Ok(serde_json::from_value(value)?)
    }

    /// The facts that are needed to read the net.
    pub fn to_hints(&self) -> Hints {
        Hints { net: self.architecture.clone(), scales: self.scales }
    }
}

/// The path of the manifest: `NAME.json` for `NAME.bin`.
pub fn manifest_path(net: &Path) -> PathBuf {
    sibling_path(net, "json", &["bin"])
}

/// The path of the floats: `NAME.safetensors` for `NAME.bin`.
pub fn floats_path(net: &Path) -> PathBuf {
    sibling_path(net, "safetensors", &["bin"])
}

/// The path of the description: `NAME.toml` for `NAME.bin`, and for files of other programs.
pub fn description_path(net: &Path) -> PathBuf {
    sibling_path(net, "toml", &["bin", "nnue", "wgts"])
}

/// Replaces or appends an ending. Other endings are part of the name, as in `net-0.5`.
fn sibling_path(net: &Path, ending: &str, replaced: &[&str]) -> PathBuf {
    let current = net.extension().unwrap_or_default();
    match replaced.iter().any(|ending| current == *ending) {
        true => net.with_extension(ending),
        false => net.with_added_extension(ending),
    }
}

/// The reason why a manifest or a description, or a net within one, is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Text(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("its `format` is {0}, expected {FORMAT}; export the net again, or remove the manifest")]
    Format(serde_json::Value),
    /// The line or key, and the error in it.
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

/// The contents of the manifest or the description beside a net; empty without one.
#[derive(Clone, Debug, Default)]
pub struct Sidecar {
    pub manifest: Option<Manifest>,
    /// The facts that are needed to read the net.
    pub hints: Option<Hints>,
    /// The hidden size in a description.
    pub hidden: Option<usize>,
}

/// Reads the manifest or the description beside a net with these bytes.
///
/// # Errors
///
/// Fails with [`NetLoadError::Read`] if the file beside the net cannot be read, with
/// [`NetLoadError::Manifest`] or [`NetLoadError::Description`] if it is wrong, and with
/// [`NetLoadError::Other`] if the manifest has another hash than these bytes.
pub fn sidecar_of(path: &Path, bytes: &[u8]) -> Result<Sidecar, NetLoadError> {
    let Some(manifest) = read_manifest(path)? else {
        let (hints, hidden) = read_description(path)?.unzip();
        return Ok(Sidecar { manifest: None, hints, hidden: hidden.flatten() });
    };
    let found = sha256_prefix(bytes);
    if found != manifest.sha256 {
        return Err(NetLoadError::Other {
            path: path.into(),
            manifest: manifest_path(path),
            expected: manifest.sha256,
            found,
        });
    }
    Ok(Sidecar { hints: Some(manifest.to_hints()), manifest: Some(manifest), hidden: None })
}

/// A net that was read with the file that describes it.
#[derive(Debug)]
pub struct LoadedNet {
    pub net: Net,
    pub manifest: Option<Manifest>,
    /// Whether a manifest, a description or the file itself describes the net.
    pub described: bool,
}

/// Loads a net with its manifest or description, else with the default [`Hints`].
///
/// # Errors
///
/// Fails with [`NetLoadError::Read`] if the net cannot be read, with [`NetLoadError::Net`] as
/// [`Net::read`] does, and as [`sidecar_of`] and [`check_agreement`] do.
pub fn load_net(path: &Path) -> Result<LoadedNet, NetLoadError> {
    let bytes = read_net_file(path)?;
    let Sidecar { manifest, hints, hidden } = sidecar_of(path, &bytes)?;
    let has_hints = hints.is_some();
    let net = Net::read(&bytes, &hints.unwrap_or_default())
        .map_err(|error| NetLoadError::Net { path: path.into(), error })?;
    check_agreement(path, hidden, net.architecture())?;
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
    let manifest = Manifest::from_json(&read_net_file(&path)?);
    manifest.map(Some).map_err(|reason| NetLoadError::Manifest { path, reason })
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
///
/// # Errors
///
/// Fails with [`NetLoadError::Description`] if the given hidden size is another one.
pub fn check_agreement(
    net: &Path,
    hidden: Option<usize>,
    architecture: &Architecture,
) -> Result<(), NetLoadError> {
    let found = architecture.hidden;
    match hidden.filter(|hidden| *hidden != found) {
        None => Ok(()),
        Some(hidden) => Err(NetLoadError::Description {
            path: description_path(net),
            net: net.into(),
            reason: ManifestError::Hidden(hidden, found),
        }),
    }
}

/// Parses the text of a description, and returns the hidden size, too, if it is given.
///
/// # Errors
///
/// Fails with [`ManifestError::Toml`] if the text is not TOML, if a key is unknown, or if a value
/// is wrong.
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
            // The keys are parsed individually, so that an error names the key.
            parse_table::<Scales>(&scales, &format!("`{key}`: "))?;
        }
    }
    let has_hidden = table.contains_key("hidden");
    // Pairwise nets need an even size.
    let defaults: [(&str, toml::Value); 3] =
        [("inputs", "perspective".into()), ("activation", "screlu".into()), ("hidden", 2.into())];
    for (key, default) in defaults {
        table.entry(key).or_insert(default);
    }
    let hints = Hints { net: parse_table(&table, "")?, scales: parse_table(&scales, "")? };
    let hidden = has_hidden.then_some(hints.net.hidden);
    Ok((hints, hidden))
}
fn parse_table<T: DeserializeOwned>(table: &toml::Table, key: &str) -> Result<T, ManifestError> {
    let wrong = |error: toml::de::Error| ManifestError::Toml(key.into(), error.message().into());
    table.clone().try_into().map_err(wrong)
}

/// The base evaluation of a net in the form of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredBase {
    pub name: String,
    /// The hash of the file; null if the base is built in.
    pub sha256: Option<String>,
    /// The reason of [`StartNet::doubt`](super::StartNet::doubt).
    pub doubt: Option<String>,
    /// The number of centipawns per logit of the base and the net: SCALE.
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
    /// The file in base64.
    pub file: String,
}

impl EmbeddedNet {
    /// The size of the largest file, in bytes, that headers of checkpoints and manifests contain.
    pub const MAX_BYTES: usize = 32 << 20;

    /// Encodes a net as text.
    pub fn new(net: &Net) -> Self {
        let architecture = net.architecture().clone();
        Self { architecture, scales: net.scales(), file: STANDARD.encode(net.to_bytes()) }
    }

    /// Reads the net.
    ///
    /// # Errors
    ///
    /// Fails with [`ManifestError::Base64`] or [`ManifestError::Net`] if the file cannot be read,
    /// and with [`ManifestError::OtherNet`] if it is one of another architecture.
    pub fn read_net(&self) -> Result<Net, ManifestError> {
        let hints = Hints { net: self.architecture.clone(), scales: self.scales };
        let file = STANDARD.decode(&self.file).map_err(ManifestError::Base64)?;
        let net = Net::read(&file, &hints)?;
        let expected = &self.architecture;
        match net.architecture() {
            found if found == expected => Ok(net),
            found => Err(ManifestError::OtherNet(found.clone().into(), expected.clone().into())),
        }
    }
}
