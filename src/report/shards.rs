//! Sums in a fixed order: the same bits whatever the number of threads.

use rayon::prelude::*;

/// Records a shard; enough work to be worth a task.
const SHARD: usize = 8192;

/// The sum of `each(record)` over `0..records`.
pub(super) fn sum(records: usize, each: impl Fn(usize) -> f64 + Sync) -> f64 {
    let shards: Vec<f64> = (0..records.div_ceil(SHARD))
        .into_par_iter()
        .map(|shard| (shard * SHARD..records.min((shard + 1) * SHARD)).map(&each).sum())
        .collect();
    shards.iter().sum()
}
