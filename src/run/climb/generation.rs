//! What is known of a generation, part by part, as its file has it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::report::elo::Pairs;

/// A generation, as far as it has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// The generation that was the best before it, which plays its games and meets it; 0 is the
    /// start.
    pub best: u64,
    /// The SHA-256 of the start, if that is a file.
    pub start: Option<String>,
    pub games: Option<Games>,
    pub training: Option<Trained>,
    pub against_best: Option<Met>,
    /// None where the best was the start.
    pub against_start: Option<Met>,
}

/// Games that are whole. Seconds are those of the command that ended a part, here and below.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Games {
    pub seconds: f64,
}

/// A training that has ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Trained {
    /// Trained on.
    pub positions: u64,
    /// The lowest.
    pub validation_loss: Option<f64>,
    pub seconds: f64,
}

/// A match that was played to its end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Met {
    /// Seen by the new evaluation.
    #[serde(rename = "counts", serialize_with = "counts", deserialize_with = "pairs")]
    pub pairs: Pairs,
    pub seconds: f64,
}

/// No match has more pairs.
const MOST: u64 = 1 << 32;

/// How many pairs scored 0, 0.5, 1, 1.5 and 2 says all that Elo takes.
fn counts<S: Serializer>(pairs: &Pairs, to: S) -> Result<S::Ok, S::Error> {
    pairs.counts().serialize(to)
}

fn pairs<'de, D: Deserializer<'de>>(from: D) -> Result<Pairs, D::Error> {
    let counts = <[u64; 5]>::deserialize(from)?;
    match counts.iter().all(|count| *count <= MOST) {
        true => Ok(Pairs::new(counts, 0)),
        false => Err(D::Error::custom(format!("a count of pairs is above {MOST}"))),
    }
}

impl Generation {
    /// Whether nothing of it is left to do.
    pub fn is_done(&self) -> bool {
        self.training.is_some()
            && self.against_best.is_some()
            && (self.best == 0 || self.against_start.is_some())
    }

    /// Whether it is the best from now on.
    pub fn is_kept(&self) -> bool {
        self.against_best.and_then(|met| met.pairs.score()).is_some_and(|score| score > 0.5)
    }

    /// What games, training and matches took.
    pub fn seconds(&self) -> [f64; 3] {
        let met = [self.against_best, self.against_start].into_iter().flatten();
        [
            self.games.map_or(0.0, |games| games.seconds),
            self.training.map_or(0.0, |training| training.seconds),
            met.map(|met| met.seconds).sum(),
        ]
    }
}
