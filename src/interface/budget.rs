//! How long to think.

/// A side's clock, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub time: u64,
    pub increment: u64,
    /// Moves until more time comes; None if none does.
    pub moves_to_go: Option<u64>,
}

/// Milliseconds for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// No new iteration from here on: it would hardly be finished.
    pub soft: u64,
    /// Never more.
    pub hard: u64,
}

/// Moves that a game is thought to last yet, where the clock does not say.
const MOVES: u64 = 25;

impl Clock {
    /// A move's share of the clock. What passes between a move and its clock is `overhead`.
    pub fn budget(self, overhead: u64) -> Budget {
        let Self { time, increment, moves_to_go } = self;
        let left = time.saturating_sub(overhead).max(1);
        let moves = moves_to_go.unwrap_or(MOVES).min(MOVES);
        // Most of the increment comes back; of the last move before more time all may be used.
        let share = left / moves + increment * 3 / 4;
        let most = if moves == 1 { left } else { left * 2 / 5 };
        let hard = (share * 3).min(most).max(1);
        Budget { soft: (share / 2).clamp(1, hard), hard }
    }
}

impl Budget {
    /// All of a given time, but what passes between a move and its clock.
    pub fn exactly(time: u64, overhead: u64) -> Self {
        let all = time.saturating_sub(overhead).max(1);
        Self { soft: all, hard: all }
    }
}
