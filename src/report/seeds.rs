//! Differences of means over seeds on the same games, with two intervals each: that of
//! [`estimate`](super::estimate) over games, and B. L. Welch's (1947) over seeds. A difference is
//! decided if both exclude zero.

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
    /// Deviation of a single seed; None for one seed.
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

    /// The difference of two means; None if either has a single seed.
    pub fn subtract(&self, other: &Self) -> Option<SeedDifference> {
        let mean = self.mean - other.mean;
        let square = |it: &Self| it.deviation.map(|size| size * size / it.seeds as f64);
        let (one, two) = (square(self)?, square(other)?);
        let error = (one + two).sqrt();
        if error == 0.0 {
            let p = if mean == 0.0 { 1.0 } else { 0.0 };
            return Some(SeedDifference { interval: [mean; 2], p });
        }
        let part = |square: f64, it: &Self| square * square / (it.seeds - 1) as f64;
        // Never below one, except by rounding.
        let freedom = (one + two).powi(2) / (part(one, self) + part(two, other));
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
    /// Its loss minus that of the first member; none for the first.
    pub above_first: Option<Difference>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub games: Estimate,
    /// None for one seed.
    pub seeds: Option<SeedDifference>,
    /// Whether both intervals exclude zero after Holm's correction for all differences.
    pub decided: bool,
}

/// Compares members with the first. `sums` holds losses by member, seed and group.
pub fn compare_members(sums: &[Vec<Vec<f64>>], truth: &PositionFacts) -> Vec<MemberLoss> {
    let groups = truth.group_games();
    let mean = |seeds: &Vec<Vec<f64>>| -> Vec<f64> {
        let of = |group| seeds.iter().map(|sums| sums[group]).sum::<f64>() / seeds.len() as f64;
        (0..groups.counts.len()).map(of).collect()
    };
    let means = Means::new(&groups, &sums.iter().map(mean).collect::<Vec<_>>());
    let spread = |seeds: &Vec<Vec<f64>>| {
        let of_seed = |sums: &Vec<f64>| sums.iter().sum::<f64>() / groups.record_count() as f64;
        SeedSpread::from_values(&seeds.iter().map(of_seed).collect::<Vec<_>>())
            .expect("a member has seeds")
    };
    let spreads: Vec<SeedSpread> = sums.iter().map(spread).collect();
    let is_conclusive =
        truth.games_known && groups.len() >= FEW_GROUPS && truth.cautions.is_empty();
    let difference = |place: usize| Difference {
        games: means.difference_of_columns(place, 0),
        seeds: spreads[place].subtract(&spreads[0]),
        decided: false,
    };
    // Both must be unlikely: the larger probability is that of a false verdict.
    let p = |it: &Difference| Some(it.games.p?.max(it.seeds?.p));
    let mut differences: Vec<Difference> = (1..sums.len()).map(difference).collect();
    let standing = chance::are_significant(&differences.iter().map(p).collect::<Vec<_>>());
    for (it, stands) in differences.iter_mut().zip(standing) {
        it.decided = is_conclusive && stands;
    }
    let mut above_first = [None].into_iter().chain(differences.into_iter().map(Some));
    let member = |(place, seeds)| {
        let above_first = above_first.next().flatten();
        MemberLoss { loss: means.mean_of_column(place), seeds, above_first }
    };
    spreads.into_iter().enumerate().map(member).collect()
}
