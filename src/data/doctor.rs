//! Whether positions are fit to train on.
//!
//! An [`Exam`] takes samples in the order of their file and keeps counts, a bounded draw of
//! samples, and hashes thinned by their own value, so that memory does not grow with the file.
//! [`Exam::diagnose`] makes a [`Diagnosis`] of it: the figures, and [`Finding`]s that say what
//! they mean for training.

mod calibration;
mod counts;
mod diagnosis;
pub mod draws;
mod findings;
mod keys;
mod material;
mod order;
pub mod size;
mod sound;
mod views;

pub use calibration::{Bin, Calibration, Fitted};
pub use counts::{Histogram, Results, Scores};
pub use diagnosis::{Bad, Diagnosis, Noise, Reading};
pub use findings::{Finding, Grade};
pub use keys::{Keys, Overlap, Repeats};
pub use material::Material;
pub use order::{Lag, Order};
pub use sound::{Example, Soundness};
pub use views::Seen;

use shakmaty::Role;

use crate::format::{Facts, Holds};
use crate::sample::{Sample, Spread};
use order::Orders;

/// Samples that are kept for what is not counted as they come.
const DRAWN: usize = 1 << 17;

/// Scores farther from zero tell of mates and table bases, not of an evaluation, centipawns.
pub const DECIDED: u16 = 20_000;

/// What has been seen of a file so far.
pub struct Exam {
    colours: bool,
    positions: u64,
    side_to_move: Results,
    white: Results,
    to_move: [u64; 2],
    scores: Scores,
    pieces: Histogram,
    phase: Histogram,
    plies: Histogram,
    noise: Noise,
    sound: Soundness,
    keys: Keys,
    order: Orders,
    draw: Spread,
}

impl Exam {
    /// Begins, for samples of a format that carries these facts.
    pub fn new(facts: &Facts) -> Self {
        let colours = facts.colours != Holds::Never;
        Self {
            colours,
            positions: 0,
            side_to_move: Results::default(),
            white: Results::default(),
            to_move: [0; 2],
            scores: Scores::new(),
            pieces: Histogram::new(2, 1, 31),
            phase: Histogram::new(0, 1, 25),
            plies: Histogram::new(0, 10, 31),
            noise: Noise::default(),
            sound: Soundness::default(),
            keys: Keys::new(),
            order: Orders::new(colours),
            draw: Spread::new(DRAWN),
        }
    }

    /// Takes the next sample of the file.
    pub fn add(&mut self, sample: &Sample) {
        self.positions += 1;
        let turn = sample.position.turn();
        let white = if turn.is_white() { sample.result } else { 1.0 - sample.result };
        self.side_to_move.add(sample.result);
        self.white.add(white);
        self.to_move[usize::from(turn.is_black())] += 1;
        self.scores.add(sample.score);
        let sets = sample.position.bitboards();
        self.pieces.add(sample.position.count() as i64);
        self.phase.add(phase(&sets));
        if let Some(ply) = sample.ply {
            self.plies.add(ply.into());
        }
        self.moves(sample);
        self.sound.add(&sample.position, &sets, self.positions);
        self.keys.add(sample);
        self.order.add(sample, white);
        self.draw.add(sample);
    }

    fn moves(&mut self, sample: &Sample) {
        let checked = sample.position.in_check();
        self.noise.in_check += u64::from(checked);
        let mut noisy = checked;
        if let Some(played) = sample.played {
            let capture = played.is_capture(&sample.position);
            let promotion = played.promotion().is_some();
            self.noise.moves += 1;
            self.noise.captures += u64::from(capture);
            self.noise.promotions += u64::from(promotion);
            noisy |= capture || promotion;
        }
        self.noise.any += u64::from(noisy);
    }

    /// Positions taken so far.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Scores in centipawns and results of the positions drawn, mates left out, for a fit.
    pub fn scored(&self) -> (Vec<f64>, Vec<f64>) {
        let fair = self.draw.samples().filter_map(|sample| {
            let score = sample.score.filter(|score| score.unsigned_abs() <= DECIDED)?;
            Some((f64::from(score), f64::from(sample.result)))
        });
        fair.unzip()
    }

    /// What it all means: with what the reader says, the scale that fits the scores to the
    /// results if one was found, and other positions that must not be the same as these.
    pub fn diagnose(
        self,
        reading: &Reading,
        fitted: Option<Fitted>,
        against: Option<&Keys>,
    ) -> Diagnosis {
        let (scores, results) = self.scored();
        let drawn: Vec<Sample> = self.draw.samples().copied().collect();
        let mut diagnosis = Diagnosis {
            positions: self.positions,
            games: self.keys.games(),
            bad: Bad::of(reading, self.positions, self.keys.games()),
            unfinished: reading.unfinished,
            ended: reading.ended.clone(),
            side_to_move: self.side_to_move,
            white: self.colours.then_some(self.white),
            to_move: self.to_move,
            scores: self.scores.finished(),
            pieces: self.pieces.finished(),
            phase: self.phase.finished(),
            plies: self.plies.finished(),
            calibration: fitted.map(|fitted| Calibration::of(&scores, &results, fitted)),
            material: Material::of(&drawn),
            views: views::seen(&drawn, reading.view, self.colours),
            repeats: self.keys.repeats(),
            order: self.order.finish(),
            noise: self.noise,
            sound: self.sound,
            against: against.map(|other| self.keys.overlap(other)),
            sizes: Vec::new(),
            findings: Vec::new(),
        };
        diagnosis.sizes = size::sizes(&diagnosis.amount());
        diagnosis.findings = findings::all(&diagnosis, self.colours);
        diagnosis
    }
}

/// How much is on the board besides kings and pawns: knights and bishops 1, rooks 2, queens 4, so
/// that a game starts at 24.
fn phase(sets: &[[u64; 6]; 2]) -> i64 {
    let worth = [(Role::Knight, 1), (Role::Bishop, 1), (Role::Rook, 2), (Role::Queen, 4)];
    let of = |pieces: &[u64; 6]| -> u32 {
        worth.iter().map(|(role, worth)| pieces[*role as usize - 1].count_ones() * worth).sum()
    };
    i64::from(of(&sets[0]) + of(&sets[1]))
}
