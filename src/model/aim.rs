//! What the gradients of a model are those of.

use burn::tensor::{Tensor, activation::sigmoid};

use crate::loss::Loss;

/// What the gradients of a model are those of.
#[derive(Clone, Copy, Debug)]
pub enum Aim<'a> {
    /// The mean loss of `sigmoid(logit) - target`; targets from 0 to 1, one a position.
    Targets(&'a [f32]),
    /// The same of `sigmoid(logit + base) - target`, where a net is added to something; bases are
    /// logits, one a position.
    Added { targets: &'a [f32], base: &'a [f32] },
    /// The sum of the logits, each times the force on it; forces of any size, one a position.
    Forces(&'a [f32]),
}

impl<'a> Aim<'a> {
    /// At targets, with what the model is added to; `base` may be empty.
    pub fn at(targets: &'a [f32], base: &'a [f32]) -> Self {
        match base {
            [] => Aim::Targets(targets),
            _ => {
                assert_eq!(base.len(), targets.len(), "bases");
                Aim::Added { targets, base }
            }
        }
    }

    /// What is added to logits; empty where nothing is.
    pub fn base(self) -> &'a [f32] {
        match self {
            Aim::Added { base, .. } => base,
            Aim::Targets(_) | Aim::Forces(_) => &[],
        }
    }

    /// Targets or forces.
    pub fn numbers(self) -> &'a [f32] {
        match self {
            Aim::Targets(numbers) | Aim::Forces(numbers) => numbers,
            Aim::Added { targets, .. } => targets,
        }
    }

    /// Whether the numbers are forces.
    pub fn pulls(self) -> bool {
        matches!(self, Aim::Forces(_))
    }

    /// What it comes to by Burn's operations, `[1]`, for `[batch]` logits of which the first has
    /// the number `first`. A part of the batch has its part of it.
    ///
    /// It is a product of matrices, so that the order of summation is fixed: Burn's `sum` of a
    /// large tensor adds in the order in which threads finish.
    pub(super) fn of(self, logits: Tensor<1>, first: usize, loss: Loss) -> Tensor<1> {
        let (positions, device) = (logits.dims()[0], logits.device());
        let numbers = &self.numbers()[first..first + positions];
        let numbers = Tensor::<1>::from_data(numbers, &device); // [batch]
        let (one, other, over) = match self {
            Aim::Forces(_) => (logits, numbers, 1),
            Aim::Targets(all) | Aim::Added { targets: all, .. } => {
                let logits = match self.base() {
                    [] => logits,
                    base => {
                        let base = &base[first..first + positions];
                        logits + Tensor::<1>::from_data(base, &device) // [batch]
                    }
                };
                let errors = sigmoid(logits) - numbers;
                let other = match loss {
                    Loss::Squared => errors.clone(),
                    Loss::Absolute => errors.clone().detach().sign(),
                };
                (errors, other, all.len())
            }
        };
        let other = other.reshape([positions, 1]);
        one.reshape([1, positions]).matmul(other).reshape([1]) / over as f32
    }
}
