//! Weights from what others left: a quantised net, or a checkpoint of the trainer bullet.
//!
//! A quantised net divided by its scales gives floats that quantise to the same file again.
//! A checkpoint is `weights.bin`, repeated { ASCII id, newline, u64 count, f32 x count }, or
//! `raw.bin`, the f32 of the net in the order of its file; both little-endian, exact in size.

use std::collections::BTreeMap;

use super::quantise::Floats;
use crate::architecture::{Activation, Architecture};
use crate::features::{self, Features};
use crate::net::{Hints, Net, NetError, Warning, payload};
use crate::scales::Scales;
use crate::weights::{Packed, Weights, WeightsError};

/// Weights and what they are.
#[derive(Debug)]
pub struct Source {
    pub weights: Weights,
    pub architecture: Architecture,
    pub scales: Scales,
    /// What a checkpoint's header says, all of it; empty for other files.
    pub facts: BTreeMap<String, String>,
    /// The kind of file they come from, in words.
    pub kind: &'static str,
    pub warnings: Vec<Warning>,
}

/// Why a file gives no weights of a net.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("the checkpoint holds a model of kind {0:?}, not a net")]
    Kind(String),
    #[error("the checkpoint says {key} = {value:?}, expected {expected}")]
    Fact { key: &'static str, value: String, expected: String },
    #[error("accumulator.bias is empty, and a net has at least one hidden neuron")]
    NoNeurons,
    #[error("the checkpoint breaks off in {at}; is the file whole?")]
    Truncated { at: String },
    #[error("the checkpoint has no {id}; it holds {held}")]
    Missing { id: &'static str, held: String },
    #[error("{id} has {found} values, a net of {shape} needs {expected}; is it another shape?")]
    Count { id: &'static str, found: usize, expected: usize, shape: String },
}

/// The facts that a checkpoint carries in its header.
pub fn facts(architecture: &Architecture, scales: Scales) -> BTreeMap<String, String> {
    [
        ("kind", "net".to_string()),
        ("features", architecture.features.name.to_string()),
        ("hidden", architecture.hidden.to_string()),
        ("activation", architecture.activation.name().to_string()),
        ("scale", scales.scale.to_string()),
    ]
    .map(|(key, value)| (key.to_string(), value))
    .into()
}

/// Reads a checkpoint (safetensors), a bullet checkpoint or a quantised net; `hints` says what
/// the last three do not say about themselves.
///
/// # Errors
/// If the file is none of them, or is another model than a net.
pub fn import(bytes: &[u8], hints: &Hints) -> Result<Source, ImportError> {
    let source = |weights, architecture, kind| Source {
        weights,
        architecture,
        scales: hints.scales,
        facts: BTreeMap::new(),
        kind,
        warnings: Vec::new(),
    };
    // Safetensors open with the length of a header of JSON; no run of weights looks like that.
    let length = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    if bytes.get(8) == Some(&b'{') && length < 1 << 32 {
        let Packed { weights, facts, .. } = Weights::from_bytes(bytes)?;
        let (architecture, scale) = of_facts(&weights, &facts, hints)?;
        Floats::of(&weights, &architecture)?;
        let mut source = source(weights, architecture, "checkpoint");
        source.scales.scale = scale;
        return Ok(Source { facts, ..source });
    }
    if starts_with_id(bytes) {
        let (weights, architecture) = bullet_weights(bytes, hints)?;
        weights.check_finite()?;
        return Ok(source(weights, architecture, "bullet checkpoint, weights.bin"));
    }
    let read = Net::read(bytes, hints);
    let strange = |warning: &Warning| matches!(warning, Warning::Strange(_));
    let is_net = read.as_ref().is_ok_and(|(_, warnings)| !warnings.iter().any(strange));
    // Some sizes fit both; then a raw.bin has floats where a net has its padding.
    if let Some(hidden) = raw_hidden(bytes.len(), hints.features).filter(|_| !is_net) {
        let architecture = Architecture { hidden, ..architecture(hints) };
        let mut values = floats(bytes).into_iter();
        let arrays = sizes(&architecture).map(|count| values.by_ref().take(count).collect());
        let weights = named(&architecture, arrays);
        weights.check_finite()?;
        return Ok(source(weights, architecture, "bullet checkpoint, raw.bin"));
    }
    let (net, warnings) = read?;
    Ok(Source { warnings, ..source(dequantise(&net), *net.architecture(), "quantised net") })
}

/// Values of the four arrays, in the order of a file.
fn sizes(architecture: &Architecture) -> [usize; 4] {
    let Architecture { features, hidden, .. } = *architecture;
    [features.inputs * hidden, hidden, features.views * hidden, 1]
}

/// The weights of a net: its integers over its scales. Quantised again they are the same.
pub fn dequantise(net: &Net) -> Weights {
    let Scales { qa, qb, .. } = net.scales();
    let over = |integers: &[i16], scale: i32| {
        integers.iter().map(|&i| (f64::from(i) / f64::from(scale)) as f32).collect::<Vec<_>>()
    };
    let arrays = [
        over(net.accumulator_weights(), qa),
        over(net.accumulator_bias(), qa),
        over(net.output_weights(), qb),
        over(&[net.output_bias()], qa * qb),
    ];
    named(net.architecture(), arrays)
}

fn named(architecture: &Architecture, arrays: [Vec<f32>; 4]) -> Weights {
    let Architecture { features, hidden, .. } = *architecture;
    let [accumulator, bias, output, output_bias] = arrays;
    let mut weights = Weights::default();
    weights.insert("accumulator.weight", &[features.inputs, hidden], accumulator);
    weights.insert("accumulator.bias", &[hidden], bias);
    weights.insert("output.weight", &[features.views * hidden], output);
    weights.insert("output.bias", &[1], output_bias);
    weights
}

/// The architecture of hints, its hidden size still to be set.
fn architecture(hints: &Hints) -> Architecture {
    Architecture { features: hints.features, hidden: 0, activation: hints.activation }
}

/// What a checkpoint's facts say; facts that are missing come from the hints and the shapes.
fn of_facts(
    weights: &Weights,
    facts: &BTreeMap<String, String>,
    hints: &Hints,
) -> Result<(Architecture, i32), ImportError> {
    if let Some(kind) = facts.get("kind").filter(|kind| *kind != "net") {
        return Err(ImportError::Kind(kind.clone()));
    }
    let wrong = |key, value: &String, expected: String| {
        Err(ImportError::Fact { key, value: value.clone(), expected })
    };
    let mut architecture = architecture(hints);
    if let Some(name) = facts.get("features") {
        match Features::named(name) {
            Some(features) => architecture.features = features,
            None => {
                let known: Vec<_> = features::ALL.iter().map(|features| features.name).collect();
                return wrong("features", name, format!("one of {}", known.join(", ")));
            }
        }
    }
    if let Some(name) = facts.get("activation") {
        match Activation::ALL.into_iter().find(|activation| activation.name() == name) {
            Some(activation) => architecture.activation = activation,
            None => return wrong("activation", name, "relu, crelu or screlu".to_string()),
        }
    }
    let shape = weights.0.get("accumulator.bias").map(|array| array.shape.iter().product());
    architecture.hidden = shape.unwrap_or_default();
    if shape == Some(0) {
        return Err(ImportError::NoNeurons);
    }
    if let Some(hidden) = facts.get("hidden")
        && hidden.parse() != Ok(architecture.hidden)
    {
        return wrong("hidden", hidden, format!("{} as its biases", architecture.hidden));
    }
    let scale = match facts.get("scale") {
        None => hints.scales.scale,
        Some(scale) => match scale.parse::<f64>() {
            Ok(number) if number.fract() == 0.0 && number.abs() < 1e9 => number as i32,
            _ => return wrong("scale", scale, "a whole number".to_string()),
        },
    };
    Ok((architecture, scale))
}

/// Whether a file opens with an id of letters and digits and a newline.
fn starts_with_id(bytes: &[u8]) -> bool {
    let id = bytes.iter().take(32).position(|&byte| byte == b'\n');
    id.is_some_and(|end| end > 0 && bytes[..end].iter().all(is_id_byte))
}

fn is_id_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/')
}

fn bullet_weights(bytes: &[u8], hints: &Hints) -> Result<(Weights, Architecture), ImportError> {
    let mut arrays: BTreeMap<String, Vec<f32>> = BTreeMap::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let truncated =
            || ImportError::Truncated { at: format!("tensor number {}", arrays.len() + 1) };
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(truncated)?;
        let id = String::from_utf8_lossy(&rest[..end]).into_owned();
        let (count, values) = rest[end + 1..].split_first_chunk().ok_or_else(truncated)?;
        let size = usize::try_from(u64::from_le_bytes(*count)).ok();
        let size = size.and_then(|count| count.checked_mul(4)).filter(|&size| size <= values.len());
        let (values, behind) =
            values.split_at(size.ok_or_else(|| ImportError::Truncated { at: id.clone() })?);
        arrays.insert(id, floats(values));
        rest = behind;
    }
    let held = arrays.keys().cloned().collect::<Vec<_>>().join(", ");
    let mut take = |id: &'static str| {
        arrays.remove(id).ok_or_else(|| ImportError::Missing { id, held: held.clone() })
    };
    let taken = [take("l0w")?, take("l0b")?, take("l1w")?, take("l1b")?];
    let architecture = Architecture { hidden: taken[1].len(), ..architecture(hints) };
    for (id, (array, expected)) in
        ["l0w", "l0b", "l1w", "l1b"].into_iter().zip(taken.iter().zip(sizes(&architecture)))
    {
        if array.len() != expected || architecture.hidden == 0 {
            let (found, shape) = (array.len(), architecture.to_string());
            return Err(ImportError::Count { id, found, expected, shape });
        }
    }
    Ok((named(&architecture, taken), architecture))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("chunks of four")))
        .collect()
}

/// The hidden size of a `raw.bin` of this size.
fn raw_hidden(size: usize, features: &Features) -> Option<usize> {
    let size_of = |hidden| 2 * payload(features.inputs, features.views, hidden);
    let hidden = size.checked_sub(4)? / (size_of(1) - size_of(0));
    (hidden > 0 && size_of(hidden) == size).then_some(hidden)
}
