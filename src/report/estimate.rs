//! Uncertainty of means: jackknife intervals that leave out one game at a time, since positions of
//! one game share its result; differences are paired. There is no random sampling.
//! `tests/it/reports/coverage.rs` verifies that they cover 95 % from 30 games on. Sources: B. Efron, C.
//! Stein, "The jackknife estimate of variance" (1981); MacKinnon, Nielsen, Webb (2023), CV3.

use std::collections::HashMap;

use serde::Serialize;

use super::chance;

/// The fewest groups with which a winner is named.
pub const FEW_GROUPS: usize = 30;
/// The largest number of bundles. More groups are bundled and left out together. Independent groups
/// in equal bundles have the same standard error; this many bundles give it to within 1 %.
const MAX_BUNDLES: usize = 16_384;

/// A mean, or a function of means, and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// 95 % interval; None from fewer than two groups.
    pub interval: Option<[f64; 2]>,
    /// Standard error by the jackknife; None from fewer than two groups.
    pub standard_error: Option<f64>,
    /// Probability of a number as far from zero by chance alone; None if undefined.
    pub p: Option<f64>,
    pub groups: usize,
    /// Whether positions count as games, and the interval is at least as wide.
    pub interval_is_lower_bound: bool,
}

impl Estimate {
    /// Returns the mean in standard errors; None if undefined.
    pub fn z_score(&self) -> Option<f64> {
        self.standard_error.filter(|error| *error > 0.0).map(|error| self.mean / error)
    }

    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|[low, high]| (high - low) / 2.0)
    }

    /// Returns whether the interval contains both signs.
    pub fn contains_zero(&self) -> bool {
        self.interval.is_none_or(|[low, high]| low <= 0.0 && 0.0 <= high)
    }
}

/// Means of columns, and their values without each group.
#[derive(Clone, Debug)]
pub struct Means {
    /// Contribution of each group or bundle to the sum, by column.
    sums: Vec<Vec<f64>>,
    totals: Vec<f64>,
    counts: Vec<f64>,
    records: f64,
    groups: usize,
    known: bool,
}

impl Means {
    /// Creates means from columns of [sums](Groups::sum_groups) by group.
    pub fn new(groups: &Groups, columns: &[Vec<f64>]) -> Self {
        let bundles = groups.counts.len().min(MAX_BUNDLES);
        let bundled = |values: &mut dyn Iterator<Item = f64>| {
            let mut sums = vec![0.0; bundles];
            values.enumerate().for_each(|(group, value)| sums[group % bundles] += value);
            sums
        };
        let sums: Vec<Vec<f64>> =
            columns.iter().map(|column| bundled(&mut column.iter().copied())).collect();
        Self {
            totals: sums.iter().map(|column| column.iter().sum()).collect(),
            sums,
            counts: bundled(&mut groups.counts.iter().map(|count| f64::from(*count))),
            records: groups.record_count() as f64,
            groups: groups.len(),
            known: groups.known,
        }
    }

    pub fn mean_of_column(&self, column: usize) -> Estimate {
        self.estimate_statistic(|mean| mean(column))
    }

    pub fn difference_of_columns(&self, column: usize, subtracted: usize) -> Estimate {
        self.estimate_statistic(|mean| mean(column) - mean(subtracted))
    }

    /// Estimates any smooth function of the means of columns, such as a derivative.
    pub fn estimate_statistic(&self, statistic: impl Fn(&dyn Fn(usize) -> f64) -> f64) -> Estimate {
        let mean = statistic(&|column| self.totals[column] / self.records);
        let without = |group: usize| {
            let records = self.records - self.counts[group];
            statistic(&|column| (self.totals[column] - self.sums[column][group]) / records)
        };
        let bundles = self.groups.min(self.counts.len());
        let freedom = bundles as f64 - 1.0;
        let error = (bundles > 1).then(|| {
            let squares = (0..self.counts.len()).map(|group| (without(group) - mean).powi(2));
            (freedom / bundles as f64 * squares.sum::<f64>()).sqrt()
        });
        let width = |error| chance::critical_t(chance::LEVEL, freedom) * error;
        let p = |error| chance::two_sided(mean / error, freedom);
        Estimate {
            mean,
            interval: error.map(width).map(|width| [mean - width, mean + width]),
            standard_error: error,
            p: error.filter(|error| *error > 0.0).map(p),
            groups: self.groups,
            interval_is_lower_bound: !self.known,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Groups {
    /// The group of each record, numbered from 0 in the order of first appearance.
    pub(super) of: Vec<u32>,
    /// Number of records by group; 0 if [`of_records`](Self::of_records) dropped all.
    pub(super) counts: Vec<u32>,
    known: bool,
}

impl Groups {
    /// Numbers the groups of records by their keys. They are `known` if records of a group are known
    /// to belong together, and groups to be independent.
    pub fn new(keys: impl IntoIterator<Item = u64>, known: bool) -> Self {
        let mut numbers = HashMap::new();
        let mut groups = Self { of: Vec::new(), counts: Vec::new(), known };
        for key in keys {
            let next = groups.counts.len() as u32;
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                groups.counts.push(0);
            }
            groups.counts[number as usize] += 1;
            groups.of.push(number);
        }
        groups
    }

    /// Selects records, in the order given. Groups keep their numbers; some may be empty.
    pub fn of_records(&self, records: &[u32]) -> Self {
        let mut counts = vec![0; self.counts.len()];
        let of: Vec<u32> = records.iter().map(|record| self.of[*record as usize]).collect();
        of.iter().for_each(|group| counts[*group as usize] += 1);
        Self { of, counts, known: self.known }
    }

    /// Returns the number of groups that have records.
    pub fn len(&self) -> usize {
        self.counts.iter().filter(|count| **count > 0).count()
    }

    pub fn record_count(&self) -> usize {
        self.of.len()
    }

    pub fn sum_groups(&self, values: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.counts.len()];
        for (group, value) in self.of.iter().zip(values) {
            sums[*group as usize] += value;
        }
        sums
    }
}
