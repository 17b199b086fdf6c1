//! Whether the numbers of a config fit together.

use std::path::{Component, Path};

use super::{Config, ConfigError, MOST_POSITIONS, VERSION};
use crate::architecture::Architecture;
use crate::train::optimizer::{self, Name};

/// Positions of a step; a larger batch is a slip of the pen, not a plan.
const LARGEST_BATCH: usize = 1 << 22;
const MOST_EPOCHS: f64 = 1e6;

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
        for (i, path) in self.data.files.iter().enumerate() {
            if self.data.files[..i].iter().any(|other| same_path(other, path)) {
                let reason = format!("{} is listed twice; remove one", path.display());
                return wrong("data.files", reason);
            }
        }
        if !(0.0..1.0).contains(&self.data.held_out) {
            let found = self.data.held_out;
            return wrong("data.held_out", format!("a share from 0 to below 1, found {found}"));
        }
        if self.data.window.is_some_and(|window| !(1..=1 << 31).contains(&window)) {
            return wrong("data.window", "must hold 1 to 2147483648 positions".into());
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
        let (low, high) = self.schedule.learning_rate.range();
        if !(low >= 0.0 && high.is_finite()) {
            let reason = format!("must be finite and not negative, found {low} to {high}");
            return wrong("schedule.learning_rate", reason);
        }
        let optimizer::Settings { name, beta1, beta2, epsilon, weight_decay, clip, .. } =
            self.optimizer();
        for (key, value) in [("optimizer.beta1", beta1), ("optimizer.beta2", beta2)] {
            if !(0.0..1.0).contains(&value) {
                return wrong(key, format!("lies from 0 to below 1, found {value}"));
            }
        }
        for (key, value) in [("optimizer.weight_decay", weight_decay), ("optimizer.clip", clip)] {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(key, format!("must be finite and not negative, found {value}"));
            }
        }
        if !(epsilon.is_finite() && epsilon > 0.0) {
            // At 0 a weight that never had a gradient would become 0 / 0.
            let reason = format!("must be finite and above 0, found {epsilon}");
            return wrong("optimizer.epsilon", reason);
        }
        if name != Name::AdamW && self.optimizer.bias_correction == Some(false) {
            let reason = "only adamw can go without it".into();
            return wrong("optimizer.bias_correction", reason);
        }
        self.check_plan()
    }

    fn check_plan(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        let plan = &self.schedule;
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
        if plan.batch > LARGEST_BATCH {
            let reason = format!("must be at most {LARGEST_BATCH}, found {}", plan.batch);
            return wrong("schedule.batch", reason);
        }
        let most = MOST_POSITIONS as f64;
        let superbatch = plan.batches_per_superbatch as f64 * plan.batch as f64;
        if superbatch > most {
            let reason = format!("with this batch a superbatch has more than {most} positions");
            return wrong("schedule.batches_per_superbatch", reason);
        }
        let given: Vec<(&'static str, f64, f64)> = [
            ("schedule.epochs", plan.epochs, MOST_EPOCHS),
            ("schedule.positions", plan.positions.map(|count| count as f64), most),
            ("schedule.superbatches", plan.superbatches, most / superbatch),
        ]
        .into_iter()
        .filter_map(|(key, length, most)| Some((key, length?, most)))
        .collect();
        let [(key, length, most)] = given[..] else {
            let reason = "give one of `epochs`, `positions` and `superbatches`";
            return wrong("schedule", format!("{reason}, found {}", given.len()));
        };
        if !(length > 0.0 && length <= most) {
            return wrong(key, format!("must be above 0 and at most {most}, found {length}"));
        }
        if plan.patience.is_some() && self.data.held_out == 0.0 {
            let reason = "patience needs held-out games; raise `data.held_out`, or remove patience";
            return wrong("schedule.patience", reason.into());
        }
        Ok(())
    }
}

/// Whether two paths differ by no more than a `./`.
fn same_path(one: &Path, other: &Path) -> bool {
    let plain = |part: &Component| *part != Component::CurDir;
    one.components().filter(plain).eq(other.components().filter(plain))
}
