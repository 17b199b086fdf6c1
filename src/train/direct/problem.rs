//! Positions, and what their values should become.

use std::{ops::Range, sync::Arc};

use rayon::prelude::*;

use super::point::Point;
use crate::batch::{Choices, Terms};
use crate::loss::{Loss, LossShape, sigmoid};

/// What the values of positions are fitted to.
#[derive(Clone, Copy, Debug)]
pub enum Goal<'a> {
    /// Expected results for White, 0 to 1; `scale` is the number of centipawns a logit. Losses are
    /// multiplied by the `shares`, whose mean is 1; there are none where all positions count alike.
    Results { targets: &'a [f32], scale: f64, loss: Loss, shares: &'a [f32] },
    /// Moves that were played; the rows of a position lie in one piece.
    Moves(&'a Choices),
}

/// Positions with a goal. Whatever is summed over them is summed in an order that follows from
/// the pieces alone, so any number of threads gives the same bits.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pieces: &'a [Arc<Terms>],
    goal: Goal<'a>,
    terms: usize,
    chunks: Vec<Chunk>,
    /// What sums are divided by.
    count: f64,
}

/// Consecutive positions of one piece.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub piece: usize,
    /// Rows of the piece.
    pub rows: Range<usize>,
    /// The number of the first row in the whole problem.
    pub first: usize,
    /// Of moves, the positions that the rows belong to.
    pub positions: Range<usize>,
}

/// What a position costs, and the first and second derivative of that by its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub loss: f64,
    pub slope: f64,
    /// Without the bend of the sigmoid, so never negative (Gauss-Newton).
    pub curvature: f64,
}

impl Cost {
    fn times(self, factor: f64) -> Self {
        let Self { loss, slope, curvature } = self;
        Self { loss: factor * loss, slope: factor * slope, curvature: factor * curvature }
    }
}

/// Why positions, goal and weights do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    #[error("there are no positions to tune on")]
    Empty,
    #[error("{positions} positions need as many targets, not {targets}")]
    Targets { positions: usize, targets: usize },
    #[error("{positions} positions need as many shares, not {shares}")]
    Shares { positions: usize, shares: usize },
    #[error("position {position} has the target {target}, which is no finite number")]
    Target { position: usize, target: f64 },
    #[error("a logit cannot be {0} centipawns: the scale must be a positive number")]
    Scale(f64),
    #[error("a position of piece {piece} counts term {term}, but there are only {terms} terms")]
    Term { piece: usize, term: usize, terms: usize },
    #[error("term {0} has entries of more than one kind; a term is NORMAL, SAFETY or COMPLEXITY")]
    Kind(usize),
    #[error("{found} {what} were given where the terms and the tempo make {wanted}")]
    Length { what: &'static str, found: usize, wanted: usize },
    #[error("a weight cannot be expected to move by {0} centipawns: the prior must be positive")]
    Prior(f64),
    #[error("weight {number} is {weight}: start within ±{limit} centipawns")]
    Weight { number: usize, weight: f64, limit: i32 },
    #[error("the loss is no finite number: start from smaller weights")]
    NotFinite,
    #[error("position {position} counts term {term} more than 32,767 times")]
    Count { term: usize, position: usize },
    #[error("a local search needs expected results to tune towards, not moves")]
    Moves,
    #[error("the rows of position {0} lie in several pieces")]
    Cut(usize),
}

/// Positions a chunk; enough to make a thread's wake-up worth it.
const CHUNK: usize = 256;

/// Below this error an absolute loss counts as curved like a square: `|e|` is met by the parabola
/// `e^2 / (2 |e0|) + |e0| / 2` that touches it at the present error `e0`, which would be infinitely
/// steep at 0. (Iteratively reweighted least squares.)
const SMALLEST_ERROR: f64 = 1e-3;

impl<'a> Problem<'a> {
    /// Positions whose terms have numbers below `terms`.
    ///
    /// # Errors
    /// Goals that are not as many as positions or not finite, a scale that is not positive,
    /// unknown terms, terms of two kinds.
    pub fn new(
        pieces: &'a [Arc<Terms>],
        terms: usize,
        goal: Goal<'a>,
    ) -> Result<Self, ProblemError> {
        let (mut chunks, mut positions, mut choice) = (Vec::new(), 0, 0);
        for (piece, rows) in pieces.iter().map(|piece| piece.len()).enumerate() {
            let mut start = 0;
            while start < rows {
                let (mut end, first) = (rows.min(start + CHUNK), choice);
                if let Goal::Moves(choices) = goal {
                    let behind = |choice: usize| choices.rows(choice).end - positions;
                    while choice < choices.ends.len() && behind(choice) <= rows {
                        choice += 1;
                        if behind(choice - 1) >= end {
                            break;
                        }
                    }
                    if choice == first {
                        return Err(ProblemError::Cut(first));
                    }
                    end = behind(choice - 1);
                }
                let rows = start..end;
                chunks.push(Chunk {
                    piece,
                    first: positions + start,
                    rows,
                    positions: first..choice,
                });
                start = end;
            }
            positions += rows;
        }
        let count = match goal {
            Goal::Moves(choices) => choices.count(),
            _ => positions as f64,
        };
        let problem = Self { pieces, goal, terms, chunks, count };
        if positions == 0 || count == 0.0 {
            return Err(ProblemError::Empty);
        }
        problem.check_goal(positions)?;
        problem.check_terms()?;
        Ok(problem)
    }

    fn check_goal(&self, positions: usize) -> Result<(), ProblemError> {
        let (targets, bad) = match self.goal {
            Goal::Results { targets, scale, shares, .. } => {
                if !(scale > 0.0 && scale.is_finite()) {
                    return Err(ProblemError::Scale(scale));
                }
                if !(shares.is_empty() || shares.len() == positions) {
                    return Err(ProblemError::Shares { positions, shares: shares.len() });
                }
                let bad = targets.iter().position(|target| !target.is_finite());
                (targets.len(), bad.map(|position| (position, f64::from(targets[position]))))
            }
            Goal::Moves(Choices { before, .. }) => {
                let bad = before.iter().position(|value| !value.is_finite());
                (before.len(), bad.map(|row| (row, before[row])))
            }
        };
        if targets != positions {
            return Err(ProblemError::Targets { positions, targets });
        }
        match bad {
            Some((position, target)) => Err(ProblemError::Target { position, target }),
            None => Ok(()),
        }
    }

    fn check_terms(&self) -> Result<(), ProblemError> {
        let terms = self.terms;
        let seen = |(piece, rows): (usize, &Arc<Terms>)| {
            let mut kinds = vec![0_u8; terms];
            let lists = [&rows.normal.term, &rows.safety.term, &rows.complexity.term];
            for (kind, list) in lists.into_iter().enumerate() {
                for term in list.iter().map(|term| usize::from(*term)) {
                    let seen = kinds.get_mut(term);
                    *seen.ok_or(ProblemError::Term { piece, term, terms })? |= 1 << kind;
                }
            }
            Ok(kinds)
        };
        let both = |one: Vec<u8>, other: Vec<u8>| {
            Ok(one.into_iter().zip(other).map(|(one, other)| one | other).collect())
        };
        let kinds = self.pieces.par_iter().enumerate().map(seen);
        let kinds = kinds.try_reduce(|| vec![0; terms], both)?;
        match kinds.iter().position(|kinds| kinds.count_ones() > 1) {
            Some(term) => Err(ProblemError::Kind(term)),
            None => Ok(()),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |chunk| chunk.first + chunk.rows.len())
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// What losses are summed over: positions, or what choices between moves count.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// As how many positions that count alike one of them says, on average: 1, or less where some count
    /// more than others (L. Kish, "Survey Sampling", 1965).
    pub fn evenness(&self) -> f64 {
        let Goal::Results { shares: shares @ [_, ..], .. } = self.goal else { return 1.0 };
        let sum =
            |power: i32| shares.iter().map(|share| f64::from(*share).powi(power)).sum::<f64>();
        match sum(2) {
            0.0 => 1.0,
            squares => sum(1).powi(2) / squares / shares.len() as f64,
        }
    }

    /// The number of terms.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// The number of weights, the tempo included.
    pub fn weights(&self) -> usize {
        2 * self.terms + 1
    }

    pub fn goal(&self) -> Goal<'a> {
        self.goal
    }

    /// All positions, chunk by chunk.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The terms that a chunk's rows count.
    pub fn piece(&self, chunk: &Chunk) -> &'a Terms {
        &self.pieces[chunk.piece]
    }

    /// Whether a list with an element a weight is as long as it should be.
    ///
    /// # Errors
    /// The two lengths.
    pub fn check_length(&self, what: &'static str, found: usize) -> Result<(), ProblemError> {
        let wanted = self.weights();
        match found == wanted {
            true => Ok(()),
            false => Err(ProblemError::Length { what, found, wanted }),
        }
    }

    /// The loss of a position with this value.
    ///
    /// # Panics
    /// If moves are learnt.
    pub fn cost(&self, position: usize, value: f64) -> Cost {
        match self.goal {
            Goal::Results { targets, scale, loss, shares } => {
                let cost = result_cost(targets[position], scale, loss, value);
                shares.get(position).map_or(cost, |share| cost.times((*share).into()))
            }
            Goal::Moves(_) => panic!("moves are judged together"),
        }
    }

    /// The mean loss of all positions.
    pub fn loss(&self, point: &Point) -> f64 {
        let of_chunk = |chunk: &Chunk| {
            let terms = self.piece(chunk);
            let Goal::Moves(choices) = self.goal else {
                let positions = chunk.first..;
                let cost = |(row, position)| self.cost(position, point.value(terms, row)).loss;
                return chunk.rows.clone().zip(positions).map(cost).sum();
            };
            let cost = |position: usize| {
                let rows = self.rows(chunk, position);
                let values: Vec<f64> = rows.map(|row| point.value(terms, row)).collect();
                if values.len() > 2 { choices.judge(position, &values, 1.0).loss } else { 0.0 }
            };
            chunk.positions.clone().map(cost).sum()
        };
        let sums: Vec<f64> = self.chunks.par_iter().map(of_chunk).collect();
        sums.iter().sum::<f64>() / self.count
    }

    /// The rows of a position of moves, in the chunk's piece.
    ///
    /// # Panics
    /// If the goal is another one.
    pub fn rows(&self, chunk: &Chunk, position: usize) -> Range<usize> {
        let Goal::Moves(choices) = self.goal else { panic!("no moves") };
        let Range { start, end } = choices.rows(position);
        let shift = chunk.first - chunk.rows.start;
        start - shift..end - shift
    }
}

fn result_cost(target: f32, scale: f64, loss: Loss, value: f64) -> Cost {
    let (logit, target) = (value / scale, f64::from(target));
    let expected = sigmoid(logit);
    let (error, slope) = (expected - target, expected * (1.0 - expected) / scale);
    let curvature = match loss.shape {
        LossShape::Absolute => 1.0 / error.abs().max(SMALLEST_ERROR),
        // Of squares; the others are for methods that need none.
        _ => 2.0,
    };
    Cost {
        loss: loss.of(logit, target),
        slope: loss.slope(logit, target) / scale,
        curvature: curvature * slope * slope,
    }
}
