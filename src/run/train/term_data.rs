//! Data of a run that tunes handcrafted terms: from positions, or from another engine's traces.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::data::{BatchSource, TrainingData, scan_data, to_prepare, validation_batches};
use crate::batch::Batch;
use crate::config::{Config, MAX_SCALE, MIN_SCALE, Objective};
use crate::hce::{HceWeights, TermCounts};
use crate::loader::{Encoder, ScanFacts, Store, StreamPlan, TERMS_PIECE, read_traces};
use crate::model::{Compute, HceShape, Model, ModelKind, try_to_host};
use crate::report::fit::fit_scale;
use crate::run::terms::RunTerms;
use crate::run::{Host, data_plan};
use crate::weights::Weights;

pub struct TermData {
    pub terms: RunTerms,
    pub start: HceWeights,
    /// Number of positions with each term; None for streamed data.
    pub counts: Option<Vec<u64>>,
    /// Number of occurrences of each term in some of the positions.
    pub term_counts: TermCounts,
}

/// Largest number of positions in memory as handcrafted terms, of some 250 bytes each.
const MAX_IN_MEMORY: u64 = 8 << 20;
/// Approximate number of positions on which the starting scale is fitted.
const FIT_ON: usize = 200_000;

/// Opens data for the built-in terms, from positions.
pub(super) fn open_term_data(
    config: &mut Config,
    mut terms: RunTerms,
    start: HceWeights,
    host: &Host,
) -> Result<(TrainingData, Weights)> {
    let read = data_plan::read_plan(config);
    let rounds = config.file.target.learn != Objective::Values;
    let keep = match (config.batch_size, config.file.data.window) {
        _ if rounds => 0,
        (None, _) => u64::MAX,
        (_, Some(_)) => 0,
        (_, None) => MAX_IN_MEMORY,
    };
    let mut scan = scan_data(&read, keep, config, host.listener)?;
    let positions = scan.is_whole.then_some(scan.counts.train);
    let facts = ScanFacts { positions, ..ScanFacts::default() };
    let order = data_plan::pass_order(config, Some(scan.counts.train));
    let encoder = |terms: &RunTerms| Encoder::Hce(Arc::new(terms.terms_encoder(&start)));
    let (source, counts, fitted);
    match scan.kept.take() {
        _ if rounds => {
            let samples = to_prepare(&read, config, host.listener)?;
            let occurrences = terms.terms_encoder(&start).count_terms(&samples);
            freeze_rare(&mut terms, &occurrences);
            let step = (samples.len() / FIT_ON).max(1);
            let fit_samples = match config.learns_moves() {
                true => scan.some.clone(),
                false => samples.chunks(TERMS_PIECE).step_by(step).flatten().copied().collect(),
            };
            fitted = encoder(&terms).encode_samples(&fit_samples);
            counts = Some(occurrences);
            scan.counts.train = samples.len() as u64;
            source = BatchSource::Prepared { samples, by: None };
        }
        Some(records) => {
            let mut store = Store::encode_records(records, &terms.terms_encoder(&start));
            freeze_rare_of(&mut store, &mut terms, &start);
            fitted = store.subsample_positions(FIT_ON);
            counts = Some(store.counts.clone());
            source = batch_source(store, config, host.compute);
        }
        None => {
            fitted = encoder(&terms).encode_samples(&scan.some);
            counts = None;
            let plan = StreamPlan { facts, ..StreamPlan::new(read, order) };
            source = BatchSource::Files { plan: Box::new(plan), records: None };
        }
    }
    let encoder = encoder(&terms);
    let weights = starting_weights(config, &terms, &start, &fitted, host)?;
    let term_counts = TermCounts::count_terms(&scan.some);
    let validation = validation_batches(config, &encoder, &scan.validation.samples);
    let terms = Some(TermData { terms, start, counts, term_counts });
    Ok((TrainingData { scan, validation, encoder: Some(encoder), source, terms }, weights))
}

/// Opens data for another engine's terms, from its traces.
pub(super) fn open_trace_data(
    config: &mut Config,
    mut terms: RunTerms,
    start: HceWeights,
    host: &Host,
) -> Result<(TrainingData, Weights)> {
    let engine = terms.engine.clone().context("an engine's terms")?;
    let plan = data_plan::read_plan(config);
    let mut scan = scan_data(&plan, u64::MAX, config, host.listener)?;
    let ([mut store, mut validation], term_counts) =
        read_traces(&plan, &engine, &terms.terms_encoder(&start))?;
    freeze_rare_of(&mut store, &mut terms, &start);
    validation.freeze_terms(&terms.terms_encoder(&start));
    let weights =
        starting_weights(config, &terms, &start, &store.subsample_positions(FIT_ON), host)?;
    scan.counts.train = store.len() as u64;
    let validation =
        if validation.is_empty() { Vec::new() } else { vec![validation.whole_batch()] };
    let terms = Some(TermData { terms, start, counts: Some(store.counts.clone()), term_counts });
    let source = batch_source(store, config, host.compute);
    Ok((TrainingData { scan, validation, encoder: None, source, terms }, weights))
}

/// Makes a source of terms in memory, grouped by term if each gradient on the CPU is over all.
fn batch_source(mut store: Store, config: &Config, compute: Compute) -> BatchSource {
    let is_whole = config.batch_size.is_none() && !config.optimizer.name.is_direct();
    if is_whole && matches!(compute, Compute::Fused { .. }) {
        store.by_term();
    }
    BatchSource::Store(Arc::new(store))
}

/// Freezes the terms that too few positions have, in their store as well.
fn freeze_rare_of(store: &mut Store, terms: &mut RunTerms, start: &HceWeights) {
    if freeze_rare(terms, &store.counts) {
        store.freeze_terms(&terms.terms_encoder(start));
    }
}

/// Freezes the terms that too few positions have. Returns whether there are any.
fn freeze_rare(terms: &mut RunTerms, counts: &[u64]) -> bool {
    let (mut has_rare, rare) = (false, terms.rare);
    for (chosen, count) in terms.chosen.terms.iter_mut().zip(counts) {
        has_rare |= *chosen && *count < rare;
        *chosen &= *count >= rare;
    }
    has_rare
}

/// Returns the starting weights. A config without a scale gets the one that fits them best.
fn starting_weights(
    config: &mut Config,
    terms: &RunTerms,
    start: &HceWeights,
    batch: &Batch,
    host: &Host,
) -> Result<Weights> {
    let weights = start.to_weights();
    if config.file.target.scale.is_none() {
        // At one centipawn per logit, logits are centipawns.
        let shape = HceShape { scale: 1.0, ..terms.hce_shape(config) };
        let model = Model::new(&ModelKind::Hce(shape), &weights, &host.device, host.compute)?;
        let exact = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let cp = exact(&try_to_host(model.logits(&batch.inputs))?);
        let scale = fit_scale(&cp, &exact(&batch.results)).scale.unwrap_or(config.scale);
        // Three digits are far finer than the data resolve.
        let scale = ((scale * 10.0).round() / 10.0).clamp(MIN_SCALE, MAX_SCALE);
        *config = config.with_changes(|file| file.target.scale = Some(scale))?;
    }
    Ok(weights)
}
