//! Float weights of the trainer bullet, `weights.bin` or `.wgts`: repeated { ASCII id, newline, u64
//! count, f32 x count }, little-endian, in any order.
//!
//! Ids are `l0w`, `l0b`, `l0f` (the factoriser), and `l1w`, `l1b` and so on for the maps behind the
//! accumulators. A map of n inputs and m outputs is stored column by column, `[input][output]`;
//! with output buckets m is buckets x outputs, bucket by bucket. Source: the trainer's own
//! checkpoints, whose losses these weights give again.

use std::collections::BTreeMap;

use super::ImportError;
use super::import::possible;
use crate::architecture::{Architecture, Part};
use crate::weights::Weights;

/// The weights in our shapes, and the net with the hidden size and the factoriser that they have.
///
/// # Errors
/// If an array is missing, there are others, or one has another size.
pub(super) fn weights(
    bytes: &[u8],
    net: &Architecture,
) -> Result<(Weights, Architecture), ImportError> {
    let mut arrays = arrays(bytes)?;
    let factorised = arrays.contains_key(&id(net, Part::Factoriser));
    let held = arrays.keys().cloned().collect::<Vec<_>>().join(", ");
    let mut take = |id: String| {
        let missing = || ImportError::Missing { id: id.clone(), held: held.clone() };
        arrays.remove(&id).ok_or_else(missing)
    };
    let biases = take(id(net, Part::AccumulatorBias))?;
    if biases.is_empty() {
        return Err(ImportError::NoNeurons);
    }
    let mut net = net.with_hidden(biases.len());
    net.inputs.factorised = factorised;
    let net = possible(net)?;
    let mut weights = Weights::default();
    for array in net.arrays() {
        let id = id(&net, array.part);
        let values = match array.part {
            Part::AccumulatorBias => biases.clone(),
            _ => take(id.clone())?,
        };
        let (found, expected) = (values.len(), array.len());
        if found != expected {
            return Err(ImportError::Count { id, found, expected, shape: net.to_string() });
        }
        let values = match array.part {
            Part::Layer(_) | Part::Output => turned(&values, array.fan_in),
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
fn id(net: &Architecture, part: Part) -> String {
    match part {
        Part::Accumulator => "l0w".into(),
        Part::Factoriser => "l0f".into(),
        Part::AccumulatorBias => "l0b".into(),
        Part::Layer(layer) => format!("l{}w", layer + 1),
        Part::LayerBias(layer) => format!("l{}b", layer + 1),
        Part::Output => format!("l{}w", net.head.len() + 1),
        Part::OutputBias => format!("l{}b", net.head.len() + 1),
    }
}

/// `[input][output]` as `[output][input]`.
fn turned(values: &[f32], inputs: usize) -> Vec<f32> {
    let outputs = values.len() / inputs;
    (0..outputs).flat_map(|output| values.iter().skip(output).step_by(outputs)).copied().collect()
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

pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
