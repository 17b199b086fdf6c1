//! Differences of means over seeds on the same games. Each has an interval over games, from
//! [`estimate`](super::estimate), and B. L. Welch's (1947) over seeds. Both must exclude zero.

use serde::Serialize;

use super::chance;
use super::compare::PositionFacts;
use super::estimate::{Estimate, FEW_GROUPS, Means};

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeedSpread {
    pub mean: f64,
    pub lowest: f64,
    pub highest: f64,
    pub seeds: usize,
    /// Standard deviation of a single seed; None for one seed.
    pub deviation: Option<f64>,
}

impl SeedSpread {
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let seeds = values.len();
        let mean = values.iter().sum::<f64>() / seeds as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            mean,
            lowest: values.iter().copied().reduce(f64::min)?,
            highest: values.iter().copied().reduce(f64::max)?,
            seeds,
            deviation: (seeds > 1).then(|| (squares / (seeds - 1) as f64).sqrt()),
        })
    }

    /// Returns the difference of two means; None if either has a single seed.
    pub fn subtract(&self, subtracted: &Self) -> Option<SeedDifference> {
        let mean = self.mean - subtracted.mean;
        let variance = |it: &Self| it.deviation.map(|size| size * size / it.seeds as f64);
        let (first, second) = (variance(self)?, variance(subtracted)?);
        let error = (first + second).sqrt();
        if error == 0.0 {
            let p = if mean == 0.0 { 1.0 } else { 0.0 };
            return Some(SeedDifference { interval: [mean; 2], p });
        }
        let term = |variance: f64, it: &Self| variance * variance / (it.seeds - 1) as f64;
        // Only rounding makes it less than one.
        let freedom = (first + second).powi(2) / (term(first, self) + term(second, subtracted));
        let freedom = freedom.max(1.0);
        let width = chance::critical_t(chance::LEVEL, freedom) * error;
        let p = chance::two_sided(mean / error, freedom);
        Some(SeedDifference { interval: [mean - width, mean + width], p })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeedDifference {
    /// 95 % interval of the difference.
    pub interval: [f64; 2],
    /// Probability that seeds of equal members are as far apart.
    pub p: f64,
}

/// The losses of one member, trained with several seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberLoss {
    /// Mean over its seeds, with an interval over games.
    pub loss: Estimate,
    pub seeds: SeedSpread,
    /// Loss minus the loss of the first member; None for the first.
    pub above_first: Option<Difference>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub games: Estimate,
    /// Difference over seeds; None for one seed.
    pub seeds: Option<SeedDifference>,
    /// Whether both intervals exclude zero after Holm's correction for all differences.
    pub decided: bool,
}

/// Compares members with the first. `sums` holds losses by member, seed and group.
pub fn compare_members(sums: &[Vec<Vec<f64>>], truth: &PositionFacts) -> Vec<MemberLoss> {
    let groups = truth.group_games();
    let seed_means = |seeds: &Vec<Vec<f64>>| -> Vec<f64> {
        let mean = |group| seeds.iter().map(|sums| sums[group]).sum::<f64>() / seeds.len() as f64;
        (0..groups.counts.len()).map(mean).collect()
    };
    let means = Means::new(&groups, &sums.iter().map(seed_means).collect::<Vec<_>>());
    let spread = |seeds: &Vec<Vec<f64>>| {
        let seed_loss = |sums: &Vec<f64>| sums.iter().sum::<f64>() / groups.record_count() as f64;
        SeedSpread::from_values(&seeds.iter().map(seed_loss).collect::<Vec<_>>())
            .expect("a member has seeds")
    };
    let spreads: Vec<SeedSpread> = sums.iter().map(spread).collect();
    let is_conclusive =
        truth.games_known && groups.len() >= FEW_GROUPS && truth.cautions.is_empty();
    let difference = |index: usize| Difference {
        games: means.difference_of_columns(index, 0),
        seeds: spreads[index].subtract(&spreads[0]),
        decided: false,
    };
    // Both must be unlikely: the larger probability is that of a false verdict.
    let p = |it: &Difference| Some(it.games.p?.max(it.seeds?.p));
    let mut differences: Vec<Difference> = (1..sums.len()).map(difference).collect();
    let significant = chance::are_significant(&differences.iter().map(p).collect::<Vec<_>>());
    for (difference, is_significant) in differences.iter_mut().zip(significant) {
        difference.decided = is_conclusive && is_significant;
    }
    let above_first = std::iter::once(None).chain(differences.into_iter().map(Some));
    let member = |(index, (seeds, above_first))| MemberLoss {
        loss: means.mean_of_column(index),
        seeds,
        above_first,
    };
    spreads.into_iter().zip(above_first).enumerate().map(member).collect()
}
