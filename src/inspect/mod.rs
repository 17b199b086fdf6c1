//! Contents of a net: neurons, piece values, squares and rows.
//! [`inspect_weights`] measures the floats of a net over many positions and changes nothing. The
//! result has the same bits for any number of threads, with one set of instructions.

mod handcrafted;
mod neurons;
mod pieces;
mod rows;
mod text;

use rayon::prelude::*;
use serde::Serialize;

use crate::architecture::Architecture;
use crate::floats::Float;
pub use crate::report::terms::ROLES;
use crate::sample::Sample;
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};
pub use handcrafted::{InspectedTerms, inspect_terms};
pub use neurons::{Neuron, NeuronLayer, NeuronMap};
pub use pieces::{
    BANDS, PieceValue, PieceValues, Squares, describe_unsound, list_values, ordinary_values,
};
pub use rows::RowValue;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    pub net: String,
    pub architecture: Architecture,
    pub scales: Scales,
    pub positions: u64,
    /// Layers: the accumulator, then those of the head.
    pub layers: Vec<NeuronLayer>,
    /// Weights of the neurons with the largest effect on the evaluation, in that order. Empty
    /// without the set of pieces on squares.
    pub maps: Vec<NeuronMap>,
    /// Number of positions whose pieces were removed.
    pub removed_from: u64,
    pub values: PieceValues,
    pub squares: Vec<Squares>,
    /// Rows of small feature sets, in the order of their effects.
    pub rows: Vec<RowValue>,
}

/// Number of positions that one thread adds up, in order.
const CHUNK: usize = 1024;

/// Inspects a net over positions. Pieces and rows are measured on at most `limit` of them, evenly
/// spaced. Panics if there are no positions.
pub fn inspect_weights(
    weights: &Weights,
    architecture: &Architecture,
    scales: Scales,
    samples: &[Sample],
    limit: usize,
) -> Result<Inspection, WeightsError> {
    weights.check_finite()?;
    let float = Float::new(weights, architecture)?;
    let scale = f64::from(scales.scale);
    let (layers, maps) = neurons::inspect_neurons(&float, scale, samples);
    let step = samples.len().div_ceil(limit.max(1)).max(1);
    let spaced: Vec<&Sample> = samples.iter().step_by(step).collect();
    let removed_pieces = pieces::removed_pieces(&float, scale, &spaced);
    Ok(Inspection {
        net: architecture.to_string(),
        architecture: architecture.clone(),
        scales,
        positions: samples.len() as u64,
        layers,
        maps,
        removed_from: spaced.len() as u64,
        values: pieces::values_by_role(&removed_pieces),
        squares: pieces::values_by_square(&removed_pieces),
        rows: rows::largest_rows(&float, scale, &spaced),
    })
}

/// Sums over positions: adds up the sums of all chunks, in order.
fn sum_over_chunks<S: Sync, const N: usize>(
    samples: &[S],
    sum_chunk: impl Fn(&[S]) -> Vec<[f64; N]> + Sync + Send,
) -> Vec<[f64; N]> {
    let chunks: Vec<_> = samples.par_chunks(CHUNK).map(sum_chunk).collect();
    let add = |mut all: Vec<[f64; N]>, chunk: Vec<[f64; N]>| {
        let pairs = all.iter_mut().flatten().zip(chunk.iter().flatten());
        pairs.for_each(|(sum, more)| *sum += more);
        all
    };
    chunks.into_iter().reduce(add).expect("there are positions")
}
