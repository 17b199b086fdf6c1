//! Weights from a quantised net, or from bullet's `weights.bin` and `raw.bin`.

use std::collections::BTreeMap;

use crate::architecture::{Architecture, ArrayKind, ImpossibleNet};
use crate::floats::Float;
use crate::net::{
    Hints, Net, NetError, Padding, holds_floats_by_name, is_safetensors, raw_hidden, stored,
    transposed,
};
use crate::scales::{HeadFormat, Scales};
use crate::weights::{Weights, WeightsError, WeightsFile};

#[derive(Debug)]
pub struct ImportedWeights {
    pub weights: Weights,
    pub architecture: Architecture,
    pub scales: Scales,
    /// Padding of the file of a quantised net.
    pub padding: Padding,
    /// Header of a checkpoint; empty for other files.
    pub facts: BTreeMap<String, String>,
    /// Kind of file, in words.
    pub kind: &'static str,
}

impl ImportedWeights {
    /// Kind of the files of engines.
    const QUANTISED: &str = "quantised net";

    /// Whether they come from integers, whose bytes an export leaves as they are.
    pub fn is_quantised(&self) -> bool {
        self.kind == Self::QUANTISED
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("the checkpoint says {key} = {value:?}, expected {expected}")]
    Fact { key: &'static str, value: String, expected: String },
    #[error(transparent)]
    ImpossibleNet(#[from] ImpossibleNet),
    #[error("the checkpoint ends within {at}; is the file complete?")]
    Truncated { at: String },
    #[error("the checkpoint has no {id}, only {held}")]
    Missing { id: String, held: String },
    #[error("{id} has {found} values, expected {expected} for a net of {shape}; check the shape")]
    Count { id: String, found: usize, expected: usize, shape: String },
    #[error(
        "the checkpoint also has {ids}, which {shape} lacks; describe the net in a file beside it \
         with the ending .toml"
    )]
    More { ids: String, shape: String },
}

/// Facts in the header of a checkpoint.
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

/// Imports a checkpoint of ours or of bullet, or a quantised net described by `hints`.
pub fn import(bytes: &[u8], hints: &Hints) -> Result<ImportedWeights, ImportError> {
    let source = |weights, architecture, kind| {
        let (scales, padding, facts) = (hints.scales, Padding::default(), BTreeMap::new());
        ImportedWeights { weights, architecture, scales, padding, facts, kind }
    };
    if is_safetensors(bytes) {
        let WeightsFile { weights, facts, .. } = Weights::from_bytes(bytes)?;
        let (architecture, scales) = of_facts(&weights, &facts, hints)?;
        Float::new(&weights, &architecture)?;
        let source = source(weights, architecture, "checkpoint");
        return Ok(ImportedWeights { facts, scales, ..source });
    }
    if holds_floats_by_name(bytes) {
        let (weights, architecture) = weights(bytes, &hints.net)?;
        weights.check_finite()?;
        return Ok(source(weights, architecture, "bullet checkpoint, weights.bin"));
    }
    let read = Net::read(bytes, hints);
    // Some sizes fit both; a raw.bin then has floats where a net has its padding.
    if let Some(hidden) = raw_hidden(bytes.len(), &hints.net).filter(|_| read.is_err()) {
        let architecture = possible(hints.net.merged().with_hidden(hidden))?;
        let mut values = floats(bytes).into_iter();
        let mut weights = Weights::default();
        for array in architecture.arrays() {
            let values = values.by_ref().take(array.len()).collect();
            weights.insert(&array.name, &array.shape, values);
        }
        weights.check_finite()?;
        return Ok(source(weights, architecture, "bullet checkpoint, raw.bin"));
    }
    let net = read?;
    let source = source(dequantise(&net), net.architecture().clone(), ImportedWeights::QUANTISED);
    Ok(ImportedWeights { padding: net.padding(), ..source })
}

/// The floats of a net as in bullet's `raw.bin`: 32 bits each, the factoriser merged, array after
/// array; maps behind the accumulators are `[bucket][output][input]`.
pub fn to_raw(weights: &Weights, net: &Architecture) -> Result<Vec<u8>, WeightsError> {
    let float = Float::new(weights, net)?;
    let numbers = float.net.arrays().into_iter().flat_map(|array| float.get(array.part));
    Ok(numbers.flat_map(|number| number.to_le_bytes()).collect())
}

/// Weights of a net, which quantise to the same net again.
pub fn dequantise(net: &Net) -> Weights {
    let mut weights = Weights::default();
    let arrays = stored(net.architecture(), net.scales());
    for (stored, numbers) in arrays.into_iter().zip(net.numbers()) {
        let value = |place: usize| (numbers.get(place) / stored.factor(place)) as f32;
        let values = (0..numbers.len()).map(value).collect();
        weights.insert(&stored.array.name, &stored.array.shape, values);
    }
    weights
}

/// Architecture and scales of a checkpoint's facts, completed by hints and shapes.
fn of_facts(
    weights: &Weights,
    facts: &BTreeMap<String, String>,
    hints: &Hints,
) -> Result<(Architecture, Scales), ImportError> {
    let fact = |key, value: &String, expected: &str| ImportError::Fact {
        key,
        value: value.clone(),
        expected: expected.to_string(),
    };
    if let Some(kind) = facts.get("kind").filter(|kind| *kind != "net") {
        return Err(fact("kind", kind, "net"));
    }
    let architecture = match (facts.get("architecture"), weights.0.get("accumulator.bias")) {
        (Some(text), _) => serde_json::from_str(text)
            .map_err(|error| fact("architecture", text, &format!("a net ({error})")))?,
        (None, Some(biases)) => possible(hints.net.with_hidden(biases.values.len()))?,
        (None, None) => hints.net.clone(),
    };
    let whole = |key, usual| match facts.get(key) {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|_| fact(key, text, "a whole number")),
    };
    let head_format = match facts.get("head_format") {
        None => hints.scales.head_format,
        Some(name) => {
            HeadFormat::named(name).ok_or_else(|| fact("head_format", name, "float or int8"))?
        }
    };
    let Scales { qa, qb, scale, .. } = hints.scales;
    let (qa, qb, scale) = (whole("qa", qa)?, whole("qb", qb)?, whole("scale", scale)?);
    let shift = |text: &String| {
        text.parse().map_err(|_| fact("head_shift", text, "a whole number of bits"))
    };
    let found = facts.get("head_shift").map(shift).transpose()?;
    let head_shift = found.or(hints.scales.head_shift);
    let head_round = facts.contains_key("head_round") || hints.scales.head_round;
    Ok((architecture, Scales { qa, qb, scale, head_format, head_shift, head_round }))
}

fn possible(net: Architecture) -> Result<Architecture, ImpossibleNet> {
    net.check().map(|()| net)
}

/// Weights in our shapes, and the net with their hidden size and factoriser.
fn weights(bytes: &[u8], net: &Architecture) -> Result<(Weights, Architecture), ImportError> {
    let mut arrays = arrays(bytes)?;
    let factorised = arrays.contains_key(&id(net, ArrayKind::Factor(0)));
    let held = arrays.keys().cloned().collect::<Vec<_>>().join(", ");
    let mut take = |id: String| {
        let missing = || ImportError::Missing { id: id.clone(), held: held.clone() };
        arrays.remove(&id).ok_or_else(missing)
    };
    let biases = take(id(net, ArrayKind::AccumulatorBias))?;
    let mut net = net.with_hidden(biases.len());
    net.inputs.factorised = factorised;
    let shape = net.to_string();
    let net = possible(net).map_err(|error| match factorised {
        true => ImportError::More { ids: "l0f".to_string(), shape },
        false => error.into(),
    })?;
    let mut weights = Weights::default();
    for array in net.arrays() {
        let id = id(&net, array.part);
        let values = match array.part {
            ArrayKind::AccumulatorBias => biases.clone(),
            _ => take(id.clone())?,
        };
        let (found, expected) = (values.len(), array.len());
        if found != expected {
            return Err(ImportError::Count { id, found, expected, shape: net.to_string() });
        }
        let values = match array.part {
            // They have it by input.
            ArrayKind::Layer(_) | ArrayKind::Output => transposed(&values, array.fan_in),
            _ => values,
        };
        weights.insert(&array.name, &array.shape, values);
    }
    match arrays.is_empty() {
        true => Ok((weights, net)),
        false => Err(ImportError::More {
            ids: arrays.into_keys().collect::<Vec<_>>().join(", "),
            shape: net.to_string(),
        }),
    }
}

/// The trainer's name of an array.
fn id(net: &Architecture, part: ArrayKind) -> String {
    match part {
        ArrayKind::Rows(0) => "l0w".into(),
        ArrayKind::Factor(0) => "l0f".into(),
        ArrayKind::Rows(_) | ArrayKind::Factor(_) | ArrayKind::Psqt(_) => {
            part.name(net.inputs.sets())
        }
        ArrayKind::AccumulatorBias => "l0b".into(),
        ArrayKind::Layer(layer) => format!("l{}w", layer + 1),
        ArrayKind::LayerBias(layer) => format!("l{}b", layer + 1),
        ArrayKind::Output => format!("l{}w", net.maps().len()),
        ArrayKind::OutputBias => format!("l{}b", net.maps().len()),
    }
}

fn arrays(bytes: &[u8]) -> Result<BTreeMap<String, Vec<f32>>, ImportError> {
    let mut arrays = BTreeMap::new();
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
    Ok(arrays)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
