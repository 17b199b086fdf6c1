//! What the games of a match tell of two players, or of several.
//!
//! Each opening is played twice, with colours reversed. The two games share what the opening gives,
//! so they are no independent observations: a pair of games is one, with a score of 0, 0.5, 1, 1.5
//! or 2. How often each occurred, the pentanomial counts, is all that is needed: see [`Pairs`].
//! [`Sprt`] says when a match may stop, [`ratings()`] is for more than two players, and
//! [`Verdict`] for who may be called stronger.
//!
//! Where `m` is the mean score of a game, 0 to 1, and `v` the variance of a pair's score divided
//! by 2, over `n` pairs:
//!
//! - logistic Elo is `-400 log10(1 / m - 1)`, its 95 % interval that of `m`, which is
//!   `m ± 1.96 sqrt(v / n)`;
//! - normalised Elo is `(m - 0.5) / sqrt(2 v) * 800 / ln 10`: the difference in units of what a
//!   game scatters, which tells how many games it takes to see it;
//! - LOS, the likelihood of superiority, is the normal probability below
//!   `(m - 0.5) / sqrt(v / n)`.
//!
//! Where all pairs are equal, `v` is 0 and says nothing. Then the share of other pairs is below
//! `1 - 0.025^(1 / n)` with 97.5 %, whatever their score, which bounds `m`.
//!
//! Sources: M. Van den Bergh, "Normalized Elo" (2019) and "Comments on Normalized Elo" (2020);
//! fastchess, whose digits these are wherever it has some.

mod met;
mod ratings;
mod sprt;
mod verdict;

pub use met::Met;
pub use ratings::{Anchor, Meeting, Rating, Ratings, RatingsError, ratings};
pub use sprt::{Decision, Scale, Sprt, SprtError};
pub use verdict::{FEW_PAIRS, Verdict};

use std::fmt;

use serde::Serialize;

use super::chance;

/// Score of a game by the place of a pair's count.
const SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Standard errors from the middle of a 95 % interval to its ends.
const Z: f64 = 1.959_963_984_540_054;

/// What an interval misses on one side.
const MISS: f64 = 0.025;

/// Normalised Elo of one standard deviation of a game.
const NORMALISED: f64 = 800.0 / std::f64::consts::LN_10;

/// Pairs of games between two players, seen by the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pairs {
    counts: [u64; 5],
    split: u64,
}

impl Pairs {
    /// From the numbers of pairs that scored 0, 0.5, 1, 1.5 and 2. Of those that scored 1, `split`
    /// had a winner in each game, and the others none; only wins, draws and losses depend on it.
    ///
    /// # Panics
    /// If more pairs are split than scored 1.
    pub fn new(counts: [u64; 5], split: u64) -> Self {
        assert!(split <= counts[2], "{split} of {} pairs are split", counts[2]);
        Self { counts, split }
    }

    /// Adds a pair, the result of each game being 0, 0.5 or 1.
    ///
    /// # Panics
    /// At any other result.
    pub fn add(&mut self, results: [f64; 2]) {
        let halves = |result: f64| match result {
            0.0 => 0,
            0.5 => 1,
            1.0 => 2,
            other => panic!("{other} is no result of a game"),
        };
        let [first, second] = results.map(halves);
        self.counts[first + second] += 1;
        self.split += u64::from(first + second == 2 && first != 1);
    }

    /// Adds the pairs of another match of the same players, seen by the same.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.split += other.split;
    }

    /// The same, seen by the second player.
    pub fn turned(&self) -> Self {
        let mut counts = self.counts;
        counts.reverse();
        Self { counts, ..*self }
    }

    /// How many pairs scored 0, 0.5, 1, 1.5 and 2.
    pub fn counts(&self) -> [u64; 5] {
        self.counts
    }

    /// The number of pairs.
    pub fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Games won, drawn and lost.
    pub fn wins_draws_losses(&self) -> [u64; 3] {
        let [lost, worse, level, better, won] = self.counts;
        let split = self.split;
        let draws = worse + 2 * (level - split) + better;
        [2 * won + better + split, draws, 2 * lost + worse + split]
    }

    /// The mean score of a game, 0 to 1; None without pairs.
    pub fn score(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.mean(|score| score))
    }

    /// The variance of a pair's score divided by 2, with the number of pairs as its divisor; None
    /// without pairs, 0 where all are equal.
    pub fn variance(&self) -> Option<f64> {
        let middle = self.score()?;
        // Rounding must not pass for variance.
        let same = self.same().is_some();
        Some(if same { 0.0 } else { self.mean(|score| (score - middle).powi(2)) })
    }

    /// 95 % interval of the mean score of a game, within 0 to 1; None without pairs.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let (score, variance) = (self.score()?, self.variance()?);
        if let Some(same) = self.same() {
            let rest = self.unseen();
            return Some([same * (1.0 - rest), same * (1.0 - rest) + rest]);
        }
        let width = Z * (variance / self.len() as f64).sqrt();
        Some([(score - width).max(0.0), (score + width).min(1.0)])
    }

    /// The difference in logistic Elo, above 0 where the first player is ahead.
    pub fn elo(&self) -> Elo {
        let [low, high] = self.interval().map_or([None; 2], |ends| ends.map(logistic));
        Elo { value: self.score().and_then(logistic), low, high }
    }

    /// The difference in normalised Elo; all of it is unknown without pairs or where all are
    /// equal. The interval takes the variance for known.
    pub fn normalised_elo(&self) -> Elo {
        let (Some(score), Some(variance)) = (self.score(), self.variance()) else {
            return Elo::UNKNOWN;
        };
        if variance == 0.0 {
            return Elo::UNKNOWN;
        }
        let value = (score - 0.5) / (2.0 * variance).sqrt() * NORMALISED;
        let width = Z / (2.0 * self.len() as f64).sqrt() * NORMALISED;
        Elo { value: Some(value), low: Some(value - width), high: Some(value + width) }
    }

    /// The likelihood that the first player is the stronger, 0 to 1; None without pairs. A bound
    /// for whoever is ahead where all pairs are equal.
    pub fn los(&self) -> Option<f64> {
        let (score, variance) = (self.score()?, self.variance()?);
        if variance > 0.0 {
            return Some(chance::below((score - 0.5) / (variance / self.len() as f64).sqrt()));
        }
        let tail = 0.5 * self.p()?;
        Some(if score < 0.5 { tail } else { 1.0 - tail })
    }

    /// How often equal players would have a score as far from a half; None without pairs. Student's
    /// t, so that few pairs are not made too much of; an upper bound where all pairs are equal.
    pub fn p(&self) -> Option<f64> {
        let (score, variance) = (self.score()?, self.variance()?);
        if let Some(same) = self.same() {
            // No more than this share of pairs can score so, where the mean is a half.
            let share = 0.5 / same.max(1.0 - same);
            return Some((2.0 * share.powf(self.len() as f64)).min(1.0));
        }
        let freedom = (self.len() - 1) as f64;
        Some(chance::two_sided((score - 0.5) / (variance / freedom).sqrt(), freedom))
    }

    /// Pairs that scored above 1 for each that scored below; None where none did.
    pub fn ratio(&self) -> Option<f64> {
        let [lost, worse, _, better, won] = self.counts;
        (lost + worse > 0).then(|| (better + won) as f64 / (lost + worse) as f64)
    }

    /// All of it.
    pub fn figures(&self) -> Figures {
        let [wins, draws, losses] = self.wins_draws_losses();
        Figures {
            pairs: self.len(),
            counts: self.counts,
            wins,
            draws,
            losses,
            score: self.score(),
            score_interval: self.interval(),
            elo: self.elo(),
            normalised_elo: self.normalised_elo(),
            los: self.los(),
            pairs_ratio: self.ratio(),
        }
    }

    /// The score of all pairs, where they are equal.
    fn same(&self) -> Option<f64> {
        let mut seen = self.counts.iter().zip(SCORES).filter(|(count, _)| **count > 0);
        let first = seen.next().map(|(_, score)| score);
        first.filter(|_| seen.next().is_none())
    }

    /// The share of pairs, 0 to 1, that may be unlike all that were seen.
    fn unseen(&self) -> f64 {
        1.0 - MISS.powf(1.0 / self.len() as f64)
    }

    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let sum: f64 = self.counts.iter().zip(SCORES).map(|(n, score)| *n as f64 * of(score)).sum();
        sum / self.len() as f64
    }
}

/// What pairs of games say, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    pub pairs: u64,
    /// Pairs that scored 0, 0.5, 1, 1.5 and 2.
    pub counts: [u64; 5],
    /// Games.
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// See [`Pairs::score`].
    pub score: Option<f64>,
    /// See [`Pairs::interval`].
    pub score_interval: Option<[f64; 2]>,
    /// See [`Pairs::elo`].
    pub elo: Elo,
    /// See [`Pairs::normalised_elo`].
    pub normalised_elo: Elo,
    /// See [`Pairs::los`].
    pub los: Option<f64>,
    /// See [`Pairs::ratio`].
    pub pairs_ratio: Option<f64>,
}

/// A number of Elo with its 95 % interval. None stands for what the games do not bound, such as the
/// value and the upper end where every game was won.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Elo {
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Elo {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { value: None, low: None, high: None };

    /// Half of the interval, which fastchess prints behind "±"; None where an end is missing.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }

    /// Whether the interval leaves the sign open.
    pub fn contains_zero(&self) -> bool {
        self.low.is_none_or(|low| low <= 0.0) && self.high.is_none_or(|high| 0.0 <= high)
    }

    /// The same difference, seen by the other player.
    pub fn turned(&self) -> Self {
        let turn = |end: Option<f64>| end.map(|elo| -elo);
        Self { value: turn(self.value), low: turn(self.high), high: turn(self.low) }
    }

    /// Value and interval as cells of a table; what all is measured from has no interval.
    pub fn cells(&self) -> [String; 2] {
        match self.half_width() {
            Some(0.0) => ["0".to_string(), "-".to_string()],
            _ => [self.value.map_or("-".to_string(), signed), self.between()],
        }
    }

    /// The interval alone: "-7.1 to +60.8", "above +120.3", "unknown".
    pub fn between(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
            (Some(low), None) => format!("above {}", signed(low)),
            (None, Some(high)) => format!("below {}", signed(high)),
            (None, None) => "unknown".to_string(),
        }
    }
}

/// "+26.6 (95 % interval -7.1 to +60.8)", "above +120.3" where there is no value.
impl fmt::Display for Elo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => write!(f, "{} (95 % interval {})", signed(value), self.between()),
            None => write!(f, "{}", self.between()),
        }
    }
}

/// With a sign and one decimal; no negative zero.
fn signed(elo: f64) -> String {
    format!("{:+.1}", (elo * 10.0).round() / 10.0 + 0.0)
}

/// The logistic Elo of a score; None at 0 and 1, where it has no bound.
fn logistic(score: f64) -> Option<f64> {
    let inside = 0.0 < score && score < 1.0;
    // Adding zero turns a negative zero into zero.
    inside.then(|| -400.0 * (1.0 / score - 1.0).log10() + 0.0)
}

/// The score, 0 to 1, that is expected at a difference in logistic Elo.
pub fn expected(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}
