//! A model's way to the fused operations.

use std::sync::{Arc, Mutex};

use burn::tensor::Tensor;

use super::hce::HceShape;
use super::net::NetShape;
use super::ops::cpu::{Level, Net, Precision, Scratch};
use super::ops::{
    Done, Job, Kept, NetTensors, TermsJob, net_logits, net_loss, terms_logits, terms_loss,
};
use crate::batch::{Active, Terms};

/// How a model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Burn's tensor operations, on any device.
    Plain,
    /// Operations of our own, on the device `flex`.
    Fused { level: Level, precision: Precision },
    /// Operations of our own, on a GPU.
    Gpu {
        /// Bytes that the gradients of accumulators may take; a larger batch is taken in parts.
        room: usize,
    },
}

/// The shape of a net as the operations want it, and the memory that they work in.
#[derive(Clone)]
pub struct Fused {
    net: Net,
    scratch: Arc<Mutex<Scratch>>,
    room: usize,
}

impl Fused {
    pub fn new(shape: NetShape, compute: Compute) -> Option<Self> {
        let (level, precision, room) = match compute {
            Compute::Plain => return None,
            Compute::Fused { level, precision } => (level, precision, usize::MAX),
            // The level is for what a processor computes.
            Compute::Gpu { room } => (Level::Portable, Precision::F32, room),
        };
        let NetShape { inputs, views, hidden, activation } = shape;
        let net = Net { inputs, hidden, views, activation, precision, level };
        Some(Self { net, scratch: Arc::default(), room })
    }

    /// See [`super::Evaluation::loss`].
    pub fn loss(&self, tensors: NetTensors, active: &Active, targets: &[f32]) -> Tensor<1> {
        net_loss(tensors, self.job(active, targets))
    }

    /// The same, while `done` hears of each stage. The device waits for the end of each.
    pub fn loss_in_stages(
        &self,
        tensors: NetTensors,
        active: &Active,
        targets: &[f32],
        done: &Done,
    ) -> Tensor<1> {
        net_loss(tensors, Job { done: Some(done), ..self.job(active, targets) })
    }

    /// See [`super::Evaluation::logits`]; no gradients follow.
    pub fn logits(&self, tensors: NetTensors, active: &Active) -> Tensor<1> {
        net_logits(tensors, self.job(active, &[]))
    }

    fn job<'a>(&self, active: &'a Active, targets: &'a [f32]) -> Job<'a> {
        let Self { net, room, .. } = *self;
        Job { net, active, targets, scratch: self.scratch.clone(), room, done: None }
    }
}

impl std::fmt::Debug for Fused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.net.fmt(f)
    }
}

/// Handcrafted terms as the operations want them.
#[derive(Clone, Debug)]
pub struct FusedTerms {
    shape: HceShape,
    level: Level,
    kept: Kept,
}

impl FusedTerms {
    pub fn new(shape: HceShape, compute: Compute) -> Option<Self> {
        let level = match compute {
            Compute::Plain => return None,
            Compute::Fused { level, .. } => level,
            Compute::Gpu { .. } => Level::Portable,
        };
        Some(Self { shape, level, kept: Kept::default() })
    }

    /// See [`super::Evaluation::loss`].
    pub fn loss(
        &self,
        weights: Tensor<2>,
        tempo: Tensor<1>,
        pieces: &[Arc<Terms>],
        targets: &[f32],
    ) -> Tensor<1> {
        terms_loss(weights, tempo, self.job(pieces, targets), self.kept.clone())
    }

    /// See [`super::Evaluation::logits`]; no gradients follow.
    pub fn logits(&self, weights: Tensor<2>, tempo: Tensor<1>, pieces: &[Arc<Terms>]) -> Tensor<1> {
        terms_logits(weights, tempo, self.job(pieces, &[]), self.kept.clone())
    }

    fn job<'a>(&self, pieces: &'a [Arc<Terms>], targets: &'a [f32]) -> TermsJob<'a> {
        let HceShape { scale, loss, tempo, .. } = self.shape;
        TermsJob { pieces, targets, scale, loss, tempo, level: self.level }
    }
}
