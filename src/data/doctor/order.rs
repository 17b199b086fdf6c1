//! Whether a file is shuffled.

use std::num::NonZeroU64;

use serde::Serialize;

use crate::format::Correlation;
use crate::sample::Sample;

/// Distances at which results are compared, records.
const LAGS: [usize; 5] = [1, 16, 256, 1024, 16_384];
/// Neighbours whose occupied squares differ in no more than these may be two half-moves apart.
const CLOSE: u32 = 4;

/// The correlation of results some records apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lag {
    pub lag: usize,
    /// -1 to 1; none where results do not vary or the file is shorter than twice the lag.
    pub correlation: Option<f64>,
}

/// How the records of a file follow each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Order {
    /// Of White's results; where colours are unknown, of whether a game was decided.
    pub lags: Vec<Lag>,
    /// Share of neighbours that stand at most about two half-moves apart.
    pub close: f64,
    /// Share of neighbours of the same game; none where games are unknown.
    pub same_game: Option<f64>,
}

impl Order {
    /// Neighbours mostly come from one game.
    pub fn by_game(&self) -> bool {
        self.close > 0.25 || self.same_game.is_some_and(|share| share > 0.25)
    }

    /// The correlation of results of neighbours, 0 where it is unknown.
    pub fn neighbours(&self) -> f64 {
        self.lags.first().and_then(|lag| lag.correlation).unwrap_or(0.0)
    }

    /// The longest distance at which results are still correlated.
    pub fn reach(&self) -> Option<usize> {
        let alike = |lag: &&Lag| lag.correlation.is_some_and(|it| it > 0.1);
        self.lags.iter().rfind(alike).map(|lag| lag.lag)
    }
}

/// An [`Order`] under way.
pub struct Orders {
    colours: bool,
    ring: Vec<f32>,
    seen: u64,
    sums: [Correlation; LAGS.len()],
    last: Option<(u64, Option<NonZeroU64>)>,
    close: u64,
    same_game: u64,
    games: bool,
}

impl Orders {
    pub fn new(colours: bool) -> Self {
        Self {
            colours,
            ring: vec![0.0; LAGS[LAGS.len() - 1]],
            seen: 0,
            sums: [Correlation::default(); LAGS.len()],
            last: None,
            close: 0,
            same_game: 0,
            games: false,
        }
    }

    /// Takes the next sample, with its result as White sees it.
    pub fn add(&mut self, sample: &Sample, white: f32) {
        // Seen by the side to move a result turns with every move; whether there is one does not.
        let value = if self.colours { white } else { (2.0 * white - 1.0).abs() };
        let length = self.ring.len();
        for (lag, sums) in LAGS.into_iter().zip(&mut self.sums) {
            if self.seen >= lag as u64 {
                let before = self.ring[(self.seen as usize + length - lag) % length];
                sums.add(before.into(), value.into());
            }
        }
        self.ring[self.seen as usize % length] = value;
        self.seen += 1;
        let occupied = sample.position.occupied();
        if let Some((before, game)) = self.last {
            // Boards turned to the side to move are the other way up after each half-move.
            let turned = if self.colours { before } else { before.swap_bytes() };
            let differ = (occupied ^ before).count_ones().min((occupied ^ turned).count_ones());
            self.close += u64::from(differ <= CLOSE);
            self.same_game += u64::from(game.is_some() && game == sample.game);
        }
        self.games |= sample.game.is_some();
        self.last = Some((occupied, sample.game));
    }

    pub fn finish(&self) -> Order {
        let pairs = self.seen.saturating_sub(1).max(1) as f64;
        let lag = |(lag, sums): (usize, &Correlation)| {
            let enough = self.seen >= 2 * lag as u64;
            Lag { lag, correlation: sums.value().filter(|_| enough) }
        };
        Order {
            lags: LAGS.into_iter().zip(&self.sums).map(lag).collect(),
            close: self.close as f64 / pairs,
            same_game: self.games.then_some(self.same_game as f64 / pairs),
        }
    }
}
