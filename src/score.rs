//! Scores of a search.

use serde::{Deserialize, Serialize};

/// A score from the point of view of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Score {
    Centipawns(i32),
    /// The number of moves until mate; negative if the side to move gets mated, 0 if it is mated.
    Mate(i32),
}

impl Score {
    /// The score of a mate on the board.
    pub const MATE: i32 = 32_000;
    /// The highest score that is not a mate.
    pub const HIGHEST: i32 = 31_000;

    /// Converts to 16 bits: centipawns within 31,000, mate in n as 32,000 - n.
    pub fn to_centipawns(self) -> i16 {
        let score = match self {
            Score::Centipawns(score) => score.clamp(-Self::HIGHEST, Self::HIGHEST),
            Score::Mate(moves) => {
                let far = moves.saturating_abs().min(Self::MATE - Self::HIGHEST - 1);
                if moves > 0 { Self::MATE - far } else { far - Self::MATE }
            }
        };
        score as i16
    }
}
