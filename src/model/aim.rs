//! Objectives of a model's gradients: losses of its logits, or upstream gradients of them.

use burn::tensor::{Tensor, activation::sigmoid};

use crate::loss::{Loss, LossShape};

#[derive(Clone, Copy, Debug)]
pub enum Aim<'a> {
    /// The mean of the squares of `sigmoid(logit) - target`; targets from 0 to 1, one per position.
    Targets(&'a [f32]),
    /// The mean of any loss, with base logits or sample weights.
    Losses(LossInputs<'a>),
    /// The sum of the logits times upstream gradients, one per position.
    Upstream(&'a [f32]),
}

/// Inputs of the losses, each one number per position.
#[derive(Clone, Copy, Debug)]
pub struct LossInputs<'a> {
    pub targets: &'a [f32],
    /// Base logits, which are added to those of the model; empty without a base.
    pub base: &'a [f32],
    /// Factors of the losses, 0 or more; empty: all 1.
    pub weights: &'a [f32],
    pub loss: Loss,
    /// Weight of the mean of the activations that enter the first map of a deep net, equal for all
    /// positions: an L1 norm, as none is negative.
    pub sparsity: f32,
}

impl<'a> LossInputs<'a> {
    pub fn with_squared_error(targets: &'a [f32]) -> Self {
        Self { targets, base: &[], weights: &[], loss: Loss::SQUARED, sparsity: 0.0 }
    }
}

impl<'a> Aim<'a> {
    pub fn target_numbers(self) -> &'a [f32] {
        match self {
            Aim::Targets(numbers) | Aim::Upstream(numbers) => numbers,
            Aim::Losses(LossInputs { targets, .. }) => targets,
        }
    }

    /// Returns the inputs of the losses; None for upstream gradients.
    pub fn loss_inputs(self) -> Option<LossInputs<'a>> {
        match self {
            Aim::Targets(targets) => Some(LossInputs::with_squared_error(targets)),
            Aim::Losses(inputs) => Some(inputs),
            Aim::Upstream(_) => None,
        }
    }

    /// Returns the weight of the activations that enter the first map.
    pub(super) fn sparsity_weight(self) -> f32 {
        self.loss_inputs().map_or(0.0, |it| it.sparsity)
    }

    /// Returns targets or upstream gradients, base logits, weights; empty if there are none.
    #[cfg(feature = "wgpu")]
    pub(super) fn target_arrays(self) -> [&'a [f32]; 3] {
        let (base, weights) =
            self.loss_inputs().map_or((&[][..], &[][..]), |it| (it.base, it.weights));
        [self.target_numbers(), base, weights]
    }

    /// Panics if an array has a wrong length.
    pub(super) fn check_lengths(self, positions: usize) {
        assert_eq!(self.target_numbers().len(), positions, "targets");
        if let Some(LossInputs { base, weights, .. }) = self.loss_inputs() {
            for (array, what) in [(base, "bases"), (weights, "weights")] {
                assert!(array.is_empty() || array.len() == positions, "{what}");
            }
        }
    }

    /// Computes the objective by Burn's operations. It is a product of matrices, as Burn's `sum` adds
    /// in the order in which threads finish.
    fn objective_of(self, logits: Tensor<1>) -> Tensor<1> {
        let ([positions], device) = (logits.dims(), logits.device());
        let tensor = |numbers: &[f32]| Tensor::<1>::from_data(numbers, &device);
        let numbers = tensor(self.target_numbers()); // [batch]
        let (left, right, divisor) = match self.loss_inputs() {
            None => (logits, numbers, 1),
            Some(LossInputs { base, weights, loss, .. }) => {
                let logits = if base.is_empty() { logits } else { logits + tensor(base) };
                let errors = sigmoid(logits.clone()) - numbers.clone();
                let factors = match weights {
                    [] => Tensor::ones([positions], &device),
                    weights => tensor(weights),
                };
                let over_rated = errors.clone().detach().greater_elem(0.0).float();
                let factors = factors * (over_rated * loss.asymmetry + 1.0);
                let (left, right) = match loss.shape {
                    LossShape::Squared => (errors.clone() * factors, errors),
                    LossShape::Power => (errors.abs().powf_scalar(loss.power), factors),
                    LossShape::CrossEntropy => {
                        // With the larger of logit and 0, to avoid large exponentials.
                        let small = (-logits.clone().abs()).exp().log1p();
                        (logits.clone().clamp_min(0.0) - numbers * logits + small, factors)
                    }
                };
                (left, right, positions)
            }
        };
        let right = right.reshape([positions, 1]);
        left.reshape([1, positions]).matmul(right).reshape([1]) / divisor as f32
    }
}

/// Outputs of the head of a net.
pub struct HeadOutputs {
    /// `[batch]`
    pub logits: Tensor<1>,
    /// `[batch, features]`, the inputs of the first map; None for nets that are not deep.
    pub activations: Option<Tensor<2>>,
}

impl Aim<'_> {
    /// Computes the objective of a net, including the penalty of activations.
    pub(super) fn objective_of_head(self, outputs: HeadOutputs) -> Tensor<1> {
        let HeadOutputs { logits, activations } = outputs;
        let objective = self.objective_of(logits);
        let Some(activations) = activations.filter(|_| self.sparsity_weight() != 0.0) else {
            return objective;
        };
        let ([positions, features], device) = (activations.dims(), activations.device());
        let ones = |count: usize| Tensor::<1>::ones([count], &device);
        let by_feature = ones(positions).unsqueeze_dim::<2>(0).matmul(activations); // [1, features]
        let sum = by_feature.matmul(ones(features).unsqueeze_dim(1)).reshape([1]);
        objective + sum * (self.sparsity_weight() / (positions * features) as f32)
    }
}

impl LossInputs<'_> {
    /// Computes the derivatives of the mean loss by the logits, one per position.
    pub fn loss_gradients(self, logits: &[f32]) -> Vec<f32> {
        let mut gradients = Vec::with_capacity(logits.len());
        self.sum_losses(logits.iter().copied().enumerate(), &mut gradients);
        gradients
    }

    /// Sums the losses of logits; appends the derivatives of the batch's mean to `gradients`.
    #[inline(always)]
    pub(super) fn sum_losses(
        self,
        logits: impl Iterator<Item = (usize, f32)>,
        gradients: &mut Vec<f32>,
    ) -> f64 {
        let (batch, power) = (self.targets.len() as f32, self.loss.power as f32);
        match self.loss.shape {
            LossShape::Squared => self.sum_losses_by(logits, gradients, 2.0 / batch, |it| {
                (f64::from(it.error).powi(2), it.scale * it.error * it.p * (1.0 - it.p))
            }),
            LossShape::Power => self.sum_losses_by(logits, gradients, power / batch, |it| {
                let size = it.error.abs();
                let lower = size.powf(power - 1.0);
                let cost = f64::from(lower) * f64::from(size);
                (cost, it.scale * lower.copysign(it.error) * it.p * (1.0 - it.p))
            }),
            LossShape::CrossEntropy => self.sum_losses_by(logits, gradients, 1.0 / batch, |it| {
                let small = (-it.logit.abs()).exp().ln_1p();
                let cost = it.logit.max(0.0) - it.target * it.logit + small;
                (f64::from(cost), it.scale * it.error)
            }),
        }
    }

    #[inline(always)]
    fn sum_losses_by(
        self,
        logits: impl Iterator<Item = (usize, f32)>,
        gradients: &mut Vec<f32>,
        scale: f32,
        position_loss: impl Fn(PositionLoss) -> (f64, f32),
    ) -> f64 {
        let LossInputs { targets, base, weights, loss, .. } = self;
        let over_rated = 1.0 + loss.asymmetry as f32;
        let mut sum = 0.0;
        for (position, logit) in logits {
            let base_logit = if base.is_empty() { 0.0 } else { base[position] };
            let (logit, target) = (logit + base_logit, targets[position]);
            let p = 1.0 / (1.0 + (-logit).exp());
            let error = p - target;
            let mut weight = if weights.is_empty() { 1.0 } else { weights[position] };
            if error > 0.0 {
                weight *= over_rated;
            }
            let input = PositionLoss { logit, p, target, error, scale: scale * weight };
            let (cost, gradient) = position_loss(input);
            sum += cost * f64::from(weight);
            gradients.push(gradient);
        }
        sum
    }
}

struct PositionLoss {
    logit: f32,
    p: f32,
    target: f32,
    /// `p - target`
    error: f32,
    /// Factor of the gradient.
    scale: f32,
}
