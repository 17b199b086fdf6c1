//! Checkpoints: safetensors files, with facts in the header of ours.

use std::collections::BTreeMap;

use super::{Contents, ImportError, ImportedWeights, NetFormat};
use crate::architecture::Architecture;
use crate::floats::Float;
use crate::net::Hints;
use crate::scales::{HeadFormat, Scales};
use crate::weights::{Weights, WeightsFile};

pub static FORMAT: NetFormat = NetFormat {
    name: "checkpoint",
    recognises: |bytes, _| is_safetensors(bytes),
    contents: Contents::Floats { read: read_weights, cure: CURE },
};

/// The remedy for files of named floats.
pub const CURE: &str =
    "it is a checkpoint (safetensors, weights.bin); convert it with `nnuance export`";

/// Whether a file begins with the length of a JSON header, as no weights do.
fn is_safetensors(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    bytes.get(8) == Some(&b'{') && length < 1 << 32
}

/// The facts in the header of a checkpoint.
pub fn facts(architecture: &Architecture, scales: Scales) -> BTreeMap<String, String> {
    let Scales { qa, qb, scale, head_format, head_shift, head_round } = scales;
    let usual = Scales::default();
    let architecture = serde_json::to_string(architecture).expect("it has a JSON form");
    let facts = [
        ("kind", Some("net".to_string())),
        ("architecture", Some(architecture)),
        ("scale", Some(scale.to_string())),
        ("qa", (qa != usual.qa).then(|| qa.to_string())),
        ("qb", (qb != usual.qb).then(|| qb.to_string())),
        ("head_format", (head_format != usual.head_format).then(|| head_format.name().into())),
        ("head_shift", head_shift.map(|shift| shift.to_string())),
        ("head_round", head_round.then(|| "true".into())),
    ];
    facts.into_iter().filter_map(|(key, value)| Some((key.to_string(), value?))).collect()
}

/// Reads weights; architecture and scales follow from facts, hints and shapes.
fn read_weights(bytes: &[u8], hints: &Hints) -> Result<ImportedWeights, ImportError> {
    let WeightsFile { weights, facts, .. } = Weights::from_bytes(bytes)?;
    parse_fact(&facts, "kind", |kind| (kind == "net").then_some(()).ok_or("net".into()))?;
    let json = |text: &str| serde_json::from_str(text).map_err(|error| format!("a net ({error})"));
    let biases = weights.0.get("accumulator.bias");
    let architecture = parse_fact(&facts, "architecture", json)?.unwrap_or_else(|| {
        hints.net.with_hidden(biases.map_or(hints.net.hidden, |biases| biases.values.len()))
    });
    architecture.check_layers()?;
    let head_format = |name: &str| HeadFormat::named(name).ok_or("float or int8".into());
    let whole = |text: &str| text.parse().map_err(|_| "a whole number".into());
    let shift = |text: &str| text.parse().map_err(|_| "a whole number of bits".into());
    let usual = hints.scales;
    let scales = Scales {
        head_format: parse_fact(&facts, "head_format", head_format)?.unwrap_or(usual.head_format),
        qa: parse_fact(&facts, "qa", whole)?.unwrap_or(usual.qa),
        qb: parse_fact(&facts, "qb", whole)?.unwrap_or(usual.qb),
        scale: parse_fact(&facts, "scale", whole)?.unwrap_or(usual.scale),
        head_shift: parse_fact(&facts, "head_shift", shift)?.or(usual.head_shift),
        head_round: facts.contains_key("head_round") || usual.head_round,
    };
    Float::new(&weights, &architecture)?;
    Ok(ImportedWeights { facts, ..ImportedWeights::new(&FORMAT, weights, architecture, scales) })
}

/// Parses a fact, if the header has it. The error of `parse` names the expected value.
fn parse_fact<T>(
    facts: &BTreeMap<String, String>,
    key: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, ImportError> {
    let Some(value) = facts.get(key) else { return Ok(None) };
    let wrong = |expected| ImportError::Fact { key, value: value.clone(), expected };
    parse(value).map(Some).map_err(wrong)
}
