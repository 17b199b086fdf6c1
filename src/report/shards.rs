//! Sums in a fixed order: the same bits whatever the number of threads.

use rayon::prelude::*;

/// Records a shard; enough work to be worth a task.
const SHARD: usize = 8192;

/// The sum of `each(record)` over `0..records`.
pub(super) fn sum(records: usize, each: impl Fn(usize) -> f64 + Sync) -> f64 {
    let [sum] = sums(records, |record| [each(record)]);
    sum
}

/// Several such sums at once.
pub(super) fn sums<const N: usize>(
    records: usize,
    each: impl Fn(usize) -> [f64; N] + Sync,
) -> [f64; N] {
    let add = |mut sums: [f64; N], values: [f64; N]| {
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        sums
    };
    let shards: Vec<[f64; N]> = (0..records.div_ceil(SHARD))
        .into_par_iter()
        .map(|shard| {
            (shard * SHARD..records.min((shard + 1) * SHARD)).map(&each).fold([0.0; N], add)
        })
        .collect();
    shards.into_iter().fold([0.0; N], add)
}
