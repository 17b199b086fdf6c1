//! Data of a run that trains a net.

use anyhow::{Context, Error, Result};
use rayon::prelude::*;

use super::data::{BatchSource, TrainingData, scan_data, to_prepare, validation_batches};
use crate::architecture::{Architecture, ArrayKind};
use crate::config::{Config, Objective};
use crate::export;
use crate::loader::{Encoder, ReadPlan, ScanFacts, StreamPlan};
use crate::model::initial_of_size;
use crate::run::terms::RunTerms;
use crate::run::{Host, base, data_plan};
use crate::sample::Sample;
use crate::weights::Weights;

/// Approximate number of positions on which feature sets are checked.
const CHECKED: usize = 4096;
/// One in this many of them is used to check bounds, which takes longer.
const BOUNDED: usize = 64;

/// Opens the data of a net, and its weights: starting ones, or `resumed`.
pub(super) fn open_net_data(
    config: &Config,
    base: Option<&export::StoredBase>,
    resumed: Option<&Weights>,
    host: &Host,
) -> Result<(TrainingData, Weights)> {
    let (section, net) =
        config.file.net.as_ref().zip(config.architecture()).context("no terms, so a net")?;
    let tuned = base.filter(|_| section.tune_base);
    let base_terms = |base| match resumed {
        Some(weights) => base::read_base_terms(base, weights, false),
        None => base::base_terms(base),
    };
    let terms = tuned.map(base_terms).transpose()?;
    let encoder = match (&terms, base) {
        (Some(terms), _) => Encoder::for_sum(net, RunTerms::of_base(terms).terms_encoder(terms)),
        (None, base) => Encoder::for_net_on_base(net, base::open_base(base)?),
    };
    let read = ReadPlan { needs_colours: encoder.needs_colours(), ..data_plan::read_plan(config) };
    let rounds = config.file.target.learn != Objective::Values;
    // Positions whose quiet ends are searched are read again.
    let keep = match config.file.data.window {
        _ if rounds => 0,
        Some(window) => window as u64,
        None => config.max_positions_in_memory(),
    };
    let mut scan = scan_data(&read, keep, config, host.listener)?;
    if !net.inputs.is_pieces() {
        check_sets(net, &scan.some)?;
    }
    let samples = rounds.then(|| to_prepare(&read, config, host.listener)).transpose()?;
    let positions = scan.is_whole.then_some(scan.counts.train);
    let lengths = scan.files.iter().map(|file| file.bytes).collect();
    let facts = ScanFacts { positions, lengths };
    let order = data_plan::pass_order(config, Some(scan.counts.train));
    let layout = data_plan::choose_layout(config, host.compute, &order, &facts, &scan.some);
    let sizes: Vec<f64> =
        section.sets.iter().map(|set| section.start_size.size_of_set(set)).collect();
    let mut weights = initial_of_size(net, config.file.seed, &sizes);
    if base.is_some() {
        // With zeros here, the sum starts as its base.
        for kind in [ArrayKind::Output, ArrayKind::OutputBias] {
            let name = net.find_array(kind).expect("every net has it").name;
            weights.0.get_mut(&name).expect("a net has its arrays").values.fill(0.0);
        }
    }
    weights.0.extend(terms.into_iter().flat_map(|terms| terms.to_weights().0));
    let source = match samples {
        Some(samples) => {
            scan.counts.train = samples.len() as u64;
            BatchSource::Prepared { samples, by: None }
        }
        None => {
            let fits = scan.counts.train <= order.window as u64;
            let records = scan.kept.take().filter(|_| fits);
            let plan = StreamPlan { read, order, facts, layout };
            BatchSource::Files { plan: Box::new(plan), records }
        }
    };
    let validation = validation_batches(config, &encoder, &scan.validation.samples);
    Ok((TrainingData { scan, validation, encoder: Some(encoder), source, terms: None }, weights))
}

/// Checks the rows of feature sets on some of the positions of a sample.
fn check_sets(net: &Architecture, sample: &[Sample]) -> Result<()> {
    let check = |(number, sample): (usize, &Sample)| {
        net.inputs.check_position(&sample.position, number % BOUNDED == 0)
    };
    // The first one is checked alone, so that a panic of a user's set is printed once.
    sample.first().map_or(Ok(()), |first| check((0, first))).map_err(Error::msg)?;
    let step = (sample.len() / CHECKED).max(1);
    let failed = sample.par_iter().step_by(step).enumerate().find_map_first(|it| check(it).err());
    failed.map_or(Ok(()), |error| Err(Error::msg(error)))
}
