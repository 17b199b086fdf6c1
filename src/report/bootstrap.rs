//! How sure a mean is: intervals by resampling games.
//!
//! Positions of one game share its result, so they are no independent observations. A resample
//! therefore draws whole groups with replacement, as many as there are, and a mean is the sum of
//! the drawn groups' sums over the sum of their counts. All columns see the same resamples, so
//! the differences between them are paired.
//!
//! Source: B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", percentile intervals.

use std::collections::HashMap;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

/// Records sorted into groups.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The group of each record, numbered from 0 in the order of first appearance.
    of: Vec<u32>,
    counts: Vec<u32>,
}

impl Groups {
    /// Records with equal keys form a group.
    pub fn new(keys: impl IntoIterator<Item = u64>) -> Self {
        let mut numbers = HashMap::new();
        let mut groups = Self { of: Vec::new(), counts: Vec::new() };
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

    /// The groups of some of the records, in the order given; groups left without a record are
    /// gone.
    pub fn of_records(&self, records: &[u32]) -> Self {
        const UNSEEN: u32 = u32::MAX;
        let mut numbers = vec![UNSEEN; self.len()];
        let mut groups = Self { of: Vec::with_capacity(records.len()), counts: Vec::new() };
        for record in records {
            let number = &mut numbers[self.of[*record as usize] as usize];
            if *number == UNSEEN {
                *number = groups.counts.len() as u32;
                groups.counts.push(0);
            }
            groups.counts[*number as usize] += 1;
            groups.of.push(*number);
        }
        groups
    }

    /// The group of each record, numbered from 0 in the order of first appearance.
    pub fn numbers(&self) -> &[u32] {
        &self.of
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.of.len()
    }

    /// The sum of some values in each group, one value a record: a column to resample.
    pub fn sums(&self, values: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.len()];
        for (group, value) in self.of.iter().zip(values) {
            sums[*group as usize] += value;
        }
        sums
    }
}

/// Where there are more groups than this, some are bundled and drawn together. Independent groups
/// in equal bundles have the same standard error, which so many bundles give to within 1 %,
/// better than a thousand resamples can tell; and the rows stay in the processor's cache.
const MOST: usize = 16_384;

/// How often to resample, and from which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    pub resamples: usize,
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { resamples: 1000, seed: 0 }
    }
}

/// A mean, or a difference of two, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub mean: f64,
    /// 95 % interval; None from fewer than two groups.
    pub interval: Option<[f64; 2]>,
    /// Standard deviation of the resampled means; None from fewer than two groups.
    pub standard_error: Option<f64>,
}

impl Estimate {
    /// The mean in standard errors; None where that is undefined.
    pub fn z(&self) -> Option<f64> {
        self.standard_error.filter(|error| *error > 0.0).map(|error| self.mean / error)
    }

    /// Whether the data leave the sign open.
    pub fn contains_zero(&self) -> bool {
        self.interval.is_none_or(|[low, high]| low <= 0.0 && 0.0 <= high)
    }
}

/// The means of some columns in each resample.
#[derive(Clone, Debug)]
pub struct Resampled {
    means: Vec<f64>,
    /// By column, then resample; empty from fewer than two groups.
    drawn: Vec<Vec<f64>>,
}

impl Bootstrap {
    /// Resamples columns of [sums](Groups::sums), one sum a group.
    ///
    /// Groups beyond 16,384 are bundled, for speed. The result depends on the order of groups and
    /// on the seed, but not on the number of threads.
    pub fn resample(&self, groups: &Groups, columns: &[Vec<f64>]) -> Resampled {
        let width = columns.len() + 1;
        let drawable = groups.len().min(MOST);
        // One row a group, its count last, so that a draw touches one place in memory.
        let mut rows = vec![0.0; drawable * width];
        for (group, count) in groups.counts.iter().enumerate() {
            let row = &mut rows[group % drawable * width..][..width];
            row[width - 1] += f64::from(*count);
            for (sum, column) in row.iter_mut().zip(columns) {
                *sum += column[group];
            }
        }
        let means = |sums: &[f64]| -> Vec<f64> {
            sums[..width - 1].iter().map(|sum| sum / sums[width - 1]).collect()
        };
        let mut total = vec![0.0; width];
        rows.chunks_exact(width).for_each(|row| add(&mut total, row));

        let resamples = if groups.len() < 2 { 0 } else { self.resamples };
        let drawn: Vec<Vec<f64>> = (0..resamples as u64)
            .into_par_iter()
            .map(|resample| {
                // One generator a resample, so that threads share nothing.
                let seed = self.seed.wrapping_add(resample.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let mut sums = vec![0.0; width];
                for _ in 0..drawable {
                    let product = u128::from(random.next_u64()) * drawable as u128;
                    let group = (product >> 64) as usize;
                    add(&mut sums, &rows[group * width..(group + 1) * width]);
                }
                means(&sums)
            })
            .collect();
        Resampled {
            means: means(&total),
            drawn: (0..columns.len())
                .map(|c| drawn.iter().map(|means| means[c]).collect())
                .collect(),
        }
    }
}

impl Resampled {
    /// The mean of a column.
    pub fn mean(&self, column: usize) -> Estimate {
        estimate(self.means[column], self.drawn[column].clone())
    }

    /// The mean of one column minus that of another.
    pub fn difference(&self, column: usize, other: usize) -> Estimate {
        let pairs = self.drawn[column].iter().zip(&self.drawn[other]);
        estimate(self.means[column] - self.means[other], pairs.map(|(a, b)| a - b).collect())
    }

    /// Any number that follows from the means of all columns, such as a slope.
    pub fn statistic(&self, of: impl Fn(&[f64]) -> f64) -> Estimate {
        let resamples = self.drawn.first().map_or(0, Vec::len);
        let mut means = vec![0.0; self.drawn.len()];
        let drawn = (0..resamples).map(|resample| {
            means.iter_mut().zip(&self.drawn).for_each(|(mean, column)| *mean = column[resample]);
            of(&means)
        });
        let drawn = drawn.collect();
        estimate(of(&self.means), drawn)
    }
}

fn add(sums: &mut [f64], row: &[f64]) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += value;
    }
}

fn estimate(mean: f64, mut drawn: Vec<f64>) -> Estimate {
    if drawn.len() < 2 {
        return Estimate { mean, interval: None, standard_error: None };
    }
    drawn.sort_by(f64::total_cmp);
    let count = drawn.len() as f64;
    let middle = drawn.iter().sum::<f64>() / count;
    let squares: f64 = drawn.iter().map(|value| (value - middle).powi(2)).sum();
    Estimate {
        mean,
        interval: Some([0.025, 0.975].map(|share| quantile(&drawn, share))),
        standard_error: Some((squares / (count - 1.0)).sqrt()),
    }
}

/// Linear between the two nearest ranks of a sorted, non-empty list.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}
