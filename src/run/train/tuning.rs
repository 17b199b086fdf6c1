//! The data of a run that tunes handcrafted terms.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::data::{BatchSource, Data, Summary, Tuned, keep, read, to_prepare, validation};
use crate::batch::Batch;
use crate::config::{BatchSize, Config, LEAST_SCALE, Learn, MOST_SCALE, Model as Section};
use crate::digits::grouped;
use crate::hce::{HceWeights, Tally};
use crate::loader::{Encoder, Store, TERMS_PIECE, read_traces};
use crate::model::{Compute, Device, Evaluation as _, HceShape, Kind, Model, try_to_host};
use crate::progress::Progress;
use crate::report::fit::{Conventions, fit};
use crate::run::recipe;
use crate::run::terms::RunTerms;
use crate::weights::Weights;

/// Positions that are enough to fit a scale on.
const FIT_ON: usize = 200_000;

/// Terms of the built-in evaluation, on positions.
pub fn positions(
    config: &mut Config,
    mut terms: RunTerms,
    start: HceWeights,
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<(Data, Weights)> {
    let mut plan = recipe::plan(config);
    let rounds = config.target.learn != Learn::Values;
    let keep = if rounds { 0 } else { keep(config) };
    // Where more positions might come than are kept, what was found would be found in vain.
    let encoder = (keep == u64::MAX).then(|| terms.encoder(&start));
    let mut scan = read(&plan, keep, encoder.as_ref(), listener)?;
    plan.expect(&scan);
    plan.window = config.window(scan.train);
    let kept = scan.kept.take();
    let (source, counts, weights);
    match (kept, rounds) {
        (_, true) => {
            let samples = to_prepare(&plan, config, listener)?;
            let seen = terms.encoder(&start).counts(&samples);
            hold_rare(&mut terms, &seen, rare(config), listener);
            let encoder = Encoder::Hce(Arc::new(terms.encoder(&start)));
            let some = match config.learns_moves() {
                true => scan.some.clone(),
                false => {
                    let every = (samples.len() / FIT_ON).max(1);
                    samples.chunks(TERMS_PIECE).step_by(every).flatten().copied().collect()
                }
            };
            weights = begin(config, &terms, &start, &encoder.encode(&some), place, listener)?;
            counts = Some(seen);
            scan.train = samples.len() as u64;
            source = BatchSource::Prepared { samples, weighing: plan.weighing, by: None };
        }
        (Some(records), false) => {
            let mut store = Store::encode(records, &terms.encoder(&start));
            let seen = store.counts.clone();
            if hold_rare(&mut terms, &seen, rare(config), listener) {
                store.hold(&terms.encoder(&start));
            }
            weights = begin(config, &terms, &start, &store.some(FIT_ON), place, listener)?;
            if passes(config, place) {
                store.by_term();
            }
            counts = Some(seen);
            source = BatchSource::Store(Arc::new(store));
        }
        (None, false) => {
            listener.remark(
                "the positions stream by and nobody counts their terms: none is held as rare",
            );
            let encoder = Encoder::Hce(Arc::new(terms.encoder(&start)));
            weights = begin(config, &terms, &start, &encoder.encode(&scan.some), place, listener)?;
            counts = None;
            source = BatchSource::Files { plan: Box::new(plan), encoder, kept: None };
        }
    }
    let encoder = Encoder::Hce(Arc::new(terms.encoder(&start)));
    let tally = Tally::of(&scan.some);
    let weights_of = config.weighing().weights(&scan.validation.samples);
    let validation = validation(&encoder, &scan.validation.samples, &weights_of);
    let data = Data {
        validation,
        validating: std::mem::take(&mut scan.validation.samples),
        test: std::mem::take(&mut scan.test.samples),
        some: std::mem::take(&mut scan.some),
        source,
        summary: Summary::of(scan),
        terms: Some(Tuned { terms, start, counts, tally }),
        encoder: Some(encoder),
    };
    Ok((data, weights))
}

/// Terms of another engine, on the traces that it printed.
pub fn traces(
    config: &mut Config,
    mut terms: RunTerms,
    start: HceWeights,
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<(Data, Weights)> {
    let own = terms.own.clone().context("an engine's terms")?;
    let plan = recipe::plan(config);
    let mut scan = read(&plan, 0, None, listener)?;
    let ([mut store, mut validation], tally) = read_traces(&plan, &own, &terms.encoder(&start))?;
    let seen = store.counts.clone();
    if hold_rare(&mut terms, &seen, rare(config), listener) {
        let encoder = terms.encoder(&start);
        store.hold(&encoder);
        validation.hold(&encoder);
    }
    let weights = begin(config, &terms, &start, &store.some(FIT_ON), place, listener)?;
    if passes(config, place) {
        store.by_term();
    }
    scan.train = store.len() as u64;
    let data = Data {
        validation: if validation.is_empty() { Vec::new() } else { vec![validation.all()] },
        validating: std::mem::take(&mut scan.validation.samples),
        test: std::mem::take(&mut scan.test.samples),
        some: std::mem::take(&mut scan.some),
        source: BatchSource::Store(Arc::new(store)),
        summary: Summary::of(scan),
        terms: Some(Tuned { terms, start, counts: Some(seen), tally }),
        encoder: None,
    };
    Ok((data, weights))
}

/// Whether gradients over all positions are taken again and again, by the processor.
fn passes(config: &Config, (_, compute): &(Device, Compute)) -> bool {
    let all = config.batch == BatchSize::All && !config.optimizer.name.is_direct();
    all && matches!(compute, Compute::Fused { .. })
}

/// Positions in which a term must occur to be trained.
fn rare(config: &Config) -> u64 {
    match &config.model {
        Section::Terms(terms) => terms.rare,
        Section::Traces(traces) => traces.rare,
        Section::Net(_) => 0,
    }
}

/// Holds the terms that too few positions have, and says so; whether there are any.
fn hold_rare(terms: &mut RunTerms, seen: &[u64], rare: u64, listener: &dyn Progress) -> bool {
    let mut held = Vec::new();
    for (i, chosen) in terms.chosen.terms.iter_mut().enumerate() {
        if *chosen && seen[i] < rare {
            *chosen = false;
            held.push(i);
        }
    }
    if !held.is_empty() {
        let moving = terms.chosen.terms.iter().filter(|chosen| **chosen).count();
        listener.remark(&format!(
            "{:>13} terms are held, seen in fewer than {rare} positions; {moving} move",
            grouped(held.len() as u64)
        ));
    }
    !held.is_empty()
}

/// The starting weights. A config without a scale gets the one that fits the start best.
fn begin(
    config: &mut Config,
    terms: &RunTerms,
    start: &HceWeights,
    batch: &Batch,
    (device, compute): &(Device, Compute),
    listener: &dyn Progress,
) -> Result<Weights> {
    let weights = start.to_weights();
    if config.target.scale.is_none() {
        // With one centipawn a logit the logits are centipawns.
        let shape = HceShape { scale: 1.0, ..terms.shape(config) };
        let model = Model::new(&Kind::Hce(shape), &weights, device, *compute)?;
        let cp: Vec<f64> =
            try_to_host(model.logits(&batch.inputs))?.iter().map(|cp| (*cp).into()).collect();
        let results: Vec<f64> = batch.results.iter().map(|result| (*result).into()).collect();
        let scale = fit(&cp, &results).scale.unwrap_or(config.scale);
        // Three digits are far finer than the data can tell.
        let scale = ((scale * 10.0).round() / 10.0).clamp(LEAST_SCALE, MOST_SCALE);
        let Conventions { k10, ke, k, .. } = Conventions::of(scale);
        listener.remark(&format!(
            "scale {scale}: with it sigmoid(cp / scale) of the start weights fits the results best \
             (K {k10:.4} with 1/(1+10^(-K E/400)), {ke:.4} with 1/(1+e^(-K E/400)), {k:.6} with 1/(1+e^(-K E)))"
        ));
        *config = config.with(|file| file.target.scale = Some(scale))?;
    }
    Ok(weights)
}
