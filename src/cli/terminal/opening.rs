//! What is said of a run before its first step: how long it is, and what its rates will be.

use crate::digits::short;
use crate::run::Opening;
use crate::train::schedule::{Schedule, Span};
use crate::train::{Rounded, Settings};

/// Points of the run at which rates are shown.
const POINTS: u64 = 10;

/// Says what will be trained, for how long, and where.
pub fn opens(opening: &Opening) {
    let Opening { positions, span, settings, net, adapter, compute } = opening;
    match settings.optimizer.name.is_direct() {
        true => eprintln!(
            "{} on {} positions, until the loss falls no more, at most {} steps",
            settings.optimizer.name.text(),
            short(*positions as f64),
            span.steps
        ),
        false => {
            let (name, loss) = (settings.optimizer.name.text(), settings.loss);
            eprintln!("{}\n{}\n{name}, {loss}", length(span), rates(settings));
        }
    }
    if let Some(Rounded { after, .. }) = &settings.rounded {
        let from = after + 1;
        eprintln!(
            "weights are rounded as the export will do it: for gradients from step {from} on, for \
             validation always"
        );
    }
    let model = net.as_ref().map_or("handcrafted terms".into(), |net| net.to_string());
    let threads = rayon::current_num_threads();
    let place = match adapter {
        Some(adapter) => format!("{adapter}, {threads} threads beside it"),
        None => format!("{threads} threads"),
    };
    eprintln!("{model}: {compute}, {place}");
}

/// The run's length in all units that people count in.
fn length(span: &Span) -> String {
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
fn rates(settings: &Settings) -> String {
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
