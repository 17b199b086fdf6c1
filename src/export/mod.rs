//! The export of weights to a net for engines: quantise, prove, measure, write, verify. Floats
//! (`.safetensors`), net (`.bin`) and manifest (`.json`) are complete before the first is renamed.

mod manifest;
mod permute;
#[doc(hidden)]
mod prove;
#[doc(hidden)]
mod quantise;
#[doc(hidden)]
pub mod snippet;
mod stockfish;
#[doc(hidden)]
pub mod tables;
#[doc(hidden)]
mod verify;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub use crate::net::format::{
    ImportError, ImportedWeights, dequantise_net, facts, import_weights, write_raw_bin,
};
pub use manifest::{
    EmbeddedNet, LoadedNet, Manifest, ManifestError, ManifestLosses, NetLoadError, Provenance,
    Sidecar, StartNet, StoredBase, StoredEvaluation, check_agreement, description_path,
    floats_path, load_net, manifest_path, parse_description, sidecar_of,
};
pub use permute::{NeuronOrder, ZeroBlocks};
pub use prove::{Bounds, Overflow, Proof, prove};
pub use quantise::{
    QuantiseError, clear_unreachable, factorised_as, largest_scales, quantise, round_counts,
    with_kings,
};
pub use stockfish::{fit_stockfish, is_stockfish, official_name, stockfish_cautions};
pub use tables::{FittedScale, LEAST_GAMES, LEAST_POSITIONS, ScaleReference, fitted_scale};
pub use verify::{Check, GOLDEN_FENS, Golden, golden_evaluations, verify_net};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::floats::Float;
use crate::net::Net;
use crate::output::{Output, OutputError};
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

/// The reason why an export failed. No file was written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum ExportError {
    #[error(transparent)]
    Quantise(#[from] QuantiseError),
    #[error("this net could overflow in an engine: {0}")]
    Overflow(Overflow),
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(
        "{path} has an ending of files with other contents; use .bin for nets, or .nnue for those of Stockfish"
    )]
    Name { path: PathBuf },
    #[error("cannot write the manifest: {0}")]
    Manifest(serde_json::Error),
}

/// A net with its proof, measurements and manifest.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct ExportedNet {
    pub net: Net,
    /// The architecture of the floats, which may have a factoriser.
    pub architecture: Architecture,
    pub manifest: Manifest,
}

impl ExportedNet {
    /// Proves, measures and describes a quantised net.
    ///
    /// # Errors
    ///
    /// Fails with [`ExportError::Overflow`] if an engine could overflow, and with
    /// [`ExportError::Weights`] if the weights are not those of the architecture.
    pub fn from_net(
        net: Net,
        weights: &Weights,
        architecture: &Architecture,
        provenance: Provenance,
        positions: &[Position],
    ) -> Result<Self, ExportError> {
        let proof = prove(&net).map_err(ExportError::Overflow)?;
        let error = measure_errors(weights, architecture, &net, positions)?;
        let manifest = Manifest::new(&net, proof, error, provenance);
        Ok(Self { net, architecture: architecture.clone(), manifest })
    }

    /// Writes floats, net and manifest, and returns their paths in this order; `origin` comes from
    /// the source of the weights.
    ///
    /// # Errors
    ///
    /// Fails with [`ExportError::Name`] as [`output_paths`] does, and with [`ExportError::Output`]
    /// if a file cannot be written.
    pub fn write_files(
        &self,
        path: &Path,
        weights: &Weights,
        origin: &BTreeMap<String, String>,
    ) -> Result<[PathBuf; 3], ExportError> {
        let paths = output_paths(path)?;
        let mut manifest =
            serde_json::to_vec_pretty(&self.manifest).map_err(ExportError::Manifest)?;
        manifest.push(b'\n');
        let mut facts = facts(&self.architecture, self.net.scales());
        for (key, value) in origin {
            facts.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let contents = [weights.to_bytes(&facts, &[])?, self.net.to_bytes(), manifest];
        // All temporary files are complete before any is renamed.
        let mut outputs = Vec::new();
        for (path, bytes) in paths.iter().zip(&contents) {
            let mut output = Output::create_file(path)?;
            output.write_all(bytes).map_err(|source| output.name_error(source))?;
            outputs.push(output);
        }
        outputs.into_iter().try_for_each(Output::commit_file)?;
        Ok(paths)
    }
}

/// The differences between the integers and the floats of a net.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct FloatError {
    pub positions: u64,
    pub mean_cp: f64,
    pub max_cp: f64,
    pub worst_fen: String,
}

/// Measures the absolute difference in centipawns; None without positions.
///
/// # Errors
///
/// Fails with [`WeightsError::Missing`] or [`WeightsError::Shape`] if the weights are not those of
/// the architecture.
pub fn measure_errors(
    weights: &Weights,
    architecture: &Architecture,
    net: &Net,
    positions: &[Position],
) -> Result<Option<FloatError>, WeightsError> {
    let float = Float::new(weights, architecture)?;
    let scale = f64::from(net.scales().scale);
    let error = |it: &Position| (f64::from(net.evaluate(it)) - scale * float.logit(it)).abs();
    let errors: Vec<f64> = positions.par_iter().map(error).collect();
    let max_cp = errors.iter().copied().fold(0.0, f64::max);
    let worst = errors.iter().position(|error| *error == max_cp);
    Ok(worst.map(|worst| FloatError {
        positions: errors.len() as u64,
        mean_cp: errors.iter().sum::<f64>() / errors.len() as f64,
        max_cp,
        worst_fen: positions[worst].to_fen(),
    }))
}

/// The endings with another meaning: manifests, floats, descriptions, and files of other programs.
const OTHER_ENDINGS: [&str; 9] =
    ["json", "safetensors", "toml", "csv", "onnx", "pt", "pth", "ckpt", "npz"];

/// The paths of floats, net and manifest.
///
/// # Errors
///
/// Fails with [`ExportError::Name`] if the path has no file name, or the ending of files with other
/// contents.
pub fn output_paths(net: &Path) -> Result<[PathBuf; 3], ExportError> {
    let ending = net.extension().unwrap_or_default().to_ascii_lowercase();
    let is_taken = OTHER_ENDINGS.iter().any(|it| ending == *it);
    if is_taken || net.file_name().is_none() {
        return Err(ExportError::Name { path: net.into() });
    }
    Ok([floats_path(net), net.into(), manifest_path(net)])
}
