//! Length of a run, and its learning rate.

use anyhow::{Error, Result};

use crate::config::Config;
use crate::train::schedule::{Span, Stages};
use crate::train::{KeepRule, Settings};

/// Steps, rates and intervals of a config, for `positions` positions to train on.
pub fn settings(config: &Config, positions: u64) -> Result<Settings> {
    let direct = config.optimizer.name.is_direct();
    let of = |span: &Span| -> Result<Settings> {
        let wrong = |key: &'static str| move |reason| Error::msg(format!("`{key}`: {reason}"));
        let over = |key, stages: &Stages| stages.over(span).map_err(wrong(key));
        let learning_rate = over("schedule.learning_rate", &config.learning_rate)?;
        let wdl = over("target.wdl", &config.target.wdl)?;
        let (low, high) = wdl.range();
        if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) {
            let reason = format!("lies between 0 and 1, and would go from {low} to {high}");
            return Err(wrong("target.wdl")(reason));
        }
        let keep = config.schedule.keep_every.map(|every| KeepRule::new(every, span));
        let every = |times: u64| span.steps.div_ceil(times).max(1);
        Ok(Settings {
            steps: span.steps,
            learning_rate,
            wdl,
            source_targets: config.source_targets(),
            loss: config.loss,
            optimizer: config.optimizer.clone(),
            // A direct method takes few steps.
            validate_every: if direct { 1 } else { every(config.schedule.validations) },
            checkpoint_every: if direct { 1 } else { every(config.schedule.checkpoints) },
            patience: config.schedule.patience,
            keep: keep.transpose().map_err(wrong("schedule.keep_every"))?,
            earlier: Vec::new(),
        })
    };
    let earlier = config.earlier_spans(positions);
    let earlier = earlier.iter().map(|(span, until)| Ok((*until, of(span)?)));
    Ok(Settings { earlier: earlier.collect::<Result<_>>()?, ..of(&config.span(positions))? })
}
