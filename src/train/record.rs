//! Burn's record of an optimiser, as bytes that depend on its state alone.

use burn::optim::ModuleOptimizer;
use burn::tensor::Bytes;
use burn_pack::{Reader, Writer};

/// The record with its tensors by name. Burn writes them in the order of a hash map, which
/// differs from run to run; equal states should make equal files.
pub fn to_bytes(optimizer: &ModuleOptimizer) -> Result<Vec<u8>, String> {
    let bytes = optimizer.into_bytes().map_err(|error| error.to_string())?;
    sorted(bytes).map(|bytes| bytes.to_vec()).map_err(|error| error.to_string())
}

fn sorted(bytes: Bytes) -> Result<Bytes, burn_pack::Error> {
    let reader = Reader::from_bytes(bytes)?;
    let (scalars, metadata) = (reader.scalars().clone(), reader.metadata().clone());
    let mut tensors = reader.into_tensors()?;
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    let mut writer = Writer::new(tensors);
    for (key, value) in &scalars {
        writer = writer.with_scalar(key, *value);
    }
    for (key, value) in &metadata {
        writer = writer.with_metadata(key, value);
    }
    writer.into_bytes()
}

/// Gives an optimiser the state of a record.
pub fn load(optimizer: ModuleOptimizer, bytes: Vec<u8>) -> Result<ModuleOptimizer, String> {
    optimizer.from_bytes(Bytes::from_bytes_vec(bytes)).map_err(|error| error.to_string())
}
