//! Contents of a net: neurons, piece values, squares, and its knowledge of handcrafted terms.
//!
//! [`inspect`] measures the floats of a net over many positions and changes nothing. The result has
//! the same bits for any number of threads, on one set of instructions.

mod forward;
mod neurons;
mod pieces;
mod terms;
mod text;

use rayon::prelude::*;
use serde::Serialize;

use crate::architecture::Architecture;
use crate::hce::{HceEvaluator, HceWeights};
use crate::sample::Sample;
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};
use forward::Forward;
pub use neurons::{Layer, Map, Mover, Neuron};
pub use pieces::{BANDS, ROLES, Squares, Value, Values};
pub use terms::Explained;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Positions for piece values, and for terms, at most.
    pub positions: usize,
    pub hce: Option<HceWeights>,
}

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error("{name}[{place}] is {value}: training diverged; inspect an earlier checkpoint")]
    NotFinite { name: String, place: usize, value: f32 },
    #[error("no positions to inspect with; name a file of positions")]
    NoPositions,
    #[error("these weights belong to another engine's terms; name weights of the built-in terms")]
    NotOurs,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    pub net: String,
    pub architecture: Architecture,
    pub scales: Scales,
    pub positions: u64,
    /// The accumulator, then the layers of the head.
    pub layers: Vec<Layer>,
    /// Weights of the neurons that move the evaluation most, that with the most first.
    pub maps: Vec<Map>,
    /// Positions whose pieces were removed.
    pub removed_from: u64,
    pub values: Values,
    pub squares: Vec<Squares>,
    /// Piece values of the handcrafted evaluation, found in the same way.
    pub hce_values: Option<Values>,
    /// `None` where the positions are too few.
    pub terms: Option<Explained>,
}

/// Positions that are added up by one thread, in order.
const CHUNK: usize = 1024;

/// Inspects a net over some positions; `seen` counts positions of all passes, see [`work`].
pub fn inspect(
    weights: &Weights,
    architecture: &Architecture,
    scales: Scales,
    samples: &[Sample],
    options: &Options,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Inspection, InspectError> {
    if let Some((name, place, value)) = weights.non_finite() {
        return Err(InspectError::NotFinite { name: name.to_string(), place, value });
    }
    if samples.is_empty() {
        return Err(InspectError::NoPositions);
    }
    if options.hce.as_ref().is_some_and(|hce| !hce.is_ours()) {
        return Err(InspectError::NotOurs);
    }
    let forward = Forward::new(weights, architecture, scales)?;
    let (layers, maps) = neurons::neurons(&forward, samples, seen);
    let some: Vec<&Sample> =
        thinned(samples.len(), options.positions).map(|i| &samples[i]).collect();
    let worths = pieces::of_net(&forward, &some, seen);
    let hce_values = options.hce.as_ref().map(|weights| {
        let evaluator = HceEvaluator::new(weights);
        pieces::values(&pieces::of_hce(&evaluator, &some, seen))
    });
    let terms = terms::terms(&forward, &layers[0], &some, options.hce.as_ref(), seen);
    Ok(Inspection {
        net: architecture.to_string(),
        architecture: architecture.clone(),
        scales,
        positions: samples.len() as u64,
        layers,
        maps,
        removed_from: some.len() as u64,
        values: pieces::values(&worths),
        squares: pieces::squares(&worths),
        hce_values,
        terms,
    })
}

/// Positions that [`inspect`] counts in all.
pub fn work(positions: usize, options: &Options) -> u64 {
    let some = thinned(positions, options.positions).count();
    (positions + (3 + usize::from(options.hce.is_some())) * some) as u64
}

/// At most `most` places at equal distances, from the first on.
fn thinned(positions: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..positions).step_by(positions.div_ceil(most.max(1)).max(1))
}

/// Results of chunks of positions, in order.
fn by_chunk<S: Sync, T: Send>(samples: &[S], of: impl Fn(&[S]) -> T + Sync + Send) -> Vec<T> {
    samples.par_chunks(CHUNK).map(of).collect()
}
