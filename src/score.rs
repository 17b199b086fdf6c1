//! What a search says of a position.

use serde::{Deserialize, Serialize};

/// A score as the side to move sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Score {
    Centipawns(i32),
    /// Moves until mate; negative where the side to move is mated, 0 where it is already.
    Mate(i32),
}

impl Score {
    /// The score of a mate on the board.
    pub const MATE: i32 = 32_000;
    /// Nothing but a mate is scored higher, so that the two cannot be confused.
    pub const HIGHEST: i32 = 31_000;

    /// In 16 bits: centipawns within 31,000, mate in n as 32,000 - n.
    pub fn centipawns(self) -> i16 {
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
