//! Expected results against results, in bins of equal count.

use rayon::prelude::*;
use serde::Serialize;

use super::Table;
use super::estimate::Groups;
use super::estimate::{Estimate, Means};
use super::table::{interval, least, loss, wrap};
use crate::digits::grouped;

/// Expected against observed results, seen by the side to move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub name: String,
    /// By expected result, the smallest first.
    pub bins: Vec<Bin>,
    /// Mean distance of a bin from the diagonal, weighted by positions.
    pub error: f64,
    /// The mean distance that noise alone would give; None where a bin has no interval.
    pub by_chance: Option<f64>,
    /// The mean result minus the mean expected one.
    pub bias: Estimate,
    /// Slope of results on expected results: below 1 where expectations are too bold.
    pub slope: Option<Estimate>,
}

/// Positions of nearly equal expected result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    pub positions: usize,
    pub groups: usize,
    /// The smallest and the largest expected result.
    pub range: [f64; 2],
    pub expected: f64,
    pub observed: Estimate,
    /// Observed less expected.
    pub off: Estimate,
}

impl Calibration {
    pub const BINS: usize = 15;

    pub fn of(name: &str, expected: &[f64], results: &[f64], groups: &Groups, bins: usize) -> Self {
        let mut order: Vec<u32> = (0..expected.len() as u32).collect();
        let key = |i: &u32| expected[*i as usize];
        order.par_sort_unstable_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
        let cuts = cuts(expected, &order, bins);
        let bins: Vec<Bin> = cuts
            .par_windows(2)
            .map(|cut| Bin::of(&order[cut[0]..cut[1]], expected, results, groups))
            .collect();
        let weighted = |value: &dyn Fn(&Bin) -> Option<f64>| -> Option<f64> {
            let terms = bins.iter().map(|bin| Some(value(bin)? * bin.positions as f64));
            Some(terms.sum::<Option<f64>>()? / expected.len() as f64)
        };
        // The mean distance from zero of a normal number is its deviation times this.
        let ratio = std::f64::consts::FRAC_2_PI.sqrt();
        let error = weighted(&|bin| Some(bin.off.mean.abs())).unwrap_or(0.0);
        let by_chance = weighted(&|bin| Some(bin.off.standard_error? * ratio));
        let (bias, slope) = line(expected, results, groups);
        Self { name: name.to_string(), bins, error, by_chance, bias, slope }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.table());
        wrap(&format!("{}: {}", self.name, self.summary()), &mut text);
        text
    }

    pub fn table(&self) -> Table {
        let mut table = Table::titled(&[
            "expected",
            "observed",
            "95 % interval",
            "off",
            "positions",
            "from",
            "to",
        ]);
        for bin in &self.bins {
            table.row([
                format!("{:.3}", bin.expected),
                format!("{:.3}", bin.observed.mean),
                interval(&bin.observed),
                format!("{:+.3}", bin.off.mean),
                grouped(bin.positions as u64),
                format!("{:.3}", bin.range[0]),
                format!("{:.3}", bin.range[1]),
            ]);
        }
        table
    }

    pub fn summary(&self) -> String {
        let mut text = format!("{} from the diagonal on average", loss(self.error));
        if let Some(chance) = self.by_chance {
            text += &format!(" ({} by noise alone)", loss(chance));
        }
        text += &format!("; results less expected {:+.5}", self.bias.mean);
        if let Some(slope) = self.slope {
            text += &format!("; slope {:.3}", slope.mean);
            if let Some([low, high]) = slope.interval {
                text += &format!(" (95 % interval {}{low:.3} to {high:.3})", least(&slope));
            }
        }
        text + "."
    }
}

impl Bin {
    fn of(records: &[u32], expected: &[f64], results: &[f64], groups: &Groups) -> Self {
        let groups = groups.of_records(records);
        let column = |of: &[f64]| groups.sums(records.iter().map(|i| of[*i as usize]));
        let means = Means::new(&groups, &[column(expected), column(results)]);
        let at = |place: usize| expected[records[place] as usize];
        Self {
            positions: records.len(),
            groups: groups.len(),
            range: [at(0), at(records.len() - 1)],
            expected: means.mean(0).mean,
            observed: means.mean(1),
            off: means.difference(1, 0),
        }
    }
}

/// Cuts at equal counts, moved behind equal values; ends included.
fn cuts(expected: &[f64], order: &[u32], bins: usize) -> Vec<usize> {
    let value = |place: usize| expected[order[place] as usize];
    let mut cuts = vec![0];
    for bin in 1..=bins {
        let mut end = order.len() * bin / bins;
        if end <= cuts[cuts.len() - 1] {
            continue;
        }
        while end < order.len() && value(end) == value(end - 1) {
            end += 1;
        }
        cuts.push(end);
    }
    cuts
}

/// The mean of result less expected result, and the slope of the line of least squares.
fn line(expected: &[f64], results: &[f64], groups: &Groups) -> (Estimate, Option<Estimate>) {
    // Around a half, so that the squares lose no digits.
    let x = |i: usize| expected[i] - 0.5;
    let y = |i: usize| results[i] - 0.5;
    let column = |of: &dyn Fn(usize) -> f64| groups.sums((0..expected.len()).map(of));
    let columns = [column(&x), column(&y), column(&|i| x(i) * y(i)), column(&|i| x(i) * x(i))];
    let means = Means::new(groups, &columns);
    let varied = expected.iter().any(|it| *it != expected[0]);
    let slope = |m: &[f64]| (m[2] - m[0] * m[1]) / (m[3] - m[0] * m[0]);
    (means.difference(1, 0), varied.then(|| means.statistic(slope)))
}
