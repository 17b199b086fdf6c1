//! Weights to a net that engines load: quantise, prove, measure, write, verify.
//!
//! An export is three files that differ in their ending: the floats (`.safetensors`), the net
//! (any, `.bin` by habit) and the manifest (`.json`), which says what the net is, where it comes
//! from and what it must answer. All three are complete before the first gets its name.

mod float;
pub mod golden;
mod import;
mod manifest;
mod prove;
mod quantise;
mod verify;

use std::io::Write as _;
use std::path::{Path, PathBuf};

pub use float::{Float, FloatError, measure};
pub use import::{ImportError, Source, dequantise, facts, import};
pub use manifest::{
    DataFile, Facts, Given, Golden, LoadError, Loaded, Losses, Manifest, Provenance, digest, load,
    manifest_path,
};
pub use prove::{Bounds, Overflow, Proof, prove};
pub use quantise::{QuantiseError, quantise};
pub use verify::{Check, VerifyError, verify};

use crate::architecture::Architecture;
use crate::net::Net;
use crate::output::{Output, OutputError};
use crate::sample::Position;
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

/// Why there is no export. Nothing has been written then.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Quantise(#[from] QuantiseError),
    #[error("this net could overflow in an engine: {0}")]
    Overflow(#[from] Overflow),
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(
        "{path} is no name for a net: its manifest and its floats take the endings .json and \
             .safetensors; use .bin"
    )]
    Name { path: PathBuf },
    #[error("the manifest cannot be written: {0}")]
    Manifest(#[from] serde_json::Error),
}

/// A net that has been proven and measured, with its manifest.
#[derive(Clone, Debug)]
pub struct Exported {
    pub net: Net,
    /// Complete but for the file's name.
    pub manifest: Manifest,
}

/// Quantises weights, proves that the integers cannot overflow, measures the error against the
/// floats over `positions` (none: the manifest says so) and records everything.
///
/// # Errors
/// If a weight does not fit or a sum may overflow, naming the weight and the cure.
pub fn export(
    weights: &Weights,
    architecture: &Architecture,
    scales: Scales,
    provenance: Provenance,
    positions: impl IntoIterator<Item = Position>,
) -> Result<Exported, ExportError> {
    let net = quantise(weights, architecture, scales)?;
    let proof = prove(&net)?;
    let error = measure(weights, &net, positions)?;
    let manifest = Manifest::new(&net, proof, error, provenance);
    Ok(Exported { net, manifest })
}

impl Exported {
    /// Writes floats, net and manifest side by side; returns their paths in this order.
    ///
    /// # Errors
    /// If a file cannot be written, or `path` ends as the manifest or the floats do.
    pub fn write(&mut self, path: &Path, weights: &Weights) -> Result<[PathBuf; 3], ExportError> {
        let paths = [path.with_extension("safetensors"), path.into(), manifest_path(path)];
        let Some(name) = path.file_name().filter(|_| paths[0] != path && paths[2] != path) else {
            return Err(ExportError::Name { path: path.into() });
        };
        self.manifest.file = name.to_string_lossy().into_owned();
        let mut manifest = serde_json::to_vec_pretty(&self.manifest)?;
        manifest.push(b'\n');
        let facts = facts(self.net.architecture(), self.net.scales());
        let contents = [weights.to_bytes(&facts, &[])?, self.net.to_bytes(), manifest];
        // All contents reach their temporary files before any file gets its name.
        let mut outputs = Vec::new();
        for (path, bytes) in paths.iter().zip(&contents) {
            let mut output = Output::create(path)?;
            output.write_all(bytes).map_err(|source| output.failed(source))?;
            outputs.push(output);
        }
        outputs.into_iter().try_for_each(Output::finish)?;
        Ok(paths)
    }
}
