//! How much is left out, and from when on. All numbers that were chosen stand here.
//!
//! Margins of scores are hundredths of the scale of the evaluation, so that all evaluations prune
//! alike, whatever their centipawns are worth. Exchanges have units of their own.

use std::sync::LazyLock;

use shakmaty::{Chess, Move};

use super::exchange::exchange;

/// Margins in centipawns of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Margins {
    reverse: i32,
    futility: i32,
    hope: i32,
    window: i32,
    pass: i32,
}

impl Margins {
    /// For evaluations that mean a share of `sigmoid(cp / scale)` of the points.
    ///
    /// # Panics
    /// If the scale is not above 0 and finite.
    pub fn new(scale: f64) -> Self {
        assert!(scale > 0.0 && scale.is_finite(), "a scale is above 0 and finite");
        // Not above what scores can be, so that sums of a few fit.
        let of = |percent: f64| (scale * percent / 100.0).clamp(1.0, 30_000.0).round() as i32;
        Self {
            reverse: of(60.0),
            futility: of(60.0),
            hope: of(120.0),
            window: of(12.0),
            pass: of(160.0),
        }
    }

    /// Reverse futility: so much above beta is enough.
    pub fn reverse(&self, depth: i32, improves: bool) -> i32 {
        self.reverse * (depth - i32::from(improves))
    }

    /// Futility: so much a quiet move may be hoped to gain.
    pub fn futility(&self, depth: i32) -> i32 {
        self.futility * (depth + 1)
    }

    /// The same in quiescence, for captures that win nothing.
    pub fn hope(&self) -> i32 {
        self.hope
    }

    /// Half of the first window around the score of the iteration before.
    pub fn window(&self) -> i32 {
        self.window
    }

    /// Half-moves that a search behind a pass is shallower, where the evaluation is so much above
    /// beta.
    pub fn pass(&self, depth: i32, above: i32) -> i32 {
        4 + depth / 4 + (above / self.pass).min(3)
    }

    /// Whether a move loses more material on its square than `depth` half-moves will win back.
    pub fn loses(&self, chess: &Chess, played: Move, quiet: bool, depth: i32) -> bool {
        exchange(chess, played) < if quiet { -60 * depth } else { -100 * depth }
    }
}

/// So many moves are tried before quiet ones are left out, near the leaves.
pub fn late(depth: i32, improves: bool) -> i32 {
    (3 + depth * depth) / if improves { 1 } else { 2 }
}

/// Half-moves that a late quiet move is searched less, before what else is known of it.
pub fn reduction(depth: i32, count: i32) -> i32 {
    let of = |number: i32| number.clamp(0, SIDE as i32 - 1) as usize;
    REDUCTIONS[of(depth)][of(count)]
}

const SIDE: usize = 64;

/// Grows with the logarithms of both, as is usual.
static REDUCTIONS: LazyLock<[[i32; SIDE]; SIDE]> = LazyLock::new(|| {
    let ln = |number: usize| (number.max(1) as f64).ln();
    std::array::from_fn(|depth| {
        std::array::from_fn(|count| (0.8 + ln(depth) * ln(count) / 2.4) as i32)
    })
});
