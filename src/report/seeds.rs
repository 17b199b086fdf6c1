//! What is better whatever the seed: means over seeds on the same games, and two intervals of each
//! difference.
//!
//! A difference can be chance in two ways: other games would have given another one, and so would
//! other seeds of training. The first interval is that of [`estimate`](super::estimate), paired by
//! games. The second is that of B. L. Welch, "The generalization of Student's problem when several
//! different population variances are involved" (1947), from how far the seeds of each lie apart.
//! Only what leaves zero out of both is a difference.

use serde::Serialize;

use super::chance;
use super::estimate::{Estimate, FEW_GROUPS, Means};
use super::predictions::Truth;
use super::text::{UNKNOWN, amount, interval, loss};

/// The chance that an interval misses, or that any verdict on a contest is false.
const LEVEL: f64 = 0.05;

/// A number that differs from seed to seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub mean: f64,
    pub lowest: f64,
    pub highest: f64,
    pub seeds: usize,
    /// Of a single seed; None where there is only one.
    pub deviation: Option<f64>,
}

impl Spread {
    /// None of no number at all.
    pub fn of(values: &[f64]) -> Option<Self> {
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

    /// How sure the difference of two means is, this one less the other; None where one of them
    /// has a single seed.
    pub fn less(&self, other: &Self) -> Option<Apart> {
        let mean = self.mean - other.mean;
        let square = |it: &Self| it.deviation.map(|size| size * size / it.seeds as f64);
        let (one, two) = (square(self)?, square(other)?);
        let error = (one + two).sqrt();
        if error == 0.0 {
            let p = if mean == 0.0 { 1.0 } else { 0.0 };
            return Some(Apart { interval: [mean; 2], p });
        }
        let part = |square: f64, it: &Self| square * square / (it.seeds - 1) as f64;
        // Never below one, but for rounding.
        let freedom = (one + two).powi(2) / (part(one, self) + part(two, other));
        let freedom = freedom.max(1.0);
        let width = chance::critical(LEVEL, freedom) * error;
        let p = chance::two_sided(mean / error, freedom);
        Some(Apart { interval: [mean - width, mean + width], p })
    }

    /// The lowest and the highest.
    pub fn range(&self) -> String {
        match self.seeds {
            1 => "-".to_string(),
            _ => format!("{} to {}", loss(self.lowest), loss(self.highest)),
        }
    }
}

/// How far two means lie apart, as seeds tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// 95 % interval of the difference.
    pub interval: [f64; 2],
    /// How often seeds of two that are alike would lie as far apart.
    pub p: f64,
}

impl Apart {
    pub fn contains_zero(&self) -> bool {
        self.interval[0] <= 0.0 && 0.0 <= self.interval[1]
    }
}

/// Somebody who was trained with several seeds, and measured.
#[derive(Clone, Copy, Debug)]
pub struct Contender<'a> {
    pub name: &'a str,
    /// By seed, what each group gives to the sum of losses.
    pub sums: &'a [Vec<f64>],
}

/// One who was chosen elsewhere, against others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contest {
    pub positions: usize,
    pub groups: usize,
    pub noun: String,
    pub games_known: bool,
    /// The chosen one first.
    pub contenders: Vec<Measured>,
    /// Of the chosen one with each of the others, in their order.
    pub duels: Vec<Duel>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    pub name: String,
    /// Of the mean of its seeds, over games.
    pub loss: Estimate,
    pub seeds: Spread,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Duel {
    /// The loss of the other less that of the chosen one, over games.
    pub difference: Estimate,
    /// The same over seeds; None with one seed.
    pub seeds: Option<Apart>,
    pub decided: bool,
    /// Why it is not.
    pub why: Option<String>,
}

/// Measures contenders, the first of whom was chosen on other games, on those of `truth`.
///
/// # Panics
/// If there is no contender, or one without a seed.
pub fn contest(contenders: &[Contender], truth: &Truth) -> Contest {
    let groups = truth.grouped();
    let positions = groups.records();
    let mean = |one: &Contender| -> Vec<f64> {
        let of = |group| one.sums.iter().map(|sums| sums[group]).sum::<f64>();
        (0..groups.counts().len()).map(|it| of(it) / one.sums.len() as f64).collect()
    };
    let means = Means::new(&groups, &contenders.iter().map(mean).collect::<Vec<_>>());
    let measured = |(place, one): (usize, &Contender)| {
        let of_seed = |sums: &Vec<f64>| sums.iter().sum::<f64>() / positions as f64;
        let seeds: Vec<f64> = one.sums.iter().map(of_seed).collect();
        let seeds = Spread::of(&seeds).expect("a contender has seeds");
        Measured { name: one.name.to_string(), loss: means.mean(place), seeds }
    };
    let measured: Vec<Measured> = contenders.iter().enumerate().map(measured).collect();
    let duel = |other: usize| Duel {
        difference: means.difference(other, 0),
        seeds: measured[other].seeds.less(&measured[0].seeds),
        decided: false,
        why: None,
    };
    let mut contest = Contest {
        positions,
        groups: groups.len(),
        noun: truth.noun.to_string(),
        games_known: truth.games_known,
        duels: (1..measured.len()).map(duel).collect(),
        contenders: measured,
    };
    contest.decide(truth);
    contest
}

impl Contest {
    fn decide(&mut self, truth: &Truth) {
        let against_all = self.against_all(truth);
        // Both must be no chance: the larger probability is that of a false verdict.
        let p = |duel: &Duel| Some(duel.difference.p?.max(duel.seeds?.p));
        let all: Vec<f64> = self.duels.iter().filter_map(p).collect();
        let limit = chance::holm(&all, LEVEL);
        let count = all.len();
        for duel in &mut self.duels {
            let why = || match duel.seeds {
                _ if duel.difference.contains_zero() => {
                    Some("the interval over games contains zero".to_string())
                }
                None => Some("one seed does not tell how far seeds lie apart".to_string()),
                Some(seeds) if seeds.contains_zero() => {
                    Some("the interval over seeds contains zero".to_string())
                }
                _ if p(duel).is_some_and(|p| limit.is_some_and(|limit| p <= limit)) => None,
                _ => Some(format!(
                    "each interval is that of one difference, and among {count} such a one may be \
                     chance (Holm)"
                )),
            };
            duel.why = against_all.clone().or_else(why);
            duel.decided = duel.why.is_none();
        }
    }

    /// Why nothing is decided at all, if so.
    fn against_all(&self, truth: &Truth) -> Option<String> {
        if !self.games_known {
            return Some("games unknown".to_string());
        }
        if self.groups < FEW_GROUPS {
            return Some(format!("{} {}, fewer than {FEW_GROUPS}", self.groups, self.noun));
        }
        truth.doubt.map(str::to_string)
    }

    /// A sentence a duel; `wins` is what is said of whose loss is lower.
    pub fn sentences(&self, wins: &str) -> Vec<String> {
        let chosen = &self.contenders[0].name;
        let others = self.contenders[1..].iter().zip(&self.duels);
        let sentence = |(other, duel): (&Measured, &Duel)| {
            let Duel { difference, seeds, why, .. } = duel;
            let (better, worse, sign) = match difference.mean < 0.0 {
                true => (&other.name, chosen, -1.0),
                false => (chosen, &other.name, 1.0),
            };
            let turned = |[low, high]: [f64; 2]| match sign < 0.0 {
                true => [-high, -low],
                false => [low, high],
            };
            let games = Estimate { interval: difference.interval.map(turned), ..*difference };
            let seeds = seeds.map_or(String::new(), |seeds| {
                let [low, high] = turned(seeds.interval).map(loss);
                format!(", {low} to {high} over seeds")
            });
            let said = match why {
                Some(why) => format!("; {why}: these data cannot tell"),
                None => format!(": {better} {wins}"),
            };
            format!(
                "{better}'s loss is lower than {worse}'s by {} (95 % interval {} over games{seeds})\
                 {said}.",
                amount(difference.mean),
                interval(&games),
            )
        };
        let doubt = (!self.games_known).then(|| UNKNOWN.replace('\n', " "));
        others.map(sentence).chain(doubt).collect()
    }
}
