//! Positions, the goal of their values, and points in the space of weights.

use std::{ops::Range, sync::Arc};

use rayon::prelude::*;

use crate::batch::{MoveChoices, TermBatch};
use crate::loss::{Loss, sigmoid};
use crate::sums::Sums;
use crate::train::TrainError;

#[derive(Clone, Copy, Debug)]
pub enum Goal<'a> {
    /// Expected results for White, 0 to 1; `scale` are centipawns per logit. Losses are multiplied
    /// by the `shares`, whose mean is 1; empty: all 1.
    Results { targets: &'a [f32], scale: f64, loss: Loss, shares: &'a [f32] },
    /// Moves that were played; the rows of a position are in one block.
    Moves(&'a MoveChoices),
}

/// Positions with a goal. Sums over them have an order that depends on the blocks alone.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pieces: &'a [Arc<TermBatch>],
    pub goal: Goal<'a>,
    pub terms: usize,
    /// All positions, chunk by chunk.
    pub chunks: Vec<ProblemChunk>,
    /// Divisor of sums: the number of positions, or that of [`MoveChoices`].
    pub count: f64,
}

#[derive(Clone, Debug)]
pub struct ProblemChunk {
    pub piece: usize,
    pub rows: Range<usize>,
    /// Number of the first row in the whole problem.
    pub first: usize,
    /// For moves: the positions of the rows.
    pub positions: Range<usize>,
}

/// Loss of a position, and its first and second derivative with respect to the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub loss: f64,
    pub derivative: f64,
    /// Without the curvature of the sigmoid, so never negative (Gauss-Newton).
    pub curvature: f64,
}

/// Maximum terms of [`Equations`](super::normal::Equations), whose matrix then takes a gigabyte.
pub const MAX_TERMS: usize = 8192;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    #[error("there are no positions to tune on")]
    Empty,
    #[error(
        "weight {number} is {weight}, expected within ±{limit} centipawns; start from smaller \
         weights"
    )]
    Weight { number: usize, weight: f64, limit: i32 },
    #[error("the loss is not finite; start from smaller weights")]
    NotFinite,
    #[error("{0} terms need too much memory, expected at most {MAX_TERMS}; train with adamw")]
    Terms(usize),
    #[error("position {position} counts term {term} more than 32,767 times")]
    Count { term: usize, position: usize },
}

impl From<ProblemError> for TrainError {
    fn from(error: ProblemError) -> Self {
        TrainError::Data(Box::new(error))
    }
}

/// Positions per chunk; enough work for a thread.
const CHUNK: usize = 256;

impl<'a> Problem<'a> {
    /// Makes a problem of positions whose terms have numbers below `terms`. Fails without
    /// positions, or without alternative moves. Panics if the rows of a position are in several
    /// blocks.
    pub fn new(
        pieces: &'a [Arc<TermBatch>],
        terms: usize,
        goal: Goal<'a>,
    ) -> Result<Self, ProblemError> {
        let (mut chunks, mut positions, mut choice) = (Vec::new(), 0, 0);
        for (piece, rows) in pieces.iter().map(|piece| piece.len()).enumerate() {
            let mut start = 0;
            while start < rows {
                let (mut end, first) = (rows.min(start + CHUNK), choice);
                if let Goal::Moves(choices) = goal {
                    let end_of = |choice: usize| choices.move_rows(choice).end - positions;
                    while choice < choices.ends.len() && end_of(choice) <= rows {
                        choice += 1;
                        if end_of(choice - 1) >= end {
                            break;
                        }
                    }
                    assert!(choice > first, "the rows of a position lie in one piece");
                    end = end_of(choice - 1);
                }
                let first_row = positions + start;
                chunks.push(ProblemChunk {
                    piece,
                    first: first_row,
                    rows: start..end,
                    positions: first..choice,
                });
                start = end;
            }
            positions += rows;
        }
        let count = match goal {
            Goal::Moves(choices) => choices.loss_divisor(),
            Goal::Results { .. } => positions as f64,
        };
        match count > 0.0 {
            true => Ok(Self { pieces, goal, terms, chunks, count }),
            false => Err(ProblemError::Empty),
        }
    }

    /// Computes the effective share of positions (L. Kish, "Survey Sampling", 1965); less than 1
    /// with weights.
    pub fn evenness(&self) -> f64 {
        let Goal::Results { shares: shares @ [_, ..], .. } = self.goal else { return 1.0 };
        let sum =
            |power: i32| shares.iter().map(|share| f64::from(*share).powi(power)).sum::<f64>();
        match sum(2) {
            0.0 => 1.0,
            squares => sum(1).powi(2) / squares / shares.len() as f64,
        }
    }

    pub fn weights(&self) -> usize {
        2 * self.terms + 1
    }

    pub fn piece(&self, chunk: &ProblemChunk) -> &'a TermBatch {
        &self.pieces[chunk.piece]
    }

    /// Computes the loss of a position with this value. Panics if the goal is moves.
    pub fn cost(&self, position: usize, value: f64) -> Cost {
        match self.goal {
            Goal::Results { targets, scale, loss, shares } => {
                let (logit, target) = (value / scale, f64::from(targets[position]));
                let factor = shares.get(position).map_or(1.0, |share| f64::from(*share));
                let expected = sigmoid(logit);
                let derivative = expected * (1.0 - expected) / scale;
                Cost {
                    loss: factor * loss.value_at(logit, target),
                    derivative: factor * (loss.derivative(logit, target) / scale),
                    // For squares; the methods of other losses do not use it.
                    curvature: factor * (2.0 * derivative * derivative),
                }
            }
            Goal::Moves(_) => panic!("moves are judged together"),
        }
    }

    pub fn loss(&self, point: &Point) -> f64 {
        let chunk_loss = |chunk: &ProblemChunk| {
            let terms = self.piece(chunk);
            let Goal::Moves(choices) = self.goal else {
                let positions = chunk.first..;
                let cost = |(row, position)| self.cost(position, point.value(terms, row)).loss;
                return chunk.rows.clone().zip(positions).map(cost).sum();
            };
            let cost = |position: usize| {
                let rows = self.rows(chunk, position);
                let values: Vec<f64> = rows.map(|row| point.value(terms, row)).collect();
                if values.len() > 2 {
                    choices.position_loss(position, &values, 1.0).loss
                } else {
                    0.0
                }
            };
            chunk.positions.clone().map(cost).sum()
        };
        let sums: Vec<f64> = self.chunks.par_iter().map(chunk_loss).collect();
        sums.iter().sum::<f64>() / self.count
    }

    /// Returns the rows of a position of moves, in the chunk's block. Panics without moves.
    pub fn rows(&self, chunk: &ProblemChunk, position: usize) -> Range<usize> {
        let Goal::Moves(choices) = self.goal else { panic!("no moves") };
        let Range { start, end } = choices.move_rows(position);
        let shift = chunk.first - chunk.rows.start;
        start - shift..end - shift
    }
}

/// Weights in centipawns by number: `2 * term` is the middlegame weight of a term,
/// `2 * term + 1` its endgame weight, and `2 * terms` the tempo.
#[derive(Clone, Debug, PartialEq)]
pub struct Point(pub Vec<f64>);

impl Point {
    /// Returns middlegame and endgame weight of each term.
    pub fn pairs(&self) -> &[[f64; 2]] {
        self.0.as_chunks().0
    }

    pub fn tempo(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// Computes centipawns for White, the tempo included.
    pub fn value(&self, terms: &TermBatch, row: usize) -> f64 {
        let value = terms.sum_row(row, self.pairs()).white_centipawns(shares(terms, row));
        value + self.tempo() * f64::from(terms.turn[row])
    }

    pub fn value_and_slopes(&self, terms: &TermBatch, row: usize) -> (f64, Sums) {
        let (sums, shares) = (terms.sum_row(row, self.pairs()), shares(terms, row));
        let value = sums.white_centipawns(shares) + self.tempo() * f64::from(terms.turn[row]);
        (value, sums.derivatives(shares))
    }
}

pub fn shares(terms: &TermBatch, row: usize) -> [f64; 2] {
    [terms.middlegame[row], terms.endgame[row]].map(f64::from)
}
