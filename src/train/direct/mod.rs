//! Direct methods: weights of handcrafted terms from all positions at once, in f64. [`newton`]
//! solves for the weights step by step; [`search`] tries them one by one.

pub mod newton;
pub mod normal;
pub mod problem;
pub mod search;

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::optimizer::{OptimizerName, OptimizerSettings, StateError};
use crate::batch::{BatchInputs, MoveChoices, TermBatch};
use crate::loss::Loss;
use crate::model::{HceShape, ModelKind};
use crate::weights::{Weights, WeightsError};
use newton::{FIRST_DAMPING, Newton, Prior};
use normal::Equations;
use problem::{Goal, Point, Problem};
use search::Search;

pub struct Direct {
    state: DirectState,
    /// Centipawns.
    prior: f64,
    /// Cache of a local search; a new one would be equal.
    search: Option<Search>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DirectState {
    GaussNewton {
        damping: f64,
    },
    /// Centipawns.
    LocalSearch {
        step: u16,
    },
}

pub struct DirectStep {
    pub weights: Weights,
    /// Loss before the step.
    pub loss: f64,
    pub converged: bool,
}

impl Direct {
    /// `state` comes from [`Direct::to_bytes`], or is empty at the beginning.
    pub fn new(settings: &OptimizerSettings, state: &[u8]) -> Result<Self, StateError> {
        let state = match (state, settings.name) {
            ([], OptimizerName::GaussNewton) => DirectState::GaussNewton { damping: FIRST_DAMPING },
            ([], _) => DirectState::LocalSearch { step: settings.step as u16 },
            (bytes, _) => serde_json::from_slice(bytes)?,
        };
        Ok(Self { state, prior: settings.prior, search: None })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.state).expect("numbers have a JSON form")
    }

    /// Takes a step on all positions, with targets and [shares](Goal::Results). Fails with a
    /// [`problem::ProblemError`].
    pub fn step_once(
        &mut self,
        kind: &ModelKind,
        weights: Weights,
        inputs: &BatchInputs,
        (targets, shares, loss): (&[f32], &[f32], Loss),
        choices: Option<&MoveChoices>,
    ) -> Result<DirectStep, TrainError> {
        let (ModelKind::Hce(shape), BatchInputs::Terms(pieces)) = (kind, inputs) else {
            panic!("direct methods are for handcrafted terms");
        };
        let shape = *shape;
        let [start, mut point] = to_points(&weights, shape)?;
        let reported = choices.map(|choices| {
            let (point, scale) = (&point, shape.scale);
            let logit = move |terms, row| point.value(terms, row) as f32 / scale;
            let logits = pieces
                .par_iter()
                .flat_map_iter(|terms| (0..terms.len()).map(move |row| logit(terms, row)));
            choices.sum_losses(&logits.collect::<Vec<f32>>())
        });
        let goal = match choices {
            Some(choices) => Goal::Moves(choices),
            None => Goal::Results { targets, scale: shape.scale.into(), loss, shares },
        };
        let problem = Problem::new(pieces, shape.terms, goal)?;
        let (loss, converged) = match &mut self.state {
            DirectState::GaussNewton { damping } => {
                let prior = Some(Prior { start: start.clone(), centipawns: self.prior });
                let movable = movable_weights(pieces, shape);
                let mut newton = Newton { damping: *damping, movable, prior };
                let stepped = newton.step(&problem, &mut point)?;
                *damping = newton.damping;
                let loss = reported.map_or(stepped.loss_before, |[sum, count]| sum / count);
                (loss, stepped.converged)
            }
            DirectState::LocalSearch { step } => {
                let search = match &mut self.search {
                    Some(search) => search,
                    empty => empty.insert(Search::new(
                        &problem,
                        &point,
                        &movable_weights(pieces, shape),
                    )?),
                };
                let loss = search.loss();
                let unchanged = search.sweep(*step) == 0;
                point = search.point.clone();
                let finest = *step == 1;
                if unchanged {
                    *step = (*step / 2).max(1);
                }
                (loss, unchanged && finest)
            }
        };
        Ok(DirectStep { weights: with_changes(weights, &start, &point), loss, converged })
    }
}

/// Computes standard errors of weights by number, if these have an effect and are determined; see
/// [`newton::standard_errors`]. `prior` is that of Gauss-Newton, in centipawns. Fails with a
/// [`problem::ProblemError`], or for weights of other terms.
pub fn standard_errors(
    shape: HceShape,
    weights: &Weights,
    pieces: &[Arc<TermBatch>],
    targets: &[f32],
    loss: Loss,
    prior: Option<f64>,
) -> Result<Vec<Option<f64>>, TrainError> {
    let [start, now] = to_points(weights, shape)?;
    let goal = Goal::Results { targets, scale: shape.scale.into(), loss, shares: &[] };
    let problem = Problem::new(pieces, shape.terms, goal)?;
    let equations = Equations::of(&problem, &now)?;
    let prior = prior.map(|centipawns| Prior { start, centipawns });
    let movable = movable_weights(pieces, shape);
    let errors = newton::standard_errors(&problem, &equations, &movable, prior.as_ref());
    Ok(errors.into_iter().map(|error| error.filter(|error| error.is_finite())).collect())
}

/// Marks weights with an effect: of terms with entries, and the tempo if it is trained.
fn movable_weights(pieces: &[Arc<TermBatch>], shape: HceShape) -> Vec<bool> {
    let mut movable = vec![false; 2 * shape.terms + 1];
    movable[2 * shape.terms] = shape.tempo;
    for piece in pieces {
        for term in piece.normal.term.iter().chain(&piece.safety.term) {
            movable[2 * usize::from(*term)] = true;
            movable[2 * usize::from(*term) + 1] = true;
        }
        for term in &piece.complexity.term {
            movable[2 * usize::from(*term) + 1] = true;
        }
    }
    movable
}

fn to_points(weights: &Weights, shape: HceShape) -> Result<[Point; 2], WeightsError> {
    let weights_of = |part: &str| -> Result<Vec<f64>, WeightsError> {
        let terms = weights.get(&format!("terms.{part}"), &[shape.terms, 2])?;
        let tempo = weights.get(&format!("tempo.{part}"), &[1])?;
        Ok(terms.iter().chain(tempo).map(|value| f64::from(*value)).collect())
    };
    let (start, mut now) = (weights_of("start")?, weights_of("change")?);
    now.iter_mut().zip(&start).for_each(|(now, start)| *now += start);
    Ok([Point(start), Point(now)])
}

fn with_changes(mut weights: Weights, start: &Point, now: &Point) -> Weights {
    let change = now.0.iter().zip(&start.0).map(|(now, start)| (now - start) as f32);
    let mut terms: Vec<f32> = change.collect();
    let tempo = terms.split_off(2 * now.pairs().len());
    weights.insert("terms.change", &[now.pairs().len(), 2], terms);
    weights.insert("tempo.change", &[1], tempo);
    weights
}
