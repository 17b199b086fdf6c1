//! How long a run is, and what its learning rate will be.

use anyhow::{Error, Result};

use crate::config::Config;
use crate::run::rounding;
use crate::train::schedule::{Length, Span, Stages};
use crate::train::{Keep, Rounded, Settings};

/// The steps of a run before those whose gradients are of rounded weights; all of them where there
/// are none.
fn rounded_after(last: Option<Length>, span: &Span) -> Result<u64, String> {
    let Some(last) = last else { return Ok(span.steps) };
    let (steps, whole) = (last.steps(span.steps as f64, span).ceil(), span.steps as f64);
    // The run's last step may be a part of one, which was rounded up.
    if steps > whole + 1.0 {
        return Err(format!(
            "{last} are {steps} steps, and the run has {whole}: shorten them, or lengthen the run;              1.0 is all of it"
        ));
    }
    Ok(span.steps - (steps as u64).clamp(1, span.steps))
}

/// What a config comes to, for this many positions to train on.
pub fn settings(config: &Config, positions: u64) -> Result<Settings> {
    let direct = config.optimizer.name.is_direct();
    let rounded_last = config.net().and_then(|net| net.rounded_last);
    let rounded = rounding::of_run(config);
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
        let keep = config.schedule.keep_every.map(|every| Keep::new(every, span));
        let every = |times: u64| span.steps.div_ceil(times).max(1);
        let after = rounded_after(rounded_last, span).map_err(wrong("net.rounded_last"))?;
        Ok(Settings {
            steps: span.steps,
            learning_rate,
            wdl,
            worths: config.worths(),
            loss: config.loss,
            optimizer: config.optimizer.clone(),
            rounded: rounded.clone().map(|rounding| Rounded { rounding, after }),
            // A direct method has few steps, and no more than it needs.
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
