//! bullet's checkpoints: `weights.bin` with floats by name, and `raw.bin` with 32-bit floats alone.

use std::collections::BTreeMap;

use super::{Contents, ImportError, ImportedWeights, NetFormat, checkpoint, find_hidden};
use crate::architecture::{Architecture, ArrayKind, NetArray};
use crate::floats::Float;
use crate::net::{Hints, transpose};
use crate::weights::{Weights, WeightsError};

pub static WEIGHTS_BIN: NetFormat = NetFormat {
    name: "bullet checkpoint, weights.bin",
    recognises: |bytes, _| holds_floats_by_name(bytes),
    contents: Contents::Floats { read: read_weights_bin, cure: checkpoint::CURE },
};

pub static RAW_BIN: NetFormat = NetFormat {
    name: "bullet checkpoint, raw.bin",
    recognises: |bytes, hints| hidden_of_size(bytes.len(), &hints.net).is_some(),
    contents: Contents::Floats {
        read: read_raw_bin,
        cure: "it is bullet's raw.bin; convert it with `nnuance export`",
    },
};

/// Whether a file begins as bullet's checkpoints do: an id, a newline, a number of floats.
fn holds_floats_by_name(bytes: &[u8]) -> bool {
    let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-/".contains(byte);
    let Some(end) = bytes.iter().take(32).position(|&byte| byte == b'\n') else { return false };
    let count = bytes[end + 1..].first_chunk().map_or(u64::MAX, |it| u64::from_le_bytes(*it));
    end > 0 && bytes[..end].iter().all(is_id) && count < bytes.len() as u64
}

/// Reads weights in our shapes; the hidden size and the factoriser follow from the arrays.
fn read_weights_bin(bytes: &[u8], hints: &Hints) -> Result<ImportedWeights, ImportError> {
    let mut arrays = split_arrays(bytes)?;
    let held = arrays.keys().cloned().collect::<Vec<_>>().join(", ");
    let missing = |id: &str| ImportError::Missing { id: id.into(), held: held.clone() };
    let biases = arrays.get("l0b").ok_or_else(|| missing("l0b"))?;
    let mut net = hints.net.with_hidden(biases.len());
    net.inputs.factorised = arrays.contains_key("l0f");
    let shape = net.to_string();
    let more = |ids| ImportError::More { ids, shape: shape.clone() };
    net.check_layers().map_err(|error| match net.inputs.factorised {
        true => more("l0f".to_string()),
        false => error.into(),
    })?;
    let mut weights = Weights::default();
    for array in net.list_arrays() {
        let id = trainer_name(&net, array.kind);
        let values = arrays.remove(&id).ok_or_else(|| missing(&id))?;
        let found = values.len();
        let expected = array.len();
        if found != expected {
            return Err(ImportError::Count { id, found, expected, shape });
        }
        let values = match array.kind {
            // The trainer stores these arrays by input.
            ArrayKind::Layer(_) | ArrayKind::Output => transpose(&values, array.fan_in),
            _ => values,
        };
        weights.insert(&array.name, &array.shape, values);
    }
    if !arrays.is_empty() {
        return Err(more(arrays.into_keys().collect::<Vec<_>>().join(", ")));
    }
    weights.check_finite()?;
    Ok(ImportedWeights::new(&WEIGHTS_BIN, weights, net, hints.scales))
}
fn trainer_name(net: &Architecture, kind: ArrayKind) -> String {
    let letter = match kind {
        ArrayKind::Rows(0) | ArrayKind::Layer(_) | ArrayKind::Output => 'w',
        ArrayKind::Factor(0) => 'f',
        ArrayKind::AccumulatorBias | ArrayKind::LayerBias(_) | ArrayKind::OutputBias => 'b',
        kind => return kind.array_name(net.inputs.sets()),
    };
    let layer = kind.map_index(net.maps().len()).map_or(0, |map| map + 1);
    format!("l{layer}{letter}")
}

fn split_arrays(bytes: &[u8]) -> Result<BTreeMap<String, Vec<f32>>, ImportError> {
    let mut arrays = BTreeMap::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let truncated =
            || ImportError::Truncated { at: format!("tensor number {}", arrays.len() + 1) };
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(truncated)?;
        let id = String::from_utf8_lossy(&rest[..end]).into_owned();
        let (count, values) = rest[end + 1..].split_first_chunk().ok_or_else(truncated)?;
        let size = usize::try_from(u64::from_le_bytes(*count)).unwrap_or(usize::MAX);
        let tensor = values.split_at_checked(size.saturating_mul(4));
        let (values, remaining) =
            tensor.ok_or_else(|| ImportError::Truncated { at: id.clone() })?;
        arrays.insert(id, read_floats(values));
        rest = remaining;
    }
    Ok(arrays)
}

fn read_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// The hidden size of a file of the given size, for nets with one output.
fn hidden_of_size(size: usize, net: &Architecture) -> Option<usize> {
    let net = net.without_factoriser();
    let hidden = find_hidden(&net, |hidden| {
        let arrays = net.with_hidden(hidden).list_arrays();
        (4 * arrays.iter().map(NetArray::len).sum::<usize>()).cmp(&size)
    })?;
    (!net.is_deep() && net.buckets == 1).then_some(hidden)
}

/// Reads nets with one output and without layers.
fn read_raw_bin(bytes: &[u8], hints: &Hints) -> Result<ImportedWeights, ImportError> {
    let net = hints.net.without_factoriser();
    let hidden = hidden_of_size(bytes.len(), &net).unwrap_or(net.hidden);
    let net = net.with_hidden(hidden);
    net.check_layers()?;
    let mut values = read_floats(bytes).into_iter();
    let mut weights = Weights::default();
    for array in net.list_arrays() {
        let values = values.by_ref().take(array.len()).collect();
        weights.insert(&array.name, &array.shape, values);
    }
    weights.check_finite()?;
    Ok(ImportedWeights::new(&RAW_BIN, weights, net, hints.scales))
}

/// Writes a `raw.bin`: all arrays in order, with the factoriser merged; maps are
/// `[bucket][output][input]`.
///
/// # Errors
///
/// Fails with [`WeightsError::Missing`] or [`WeightsError::Shape`] if the weights are not those of
/// the net.
pub fn write_raw_bin(weights: &Weights, net: &Architecture) -> Result<Vec<u8>, WeightsError> {
    let float = Float::new(weights, net)?;
    let numbers = float.net.list_arrays().into_iter().flat_map(|array| float.get_array(array.kind));
    Ok(numbers.flat_map(|number| number.to_le_bytes()).collect())
}
