//! A net against its manifest and its floats: everything that can be computed again is.

use std::path::{Path, PathBuf};

use super::manifest::{layout, read, read_manifest};
use super::{
    Facts, FloatError, Golden, LoadError, Manifest, digest, floats_path, golden, manifest_path,
    measure, prove, quantise,
};
use crate::architecture::Architecture;
use crate::net::{Hints, Net};
use crate::sample::Position;
use crate::weights::{Packed, Weights};

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{path} is missing: without a manifest there is nothing to verify; see `nnuance eval`")]
    Manifest { path: PathBuf },
}

/// One check and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub passed: bool,
    /// What was found, in words.
    pub found: String,
}

/// Computes again what a manifest says: hash, size, architecture, layout, golden evaluations,
/// proof; and, where the floats stand beside the net, the net itself and its error over
/// `positions`.
///
/// # Errors
/// If the net or its manifest cannot be read. A check that fails is no error but a [`Check`].
pub fn verify(
    path: &Path,
    positions: impl IntoIterator<Item = Position>,
) -> Result<Vec<Check>, VerifyError> {
    let bytes = read(path)?;
    let manifest =
        read_manifest(path)?.ok_or_else(|| VerifyError::Manifest { path: manifest_path(path) })?;
    let mut checks = Vec::new();
    let mut check = |name, passed, found| checks.push(Check { name, passed, found });

    check(
        "size",
        bytes.len() as u64 == manifest.bytes,
        format!("{} bytes, the manifest says {}", bytes.len(), manifest.bytes),
    );
    let sha256 = digest(&bytes);
    let same = sha256 == manifest.sha256;
    let says = if same { String::new() } else { format!(", not {}", manifest.sha256) };
    check("sha256", same, sha256 + &says);

    let read = manifest
        .hints()
        .and_then(|hints: Hints| Net::read(&bytes, &hints).map_err(|error| error.to_string()));
    let (net, warnings) = match read {
        Ok(read) => read,
        Err(error) => {
            check("architecture", false, error);
            return Ok(checks);
        }
    };
    let facts = Facts::of(net.architecture());
    let same = facts == manifest.architecture;
    let says = if same { "" } else { ", unlike the manifest" };
    check("architecture", same, format!("{}{says}", net.architecture()));
    let found = match &warnings[..] {
        [] => "as documented".to_string(),
        [first, ..] => first.to_string(),
    };
    let told = layout(net.architecture());
    let found = match told == manifest.layout {
        true => found,
        false => format!("the manifest describes another: {}", manifest.layout),
    };
    check("layout", net.to_bytes() == bytes && told == manifest.layout, found);

    let wrong = manifest.golden.iter().filter_map(|golden| wrong(&net, golden)).next();
    // A list that was shortened would prove less than it promises.
    let missing = golden::FENS.iter().find(|fen| !manifest.golden.iter().any(|it| it.fen == **fen));
    let found = match (&wrong, missing) {
        (Some(wrong), _) => wrong.clone(),
        (None, Some(fen)) => format!("{fen} is missing; every manifest has it"),
        (None, None) => format!("{} agree", manifest.golden.len()),
    };
    check("golden evaluations", wrong.is_none() && missing.is_none(), found);

    match prove(&net) {
        Ok(proof) => {
            let same = proof == manifest.proof;
            let says = if same { "" } else { ", unlike the manifest" };
            check("no overflow", same, format!("{proof}{says}"));
        }
        Err(overflow) => check("no overflow", false, overflow.to_string()),
    }

    let floats = floats_path(path);
    if floats.exists() {
        let bytes = self::read(&floats)?;
        match again(&bytes, net.architecture(), &net, positions) {
            Ok(found) => check("floats", true, found),
            Err(found) => check("floats", false, found),
        }
        if let Some(error) = &manifest.float_error {
            match worst(&bytes, &net, error) {
                Ok(found) => check("largest float error", true, found),
                Err(found) => check("largest float error", false, found),
            }
        }
    }
    Ok(checks)
}

/// What a manifest says that nothing beside the net can bear out: whoever wrote it is to be
/// believed, or not.
///
/// # Errors
/// If there is no manifest that can be read.
pub fn not_checked(path: &Path) -> Result<Vec<&'static str>, VerifyError> {
    let manifest =
        read_manifest(path)?.ok_or_else(|| VerifyError::Manifest { path: manifest_path(path) })?;
    let floats = floats_path(path).exists();
    let Manifest { provenance: from, float_error, fitted_scale, matched, .. } = &manifest;
    let claims = [
        (from.recipe.is_some(), "the config"),
        (!from.data.is_empty(), "names and hashes of the data"),
        (from.sketch.is_some(), "the sketch of its games"),
        (!from.validation.is_empty(), "names and hashes of the files that validated"),
        (from.validation_sketch.is_some(), "the sketch of their games"),
        (from.positions.is_some(), "the number of positions trained on"),
        (from.losses.train.or(from.losses.validation).is_some(), "the losses"),
        (float_error.is_some() && !floats, "the error of the integers (the floats are not here)"),
        (float_error.is_some() && floats, "the mean error of the integers"),
        (fitted_scale.is_some(), "the scale fitted to results"),
        (matched.is_some(), "the net whose scale was matched"),
        (from.licence.is_some(), "the licence"),
    ];
    Ok(claims.into_iter().filter(|(said, _)| *said).map(|(_, claim)| claim).collect())
}

/// Measures the largest error anew, where the manifest says that it is.
fn worst(bytes: &[u8], net: &Net, said: &FloatError) -> Result<String, String> {
    let Packed { weights, .. } = Weights::from_bytes(bytes).map_err(|error| error.to_string())?;
    let fen = &said.worst_fen;
    let position = Position::from_fen(fen).map_err(|error| format!("{fen}: {error}"))?;
    let found = measure(&weights, net, [position]).map_err(|error| error.to_string())?;
    let found = found.map_or(f64::NAN, |error| error.max_cp);
    let what = format!("{found:.2} cp at {fen}");
    match (found - said.max_cp).abs() <= 1e-6 * (1.0 + found) && said.mean_cp <= said.max_cp {
        true => Ok(what),
        false => Err(format!(
            "{what}, the manifest says {:.2} at most and {:.2} on average",
            said.max_cp, said.mean_cp
        )),
    }
}

/// What is wrong with a golden evaluation, by the fast evaluation and by the slow one.
fn wrong(net: &Net, golden: &Golden) -> Option<String> {
    let Golden { fen, cp } = golden;
    let position = match Position::from_fen(fen) {
        Ok(position) => position,
        Err(error) => return Some(format!("{fen}: {error}")),
    };
    [net.evaluate(&position), net.evaluate_slowly(&position)]
        .into_iter()
        .find(|found| found != cp)
        .map(|found| format!("{fen} is {found} cp, the manifest says {cp}"))
}

/// Quantises the floats again and measures the error; what is wrong, or how large it is.
fn again(
    bytes: &[u8],
    architecture: &Architecture,
    net: &Net,
    positions: impl IntoIterator<Item = Position>,
) -> Result<String, String> {
    let Packed { weights, .. } = Weights::from_bytes(bytes).map_err(|error| error.to_string())?;
    let again =
        quantise(&weights, architecture, net.scales()).map_err(|error| error.to_string())?;
    if again.to_bytes() != net.to_bytes() {
        return Err("they quantise to another net".to_string());
    }
    let error = measure(&weights, net, positions).map_err(|error| error.to_string())?;
    Ok(error.map_or_else(
        || "they quantise to this net".to_string(),
        |error| {
            format!(
                "they quantise to this net; over {} positions the integers are off by {:.2} cp \
                 on average and {:.2} cp at most, at {}",
                error.positions, error.mean_cp, error.max_cp, error.worst_fen
            )
        },
    ))
}
