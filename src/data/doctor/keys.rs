//! What comes more than once: positions, records and games, in bounded memory.

use std::collections::HashMap;
use std::num::NonZeroU64;

use serde::Serialize;

use crate::sample::{Sample, mix};

/// At most so many different hashes of a kind are kept, some 32 MiB.
const ROOM: usize = 1 << 20;

/// How often each key came, for those keys whose hash begins with enough zeros; with more keys
/// than room there are more zeros to begin with. A key that counts is counted every time, so
/// shares are unbiased.
#[derive(Default)]
struct Tally {
    counts: HashMap<u64, u32>,
    level: u32,
}

impl Tally {
    fn add(&mut self, key: u64) {
        let hash = mix(1, key);
        if hash.leading_zeros() < self.level {
            return;
        }
        let count = self.counts.entry(hash).or_default();
        *count = count.saturating_add(1);
        while self.counts.len() > ROOM {
            self.level += 1;
            let level = self.level;
            self.counts.retain(|hash, _| hash.leading_zeros() >= level);
        }
    }

    fn total(&self) -> u64 {
        self.counts.values().map(|count| u64::from(*count)).sum()
    }

    /// What part of all came before; 0 without any.
    fn repeated(&self) -> f64 {
        let total = self.total();
        (total - self.counts.len() as u64) as f64 / total.max(1) as f64
    }

    /// What part of all, each counted as often as it comes, occurs in the other.
    fn within(&self, other: &Tally) -> f64 {
        let level = self.level.max(other.level);
        let (mut total, mut found) = (0u64, 0u64);
        for (hash, count) in &self.counts {
            if hash.leading_zeros() >= level {
                total += u64::from(*count);
                found += if other.counts.contains_key(hash) { u64::from(*count) } else { 0 };
            }
        }
        found as f64 / total.max(1) as f64
    }
}

/// By what positions and games are known again.
#[derive(Default)]
pub struct Keys {
    positions: Tally,
    /// Positions with their result and score.
    records: Tally,
    games: Tally,
    game: Option<NonZeroU64>,
    games_seen: u64,
}

/// Shares of what came before in the same file, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Repeats {
    /// Pieces, side to move, castling rights and en passant square are the same; a position and the
    /// same with colours swapped are one.
    pub positions: f64,
    /// Result and score are the same too.
    pub records: f64,
    /// Start and moves are the same; none where games are unknown.
    pub games: Option<f64>,
    /// One of so many keys was looked at.
    pub one_in: u64,
}

/// Shares of what also occurs in another file, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overlap {
    pub positions: f64,
    /// None where one of both does not know games.
    pub games: Option<f64>,
}

impl Keys {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next sample of a file; samples of a game stand next to each other.
    pub fn add(&mut self, sample: &Sample) {
        let key = sample.position.key();
        self.positions.add(key);
        let score = sample.score.map_or(u64::MAX, |score| u64::from(score as u16));
        self.records.add(mix(mix(key, score), sample.result.to_bits().into()));
        if let Some(game) = sample.game
            && self.game.replace(game) != Some(game)
        {
            self.games_seen += 1;
            self.games.add(game.get());
        }
    }

    /// How many games there were, each counted once as training does, if they are known.
    pub fn games(&self) -> Option<u64> {
        let once = self.games_seen as f64 * (1.0 - self.games.repeated());
        (self.games_seen > 0).then_some(once.round() as u64)
    }

    pub(super) fn repeats(&self) -> Repeats {
        Repeats {
            positions: self.positions.repeated(),
            records: self.records.repeated(),
            games: self.games().map(|_| self.games.repeated()),
            one_in: 1 << self.positions.level.max(self.records.level),
        }
    }

    /// What part of these occurs in the others.
    pub fn overlap(&self, other: &Keys) -> Overlap {
        let games = self.games().and(other.games()).map(|_| self.games.within(&other.games));
        Overlap { positions: self.positions.within(&other.positions), games }
    }
}
