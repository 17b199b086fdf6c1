//! The section of a config about optimisers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::train::layers::{Layer, Layers};
use crate::train::optimizer::{Averaged, Lookahead, Name, Settings};

/// What schedule-free AdamW learns is found by a division by `beta1`.
const LEAST_BETA: f64 = 0.1;

/// How steps follow from gradients, or how weights are found without them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Optimizer {
    /// The method.
    pub name: Option<Name>,
    /// The decay of the running mean of gradients, or the momentum (`sgd`); from 0 to below 1. With
    /// `lion` a step goes by the momentum with this weight and by the gradient with the rest; with
    /// `schedule-free` gradients are taken this near to what is learnt, and it is at least 0.1.
    pub beta1: Option<f64>,
    /// The decay of the running mean of squared gradients, or of the momentum (`lion`); from 0 to below
    /// 1.
    pub beta2: Option<f64>,
    /// What keeps the division by the root of squares away from zero; above 0.
    pub epsilon: Option<f64>,
    /// How strongly weights are drawn towards zero; 0 or more. With `adamw`, `radam`, `ranger`,
    /// `lion` and `schedule-free` a step shrinks them by this times the learning rate; with the
    /// others it is added to the gradient, times the weight, and is 0 unless given.
    pub weight_decay: Option<f64>,
    /// Whether the running means are corrected for having started at zero. Only `adamw` can go
    /// without.
    pub bias_correction: Option<bool>,
    /// After each step all weights are held within -clip to clip; 0 leaves them free. The default
    /// for nets is so small that their integers fit with room to spare.
    pub clip: Option<f64>,
    /// The gradients of all weights together, as one arrow, are made no longer than this; above 0.
    /// Without it they may be of any length.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1.0)]
    pub clip_gradients: Option<f64>,
    /// For `ranger`: the steps after which its slow weights follow the fast ones, 1 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookahead_steps: Option<u64>,
    /// For `ranger`: the share of the way that they follow, above 0, to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookahead_share: Option<f64>,
    /// What is learnt is a running mean of the weights, which keeps this share of itself at each
    /// step, from 0 to below 1: 0.999 for a mean of about a thousand steps. It is what validates and
    /// what checkpoints hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.999)]
    pub average_decay: Option<f64>,
    /// The same, as the plain mean of the last steps: the share of the run that they make, above 0,
    /// to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.2)]
    pub average_last: Option<f64>,
    /// For `gauss-newton`: the centipawns that a weight is expected to move from its start, above
    /// 0. Smaller holds weights nearer to their start where the data says little about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
    /// For `local-search`: the centipawns of its first steps, 1 to 1000. Where none helps any more
    /// they halve, down to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The arrays of a net that have a clip or a learning rate of their own, by name: `accumulator`,
    /// `factoriser`, `head.0` and so on, `output`. Such a name stands for weights and biases; add
    /// `.weight` or `.bias` for one of them, and `head` is all layers of the head. `clip` is as
    /// `optimizer.clip` and comes before it; `rate`, above 0, is what the learning rate is multiplied
    /// by. The longest name counts. Not for terms.
    #[serde(skip_serializing_if = "Layers::is_empty")]
    #[schemars(example = layers())]
    pub layers: Layers,
}

impl Optimizer {
    /// With defaults that fit the model: nets are clipped so that they quantise, handcrafted weights
    /// are centipawns and run free.
    pub(super) fn settings(&self, is_net: bool) -> Settings {
        let name = self.name.unwrap_or(if is_net { Name::AdamW } else { Name::Adam });
        let usual = Settings::usual(name);
        let Lookahead { steps, share } = usual.lookahead;
        let running = self.average_decay.map(Averaged::Decaying);
        Settings {
            name,
            beta1: self.beta1.unwrap_or(usual.beta1),
            beta2: self.beta2.unwrap_or(usual.beta2),
            epsilon: self.epsilon.unwrap_or(usual.epsilon),
            weight_decay: self.weight_decay.unwrap_or(usual.weight_decay),
            bias_correction: self.bias_correction.unwrap_or(usual.bias_correction),
            lookahead: Lookahead {
                steps: self.lookahead_steps.unwrap_or(steps),
                share: self.lookahead_share.unwrap_or(share),
            },
            clip_gradients: self.clip_gradients.unwrap_or(usual.clip_gradients),
            average: running.or(self.average_last.map(Averaged::Last)),
            clip: self.clip.unwrap_or(if is_net { 1.98 } else { 0.0 }),
            layers: self.layers.clone(),
            prior: self.prior.unwrap_or(usual.prior),
            step: self.step.unwrap_or(usual.step),
        }
    }

    /// With every default that means something.
    pub(super) fn resolved(self, is_net: bool) -> Self {
        let Settings {
            name,
            beta1,
            beta2,
            epsilon,
            weight_decay,
            bias_correction,
            lookahead,
            clip,
            prior,
            step,
            ..
        } = self.settings(is_net);
        let ahead = name == Name::Ranger;
        Self {
            name: Some(name),
            beta1: Some(beta1),
            beta2: Some(beta2),
            epsilon: Some(epsilon),
            weight_decay: Some(weight_decay),
            bias_correction: Some(bias_correction),
            lookahead_steps: ahead.then_some(lookahead.steps),
            lookahead_share: ahead.then_some(lookahead.share),
            clip: Some(clip),
            prior: (name == Name::GaussNewton).then_some(prior),
            step: (name == Name::LocalSearch).then_some(step),
            ..self
        }
    }

    /// # Errors
    /// The first key whose value cannot be used.
    pub(super) fn check(&self, is_net: bool) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        let Settings { name, beta1, beta2, epsilon, weight_decay, clip, .. } =
            self.settings(is_net);
        for (key, value) in [
            ("optimizer.beta1", beta1),
            ("optimizer.beta2", beta2),
            ("optimizer.average_decay", self.average_decay.unwrap_or(0.0)),
        ] {
            if !(0.0..1.0).contains(&value) {
                return wrong(key, format!("lies from 0 to below 1, found {value}"));
            }
        }
        if name == Name::ScheduleFree && beta1 < LEAST_BETA {
            let reason = format!("is at least {LEAST_BETA} with schedule-free, found {beta1}");
            return wrong("optimizer.beta1", reason);
        }
        for (key, value) in [("optimizer.weight_decay", weight_decay), ("optimizer.clip", clip)] {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(key, format!("must be finite and not negative, found {value}"));
            }
        }
        // At 0 a weight that never had a gradient would become 0 / 0.
        let most = self.clip_gradients.unwrap_or(1.0);
        for (key, value) in [("optimizer.epsilon", epsilon), ("optimizer.clip_gradients", most)] {
            if !(value.is_finite() && value as f32 > 0.0) {
                return wrong(key, format!("must be finite and above 0, found {value}"));
            }
        }
        for (key, share) in [
            ("optimizer.average_last", self.average_last),
            ("optimizer.lookahead_share", self.lookahead_share),
        ] {
            if let Some(share) = share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
                return wrong(key, format!("lies above 0, to 1, found {share}"));
            }
        }
        if self.lookahead_steps == Some(0) {
            return wrong("optimizer.lookahead_steps", "is at least 1".into());
        }
        if name != Name::AdamW && self.bias_correction == Some(false) {
            return wrong("optimizer.bias_correction", "only adamw can go without it".into());
        }
        for (key, given, owner) in [
            ("optimizer.prior", self.prior.is_some(), Name::GaussNewton),
            ("optimizer.step", self.step.is_some(), Name::LocalSearch),
            ("optimizer.lookahead_steps", self.lookahead_steps.is_some(), Name::Ranger),
            ("optimizer.lookahead_share", self.lookahead_share.is_some(), Name::Ranger),
        ] {
            if given && name != owner {
                return wrong(key, format!("belongs to {}, not to {}", owner.text(), name.text()));
            }
        }
        for (key, given) in [
            ("optimizer.clip_gradients", self.clip_gradients.is_some()),
            ("optimizer.average_decay", self.average_decay.is_some()),
            ("optimizer.average_last", self.average_last.is_some()),
        ] {
            if given && name.is_direct() {
                let reason = format!("is for methods that follow gradients, not {}", name.text());
                return wrong(key, reason);
            }
            if given && key != "optimizer.clip_gradients" && name == Name::ScheduleFree {
                return wrong(key, "schedule-free learns a mean of its own".into());
            }
        }
        if self.average_decay.is_some() && self.average_last.is_some() {
            let reason = "there is one mean: give this or `average_decay`";
            return wrong("optimizer.average_last", reason.into());
        }
        Ok(())
    }
}

fn layers() -> Layers {
    let clipped = Layer { clip: Some(0.99), rate: None };
    Layers([("head.0.weight".to_string(), clipped)].into())
}
