//! Evaluation with weights in f64, without a trace, for millions of positions.

use shakmaty::Color;

use super::evaluate::{Parts, TermBoard, evaluate_board};
use super::terms::used_parts;
use super::{EvaluationPart, HceWeights, Phase, Term, TermSink};
use crate::sample::Position;
use crate::sums::Sums;
use crate::terms::TermKind;

/// An evaluator of positions by weights of the built-in terms. Parts without weight are skipped.
#[derive(Clone, Debug)]
pub struct HceEvaluator {
    values: Vec<[f64; 2]>,
    parts: Parts,
    tempo: f64,
    scale_factor: bool,
}

impl HceEvaluator {
    /// Makes an evaluator of weights in centipawns.
    ///
    /// # Panics
    ///
    /// Panics for terms of another engine: see [`HceWeights::is_ours`].
    pub fn new(weights: &HceWeights) -> Self {
        assert!(weights.is_ours(), "positions are evaluated with our own terms");
        let parts = used_parts(|term| weights.values[term] != [0.0; 2]);
        let HceWeights { tempo, scale_factor, .. } = *weights;
        Self { values: weights.values.clone(), parts, tempo, scale_factor }
    }

    /// Evaluates a position to centipawns for the side to move.
    pub fn evaluate(&self, position: &Position) -> f64 {
        let board = TermBoard::from_position(position);
        let phase = Phase::from_board(&board, self.scale_factor);
        let white = self.sum_board(&board).white_centipawns(phase.phase_shares());
        position.turn().fold_wb(white, -white) + self.tempo
    }

    pub fn sum_terms(&self, position: &Position) -> Sums {
        self.sum_board(&TermBoard::from_position(position))
    }

    fn sum_board(&self, board: &TermBoard) -> Sums {
        let mut sink = Weighted { evaluator: self, sums: Sums::default() };
        evaluate_board(board, &mut sink);
        sink.sums
    }
}

struct Weighted<'a> {
    evaluator: &'a HceEvaluator,
    sums: Sums,
}

impl TermSink for Weighted<'_> {
    #[inline]
    fn needs_part(&self, part: EvaluationPart) -> bool {
        self.evaluator.parts[part as usize]
    }

    #[inline]
    fn add(&mut self, term: Term, colour: Color, count: i32) {
        let [mg, eg] = self.evaluator.values[term.index()];
        let (sums, count) = match term.kind() {
            TermKind::Normal => (&mut self.sums.normal, colour.fold_wb(count, -count)),
            TermKind::Safety => (&mut self.sums.safety[colour.fold_wb(0, 1)], count),
            TermKind::Complexity => {
                self.sums.complexity += f64::from(count) * eg;
                return;
            }
        };
        sums[0] += f64::from(count) * mg;
        sums[1] += f64::from(count) * eg;
    }
}
