//! Whether an evaluation has learnt its training positions by heart.
//!
//! The losses of training and validation positions differ for two reasons: what was learnt of the
//! training positions does not hold elsewhere, and the games are others, harder or easier to
//! foretell. A reference that was never trained (material, or the weights that terms start with)
//! tells the second part: it is the difference of the reference's own losses. What is left is
//! the gap: how much more training gained over the reference on its own positions than on others.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// Losses of positions, against the same target with the same weights.
#[derive(Clone, Copy, Debug)]
pub struct Losses<'a> {
    /// Of the trained evaluation.
    pub trained: &'a [f64],
    /// Of the reference, for the same positions.
    pub reference: &'a [f64],
    /// The game of each position; empty where games are unknown. Those of the validation positions
    /// may stand for both.
    pub games: &'a [u64],
}

/// What the losses say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// More than a tenth of what was gained does not hold on other games.
    Overfitted,
    /// A part of it does not hold, less than a tenth.
    Slightly,
    /// The validation games are too few to tell.
    Unclear,
    /// No sign of it.
    None,
    /// On its own training positions the evaluation is no better than the reference, or by no more
    /// than chance.
    NotYet,
}

/// Training loss against validation loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overfitting {
    pub verdict: Verdict,
    /// Mean loss of a sample of the training positions, with the best weights.
    pub training: f64,
    /// The same of the validation positions.
    pub validation: f64,
    /// What the reference is, in words.
    pub reference: String,
    /// How far the training loss is below the reference's on the same positions.
    pub gained: f64,
    /// How much of that does not hold on the validation positions.
    pub gap: f64,
    /// 95 % interval of the gap, games being independent of each other.
    pub interval: [f64; 2],
    /// Where games are unknown, positions were taken as independent; the interval is too narrow.
    pub games_known: bool,
    /// How far the validation loss had risen from its lowest by the end of the run.
    pub rose: f64,
    /// What may help besides more data.
    pub cure: String,
}

/// A larger share of what was gained makes it overfitting.
const MUCH: f64 = 0.1;

/// Fewer games that validate tell nothing: their intervals are too narrow.
const FEW: usize = 30;

/// A share of what was gained, or of its rise, that is worth no word.
const LITTLE: f64 = 0.02;

impl Overfitting {
    /// Weighs the losses; none where one of the two shares has no positions. `rose` is how far the
    /// validation loss had risen from its lowest by the end of the run.
    pub fn of(
        training: Losses,
        validation: Losses,
        reference: &str,
        rose: f64,
        cure: &str,
    ) -> Option<Self> {
        if training.trained.is_empty() || validation.trained.is_empty() {
            return None;
        }
        let ([trained, mut one], [validated, other]) = (training.gain(), validation.gain());
        if training.games.is_empty() {
            // Games as those that validate, only more of them.
            one = other * validation.trained.len() as f64 / training.trained.len() as f64;
        }
        let (gap, error) = (trained - validated, (one + other).sqrt());
        let interval = [gap - 1.96 * error, gap + 1.96 * error];
        let games = validation.games.iter().collect::<HashSet<_>>().len();
        let few = !validation.games.is_empty() && games < FEW;
        let verdict = match () {
            () if trained <= 1.96 * one.sqrt() => Verdict::NotYet,
            () if few => Verdict::Unclear,
            () if interval[0] > 0.0 && gap > MUCH * trained => Verdict::Overfitted,
            () if interval[0] > 0.0 && gap > LITTLE * trained => Verdict::Slightly,
            () if interval[1] > 2.0 * MUCH * trained => Verdict::Unclear,
            () => Verdict::None,
        };
        Some(Self {
            verdict,
            training: mean(training.trained),
            validation: mean(validation.trained),
            reference: reference.to_string(),
            gained: trained,
            gap,
            interval,
            games_known: !validation.games.is_empty(),
            rose: rose.max(0.0),
            cure: cure.to_string(),
        })
    }

    /// The gap as a share of what was gained, in percent.
    fn percent(&self, gap: f64) -> String {
        format!("{:.0} %", (100.0 * gap / self.gained).clamp(-999.0, 999.0))
    }

    /// Whether it has overfitted, in a word or two.
    pub fn answer(&self) -> &'static str {
        match self.verdict {
            Verdict::Overfitted => "Yes",
            Verdict::Slightly => "Slightly",
            Verdict::Unclear => "It cannot be told",
            Verdict::None => "No sign of it",
            Verdict::NotYet => "It is too early to say",
        }
    }

    /// The two losses.
    fn losses(&self) -> String {
        format!("training loss {:.5}, validation loss {:.5}", self.training, self.validation)
    }

    /// The numbers alone, for readers who have just seen the [`text`](Self::text) of another run
    /// with the same verdict.
    pub fn brief(&self) -> String {
        let [low, high] = self.interval;
        let [gap, low, high] = [self.gap, low, high].map(|gap| self.percent(gap));
        format!(
            "{}: missing on other games are {gap} of what it gained over {} ({low} to {high})",
            self.losses(),
            self.reference
        )
    }

    /// A few sentences, the two losses first.
    pub fn text(&self) -> String {
        let Self { reference, gained, .. } = self;
        let [low, high] = self.interval.map(|gap| self.percent(gap));
        let gap = self.percent(self.gap);
        let doubt = match self.games_known {
            true => "",
            false => "; games are unknown, so the interval is too narrow",
        };
        let losses = self.losses();
        let share = format!(
            "{gap} of what it gained over {reference} on its training positions is missing on \
             other games (95 % interval {low} to {high}{doubt})"
        );
        let cure = &self.cure;
        let mut text = match self.verdict {
            Verdict::Overfitted => {
                format!(
                    "{losses}: it has overfitted: {share}; more data would help, and {cure} may"
                )
            }
            Verdict::Slightly => format!("{losses}: it overfits slightly: {share}"),
            Verdict::Unclear => format!(
                "{losses}: whether it has overfitted cannot be told, the validation games are too \
                 few: {share}"
            ),
            Verdict::None => format!("{losses}: no sign of overfitting: {share}"),
            Verdict::NotYet => format!(
                "{losses}: on its own training positions it is no better than {reference} yet, \
                 chance aside, so nothing is said of overfitting; train longer, or look at the \
                 learning rate"
            ),
        };
        if self.rose > LITTLE * gained.abs() {
            text += &format!(
                ". The validation loss rose by {:.5} after its lowest: a shorter run would do, and \
                 the weights of its lowest are those kept",
                self.rose
            );
        }
        text
    }
}

impl Losses<'_> {
    /// How far the trained loss is below that of the reference, and the variance of that: of a
    /// ratio of sums over games.
    fn gain(&self) -> [f64; 2] {
        let gains: Vec<f64> =
            self.reference.iter().zip(self.trained).map(|(one, other)| one - other).collect();
        let gain = mean(&gains);
        let mut sums: HashMap<u64, f64> = HashMap::new();
        for (place, value) in gains.iter().enumerate() {
            let game = self.games.get(place).copied().unwrap_or(place as u64);
            *sums.entry(game).or_default() += value - gain;
        }
        // Added up in a fixed order: that of the games' numbers.
        let mut sums: Vec<(u64, f64)> = sums.into_iter().collect();
        sums.sort_by_key(|(game, _)| *game);
        let squares: f64 = sums.iter().map(|(_, sum)| sum * sum).sum();
        let games = sums.len() as f64;
        // A single game says nothing of others.
        let corrected = if games > 1.0 { games / (games - 1.0) } else { f64::INFINITY };
        let variance = corrected * squares / (gains.len() as f64).powi(2);
        [gain, if variance.is_nan() { f64::INFINITY } else { variance }]
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
