//! How hard the move that was played is lifted over the others, and these are pressed down.
//!
//! Source: A. Nowatzyk, "Eval Tuning in Deep Thought" (1988, described in 2000), names these forces
//! without their formulas; these are ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the force on a move that was played grows with. The miss is what the best of the other
/// moves is ahead of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Force {
    /// With nothing: it is the same also where the move stands first.
    Constant,
    /// With the miss.
    #[default]
    Linear,
    /// With the square root of the miss.
    #[serde(rename = "square root")]
    SquareRoot,
    /// With the logarithm of 1 + miss.
    Logarithm,
    /// With the square of the miss.
    Quadratic,
    /// The less, the larger the miss: what is far off is due to something that no term knows.
    Reciprocal,
    /// With the number of moves that are ahead.
    Rank,
}

/// The miss, in centipawns, at which all forces are as strong as they are said to be.
pub const HALF_PAWN: f64 = 50.0;

/// The number of moves ahead at which the force by rank is.
pub const FIVE_AHEAD: f64 = 5.0;

impl Force {
    pub const ALL: [Self; 7] = [
        Self::Constant,
        Self::Linear,
        Self::SquareRoot,
        Self::Logarithm,
        Self::Quadratic,
        Self::Reciprocal,
        Self::Rank,
    ];

    /// The force, as a share of its strength, where other moves are ahead by `miss` centipawns (0 or
    /// more) at most, and are `ahead` in number.
    pub fn at(self, miss: f64, ahead: usize) -> f64 {
        let miss = miss / HALF_PAWN;
        match self {
            Force::Constant => 1.0,
            Force::Linear => miss,
            Force::SquareRoot => miss.sqrt(),
            Force::Logarithm => (1.0 + miss).log2(),
            Force::Quadratic => miss * miss,
            Force::Reciprocal if ahead == 0 => 0.0,
            Force::Reciprocal => 2.0 / (1.0 + miss),
            Force::Rank => ahead as f64 / FIVE_AHEAD,
        }
    }
}
