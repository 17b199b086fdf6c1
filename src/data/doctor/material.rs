//! How much material says of results, early in games and late.
//!
//! Terms that are tuned on results learn what material is worth from nothing else. Where an extra
//! pawn in the middlegame hardly shows in how games end (masters give pawns for something), the
//! tuned middlegame values come out far below the endgame's.

use serde::Serialize;
use shakmaty::Role;

use super::phase;
use crate::sample::Sample;

/// How far the mean result rises with a pawn's worth of material, in small imbalances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Material {
    /// With at least [`EARLY`] of the 24 points of the phase on the board.
    pub middlegame: f64,
    /// With at most [`LATE`].
    pub endgame: f64,
}

const EARLY: i64 = 18;
const LATE: i64 = 8;

/// Larger imbalances are won anyhow, in pawns.
const SMALL: f64 = 2.0;

/// Fewer positions with an imbalance say nothing.
const FEW: usize = 1_000;

/// In an endgame a pawn may say so many times as much, and tuned terms are sane.
const SANE: f64 = 2.5;

impl Material {
    /// Measures it; none where one of the phases is hardly there.
    pub(super) fn of(samples: &[Sample]) -> Option<Self> {
        let mut sums = [(0, 0.0, 0.0); 2];
        for sample in samples {
            let sets = sample.position.bitboards();
            let place = match phase(&sets) {
                EARLY.. => 0,
                ..=LATE => 1,
                _ => continue,
            };
            let own = usize::from(sample.position.turn().is_black());
            let pawns = worth(&sets[own]) - worth(&sets[1 - own]);
            if pawns != 0.0 && pawns.abs() <= SMALL {
                let (count, products, squares) = &mut sums[place];
                *count += 1;
                *products += pawns * (f64::from(sample.result) - 0.5);
                *squares += pawns * pawns;
            }
        }
        let slope = |(count, products, squares): (usize, f64, f64)| {
            (count >= FEW).then_some(products / squares)
        };
        Some(Self { middlegame: slope(sums[0])?, endgame: slope(sums[1])? })
    }

    /// Whether middlegame values tuned on such results come out too flat.
    pub fn is_flat(&self) -> bool {
        self.endgame > 0.0 && self.middlegame * SANE < self.endgame
    }
}

fn worth(sets: &[u64; 6]) -> f64 {
    let worth = [
        (Role::Pawn, 1.0),
        (Role::Knight, 3.0),
        (Role::Bishop, 3.0),
        (Role::Rook, 5.0),
        (Role::Queen, 9.0),
    ];
    worth.iter().map(|(role, worth)| f64::from(sets[*role as usize - 1].count_ones()) * worth).sum()
}
