//! Whether the numbers of a config fit together.

use super::{Config, ConfigError, VERSION};
use crate::architecture::Architecture;
use crate::train::optimizer::{self, Name};

impl Config {
    /// # Errors
    /// The first key whose value cannot be used.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        if self.version != VERSION {
            let reason = format!("this program reads version {VERSION}, found {}", self.version);
            return wrong("version", reason);
        }
        if self.data.files.is_empty() {
            return wrong("data.files", "name at least one file".into());
        }
        if !(0.0..1.0).contains(&self.data.held_out) {
            let found = self.data.held_out;
            return wrong("data.held_out", format!("a share from 0 to below 1, found {found}"));
        }
        if self.data.window == 0 {
            return wrong("data.window", "must hold at least one position".into());
        }
        self.format()?;
        let (scale, whole) = (self.scale(), self.scale().fract() == 0.0);
        match self.architecture()? {
            Some(_) if !whole || scale > 32_767.0 => {
                let reason =
                    format!("engines count in whole centipawns up to 32767, found {scale}");
                return wrong("target.scale", reason);
            }
            Some(Architecture { hidden, .. }) if !(1..=65_536).contains(&hidden) => {
                let reason = format!("the hidden layer has 1 to 65536 neurons, found {hidden}");
                return wrong("model.hidden", reason);
            }
            None if self.model.hidden.is_some() => {
                return wrong("model.hidden", "handcrafted terms have no hidden layer".into());
            }
            None if self.model.activation.is_some() => {
                return wrong("model.activation", "handcrafted terms have no activation".into());
            }
            _ => {}
        }
        for (key, scale) in
            [("target.scale", self.scale()), ("target.score_scale", self.score_scale())]
        {
            if !(scale.is_finite() && scale > 0.0) {
                return wrong(key, format!("a number of centipawns above 0, found {scale}"));
            }
        }
        let (low, high) = self.target.wdl.range();
        if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) {
            return wrong("target.wdl", format!("lies between 0 and 1, found {low} to {high}"));
        }
        let (low, _) = self.schedule.learning_rate.range();
        if low < 0.0 {
            return wrong("schedule.learning_rate", format!("must not be negative, found {low}"));
        }
        let optimizer::Settings { name, beta1, beta2, epsilon, weight_decay, clip, .. } =
            self.optimizer();
        for (key, value) in [("optimizer.beta1", beta1), ("optimizer.beta2", beta2)] {
            if !(0.0..1.0).contains(&value) {
                return wrong(key, format!("lies from 0 to below 1, found {value}"));
            }
        }
        for (key, value) in [
            ("optimizer.epsilon", epsilon),
            ("optimizer.weight_decay", weight_decay),
            ("optimizer.clip", clip),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(key, format!("must not be negative, found {value}"));
            }
        }
        if name != Name::AdamW && self.optimizer.bias_correction == Some(false) {
            let reason = "only adamw can go without it".into();
            return wrong("optimizer.bias_correction", reason);
        }
        let plan = &self.schedule;
        let lengths = [plan.epochs, plan.positions.map(|n| n as f64), plan.superbatches];
        let given: Vec<f64> = lengths.into_iter().flatten().collect();
        if given.len() != 1 {
            let reason = "give one of `epochs`, `positions` and `superbatches`".to_string();
            return wrong("schedule", format!("{reason}, found {}", given.len()));
        }
        if !(given[0].is_finite() && given[0] > 0.0) {
            return wrong("schedule", format!("the length must be above 0, found {}", given[0]));
        }
        for (key, value) in [
            ("schedule.batch", plan.batch as u64),
            ("schedule.batches_per_superbatch", plan.batches_per_superbatch),
            ("schedule.looks", plan.looks),
            ("schedule.checkpoints", plan.checkpoints),
            ("schedule.patience", plan.patience.unwrap_or(1)),
        ] {
            if value == 0 {
                return wrong(key, "must be at least 1".into());
            }
        }
        Ok(())
    }
}
