//! A model's way to the fused operations.

use std::sync::{Arc, Mutex};

use burn::tensor::Tensor;

use super::hce::HceShape;
use super::net::NetShape;
use super::ops::cpu::{Level, Net, Precision, Scratch};
use super::ops::{Job, NetTensors, TermsJob, net_logits, net_loss, terms_logits, terms_loss};
use crate::batch::{Active, Terms};

/// How a model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Burn's tensor operations, on any device.
    Plain,
    /// Operations of our own, on the device `flex`.
    Fused { level: Level, precision: Precision },
}

/// The shape of a net as the operations want it, and the memory that they work in.
#[derive(Clone)]
pub struct Fused {
    net: Net,
    scratch: Arc<Mutex<Scratch>>,
}

impl Fused {
    pub fn new(shape: NetShape, compute: Compute) -> Option<Self> {
        let Compute::Fused { level, precision } = compute else { return None };
        let NetShape { inputs, views, hidden, activation } = shape;
        let net = Net { inputs, hidden, views, activation, precision, level };
        Some(Self { net, scratch: Arc::default() })
    }

    /// See [`super::Evaluation::loss`].
    pub fn loss(&self, tensors: NetTensors, active: &Active, targets: &[f32]) -> Tensor<1> {
        net_loss(tensors, self.job(active, targets))
    }

    /// See [`super::Evaluation::logits`]; no gradients follow.
    pub fn logits(&self, tensors: NetTensors, active: &Active) -> Tensor<1> {
        net_logits(tensors, self.job(active, &[]))
    }

    fn job<'a>(&self, active: &'a Active, targets: &'a [f32]) -> Job<'a> {
        Job { net: self.net, active, targets, scratch: self.scratch.clone() }
    }
}

impl std::fmt::Debug for Fused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.net.fmt(f)
    }
}

/// Handcrafted terms as the operations want them.
#[derive(Clone, Copy, Debug)]
pub struct FusedTerms {
    shape: HceShape,
    level: Level,
}

impl FusedTerms {
    pub fn new(shape: HceShape, compute: Compute) -> Option<Self> {
        let Compute::Fused { level, .. } = compute else { return None };
        Some(Self { shape, level })
    }

    /// See [`super::Evaluation::loss`].
    pub fn loss(
        self,
        weights: Tensor<2>,
        tempo: Tensor<1>,
        pieces: &[Arc<Terms>],
        targets: &[f32],
    ) -> Tensor<1> {
        terms_loss(weights, tempo, self.job(pieces, targets))
    }

    /// See [`super::Evaluation::logits`]; no gradients follow.
    pub fn logits(self, weights: Tensor<2>, tempo: Tensor<1>, pieces: &[Arc<Terms>]) -> Tensor<1> {
        terms_logits(weights, tempo, self.job(pieces, &[]))
    }

    fn job<'a>(self, pieces: &'a [Arc<Terms>], targets: &'a [f32]) -> TermsJob<'a> {
        let HceShape { scale, loss, tempo, .. } = self.shape;
        TermsJob { pieces, targets, scale, loss, tempo, level: self.level }
    }
}
