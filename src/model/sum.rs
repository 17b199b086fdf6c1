//! A net that is added to handcrafted terms, trained with them.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::{
    Aim, Compute, HceModel, HceShape, LossGradients, LossInputs, NetModel, inner_tensor, to_host,
};
use crate::architecture::{Architecture, Perspectives};
use crate::batch::{BatchInputs, TermBatch};
use crate::weights::{Weights, WeightsError};

/// First number of the terms' parameters; those of nets are smaller.
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

    /// Returns -1 where the net's point of view is Black's, as that of terms is White's; else 1.
    fn term_signs(&self, pieces: &[Arc<TermBatch>]) -> Vec<f32> {
        let is_white = self.net.architecture().inputs.perspectives == Perspectives::Plain;
        let turns = pieces.iter().flat_map(|piece| &piece.turn);
        turns.map(|turn| if is_white { 1.0 } else { (*turn).into() }).collect()
    }

    pub fn logits(&self, inputs: &BatchInputs) -> Tensor<1> {
        let pieces = inputs.terms();
        let terms = self.terms.logits(pieces);
        let signs = Tensor::<1>::from_data(&self.term_signs(pieces)[..], &terms.device());
        inner_tensor(self.net.logits(inputs)) + terms * signs
    }

    /// Computes loss and gradients: terms are the net's base, then get the gradients of the sum.
    pub fn loss_gradients(&self, inputs: &BatchInputs, aim: Aim) -> LossGradients {
        let pieces = inputs.terms();
        let signs = self.term_signs(pieces);
        let convert = |values: &[f32]| -> Vec<f32> {
            values.iter().zip(&signs).map(|(value, sign)| value * sign).collect()
        };
        let (mut net, upstream) = match aim.loss_inputs() {
            None => (self.net.loss_gradients(inputs, aim, None), convert(aim.target_numbers())),
            Some(loss_inputs) => {
                let mut base_logits = convert(&to_host(self.terms.logits(pieces)));
                base_logits.iter_mut().zip(loss_inputs.base).for_each(|(sum, base)| *sum += base);
                let loss_inputs = LossInputs { base: &base_logits, ..loss_inputs };
                let net = self.net.loss_gradients(inputs, Aim::Losses(loss_inputs), None);
                let net_logits = to_host(inner_tensor(self.net.logits(inputs)));
                assert_eq!(net_logits.len(), signs.len(), "a logit a position");
                (net, convert(&loss_inputs.loss_gradients(&net_logits)))
            }
        };
        let terms = self.terms.loss_gradients(pieces, Aim::Upstream(&upstream));
        net.gradients.extend(terms.gradients);
        net
    }
}
