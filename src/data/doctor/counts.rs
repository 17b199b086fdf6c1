//! What can be counted of single positions: results, scores, anything in bins.

use serde::Serialize;

use super::DECIDED;

/// How games ended, as one side sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Values between, which some text files hold.
    pub between: u64,
}

impl Results {
    /// Counts a result, 0 to 1.
    pub fn add(&mut self, result: f32) {
        let count = match result {
            1.0 => &mut self.wins,
            0.5 => &mut self.draws,
            0.0 => &mut self.losses,
            _ => &mut self.between,
        };
        *count += 1;
    }

    pub fn total(&self) -> u64 {
        self.wins + self.draws + self.losses + self.between
    }
}

/// Counts in bins of one width; the first and the last bin are open to their outer sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// Where the first bin begins.
    pub from: i64,
    /// Of a bin.
    pub width: i64,
    pub counts: Vec<u64>,
    /// The smallest and the largest value; none before the first.
    pub range: Option<[i64; 2]>,
    /// Of all values, 0 before the first.
    pub mean: f64,
    #[serde(skip)]
    sum: i64,
}

impl Histogram {
    /// Empty bins; `width` and `bins` are at least 1.
    pub fn new(from: i64, width: i64, bins: usize) -> Self {
        Self { from, width, counts: vec![0; bins], range: None, mean: 0.0, sum: 0 }
    }

    pub fn add(&mut self, value: i64) {
        let bin = (value - self.from).div_euclid(self.width);
        let bin = bin.clamp(0, self.counts.len() as i64 - 1);
        self.counts[bin as usize] += 1;
        let [low, high] = self.range.unwrap_or([value; 2]);
        self.range = Some([low.min(value), high.max(value)]);
        self.sum += value;
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Brings the mean up to date once all values are there.
    pub(super) fn finished(mut self) -> Self {
        self.mean = self.sum as f64 / self.total().max(1) as f64;
        self
    }
}

/// The scores of positions, centipawns, seen by the side to move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scores {
    /// Bins of 100 cp around multiples of 100, up to 20 pawns; mates in the outer bins.
    pub histogram: Histogram,
    pub missing: u64,
    /// Farther from zero than [`DECIDED`].
    pub mates: u64,
}

impl Scores {
    pub(super) fn new() -> Self {
        Self { histogram: Histogram::new(-2050, 100, 41), missing: 0, mates: 0 }
    }

    pub(super) fn add(&mut self, score: Option<i16>) {
        match score {
            Some(score) => {
                self.histogram.add(score.into());
                self.mates += u64::from(score.unsigned_abs() > DECIDED);
            }
            None => self.missing += 1,
        }
    }

    pub(super) fn finished(self) -> Self {
        Self { histogram: self.histogram.finished(), ..self }
    }

    /// Positions with a score.
    pub fn known(&self) -> u64 {
        self.histogram.total()
    }
}
