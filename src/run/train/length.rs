//! How long a run is, and what its learning rate will be.

use anyhow::{Error, Result};

use crate::config::{self, Config};
use crate::train::Settings;
use crate::train::leg::{Keep, Leg};
use crate::train::length::Span;
use crate::train::moves::Moves;
use crate::train::stages::Stages;

/// How moves are learnt by an evaluation with this scale.
fn learnt(moves: &config::Moves, scale: f64) -> Moves {
    let &config::Moves { objective, temperature, force, strength, value, .. } = moves;
    let (force, strength) = (force.unwrap_or_default(), strength.unwrap_or_default());
    Moves { objective, temperature, scale, value, force, strength }
}

/// What a config comes to, for this many positions to train on.
pub fn settings(config: &Config, positions: u64) -> Result<Settings> {
    let direct = config.optimizer().name.is_direct();
    let leg = |span: &Span, until: u64| -> Result<Leg> {
        let wrong = |key: &'static str| move |reason| Error::msg(format!("`{key}`: {reason}"));
        let over = |key, stages: &Stages| stages.over(span).map_err(wrong(key));
        let learning_rate = over("schedule.learning_rate", &config.learning_rate())?;
        let wdl = over("target.wdl", &config.target.wdl)?;
        let (low, high) = wdl.range();
        if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) {
            let reason = format!("lies between 0 and 1, and would go from {low} to {high}");
            return Err(wrong("target.wdl")(reason));
        }
        let keep = config.schedule.keep_every.map(|every| Keep::new(every, span));
        let every = |times: u64| span.steps.div_ceil(times).max(1);
        Ok(Leg {
            until,
            steps: span.steps,
            learning_rate,
            wdl,
            // A direct method has few steps, and no more than it needs.
            validate_every: if direct { 1 } else { every(config.schedule.validations) },
            checkpoint_every: if direct { 1 } else { every(config.schedule.checkpoints) },
            keep: keep.transpose().map_err(wrong("schedule.keep_every"))?,
        })
    };
    let earlier = config.earlier_spans(positions);
    let earlier = earlier.iter().map(|(span, until)| leg(span, *until)).collect::<Result<_>>()?;
    let span = config.span(positions);
    let Leg { steps, learning_rate, wdl, validate_every, checkpoint_every, keep, .. } =
        leg(&span, span.steps)?;
    Ok(Settings {
        steps,
        learning_rate,
        wdl,
        promise: config.promise(),
        loss: config.loss(),
        optimizer: config.optimizer(),
        moves: config.moves().map(|moves| learnt(&moves, config.scale())),
        validate_every,
        checkpoint_every,
        patience: config.schedule.patience,
        keep,
        earlier,
    })
}
