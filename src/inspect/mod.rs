//! What is inside a net: neurons, weights, piece values, squares, and what it knows of the terms
//! of a handcrafted evaluation.
//!
//! [`inspect`] looks at the floats, whichever file they come from, through many
//! positions. It measures; it trains nothing and changes nothing. [`Inspection`] is the result,
//! and its [`text`](Inspection::text) a report.

mod activity;
mod agreement;
mod forward;
mod head;
mod histogram;
mod kings;
mod layers;
mod maps;
mod pictures;
mod pieces;
mod removal;
mod ridge;
mod rows;
mod squares;
mod terms;
mod text;
mod worth;

pub use activity::{Activity, Neuron};
pub use agreement::{Agreement, Likeness, RoleAgreement};
pub use head::{Adds, Head, HeadLayer, HeadNeuron, State};
pub use histogram::Histogram;
pub use layers::{Large, Layer};
pub use maps::{BucketBoards, Map, Mover};
pub use pieces::{BANDS, Band, BucketValues, ROLES, Value, Values};
use rayon::prelude::*;
pub use removal::without;
pub use rows::{KingBucket, Rows};
use serde::Serialize;
pub use squares::SquareTable;
pub use terms::{Explained, GroupExplained, Shares, TermExplained};
pub use worth::worth;

use self::forward::Forward;
use self::maps::Faces;
use crate::architecture::{Architecture, Part};
use crate::features::MAX_ACTIVE;
use crate::hce::{HceEvaluator, HceWeights};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

/// Neurons whose weights are kept as boards.
const MAPS: usize = 10;

/// How closely to look.
#[derive(Clone, Debug)]
pub struct Options {
    /// The bound that training kept weights within.
    pub clip: f64,
    /// Positions whose pieces are taken off, at most.
    pub pieces: usize,
    /// Positions that terms are fitted and measured on, at most; 0 leaves this part out.
    pub terms: usize,
    /// A handcrafted evaluation to compare with.
    pub hce: Option<HceWeights>,
}

impl Default for Options {
    fn default() -> Self {
        Self { clip: 1.98, pieces: 50_000, terms: 50_000, hce: None }
    }
}

/// Why a net cannot be looked into.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(
        "{name}, value {place}, is {value}: the training diverged; look at an earlier checkpoint"
    )]
    NotFinite { name: String, place: usize, value: f32 },
    #[error("there is no position to look at; name a file of positions")]
    NoPositions,
    #[error("the clip is {0}, expected a number above 0, as `optimizer.clip` has it")]
    Clip(f64),
    #[error(
        "these handcrafted weights belong to another engine's terms, which cannot be counted \
         here; take weights of the built-in terms"
    )]
    NotOurs,
}

/// What is inside a net.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// The architecture in words.
    pub net: String,
    pub architecture: Architecture,
    /// How inputs are numbered, in words.
    pub inputs: String,
    /// Whose pieces have capitals in [`Mover::short`]: "own pieces" or "White's pieces".
    pub capitals: &'static str,
    pub scales: Scales,
    pub clip: f64,
    pub activity: Activity,
    /// None where the output follows the accumulators at once.
    pub head: Option<Head>,
    /// From inputs to output.
    pub layers: Vec<Layer>,
    pub rows: Rows,
    /// Inputs that move each neuron most, by neuron.
    pub moved_by: Vec<Vec<Mover>>,
    /// The weights of the neurons with the largest use, that with the most first.
    pub maps: Vec<Map>,
    pub pieces: Pieces,
    /// None where it was left out, or the positions are too few.
    pub terms: Option<Explained>,
}

/// What pieces are worth, found by taking them off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pieces {
    /// Positions whose pieces were taken off.
    pub positions: u64,
    pub values: Values,
    /// The same by output bucket; empty where there is one.
    pub buckets: Vec<BucketValues>,
    /// Pawn to king.
    pub tables: Vec<SquareTable>,
    pub hce: Option<Beside>,
}

/// The same of a handcrafted evaluation, found in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    pub values: Values,
    pub tables: Vec<SquareTable>,
    /// With its tables found by taking pieces off, as the net's were.
    pub by_removal: Agreement,
    /// With its weights of material and squares as they are written, which leave out what other
    /// terms, such as mobility, add to a piece's worth.
    pub as_written: Agreement,
}

/// The positions that [`inspect`] tells `seen` of in all, for so many given.
pub fn work(net: &Architecture, positions: usize, options: &Options) -> u64 {
    let pieces = thinned(positions, options.pieces).count();
    let terms = thinned(positions, options.terms).count();
    let evaluations = if options.hce.is_some() { 2 } else { 1 };
    let passes = if net.has_layers() { 2 } else { 1 };
    (passes * positions + evaluations * pieces + 2 * terms) as u64
}

/// Looks into a net through some positions; `seen` is told of positions as they go by,
/// see [`work`].
///
/// The result has the same bits for any number of threads, on one set of instructions.
///
/// # Errors
/// If weights are missing, misshapen or not finite, and where there is no position.
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
    if !(options.clip.is_finite() && options.clip > 0.0) {
        return Err(InspectError::Clip(options.clip));
    }
    if samples.is_empty() {
        return Err(InspectError::NoPositions);
    }
    if options.hce.as_ref().is_some_and(|hce| !hce.is_ours()) {
        return Err(InspectError::NotOurs);
    }
    let forward = Forward::new(weights, architecture, scales)?;
    let lists = lists(architecture, samples);
    let activity = activity::activity(&forward, &lists, seen);
    let positions = by_bucket(&forward, &lists);
    let head = head::head(&forward, &lists, &positions, seen);
    let own = architecture.array(Part::Factoriser).and(architecture.array(Part::Accumulator));
    let own = own.map(|it| weights.get(&it.name, &it.shape)).transpose()?;
    let rows = rows::rows(&forward, &lists, own);
    drop(lists);
    let faces = Faces::of(&forward, &rows);
    let moved_by = faces.moved_by(activity.views);
    let most = activity.by_use().into_iter().take(MAPS);
    let maps = most.map(|it| faces.map(it.neuron)).collect();
    drop(faces);
    let near = |most: usize| thinned(samples.len(), most).map(|i| &samples[i]).collect::<Vec<_>>();
    let hce = options.hce.as_ref();
    let terms = terms::terms(&forward, &activity, &near(options.terms), hce, seen);
    Ok(Inspection {
        net: architecture.to_string(),
        architecture: architecture.clone(),
        inputs: architecture.inputs.about(),
        capitals: match architecture.inputs.views.point_of_view() {
            PointOfView::White => "White's pieces",
            PointOfView::SideToMove => "own pieces",
        },
        scales,
        clip: options.clip,
        activity,
        head,
        layers: layers::layers(weights, architecture, scales, options.clip)?,
        rows,
        moved_by,
        maps,
        pieces: pieces(&forward, &near(options.pieces), &positions, hce, seen),
        terms,
    })
}

fn pieces(
    forward: &Forward,
    samples: &[&Sample],
    by_bucket: &[u64],
    hce: Option<&HceWeights>,
    seen: &(dyn Fn(u64) + Sync),
) -> Pieces {
    let steps = kings::steps(samples);
    let worths = removal::of_net(forward, samples, seen);
    let mut tables = squares::tables(&worths);
    tables.push(kings::of_net(forward, &steps));
    let beside = |weights: &HceWeights| {
        let evaluator = HceEvaluator::new(weights);
        let worths = removal::of_hce(&evaluator, samples, seen);
        let mut removed = squares::tables(&worths);
        removed.push(kings::of_hce(&evaluator, &steps));
        let written = squares::written(weights);
        Beside {
            values: pieces::values(&worths),
            by_removal: agreement::agreement(&tables, |role, square, phase| {
                removed[role].values[square][phase]
            }),
            as_written: agreement::agreement(&tables, |role, square, phase| {
                Some(written[role][square][phase])
            }),
            tables: removed,
        }
    };
    let hce = hce.map(beside);
    let positions = samples.len() as u64;
    let buckets = pieces::of_buckets(&worths, &forward.net, by_bucket);
    Pieces { positions, values: pieces::values(&worths), buckets, hce, tables }
}

/// Positions of each output bucket.
fn by_bucket(forward: &Forward, lists: &[u16]) -> Vec<u64> {
    let mut positions = vec![0; forward.net.buckets];
    for list in lists.chunks_exact(forward.net.views() * MAX_ACTIVE) {
        positions[forward.net.bucket(forward.active(list).count())] += 1;
    }
    positions
}

/// The active inputs of all positions, `MAX_ACTIVE` places a view.
fn lists(architecture: &Architecture, samples: &[Sample]) -> Vec<u16> {
    let place = architecture.views() * MAX_ACTIVE;
    let mut lists = vec![0; samples.len() * place];
    let write = |(list, sample): (&mut [u16], &Sample)| {
        architecture.inputs.write(&sample.position, list);
    };
    lists.par_chunks_mut(place).zip(samples).for_each(write);
    lists
}

/// Places at equal distances, from the first on, at most so many.
fn thinned(positions: usize, most: usize) -> impl Iterator<Item = usize> {
    let step = if most == 0 { 1 } else { positions.div_ceil(most).max(1) };
    let end = if most == 0 { 0 } else { positions };
    (0..end).step_by(step)
}
