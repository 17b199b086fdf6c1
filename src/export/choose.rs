//! The best QA and QB for a net: measured, not guessed.
//!
//! Larger scales round less, until integers no longer fit. What fits depends on the net and on
//! the engine, so pairs from a grid are tried: each must pass the proof and the engine's bound,
//! and the one whose integers are nearest to the floats wins. However fine the scales, about half
//! a centipawn is left, since the last division gives whole centipawns.
//!
//! What engines do with `v = clamp(accumulator, 0, QA)` sets the limits. Where SCReLU squares in
//! 16 bits without sign, `v * v` fits up to QA = 255. Where it squares in 32 bits, up to 46,340.
//! Where it multiplies `v * output weight` in 16 bits with sign before the second `v`, that
//! product must fit, see [`Bound::NarrowProducts`]; then QA and QB pay for each other.

use rayon::prelude::*;
use serde::Serialize;

use super::{Float, Proof, QuantiseError, prove, quantise};
use crate::architecture::Architecture;
use crate::net::Net;
use crate::report::{Align, Table};
use crate::sample::Position;
use crate::scales::{HeadFormat, Scales};
use crate::weights::{Weights, WeightsError};

/// What the integers of an engine must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Accumulators in i16, the output sum in i32: what [`prove`](super::prove()) demands.
    I16Sums,
    /// Also `clamped accumulator * output weight` in i16, as [`Proof::i16_trick`] says.
    NarrowProducts,
}

/// What an engine bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    pub bound: Bound,
    pub most_qa: i32,
    pub most_qb: i32,
    /// What it computes with behind the accumulators of a net with more layers.
    pub head_format: HeadFormat,
}

impl Default for Limits {
    /// Those of most engines: SCReLU squared in 16 bits.
    fn default() -> Self {
        let head_format = HeadFormat::default();
        Self { bound: Bound::I16Sums, most_qa: 255, most_qb: 4096, head_format }
    }
}

/// Values of QA worth a try: round numbers of bits, the roots of powers of two between them, and
/// one below, where an end counts as fitting.
pub const QA: [i32; 20] = [
    64, 90, 96, 127, 128, 160, 181, 192, 224, 255, 256, 320, 362, 403, 448, 511, 512, 724, 1023,
    1024,
];

/// Values of QB worth a try: powers of two, whose division is a shift, what lies between them,
/// and the neighbours of the usual 64.
pub const QB: [i32; 24] = [
    16, 32, 48, 56, 60, 61, 62, 63, 64, 65, 66, 67, 68, 72, 80, 96, 128, 192, 256, 384, 512, 1024,
    2048, 4096,
];

/// Pairs that are measured on more positions after a first look at all.
const SHORTLIST: usize = 16;

/// A pair of scales, and how far its integers are from the floats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Candidate {
    pub qa: i32,
    pub qb: i32,
    /// Mean of the absolute difference.
    pub mean_cp: f64,
    pub max_cp: f64,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    pub scales: Scales,
    /// The best, the smallest mean error first; all proven and within the limits.
    pub candidates: Vec<Candidate>,
    /// The usual scales; None where the weights do not fit them.
    pub default: Option<Candidate>,
    /// Whether the usual scales pass proof and limits.
    pub default_allowed: bool,
    /// Pairs that the weights fit at all.
    pub tried: usize,
    /// Positions that the candidates were measured on.
    pub positions: usize,
}

impl Choice {
    /// The candidates, the best first, and the usual scales: among them, or below where they were
    /// refused.
    pub fn table(&self) -> Table {
        let titles =
            ["QA", "QB", "mean error, cp", "largest, cp"].map(|title| (title, Align::Right));
        let mut table = Table::new(&[&titles[..], &[("remark", Align::Left)]].concat());
        let usual = Scales::default();
        let candidates = self.candidates.iter().map(|one| {
            let is_usual = (one.qa, one.qb) == (usual.qa, usual.qb);
            (*one, if is_usual { "the usual scales" } else { "" })
        });
        let refused = self.default.filter(|_| !self.default_allowed);
        for (one, remark) in candidates.chain(refused.map(|one| (one, "the usual scales, refused")))
        {
            let Candidate { qa, qb, mean_cp, max_cp } = one;
            let (mean, max) = (format!("{mean_cp:.3}"), format!("{max_cp:.2}"));
            table.row([qa.to_string(), qb.to_string(), mean, max, remark.to_string()]);
        }
        table
    }
}

/// Why there are no scales.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error("no positions to measure scales on")]
    NoPositions,
    #[error(
        "no QA of the search is at most {most_qa}, or no QB at most {most_qb}; raise the limit"
    )]
    Limits { most_qa: i32, most_qb: i32 },
    #[error(
        "products in 16 bits are a bound of nets whose output follows the accumulators at once; \
         choose the scales of this one within `sums`"
    )]
    Products,
    #[error("the weights fit no scales of the search: {0}")]
    Fit(QuantiseError),
    #[error(
        "no scales of the search keep this net within the bounds of the engine; train again with \
         weights clipped, or allow wider products"
    )]
    Refused,
}

/// The pair of [`QA`] and [`QB`] with the smallest mean error; see [`choose_of`].
///
/// # Errors
/// As [`choose_of`].
pub fn choose(
    weights: &Weights,
    architecture: &Architecture,
    scale: i32,
    positions: &[Position],
    limits: Limits,
) -> Result<Choice, ChooseError> {
    choose_of(weights, architecture, scale, positions, limits, [&QA, &QB])
}

/// The pair of some values of QA and QB with the smallest mean error over positions, SCALE given.
///
/// A first look at all pairs on few positions, evenly spaced, picks those that are measured on
/// more; the usual scales are among these wherever they are allowed. Large nets are measured on
/// fewer positions, so that the time grows little with the size. The result does not depend on
/// the number of threads.
///
/// # Errors
/// If weights are missing or fit no pair, there are no positions, or no pair is allowed.
pub fn choose_of(
    weights: &Weights,
    architecture: &Architecture,
    scale: i32,
    positions: &[Position],
    limits: Limits,
    [qa, qb]: [&[i32]; 2],
) -> Result<Choice, ChooseError> {
    let hidden = architecture.hidden.max(1);
    let look = Measure::new(weights, architecture, positions, (65_536 / hidden).clamp(512, 2048))?;
    let full =
        Measure::new(weights, architecture, positions, (655_360 / hidden).clamp(2048, 20_480))?;
    if full.positions.is_empty() {
        return Err(ChooseError::NoPositions);
    }
    let Limits { bound, most_qa, most_qb, head_format } = limits;
    let net =
        |qa: i32, qb: i32| quantise(weights, architecture, Scales { qa, qb, scale, head_format });
    let deep = architecture.is_deep();
    if deep && bound == Bound::NarrowProducts {
        return Err(ChooseError::Products);
    }
    // A head of floats has nothing that hangs on QB.
    let usual = Scales { scale, head_format, ..Scales::default() };
    let only = [usual.qb.min(most_qb)];
    let qb = if deep && head_format == HeadFormat::Float { &only } else { qb };
    let mut pairs: Vec<(i32, i32)> =
        qa.iter().flat_map(|&qa| qb.iter().map(move |&qb| (qa, qb))).collect();
    pairs.retain(|&(qa, qb)| (1..=most_qa).contains(&qa) && (1..=most_qb).contains(&qb));
    let Some(&(qa, qb)) =
        pairs.iter().min_by_key(|(qa, qb)| (i64::from(*qa) * i64::from(*qb), *qa))
    else {
        return Err(ChooseError::Limits { most_qa, most_qb });
    };
    net(qa, qb).map_err(ChooseError::Fit)?;

    let mut first: Vec<Candidate> = pairs
        .into_par_iter()
        .filter_map(|(qa, qb)| Some(look.candidate(&net(qa, qb).ok()?)))
        .collect();
    let tried = first.len();
    first.sort_by(better);
    // The proof costs more than the first look: it is asked for in the order of merit, and only
    // until there are enough.
    let proven = |qa: i32, qb: i32| {
        net(qa, qb).ok().filter(|net| prove(net).is_ok_and(|proof| allows(bound, &proof)))
    };
    let mut nets = Vec::new();
    let mut candidates = first.iter();
    while nets.len() < SHORTLIST {
        let some: Vec<_> = candidates.by_ref().take(SHORTLIST).collect();
        if some.is_empty() {
            break;
        }
        nets.par_extend(some.into_par_iter().filter_map(|one| proven(one.qa, one.qb)));
    }
    nets.truncate(SHORTLIST);
    if nets.is_empty() {
        return Err(ChooseError::Refused);
    }

    let default = net(usual.qa, usual.qb).ok();
    let within = usual.qa <= most_qa && usual.qb <= most_qb;
    let default_allowed = within && proven(usual.qa, usual.qb).is_some();
    if default_allowed && nets.iter().all(|net| net.scales() != usual) {
        nets.extend(default.clone());
    }
    let mut candidates: Vec<Candidate> = nets.par_iter().map(|net| full.candidate(net)).collect();
    candidates.sort_by(better);
    let Candidate { qa, qb, .. } = candidates[0];
    Ok(Choice {
        scales: Scales { qa, qb, ..usual },
        candidates,
        default: default.map(|net| full.candidate(&net)),
        default_allowed,
        tried,
        positions: full.positions.len(),
    })
}

fn allows(bound: Bound, proof: &Proof) -> bool {
    match bound {
        Bound::I16Sums => true,
        Bound::NarrowProducts => proof.i16_trick,
    }
}

/// The smaller mean first; equals by smaller scales, which leave more room.
fn better(one: &Candidate, other: &Candidate) -> std::cmp::Ordering {
    let size = |it: &Candidate| (i64::from(it.qa) * i64::from(it.qb), it.qa);
    one.mean_cp.total_cmp(&other.mean_cp).then_with(|| size(one).cmp(&size(other)))
}

/// Positions and their values in floats, which are the same for all scales.
struct Measure {
    positions: Vec<Position>,
    logits: Vec<f64>,
}

impl Measure {
    /// At most so many of the positions, evenly spaced.
    fn new(
        weights: &Weights,
        architecture: &Architecture,
        positions: &[Position],
        most: usize,
    ) -> Result<Self, WeightsError> {
        let float = Float::new(weights, architecture)?;
        let count = positions.len().min(most);
        let positions: Vec<Position> =
            (0..count).map(|i| positions[i * positions.len() / count]).collect();
        let logits = positions.par_iter().map(|position| float.logit(position)).collect();
        Ok(Self { positions, logits })
    }

    /// The errors of a net, as [`measure`](super::measure()) defines them.
    fn candidate(&self, net: &Net) -> Candidate {
        let Scales { qa, qb, scale, .. } = net.scales();
        let (mut sum, mut max_cp) = (0.0, 0.0_f64);
        for (position, logit) in self.positions.iter().zip(&self.logits) {
            let error = (f64::from(net.evaluate(position)) - f64::from(scale) * logit).abs();
            sum += error;
            max_cp = max_cp.max(error);
        }
        Candidate { qa, qb, mean_cp: sum / self.positions.len() as f64, max_cp }
    }
}
