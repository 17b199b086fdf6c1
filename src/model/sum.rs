//! A net and the handcrafted terms that it is added to, trained together.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{
    Aim, Compute, HceModel, HceShape, LossGradients, LossInputs, NetModel, inner_tensor, to_host,
};
use crate::architecture::{Architecture, Views};
use crate::batch::{ActiveRows, BatchInputs, TermBatch};
use crate::weights::{Weights, WeightsError};

/// First number of the terms' parameters; those of nets are below.
const FIRST: u64 = 1 << 10;

/// Sum of a net's logits and the terms', with one loss.
#[derive(Module, Debug)]
pub struct SumModel {
    pub net: NetModel,
    pub terms: HceModel,
}

impl SumModel {
    /// Fails if an array is missing or has another shape.
    pub fn new(
        net: &Architecture,
        shape: HceShape,
        weights: &Weights,
        device: &Device,
        compute: Compute,
    ) -> Result<Self, WeightsError> {
        Ok(Self {
            net: NetModel::new(net, weights, device, compute)?,
            terms: HceModel::new(FIRST, shape, weights, device, compute)?,
        })
    }

    /// +1, or -1 if the net has another point of view than terms, which have White's.
    fn term_signs(&self, pieces: &[Arc<TermBatch>]) -> Vec<f32> {
        let is_white = self.net.architecture().inputs.perspectives == Views::Plain;
        let turns = pieces.iter().flat_map(|piece| &piece.turn);
        turns.map(|turn| if is_white { 1.0 } else { (*turn).into() }).collect()
    }

    pub fn logits(&self, inputs: &BatchInputs) -> Tensor<1> {
        let (_, pieces) = split_inputs(inputs);
        let terms = self.terms.logits(pieces);
        let signs = Tensor::<1>::from_data(&self.term_signs(pieces)[..], &terms.device());
        inner_tensor(self.net.logits(inputs)) + terms * signs
    }

    /// The terms are the net's base, and then get the forces on the sum.
    pub fn loss_gradients(&self, inputs: &BatchInputs, aim: Aim) -> LossGradients {
        let (active, pieces) = split_inputs(inputs);
        let signs = self.term_signs(pieces);
        let seen = |values: &[f32]| -> Vec<f32> {
            values.iter().zip(&signs).map(|(value, sign)| value * sign).collect()
        };
        let Some(judged) = aim.loss_inputs() else {
            let (net, pulls) =
                (self.net.loss_gradients(inputs, aim, None), seen(aim.target_numbers()));
            return Self::join_gradients(
                net,
                self.terms.loss_gradients(pieces, Aim::Forces(&pulls)),
            );
        };
        let mut below = seen(&to_host(self.terms.logits(pieces)));
        if !judged.base.is_empty() {
            below.iter_mut().zip(judged.base).for_each(|(below, base)| *below += base);
        }
        let judged = LossInputs { base: &below, ..judged };
        let net = self.net.loss_gradients(inputs, Aim::Losses(judged), None);
        let above = to_host(inner_tensor(self.net.logits(inputs)));
        assert_eq!(above.len(), active.len(), "a logit a position");
        let pulls = seen(&judged.loss_gradients(&above));
        Self::join_gradients(net, self.terms.loss_gradients(pieces, Aim::Forces(&pulls)))
    }

    fn join_gradients(mut net: LossGradients, terms: LossGradients) -> LossGradients {
        net.gradients.extend(terms.gradients);
        net
    }
}

fn split_inputs(inputs: &BatchInputs) -> (&ActiveRows, &[Arc<TermBatch>]) {
    let BatchInputs::Both(active, pieces) = inputs else { panic!("a net and terms see both") };
    (active, pieces)
}
