//! The weights of the handcrafted terms.

use super::terms::TERMS;
use super::{Phase, Term, Trace, evaluate};
use crate::sample::Position;
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

const TENSOR: &str = "terms.weight";
const TEMPO: &str = "terms.tempo";

/// A handcrafted evaluation, all values in centipawns.
#[derive(Clone, Debug, PartialEq)]
pub struct HceWeights {
    /// Centipawns a unit of logit: a position of value `cp` is won with probability
    /// `sigmoid(cp / scale)`. Above 0.
    pub scale: f64,
    /// Added for the side to move, in every phase.
    pub tempo: f64,
    /// Where the numbers come from, in words.
    pub source: Option<String>,
    /// By term: middlegame and endgame.
    terms: Vec<[f64; 2]>,
}

impl Default for HceWeights {
    /// What training starts from: the start values of the table of terms, no tempo.
    fn default() -> Self {
        Self {
            scale: Scales::default().scale.into(),
            tempo: 0.0,
            source: None,
            terms: Term::all().map(|term| term.start().map(f64::from)).collect(),
        }
    }
}

impl HceWeights {
    /// Plain material, 100 / 320 / 330 / 500 / 900: the reference that any evaluation must beat.
    pub fn material() -> Self {
        let mut weights = Self::zero(Scales::default().scale.into());
        for term in Term::all().filter(|term| term.group().name == "material") {
            weights.set(term, term.start().map(f64::from));
        }
        weights
    }

    /// All weights zero.
    pub fn zero(scale: f64) -> Self {
        Self { scale, tempo: 0.0, source: None, terms: vec![[0.0; 2]; TERMS] }
    }

    /// Middlegame and endgame weight of a term.
    pub fn get(&self, term: Term) -> [f64; 2] {
        self.terms[term.index()]
    }

    pub fn set(&mut self, term: Term, weight: [f64; 2]) {
        self.terms[term.index()] = weight;
    }

    /// The weights as an engine with integers has them, halves away from zero.
    pub fn integers(&self) -> Vec<[i32; 2]> {
        self.terms.iter().map(|weight| weight.map(|value| value.round() as i32)).collect()
    }

    /// All values rounded to so many decimals, which makes files shorter and easier to read.
    pub fn rounded(mut self, decimals: u8) -> Self {
        let unit = 10_f64.powi(decimals.into());
        for value in self.terms.iter_mut().flatten().chain([&mut self.tempo]) {
            // Adding zero turns a negative zero into zero.
            *value = (*value * unit).round() / unit + 0.0;
        }
        self
    }

    /// Centipawns for the side to move: the trace times the weights, in f64.
    /// [`Evaluator`](super::Evaluator) does the same faster.
    pub fn evaluate(&self, position: &Position) -> f64 {
        let mut trace = Trace::default();
        evaluate(position, &mut trace);
        let phase = Phase::of(position);
        let white: f64 = trace
            .differences()
            .map(|(term, count)| {
                let [mg, eg] = self.get(term);
                f64::from(count) * (phase.middlegame() * mg + phase.endgame() * eg)
            })
            .sum();
        position.turn().fold_wb(white, -white) + self.tempo
    }

    /// The tensors to train: `terms.weight`, terms x 2, and `terms.tempo`, 1, in centipawns.
    pub fn to_weights(&self) -> Weights {
        let mut weights = Weights::default();
        let values = self.terms.iter().flatten().map(|value| *value as f32).collect();
        weights.insert(TENSOR, &[TERMS, 2], values);
        weights.insert(TEMPO, &[1], vec![self.tempo as f32]);
        weights
    }

    /// From trained tensors, as [`HceWeights::to_weights`] makes them.
    ///
    /// # Errors
    /// Where a tensor is missing or has another shape.
    pub fn from_weights(weights: &Weights, scale: f64) -> Result<Self, WeightsError> {
        let values = weights.get(TENSOR, &[TERMS, 2])?;
        let terms = values.chunks_exact(2).map(|pair| [pair[0].into(), pair[1].into()]).collect();
        let tempo = weights.get(TEMPO, &[1])?[0].into();
        Ok(Self { scale, tempo, source: None, terms })
    }
}
