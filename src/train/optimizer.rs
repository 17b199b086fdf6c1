//! The rules that turn gradients into steps.

mod adagrad;
mod adam;
mod held;
mod lion;
mod memory;
mod radam;
mod schedule_free;

use burn::module::ParamGroup;
pub use burn::optim::ModuleOptimizer;
use burn::optim::{
    AdamConfig, AdamW, AdamWConfig, Lion, LionConfig, Optimizer, SgdConfig,
    decay::WeightDecayConfig, momentum::MomentumConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::layers::{Layer, Layers};
use crate::model::ops::cpu::{self, Adam};
use crate::model::{Compute, Level};
use adagrad::AdaGrad;
use adam::{FusedAdam, UncorrectedAdamW};
use held::Held;
use lion::FusedLion;
pub use radam::Lookahead;
use radam::RAdam;
use schedule_free::ScheduleFree;

/// About what tuned weights differ from sensible start values; on a million positions of 300,000
/// games or of 12,000 it costs nothing where the data speaks.
const PRIOR: f64 = 50.0;

/// The `[optimizer]` section of a config, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub name: Name,
    /// Decay of the mean of gradients, the momentum (SGD), what the direction of a step has of it
    /// (Lion), or of the mean of weights (schedule-free).
    pub beta1: f64,
    /// Decay of the mean of squared gradients, or of the momentum (Lion).
    pub beta2: f64,
    /// Keeps the division by roots away from zero.
    pub epsilon: f64,
    /// Times the learning rate, or added to the gradient: see [`Name::decays_apart`].
    pub weight_decay: f64,
    /// Whether Adam corrects its means for having started at zero.
    pub bias_correction: bool,
    /// How Ranger looks ahead.
    pub lookahead: Lookahead,
    /// The norm that all gradients together have at most; 0 = free.
    pub clip_gradients: f64,
    /// What is learnt instead of the weights that take the steps.
    pub average: Option<Averaged>,
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
    /// AdamW that takes careful steps until it knows enough of the squares of gradients to divide by
    /// them (L. Liu et al., 2020).
    RAdam,
    /// RAdam that looks ahead (M. Zhang et al., 2019): slow weights follow the fast ones, which now
    /// and then go on from there.
    Ranger,
    /// Steps of one size, in the direction of a running mean of gradients (X. Chen et al., 2023). It
    /// wants a learning rate three to ten times smaller than `adamw`.
    Lion,
    /// AdamW that learns the mean of where it has been, and wants no falling learning rate (A.
    /// Defazio et al., 2024).
    #[serde(rename = "schedule-free")]
    ScheduleFree,
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
            Name::RAdam => "radam",
            Name::Ranger => "ranger",
            Name::Lion => "lion",
            Name::ScheduleFree => "schedule-free",
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

    /// Whether weights decay by the learning rate, and not through the gradients.
    pub fn decays_apart(self) -> bool {
        use Name::{AdamW, Lion, RAdam, Ranger, ScheduleFree};
        matches!(self, AdamW | RAdam | Ranger | Lion | ScheduleFree)
    }
}

/// Which mean of the weights is learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Averaged {
    /// A running one, which keeps this share of itself at each step, from 0 to below 1.
    Decaying(f64),
    /// That of the last steps, this share of the run; above 0, to 1.
    Last(f64),
}

impl Settings {
    /// What the sources have, and weights that are free.
    pub fn usual(name: Name) -> Self {
        let [beta1, beta2] = match name {
            Name::Lion => [0.9, 0.99],
            Name::Ranger => [0.95, 0.999],
            _ => [0.9, 0.999],
        };
        Self {
            name,
            beta1,
            beta2,
            epsilon: 1e-8,
            weight_decay: if name.decays_apart() { 0.01 } else { 0.0 },
            bias_correction: true,
            lookahead: Lookahead { steps: 6, share: 0.5 },
            clip_gradients: 0.0,
            average: None,
            clip: 0.0,
            layers: Layers::default(),
            prior: PRIOR,
            step: 1,
        }
    }

    /// The optimiser with empty state: Burn's, or the fused one where the model is fused too.
    ///
    /// # Panics
    /// If the method is direct.
    pub fn build(&self, compute: Compute) -> ModuleOptimizer {
        let fused = compute.level();
        let (beta_1, beta_2) = (self.beta1 as f32, self.beta2 as f32);
        let (epsilon, decay) = (self.epsilon as f32, self.weight_decay as f32);
        let coupled = (decay != 0.0).then(|| WeightDecayConfig::new(decay));
        match (self.name, fused) {
            (Name::AdamW | Name::Adam, Some(level)) => {
                self.by_layer(|clip, rate| FusedAdam { rule: self.adam(clip), level, rate })
            }
            (Name::AdamW, None) if self.bias_correction => {
                let adamw: AdamW = AdamWConfig::new()
                    .with_beta_1(beta_1)
                    .with_beta_2(beta_2)
                    .with_epsilon(epsilon)
                    .with_weight_decay(decay)
                    .build();
                self.held(adamw)
            }
            (Name::AdamW, None) => self.held(UncorrectedAdamW { beta_1, beta_2, epsilon, decay }),
            (Name::Adam, None) => self.held(
                AdamConfig::new()
                    .with_beta_1(beta_1)
                    .with_beta_2(beta_2)
                    .with_epsilon(epsilon)
                    .with_weight_decay(coupled)
                    .build(),
            ),
            (Name::RAdam | Name::Ranger, fused) => self.by_layer(|clip, rate| RAdam {
                rule: self.adam(clip),
                fused,
                rate,
                lookahead: (self.name == Name::Ranger).then_some(self.lookahead),
            }),
            (Name::Lion, Some(level)) => {
                let &Settings { beta1, beta2, weight_decay: decay, .. } = self;
                self.by_layer(|clip, rate| FusedLion {
                    rule: cpu::Lion { beta1, beta2, decay, clip },
                    level,
                    rate,
                })
            }
            (Name::Lion, None) => {
                let lion: Lion = LionConfig::new()
                    .with_beta_1(beta_1)
                    .with_beta_2(beta_2)
                    .with_weight_decay(decay)
                    .build();
                self.held(lion)
            }
            (Name::ScheduleFree, fused) => self.schedule_free(fused, false),
            (Name::AdaGrad, _) => self.held(AdaGrad { epsilon, decay }),
            (Name::Sgd, _) => {
                let momentum = MomentumConfig::new().with_momentum(self.beta1).with_dampening(0.0);
                let momentum = (self.beta1 != 0.0).then_some(momentum);
                self.held(
                    SgdConfig::new().with_momentum(momentum).with_weight_decay(coupled).build(),
                )
            }
            (Name::GaussNewton | Name::LocalSearch, _) => {
                panic!("direct methods follow no gradient")
            }
        }
    }

    /// For an optimiser that learns something else than the weights that take its steps: an optimiser
    /// with the same state, a step of which puts what was learnt in their place, whatever the
    /// gradients are.
    pub fn shows(&self) -> Option<ModuleOptimizer> {
        (self.name == Name::ScheduleFree).then(|| self.schedule_free(None, true))
    }

    /// Numbers that are kept for each weight from step to step.
    pub fn kept(&self) -> u64 {
        let of_rule = match self.name {
            Name::Ranger => 3,
            Name::Lion | Name::Sgd => 1,
            _ => 2,
        };
        // A second set of gradients, while they are made shorter.
        let clipped = u64::from(self.clip_gradients != 0.0);
        of_rule + clipped + u64::from(self.average.is_some())
    }

    /// Whether what is learnt is not the weights that take the steps.
    pub fn learns_apart(&self) -> bool {
        self.average.is_some() || self.name == Name::ScheduleFree
    }

    fn schedule_free(&self, fused: Option<Level>, shows: bool) -> ModuleOptimizer {
        let &Settings { beta1, beta2, epsilon, weight_decay: decay, .. } = self;
        self.by_layer(|clip, rate| ScheduleFree {
            rule: cpu::ScheduleFree { beta1, beta2, epsilon, decay, clip },
            fused,
            rate,
            shows,
        })
    }

    fn adam(&self, clip: f64) -> Adam {
        let &Settings { beta1, beta2, epsilon, bias_correction, .. } = self;
        let (decay, coupled_decay) = match self.name.decays_apart() {
            true => (self.weight_decay, 0.0),
            false => (0.0, self.weight_decay),
        };
        let rectified = matches!(self.name, Name::RAdam | Name::Ranger);
        Adam { beta1, beta2, epsilon, decay, coupled_decay, bias_correction, rectified, clip }
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
