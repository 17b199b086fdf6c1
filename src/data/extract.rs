//! Positions chosen from games.
//!
//! Neighbouring positions of a game are nearly the same and share one result, so a few of each
//! game teach about as much as all; and an evaluation without search is asked about quiet
//! positions only. [`Extract`] takes the samples of games in order and hands on those to keep.

use std::num::NonZeroU64;

use crate::sample::{Sample, mix};

/// Scores this far from zero or farther tell of a mate that was found, not of an evaluation.
pub const MATE: u16 = 31_000;

/// What a position must be like to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The first half-moves of a game that are left out, counted as [`Sample::ply`] is.
    pub skip_plies: u16,
    /// At most so many positions of a game; none for all.
    pub per_game: Option<usize>,
    /// Only positions where the side to move is not in check and plays neither a capture nor a
    /// promotion.
    pub quiet: bool,
    /// Whether positions with the score of a mate stay.
    pub mates: bool,
    /// Kings included.
    pub min_pieces: usize,
    /// What is drawn where a game has more positions than are wanted.
    pub seed: u64,
}

/// Why positions were kept or left out. Each position counts once, for the first reason in this
/// order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub read: u64,
    /// The rules ask for a fact (ply, move, game) that the sample lacks.
    pub unknown: u64,
    /// Within the first half-moves.
    pub early: u64,
    /// Too few pieces.
    pub few_pieces: u64,
    pub mate: u64,
    pub in_check: u64,
    /// The move played is a capture or a promotion.
    pub tactical: u64,
    /// Fit, but others of the same game were drawn.
    pub crowded: u64,
    pub kept: u64,
}

/// Why a single position is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Unknown,
    Early,
    FewPieces,
    Mate,
    InCheck,
    Tactical,
}

/// Chooses positions from a stream of games.
///
/// The choice depends on the rules and on each game's moves alone, not on the order of the games
/// or on how the stream is cut into pieces.
pub struct Extract {
    rules: Rules,
    counts: Counts,
    /// The game under way, and its positions that fit.
    game: Option<NonZeroU64>,
    fit: Vec<Sample>,
}

impl Extract {
    pub fn new(rules: Rules) -> Self {
        Self { rules, counts: Counts::default(), game: None, fit: Vec::new() }
    }

    /// Takes the next samples, which follow each other as they were played, and appends those to
    /// keep of every game that has ended to `out`.
    pub fn push(&mut self, samples: &[Sample], out: &mut Vec<Sample>) {
        for sample in samples {
            // Samples that know no game are none together.
            if sample.game != self.game || sample.game.is_none() {
                self.finish(out);
                self.game = sample.game;
            }
            self.counts.read += 1;
            match self.rules.against(sample) {
                None => self.fit.push(*sample),
                Some(reason) => self.counts.add(reason),
            }
        }
    }

    /// Ends the game under way, as the end of the stream does.
    pub fn finish(&mut self, out: &mut Vec<Sample>) {
        let fit = self.fit.len();
        let wanted = self.rules.per_game.unwrap_or(fit).min(fit);
        let mut state = mix(self.rules.seed, self.game.map_or(0, NonZeroU64::get));
        // One from each of as many equal parts of the game as positions are wanted.
        out.extend((0..wanted).map(|i| {
            let (from, to) = (i * fit / wanted, (i + 1) * fit / wanted);
            state = mix(state, i as u64);
            self.fit[from + (state % (to - from) as u64) as usize]
        }));
        self.counts.kept += wanted as u64;
        self.counts.crowded += (fit - wanted) as u64;
        self.fit.clear();
    }

    /// What became of the samples so far; those of the game under way that fit are not yet
    /// counted as kept or left out.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl Rules {
    /// Why a sample is left out, whatever else its game holds.
    fn against(&self, sample: &Sample) -> Option<Reason> {
        let position = &sample.position;
        let lacks = self.skip_plies > 0 && sample.ply.is_none()
            || self.quiet && sample.played.is_none()
            || self.per_game.is_some() && sample.game.is_none();
        let tactical = || {
            sample
                .played
                .is_some_and(|played| played.is_capture(position) || played.promotion().is_some())
        };
        if lacks {
            Some(Reason::Unknown)
        } else if sample.ply.is_some_and(|ply| ply < self.skip_plies) {
            Some(Reason::Early)
        } else if position.count() < self.min_pieces {
            Some(Reason::FewPieces)
        } else if !self.mates && sample.score.is_some_and(|score| score.unsigned_abs() >= MATE) {
            Some(Reason::Mate)
        } else if self.quiet && position.in_check() {
            Some(Reason::InCheck)
        } else if self.quiet && tactical() {
            Some(Reason::Tactical)
        } else {
            None
        }
    }
}

impl Counts {
    fn add(&mut self, reason: Reason) {
        let count = match reason {
            Reason::Unknown => &mut self.unknown,
            Reason::Early => &mut self.early,
            Reason::FewPieces => &mut self.few_pieces,
            Reason::Mate => &mut self.mate,
            Reason::InCheck => &mut self.in_check,
            Reason::Tactical => &mut self.tactical,
        };
        *count += 1;
    }
}
