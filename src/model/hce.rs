//! The handcrafted evaluation as a model: terms of three kinds, a taper and a tempo. Weights are a
//! fixed start plus a trained change. So terms without positions, and frozen ones, keep their start
//! exactly, and decay pulls the evaluation back to its start.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

use super::ops::cpu::{Level, TermsJob, terms_gradients, terms_logits};
use super::{Aim, Arrays, Compute, Gradients, LossGradients, TouchedRows, inner, to_host};
use crate::batch::{Rows, Terms};
use crate::sums::{SAFETY_ENDGAME, SAFETY_MIDDLEGAME};
use crate::weights::{Weights, WeightsError};

#[derive(Module, Debug)]
pub struct HceModel {
    /// `[terms, 2]`, middlegame and endgame, in centipawns.
    pub terms: TunedParam<2>,
    /// `[1]`, in centipawns.
    pub tempo: TunedParam<1>,
    #[module(skip)]
    shape: HceShape,
    /// Instructions of the fused operations, always on the CPU. None: plain tensor operations.
    #[module(skip)]
    level: Option<Level>,
}

/// Weights as start and change.
#[derive(Module, Debug)]
pub struct TunedParam<const D: usize> {
    /// Never trained.
    pub start: Param<Tensor<D>>,
    pub change: Param<Tensor<D>>,
}

/// A handcrafted evaluation without its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HceShape {
    pub terms: usize,
    /// Centipawns per logit.
    pub scale: f32,
    pub tempo: bool,
}

impl<const D: usize> TunedParam<D> {
    fn new(
        ids: [u64; 2],
        name: &str,
        shape: [usize; D],
        trained: bool,
        weights: &Weights,
        device: &Device,
    ) -> Result<Self, WeightsError> {
        let values =
            |part: &str| weights.get(&format!("{name}.{part}"), &shape).map(<[f32]>::to_vec);
        let make = if trained { super::param } else { super::constant };
        Ok(Self {
            start: super::constant(ids[0], values("start")?, shape.into(), device),
            change: make(ids[1], values("change")?, shape.into(), device),
        })
    }

    fn value(&self) -> Tensor<D> {
        self.start.val() + self.change.val()
    }

    fn arrays(&self, name: &str) -> [(u64, (String, Vec<usize>)); 2] {
        [("start", &self.start), ("change", &self.change)].map(|(part, param)| {
            (param.id.val(), (format!("{name}.{part}"), param.val().dims().into()))
        })
    }
}

impl HceModel {
    /// A model whose parameters are numbered from `first`. Fails if an array is missing or has
    /// another shape.
    pub fn new(
        first: u64,
        shape: HceShape,
        weights: &Weights,
        device: &Device,
        compute: Compute,
    ) -> Result<Self, WeightsError> {
        let level = match compute {
            Compute::Plain => None,
            Compute::Fused { level, .. } => Some(level),
            Compute::Gpu { .. } => Some(Level::detect()),
        };
        // As in `NetModel::new`.
        let device = &match level {
            Some(_) => device.clone().without_autodiff(),
            None => device.clone(),
        };
        let [terms, tempo] = [0, 2].map(|behind| [first + behind, first + behind + 1]);
        let terms = TunedParam::new(terms, "terms", [shape.terms, 2], true, weights, device)?;
        let tempo = TunedParam::new(tempo, "tempo", [1], shape.tempo, weights, device)?;
        Ok(Self { terms, tempo, shape, level })
    }

    pub(super) fn arrays(&self) -> Arrays {
        self.terms.arrays("terms").into_iter().chain(self.tempo.arrays("tempo")).collect()
    }

    fn values(&self) -> (Vec<f32>, f32) {
        (to_host(inner(self.terms.value())), to_host(inner(self.tempo.value()))[0])
    }

    fn job<'a>(&self, level: Level, pieces: &'a [Arc<Terms>], aim: Aim<'a>) -> TermsJob<'a> {
        let HceShape { scale, tempo, .. } = self.shape;
        TermsJob { pieces, aim, scale, tempo, level }
    }

    /// Device of results without autodiff.
    fn device(&self) -> Device {
        inner(self.tempo.value()).device()
    }

    fn piece(&self, weights: &Tensor<2>, tempo: &Tensor<1>, piece: &Terms) -> Tensor<1> {
        let device = weights.device();
        let (rows, terms) = (piece.len(), self.shape.terms);
        let column = |values: &[f32]| {
            Tensor::<2>::from_data(TensorData::new(values.to_vec(), [rows, 1]), &device)
        };
        // [rows, terms] x [terms, 2] = [rows, 2]
        let product = |entries: Option<Vec<f32>>, frozen: Vec<f32>| {
            let frozen = match frozen.is_empty() {
                true => Tensor::zeros([rows, 2], &device),
                false => Tensor::<2>::from_data(TensorData::new(frozen, [rows, 2]), &device),
            };
            match entries {
                None => frozen,
                Some(dense) => {
                    let dense =
                        Tensor::<2>::from_data(TensorData::new(dense, [rows, terms]), &device);
                    dense.matmul(weights.clone()) + frozen
                }
            }
        };
        let frozen = &piece.frozen;
        let side = |colour: usize| {
            let frozen = frozen.safety.iter().flat_map(|it| [it[2 * colour], it[2 * colour + 1]]);
            let dense = dense(&piece.safety, rows, terms, |count| f32::from(count[colour]));
            product(dense, frozen.collect())
        };
        let halves = |tensor: Tensor<2>| {
            let [mg, eg] = [0, 1].map(|half| tensor.clone().narrow(1, half, 1));
            (mg, eg) // [rows, 1] each
        };
        let normal = dense(&piece.normal, rows, terms, f32::from);
        let (mut mg, mut eg) = halves(product(normal, frozen.normal.concat()));
        if !(piece.safety.term.is_empty() && frozen.safety.is_empty()) {
            for (colour, sign) in [(0, -1.0), (1, 1.0)] {
                let (danger_mg, danger_eg) = halves(side(colour));
                let positive = danger_mg.clone().clamp_min(0.0);
                mg = mg + danger_mg * positive * (sign / SAFETY_MIDDLEGAME);
                let positive = danger_eg.clone().greater_elem(0.0).float();
                eg = eg + danger_eg * positive * (sign / SAFETY_ENDGAME);
            }
        }
        if !(piece.complexity.term.is_empty() && frozen.complexity.is_empty()) {
            let counts = dense(&piece.complexity, rows, terms, f32::from);
            let frozen = frozen.complexity.iter().flat_map(|value| [0.0, *value]);
            let (_, complexity) = halves(product(counts, frozen.collect()));
            // The side of a kink on which a position lies is not differentiated.
            let value = eg.clone().detach();
            let reach = value.clone().abs() + complexity.clone().detach();
            let stays = reach.greater_equal_elem(0.0).float();
            let zero = value.clone().equal_elem(0.0).float();
            let kept = stays.clone() + zero.clone() - stays * zero;
            eg = (eg + value.sign() * complexity) * kept;
        }
        let white = column(&piece.middlegame) * mg + column(&piece.endgame) * eg;
        let turn: Vec<f32> = piece.turn.iter().map(|turn| f32::from(*turn)).collect();
        let turn = Tensor::<1>::from_data(&turn[..], &device); // [rows]
        (white.reshape([rows]) + turn * tempo.clone()) / self.shape.scale
    }

    pub(super) fn logits(&self, pieces: &[Arc<Terms>]) -> Tensor<1> {
        if let Some(level) = self.level {
            let (weights, tempo) = self.values();
            let job = self.job(level, pieces, Aim::Targets(&[]));
            return Tensor::from_data(&terms_logits(&weights, tempo, job)[..], &self.device());
        }
        let (weights, tempo) = (self.terms.value(), self.tempo.value());
        let logits = pieces.iter().filter(|piece| !piece.is_empty());
        Tensor::cat(logits.map(|piece| self.piece(&weights, &tempo, piece)).collect(), 0)
    }

    /// Panics if the objective has a base.
    pub(super) fn loss_gradients(&self, pieces: &[Arc<Terms>], aim: Aim) -> LossGradients {
        let base = aim.loss_inputs().map_or(&[][..], |judged| judged.base);
        assert!(base.is_empty(), "nets are added to terms, not terms to anything");
        let Some(level) = self.level else {
            let loss = aim.of(self.logits(pieces), 0);
            return LossGradients::by_autodiff(loss, self);
        };
        let ((weights, tempo), device) = (self.values(), self.device());
        let found = terms_gradients(&weights, tempo, self.job(level, pieces, aim));
        let terms = Tensor::from_data(&found.terms[..], &device);
        let mut gradients = Gradients::from([(self.terms.change.id.val(), terms)]);
        if self.shape.tempo {
            let tempo = Tensor::from_data([found.tempo], &device);
            gradients.insert(self.tempo.change.id.val(), tempo);
        }
        let loss = Tensor::from_data([found.loss as f32], &device);
        LossGradients { loss, gradients, touched: TouchedRows::default() }
    }
}

/// The entries as a matrix, `[rows, terms]`; none without entries.
fn dense<C: Copy>(
    entries: &Rows<C>,
    rows: usize,
    terms: usize,
    value: impl Fn(C) -> f32,
) -> Option<Vec<f32>> {
    (!entries.term.is_empty()).then(|| {
        let mut dense = vec![0.0; rows * terms];
        for (row, values) in dense.chunks_exact_mut(terms).enumerate() {
            for (term, count) in entries.row(row) {
                values[term] += value(count);
            }
        }
        dense
    })
}
