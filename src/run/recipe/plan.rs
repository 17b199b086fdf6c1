//! What the loader is told of a run.

use std::sync::Arc;

use crate::config::{BatchSize, Config, Learn};
use crate::loader::{PAIRS, PLANS, Plan, Reading, Share, Split, pairs_of};
use crate::model::{Compute, Precision};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

/// The loader's part of a config.
pub fn plan(config: &Config) -> Plan {
    Plan {
        files: config.data.all_files(),
        reading: Reading {
            format: config.format,
            view: config.data.point_of_view,
            filter: config.data.filter.clone(),
            scores: config.needs_scores(),
            limit: config.data.limit,
        },
        sources: config.sources.clone(),
        validation: config.data.validation.clone(),
        bad_records: config.data.bad_records,
        check_view: config.data.check_view,
        weighing: config.weighing(),
        split: Split { share: config.data.held_out, seed: config.data.held_out_seed },
        test: config.test,
        share: Share(config.data.share),
        colours: (config.architecture())
            .is_some_and(|net| net.inputs.views.point_of_view() == PointOfView::White),
        window: config.window(u64::MAX),
        shuffle: config.data.shuffle,
        chunk: config.chunk,
        mirrored_copies: config.data.mirrored_copies,
        seed: config.seed,
        batch: match config.batch {
            BatchSize::Positions(count) => count,
            BatchSize::All => usize::MAX,
        },
        ..Plan::default()
    }
}

/// What of a net's work is planned, for data of so many positions, which the plan expects: the order
/// in which the processor computes, and the pairs that lists name. Chunks of data that are kept are
/// planned once for all passes. A GPU finds an order by itself; of one king bucket, it has use for
/// what chunks name, which stays there, and for their pairs.
///
/// Chunks of data that stream by are planned as they come where the net has one king bucket, and rows
/// so long that shorter lists are worth the search for pairs. These are learnt of `some` positions.
pub fn plan_chunks(
    plan: &mut Plan,
    config: &Config,
    compute: Compute,
    positions: u64,
    some: &[Sample],
) {
    let Some(net) = config.architecture() else { return };
    let one = net.inputs.kings.count() == 1;
    let pairs = config.pairs(positions);
    let plans = match compute {
        Compute::Plain => false,
        Compute::Fused { .. } => true,
        Compute::Gpu { .. } => one,
    };
    if plans {
        (plan.plans, plan.pairs) = (PLANS, pairs);
    }
    let number = match compute {
        Compute::Fused { precision: Precision::F32, .. } => size_of::<f32>(),
        Compute::Fused { precision: Precision::Mixed, .. } => size_of::<i16>(),
        Compute::Plain | Compute::Gpu { .. } => return,
    };
    let is_cut = plan.chunk > 0 && plan.batch >= 2 * plan.chunk;
    let streams = !plan.keeps() && plan.shares().is_none() && config.target.learn == Learn::Values;
    if streams && is_cut && one && net.hidden * number >= LONG {
        plan.passing = Some(Arc::new(pairs_of(net, some, PAIRS)));
    }
}

/// Bytes of an accumulator from which on pairs are worth their search in data that stream by.
const LONG: usize = 2048;
