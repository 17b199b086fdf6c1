//! The handcrafted evaluation as a model: terms of three kinds, a taper and a tempo. Weights are a
//! fixed start plus a trained change. So terms without positions, and frozen ones, stay at their
//! start exactly, and decay moves weights towards their start.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use super::ops::cpu::{SimdLevel, TermsJob, terms_gradients, terms_logits};
use super::{Aim, Compute, LossGradients, NumberedTensors, TensorGradients, TouchedRows, to_host};
use crate::batch::TermBatch;
use crate::weights::{Weights, WeightsError};

#[derive(Module, Debug)]
pub struct HceModel {
    /// `[terms, 2]`, middlegame and endgame, in centipawns.
    pub terms: TunedParam<2>,
    /// `[1]`, in centipawns.
    pub tempo: TunedParam<1>,
    #[module(skip)]
    shape: HceShape,
    /// Instructions of the fused operations, always on the CPU.
    #[module(skip)]
    level: SimdLevel,
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
        let make = if trained { super::new_param } else { super::new_constant };
        Ok(Self {
            start: super::new_constant(ids[0], values("start")?, shape.into(), device),
            change: make(ids[1], values("change")?, shape.into(), device),
        })
    }

    fn current_value(&self) -> Tensor<D> {
        self.start.val() + self.change.val()
    }

    fn list_arrays(&self, name: &str) -> [(u64, (String, Vec<usize>)); 2] {
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
            Compute::Fused { level, .. } => level,
            Compute::Plain | Compute::Gpu { .. } => SimdLevel::detect_fastest(),
        };
        // As in `NetModel::new`.
        let device = &device.clone().without_autodiff();
        let [terms, tempo] = [first, first + 2].map(|start| [start, start + 1]);
        let terms = TunedParam::new(terms, "terms", [shape.terms, 2], true, weights, device)?;
        let tempo = TunedParam::new(tempo, "tempo", [1], shape.tempo, weights, device)?;
        Ok(Self { terms, tempo, shape, level })
    }

    pub(super) fn list_arrays(&self) -> NumberedTensors {
        self.terms.list_arrays("terms").into_iter().chain(self.tempo.list_arrays("tempo")).collect()
    }

    fn host_values(&self) -> (Vec<f32>, f32) {
        (to_host(self.terms.current_value()), to_host(self.tempo.current_value())[0])
    }

    fn terms_job<'a>(&self, pieces: &'a [Arc<TermBatch>], aim: Aim<'a>) -> TermsJob<'a> {
        let HceShape { scale, tempo, .. } = self.shape;
        TermsJob { pieces, aim, scale, tempo, level: self.level }
    }

    fn model_device(&self) -> Device {
        self.tempo.current_value().device()
    }

    pub(super) fn logits(&self, pieces: &[Arc<TermBatch>]) -> Tensor<1> {
        let (weights, tempo) = self.host_values();
        let logits = terms_logits(&weights, tempo, self.terms_job(pieces, Aim::Targets(&[])));
        Tensor::from_data(&logits[..], &self.model_device())
    }

    /// Panics if the objective has a base.
    pub(super) fn loss_gradients(&self, pieces: &[Arc<TermBatch>], aim: Aim) -> LossGradients {
        let base = aim.loss_inputs().map_or(&[][..], |inputs| inputs.base);
        assert!(base.is_empty(), "nets are added to terms, not terms to anything");
        let ((weights, tempo), device) = (self.host_values(), self.model_device());
        let results = terms_gradients(&weights, tempo, self.terms_job(pieces, aim));
        let terms = Tensor::from_data(&results.terms[..], &device);
        let mut gradients = TensorGradients::from([(self.terms.change.id.val(), terms)]);
        if self.shape.tempo {
            let tempo = Tensor::from_data([results.tempo], &device);
            gradients.insert(self.tempo.change.id.val(), tempo);
        }
        let loss = Tensor::from_data([results.loss as f32], &device);
        LossGradients { loss, gradients, touched: TouchedRows::default() }
    }
}
