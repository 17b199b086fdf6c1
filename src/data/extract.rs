//! Extraction of a few positions per game: neighbours are nearly the same and share one result.

use std::num::NonZeroU64;

use crate::sample::{Sample, mix_hash};

/// A draw by seed, moves and positions of each game, independent of the order of games.
pub struct Extract {
    /// Largest number of positions of a game; None: all.
    per_game: Option<usize>,
    seed: u64,
    game: Option<NonZeroU64>,
    /// Positions of the game so far.
    positions: Vec<Sample>,
    pub left_out: u64,
}

impl Extract {
    pub fn new(per_game: Option<usize>, seed: u64) -> Self {
        Self { per_game, seed, game: None, positions: Vec::new(), left_out: 0 }
    }

    /// Adds the next sample. If a game has ended, appends the samples drawn from it.
    pub fn push(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        if sample.game != self.game || sample.game.is_none() {
            self.finish_game(out);
            self.game = sample.game;
        }
        self.positions.push(*sample);
    }

    pub fn finish_game(&mut self, out: &mut Vec<Sample>) {
        let all = self.positions.len();
        let wanted = self.per_game.unwrap_or(all).min(all);
        let mut state = mix_hash(self.seed, self.game.map_or(0, NonZeroU64::get));
        // One position from each of `wanted` equal ranges of the game.
        out.extend((0..wanted).map(|i| {
            let (from, to) = (i * all / wanted, (i + 1) * all / wanted);
            state = mix_hash(state, i as u64);
            self.positions[from + (state % (to - from) as u64) as usize]
        }));
        self.left_out += (all - wanted) as u64;
        self.positions.clear();
    }
}
