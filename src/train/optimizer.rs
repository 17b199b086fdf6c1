//! The rules that turn gradients into steps.

use burn::module::ParamGroup;
use burn::optim::{
    AdamConfig, AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, LearningRate,
    ModuleOptimizer, Optimizer, SgdConfig, decay::WeightDecayConfig, momentum::MomentumConfig,
};
use burn::tensor::{Device, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::layers::{Layer, Layers};
use crate::model::ops::{adam_step, cpu::Adam};
use crate::model::{Compute, Level};

/// The `[optimizer]` section of a config, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub name: Name,
    /// Decay of the mean of gradients (Adam), or the momentum (SGD).
    pub beta1: f64,
    /// Decay of the mean of squared gradients (Adam).
    pub beta2: f64,
    /// Keeps Adam's division away from zero.
    pub epsilon: f64,
    /// Times the learning rate (AdamW), or added to the gradient (Adam, SGD).
    pub weight_decay: f64,
    /// Whether Adam corrects its means for having started at zero.
    pub bias_correction: bool,
    /// Parameters are held within `-clip ..= clip`; 0 = free.
    pub clip: f64,
    /// Which of them have another clip, or another learning rate.
    pub layers: Layers,
    /// Centipawns that a weight is expected to move (Gauss-Newton).
    pub prior: f64,
    /// Centipawns of a step (local search).
    pub step: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Name {
    /// Adam whose weight decay does not pass through the means; the usual one for nets.
    AdamW,
    /// Steps by the running means of gradients and of their squares.
    Adam,
    /// Steps that shrink with the sum of all squared gradients so far.
    AdaGrad,
    /// Steps along the gradient, with momentum `beta1`.
    Sgd,
    /// Least squares from all positions at once, step by step; for handcrafted terms.
    #[serde(rename = "gauss-newton")]
    GaussNewton,
    /// One step up or down for each weight, as long as one helps; for handcrafted terms.
    #[serde(rename = "local-search")]
    LocalSearch,
}

impl Name {
    /// As configs write it.
    pub fn text(self) -> &'static str {
        match self {
            Name::AdamW => "adamw",
            Name::Adam => "adam",
            Name::AdaGrad => "adagrad",
            Name::Sgd => "sgd",
            Name::GaussNewton => "gauss-newton",
            Name::LocalSearch => "local-search",
        }
    }

    /// Whether it finds weights from all positions at once and ends by itself, instead of
    /// following gradients.
    pub fn is_direct(self) -> bool {
        matches!(self, Name::GaussNewton | Name::LocalSearch)
    }
}

impl Settings {
    /// The optimiser with empty state: Burn's, or the fused one where the model is fused too.
    ///
    /// # Panics
    /// If the method is direct.
    pub fn build(&self, compute: Compute) -> ModuleOptimizer {
        if let Name::AdamW | Name::Adam = self.name {
            match compute {
                Compute::Fused { level, .. } => return self.fused(level),
                Compute::Gpu { .. } => return self.fused(Level::Portable),
                Compute::Plain => {}
            }
        }
        let (beta_1, beta_2) = (self.beta1 as f32, self.beta2 as f32);
        let (epsilon, decay) = (self.epsilon as f32, self.weight_decay as f32);
        let coupled = (decay != 0.0).then(|| WeightDecayConfig::new(decay));
        match self.name {
            Name::AdamW if self.bias_correction => {
                let adamw: AdamW = AdamWConfig::new()
                    .with_beta_1(beta_1)
                    .with_beta_2(beta_2)
                    .with_epsilon(epsilon)
                    .with_weight_decay(decay)
                    .build();
                self.held(adamw)
            }
            Name::AdamW => self.held(UncorrectedAdamW { beta_1, beta_2, epsilon, decay }),
            Name::Adam => self.held(
                AdamConfig::new()
                    .with_beta_1(beta_1)
                    .with_beta_2(beta_2)
                    .with_epsilon(epsilon)
                    .with_weight_decay(coupled)
                    .build(),
            ),
            Name::AdaGrad => self.held(AdaGrad { epsilon, decay }),
            Name::GaussNewton | Name::LocalSearch => panic!("direct methods follow no gradient"),
            Name::Sgd => {
                let momentum = MomentumConfig::new().with_momentum(self.beta1).with_dampening(0.0);
                let momentum = (self.beta1 != 0.0).then_some(momentum);
                self.held(
                    SgdConfig::new().with_momentum(momentum).with_weight_decay(coupled).build(),
                )
            }
        }
    }

    fn fused(&self, level: Level) -> ModuleOptimizer {
        let (decay, coupled_decay) = match self.name {
            Name::AdamW => (self.weight_decay, 0.0),
            _ => (0.0, self.weight_decay),
        };
        let &Settings { beta1, beta2, epsilon, bias_correction, .. } = self;
        self.by_layer(|clip, rate| FusedAdam {
            rule: Adam {
                beta1,
                beta2,
                epsilon,
                decay,
                coupled_decay,
                bias_correction,
                clip,
                level,
            },
            rate,
        })
    }

    fn held<O: Optimizer>(&self, inner: O) -> ModuleOptimizer {
        self.by_layer(|clip, rate| Held { inner: inner.clone(), clip, rate })
    }

    /// An optimiser for all parameters, and others for those with a clip or a rate of their own.
    fn by_layer<O: Optimizer>(&self, of: impl Fn(f64, f64) -> O) -> ModuleOptimizer {
        let all: ModuleOptimizer = of(self.clip, 1.0).into();
        // Of several groups with a parameter the last one counts, and the longer name comes later.
        self.layers.0.keys().fold(all, |optimizer, name| {
            let Layer { clip, rate } = self.layers.of(name);
            let own = of(clip.unwrap_or(self.clip), rate.unwrap_or(1.0));
            optimizer.with_group(group(name), own, None)
        })
    }
}

/// The parameters that a name of [`Layers`] stands for, wherever in a model the net is.
fn group(name: &str) -> ParamGroup {
    let pattern = format!(r"(^|\.){}(\.|$)", name.replace('.', r"\."));
    ParamGroup::from_regex(pattern).expect("names of arrays have letters, digits and dots")
}

/// Another optimiser at a learning rate times `rate`, with the parameters held within bounds after
/// each step.
#[derive(Clone)]
struct Held<O> {
    inner: O,
    clip: f64,
    rate: f64,
}

impl<O: Optimizer> Optimizer for Held<O> {
    type State<const D: usize> = O::State<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let (stepped, state) = self.inner.step(lr * self.rate, tensor, grad, state);
        let bounded = match self.clip {
            0.0 => stepped,
            clip => stepped.clamp(-clip, clip),
        };
        (bounded, state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        O::to_device(state, device)
    }
}

/// Adam and AdamW as one pass over each tensor, clipping included.
#[derive(Clone)]
struct FusedAdam {
    rule: Adam,
    /// Times the learning rate.
    rate: f64,
}

impl Optimizer for FusedAdam {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let (first, second, time) = match state {
            Some(AdamWState { momentum }) => {
                (momentum.moment_1, momentum.moment_2, momentum.time + 1)
            }
            None => (grad.zeros_like(), grad.zeros_like(), 1),
        };
        let [tensor, moment_1, moment_2] =
            adam_step([tensor, grad, first, second], self.rule, lr * self.rate, time as u64);
        let momentum = AdaptiveMomentumState { time, moment_1, moment_2, max_moment_2: None };
        (tensor, Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamWState { momentum: state.momentum.to_device(device) }
    }
}

/// AdamW whose means start at zero and are taken as they are, as in the trainers of many engines.
/// The state is Burn's, so that checkpoints of both kinds look alike.
#[derive(Clone)]
struct UncorrectedAdamW {
    beta_1: f32,
    beta_2: f32,
    epsilon: f32,
    decay: f32,
}

impl Optimizer for UncorrectedAdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let fresh = grad.clone().mul_scalar(1.0 - self.beta_1);
        let fresh_square = grad.square().mul_scalar(1.0 - self.beta_2);
        let (moment_1, moment_2, time) = match state {
            Some(AdamWState { momentum }) => (
                momentum.moment_1.mul_scalar(self.beta_1) + fresh,
                momentum.moment_2.mul_scalar(self.beta_2) + fresh_square,
                momentum.time + 1,
            ),
            None => (fresh, fresh_square, 1),
        };
        let delta = moment_1.clone() / moment_2.clone().sqrt().add_scalar(self.epsilon);
        let decayed = tensor.mul_scalar(1.0 - lr * f64::from(self.decay));
        let momentum = AdaptiveMomentumState { time, moment_1, moment_2, max_moment_2: None };
        (decayed - delta.mul_scalar(lr), Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamWState { momentum: state.momentum.to_device(device) }
    }
}

/// `G += g^2; p -= rate * g / sqrt(epsilon + G)`, as in A. Grant, "Evaluation & Tuning in Chess
/// Engines". The state is Burn's for Adam, whose second mean is the sum here.
#[derive(Clone)]
struct AdaGrad {
    epsilon: f32,
    decay: f32,
}

impl Optimizer for AdaGrad {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        lr: LearningRate,
        tensor: Tensor<D>,
        grad: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let grad = grad + tensor.clone().mul_scalar(self.decay);
        let (moment_1, sum, time) = match state {
            Some(AdamWState { momentum }) => {
                (momentum.moment_1, momentum.moment_2, momentum.time + 1)
            }
            None => (grad.zeros_like(), grad.zeros_like(), 1),
        };
        let sum = sum + grad.clone().square();
        let step = grad / sum.clone().add_scalar(self.epsilon).sqrt();
        let momentum = AdaptiveMomentumState { time, moment_1, moment_2: sum, max_moment_2: None };
        (tensor - step.mul_scalar(lr), Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(state: Self::State<D>, device: &Device) -> Self::State<D> {
        AdamWState { momentum: state.momentum.to_device(device) }
    }
}
