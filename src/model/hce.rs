//! The handcrafted evaluation as a linear model: tapered terms and a tempo.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

use super::Evaluation;
use crate::batch::Inputs;
use crate::weights::{Weights, WeightsError};

#[derive(Module, Debug)]
pub struct HceModel {
    pub terms: Terms,
    /// Centipawns a logit.
    #[module(skip)]
    scale: f32,
}

/// Weights in centipawns.
#[derive(Module, Debug)]
pub struct Terms {
    /// `[terms, 2]`, middlegame and endgame.
    pub weight: Param<Tensor<2>>,
    /// `[1]`
    pub tempo: Param<Tensor<1>>,
}

impl HceModel {
    pub fn new(
        terms: usize,
        scale: f32,
        weights: &Weights,
        device: &Device,
    ) -> Result<Self, WeightsError> {
        let weight = super::param(1, "terms.weight", [terms, 2], weights, device)?;
        let tempo = super::param(2, "terms.tempo", [1], weights, device)?;
        Ok(Self { terms: Terms { weight, tempo }, scale })
    }
}

impl Evaluation for HceModel {
    fn logits(&self, inputs: &Inputs) -> Tensor<1> {
        let Inputs::Terms(batch) = inputs else {
            panic!("handcrafted terms are no one-hot inputs");
        };
        let device = self.terms.tempo.val().device();
        let positions = batch.turn.len();
        let mut dense = vec![0.0_f32; positions * batch.terms];
        for (row, range) in dense.chunks_exact_mut(batch.terms).zip(batch.offsets.windows(2)) {
            for entry in range[0] as usize..range[1] as usize {
                row[usize::from(batch.term[entry])] += f32::from(batch.coefficient[entry]);
            }
        }
        let coefficients =
            Tensor::<2>::from_data(TensorData::new(dense, [positions, batch.terms]), &device);
        let taper: Vec<f32> =
            batch.middlegame.iter().zip(&batch.endgame).flat_map(|(mg, eg)| [*mg, *eg]).collect();
        let taper = Tensor::<2>::from_data(TensorData::new(taper, [positions, 2]), &device);
        let turn: Vec<f32> = batch.turn.iter().map(|turn| f32::from(*turn)).collect();
        let turn = Tensor::<1>::from_data(&turn[..], &device); // [batch]

        let tapered = coefficients.matmul(self.terms.weight.val()) * taper; // [batch, 2]
        let centipawns = tapered.sum_dim(1).reshape([positions]) + turn * self.terms.tempo.val();
        centipawns / self.scale
    }
}
