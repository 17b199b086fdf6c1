//! The weights of handcrafted terms.

use std::collections::HashSet;
use std::sync::Arc;

use super::terms::built_in_list;
use crate::scales::Scales;
use crate::terms::TermList;
use crate::weights::{Weights, WeightsError};

/// Names of the arrays of values before training and of changes by training.
const TENSORS: [&str; 2] = ["terms.start", "terms.change"];
const TEMPO: [&str; 2] = ["tempo.start", "tempo.change"];

/// A handcrafted evaluation. All values are centipawns.
#[derive(Clone, Debug, PartialEq)]
pub struct HceWeights {
    /// Centipawns per logit, above 0.
    pub scale: f64,
    /// Bonus for the side to move, in every phase.
    pub tempo: f64,
    /// Whether drawish endgames are scaled down, see [`Phase`](super::Phase).
    pub scale_factor: bool,
    pub source: Option<String>,
    /// Terms: built in, or those of an engine.
    pub list: Arc<TermList>,
    /// Middlegame and endgame weight of each term of the list.
    pub values: Vec<[f64; 2]>,
}

impl Default for HceWeights {
    /// Returns the start values of the built-in terms.
    fn default() -> Self {
        Self::of_list(built_in_list(), Scales::default().scale.into())
    }
}

impl HceWeights {
    pub fn of_list(list: Arc<TermList>, scale: f64) -> Self {
        let values = list.terms.iter().map(|term| term.start).collect();
        Self { scale, tempo: list.tempo, scale_factor: true, source: None, list, values }
    }

    /// Returns material only, 100 / 320 / 330 / 500 / 900, the reference that evaluations must beat.
    pub fn material_only() -> Self {
        let mut weights = Self::zeros_with_scale(Scales::default().scale.into());
        for (value, term) in weights.values.iter_mut().zip(&weights.list.terms) {
            if first_word(&term.name) == "material" {
                *value = term.start;
            }
        }
        weights
    }

    /// Returns zero for all built-in terms, without tempo and scale factor.
    pub fn zeros_with_scale(scale: f64) -> Self {
        let list = built_in_list();
        let values = vec![[0.0; 2]; list.len()];
        Self { values, tempo: 0.0, scale_factor: false, ..Self::of_list(list, scale) }
    }

    /// Returns whether the terms are built in, so that positions can be evaluated.
    pub fn is_ours(&self) -> bool {
        let ours = built_in_list();
        let names = |list: &TermList| {
            list.terms.iter().map(|term| (term.name.clone(), term.kind)).collect::<Vec<_>>()
        };
        Arc::ptr_eq(&self.list, &ours) || names(&self.list) == names(&ours)
    }

    /// Returns terms and values whose first word has any weight. An engine's list stays whole.
    pub fn used_terms(&self) -> (TermList, Vec<[f64; 2]>) {
        let ours = self.is_ours();
        let pairs = self.list.terms.iter().zip(&self.values);
        let weighted = pairs.clone().filter(|(_, value)| **value != [0.0; 2] || !ours);
        let words: HashSet<&str> = weighted.map(|(term, _)| first_word(&term.name)).collect();
        let used = pairs.filter(|(term, _)| words.contains(first_word(&term.name)));
        let (terms, values) = used.map(|(term, value)| (term.clone(), *value)).unzip();
        (TermList { terms, tempo: self.list.tempo }, values)
    }

    /// Rounds all values to `decimals` decimals, which makes files shorter and easier to read.
    pub fn round_values(mut self, decimals: u8) -> Self {
        let unit = 10_f64.powi(decimals.into());
        for value in self.values.iter_mut().flatten().chain([&mut self.tempo]) {
            // Adding zero removes the sign of a negative zero.
            *value = (*value * unit).round() / unit + 0.0;
        }
        self
    }

    /// Makes the arrays for training: `terms.start`, `tempo.start` and changes of 0.
    pub fn to_weights(&self) -> Weights {
        let mut weights = Weights::default();
        let values: Vec<f32> = self.values.iter().flatten().map(|value| *value as f32).collect();
        let [start, change] = TENSORS;
        weights.insert(change, &[self.values.len(), 2], vec![0.0; values.len()]);
        weights.insert(start, &[self.values.len(), 2], values);
        let [start, change] = TEMPO;
        weights.insert(start, &[1], vec![self.tempo as f32]);
        weights.insert(change, &[1], vec![0.0]);
        weights
    }

    /// Reads start values, and if `trained` adds the changes. The weights have a scale factor.
    pub fn from_weights(
        weights: &Weights,
        list: Arc<TermList>,
        scale: f64,
        trained: bool,
    ) -> Result<Self, WeightsError> {
        let count = if trained { 2 } else { 1 };
        let values = sum_arrays(weights, &TENSORS[..count], &[list.len(), 2])?;
        let values = values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        let tempo = sum_arrays(weights, &TEMPO[..count], &[1])?[0];
        Ok(Self { scale, tempo, scale_factor: true, source: None, list, values })
    }

    /// Returns whether [`HceWeights::from_weights`] can read these arrays.
    pub fn are_in(weights: &Weights) -> bool {
        weights.0.contains_key(TENSORS[0])
    }
}

pub(super) fn first_word(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

fn sum_arrays(
    weights: &Weights,
    names: &[&str],
    shape: &[usize],
) -> Result<Vec<f64>, WeightsError> {
    let mut sums = vec![0.0; shape.iter().product()];
    for name in names {
        for (sum, value) in sums.iter_mut().zip(weights.get(name, shape)?) {
            *sum += f64::from(*value);
        }
    }
    Ok(sums)
}
