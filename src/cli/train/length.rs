//! How long a run is, and what its learning rate will be.

use anyhow::{Error, Result};

use crate::cli::progress::short;
use crate::config::Config;
use crate::train::Settings;
use crate::train::leg::{Keep, Leg};
use crate::train::length::Span;
use crate::train::schedule::Schedule;
use crate::train::stages::Stages;

/// Points of the run at which rates are shown.
const POINTS: u64 = 10;

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
        score_scale: config.score_scale(),
        optimizer: config.optimizer(),
        validate_every,
        checkpoint_every,
        patience: config.schedule.patience,
        keep,
        earlier,
    })
}

/// The run's length in all units that people count in.
pub fn length(span: &Span) -> String {
    let Span { steps, batch, superbatch, epoch } = *span;
    let superbatch = superbatch * batch;
    format!(
        "{steps} steps of {batch} = {} positions = {:.2} passes over {} positions = {:.3} \
         superbatches; 1 superbatch = {} positions = {:.1} passes",
        short((steps * batch) as f64),
        (steps * batch) as f64 / epoch as f64,
        short(epoch as f64),
        steps as f64 * batch as f64 / superbatch as f64,
        short(superbatch as f64),
        superbatch as f64 / epoch as f64,
    )
}

/// The learning rate, and the weight of results where it changes, at points from the first step to
/// the last.
pub fn rates(settings: &Settings) -> String {
    let last = settings.steps - 1;
    let mut steps: Vec<u64> = (0..POINTS).map(|point| point * last / (POINTS - 1)).collect();
    steps.dedup();
    let changes = |schedule: &Schedule| {
        let (low, high) = schedule.range();
        low != high
    };
    let row = |name: &str, cell: &dyn Fn(u64) -> String| {
        let cells: String = steps.iter().map(|step| format!(" {:>8}", cell(*step))).collect();
        format!("{name:<13}{cells}")
    };
    let at = |schedule: &Schedule, step: u64| schedule.at(step as f64 / settings.steps as f64);
    let Settings { learning_rate, wdl, .. } = settings;
    let mut lines = Vec::new();
    match (changes(learning_rate), changes(wdl)) {
        (false, false) => return format!("learning rate {} all through", learning_rate.at(0.0)),
        (false, true) => lines.push(row("at step", &|step| (step + 1).to_string())),
        (true, _) => {
            lines.push(row("at step", &|step| (step + 1).to_string()));
            lines.push(row("learning rate", &|step| format!("{:.2e}", at(learning_rate, step))));
        }
    }
    if changes(wdl) {
        lines.push(row("wdl", &|step| format!("{:.3}", at(wdl, step))));
    }
    if learning_rate.never_steps() {
        lines.push(
            "note: a step of the learning rate would come after the end of its stage, which is \
             never"
                .into(),
        );
    }
    lines.join("\n")
}
