//! Statistics of a file.

use std::collections::HashSet;
use std::num::NonZeroU64;

use serde::Serialize;
use shakmaty::Color;

use crate::sample::Sample;

/// Upper ends, inclusive, of the ranges of |score| that are counted, in centipawns.
pub const SCORES: [u16; 9] = [25, 50, 100, 200, 400, 800, 1600, 10_000, 32_767];

#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    pub positions: u64,
    /// Distinct games; None if all are unknown.
    pub games: Option<u64>,
    /// Positions whose game is unknown.
    pub gameless: u64,
    /// Positions with White to move; all positions if the format does not store colours.
    pub white_to_move: u64,
    /// Losses, draws and wins of the side to move, and other results.
    pub losses: u64,
    pub draws: u64,
    pub wins: u64,
    pub other_results: u64,
    pub in_check: u64,
    pub scored: u64,
    pub score_sum: i64,
    /// Positions by |score|, see [`SCORES`].
    pub scores: [u64; SCORES.len()],
    /// Positions by number of pieces, kings included, from two to 32.
    pub pieces: [u64; 31],
    #[serde(skip)]
    known_games: HashSet<NonZeroU64>,
}

impl Stats {
    pub fn add(&mut self, sample: &Sample) {
        let position = &sample.position;
        self.positions += 1;
        match sample.game {
            None => self.gameless += 1,
            Some(game) if self.known_games.insert(game) => *self.games.get_or_insert(0) += 1,
            Some(_) => {}
        }
        self.white_to_move += u64::from(position.turn() == Color::White);
        *match sample.result {
            0.0 => &mut self.losses,
            0.5 => &mut self.draws,
            1.0 => &mut self.wins,
            _ => &mut self.other_results,
        } += 1;
        self.in_check += u64::from(position.in_check());
        if let Some(score) = sample.score {
            self.scored += 1;
            self.score_sum += i64::from(score);
            let range = SCORES.partition_point(|&end| end < score.unsigned_abs());
            self.scores[range.min(SCORES.len() - 1)] += 1;
        }
        self.pieces[position.piece_count().clamp(2, 32) - 2] += 1;
    }
}
