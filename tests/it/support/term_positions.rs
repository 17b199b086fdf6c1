//! Synthetic positions of handcrafted terms, from a seed.

use nnuance::{
    batch::{FrozenSums, TermBatch},
    train::direct::newton::{FIRST_DAMPING, Newton},
    train::direct::problem::Point,
};
use rand_xoshiro::rand_core::Rng;

use crate::support::kit::*;

/// Terms by kind: NORMAL ones come first, then SAFETY, then COMPLEXITY.
#[derive(Clone, Copy)]
pub struct Shape {
    pub normal: usize,
    pub safety: usize,
    pub complexity: usize,
    /// Whether some terms are frozen.
    pub frozen: bool,
}

pub const LINEAR: Shape = Shape { normal: 12, safety: 0, complexity: 0, frozen: false };
pub const ALL: Shape = Shape { normal: 9, safety: 4, complexity: 3, frozen: true };

impl Shape {
    pub fn terms(&self) -> usize {
        self.normal + self.safety + self.complexity
    }
}

/// A solver without a prior.
pub fn newton(movable: Vec<bool>) -> Newton {
    Newton { damping: FIRST_DAMPING, movable, prior: None }
}

pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn below(&mut self, behind: usize) -> usize {
        (self.0.next_u64() % behind as u64) as usize
    }

    pub fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `-most` to `most`.
    pub fn about(&mut self, most: f64) -> f64 {
        most * (2.0 * self.share() - 1.0)
    }

    /// Mean 0, variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Positions in uneven blocks, one empty. Terms are unsorted and some occur twice in a row.
pub fn pieces(shape: Shape, positions: usize, seed: u64) -> Vec<Arc<TermBatch>> {
    let mut dice = Dice::new(seed);
    let mut pieces = vec![Arc::new(TermBatch::default())];
    let mut left = positions;
    while left > 0 {
        let rows = (1 + dice.below(700)).min(left);
        let mut terms = TermBatch::default();
        for row in 0..rows {
            push(&mut terms, shape, row, &mut dice);
        }
        if shape.frozen {
            let [normal, safety, complexity] = [20.0, 60.0, 30.0];
            terms.frozen = FrozenSums {
                normal: (0..rows).map(|_| [(); 2].map(|()| dice.about(normal) as f32)).collect(),
                safety: (0..rows).map(|_| [(); 4].map(|()| dice.about(safety) as f32)).collect(),
                complexity: (0..rows).map(|_| dice.about(complexity) as f32).collect(),
            };
        }
        pieces.push(Arc::new(terms));
        left -= rows;
    }
    pieces
}

fn push(terms: &mut TermBatch, shape: Shape, row: usize, dice: &mut Dice) {
    let count = |dice: &mut Dice| [-2_i8, -1, 1, 1, 2][dice.below(5)];
    let entries = |first: usize, of: usize, most: usize, dice: &mut Dice| -> Vec<u16> {
        let entries = if of == 0 { 0 } else { dice.below(most + 1) };
        (0..entries).map(|_| (first + dice.below(of)) as u16).collect()
    };
    let normal = entries(0, shape.normal, 7, dice);
    terms.normal.push(row, normal.into_iter().map(|term| (term, count(dice))));
    let safety = entries(shape.normal, shape.safety, 4, dice);
    let safety =
        safety.into_iter().map(|term| (term, [dice.below(3) as i8, 1 + dice.below(2) as i8]));
    terms.safety.push(row, safety);
    let complexity = entries(shape.normal + shape.safety, shape.complexity, 3, dice);
    terms.complexity.push(row, complexity.into_iter().map(|term| (term, count(dice))));
    let phase = dice.below(25) as f32 / 24.0;
    terms.middlegame.push(1.0 - phase);
    terms.endgame.push(phase);
    terms.turn.push([-1, 1][dice.below(2)]);
}

/// Random weights, `most` centipawns at most.
pub fn point(shape: Shape, most: f64, seed: u64) -> Point {
    let mut dice = Dice::new(seed);
    Point((0..2 * shape.terms() + 1).map(|_| dice.about(most)).collect())
}

pub fn values(pieces: &[Arc<TermBatch>], point: &Point) -> Vec<f64> {
    let of_piece = |piece: &Arc<TermBatch>| -> Vec<f64> {
        (0..piece.len()).map(|row| point.value(piece, row)).collect()
    };
    pieces.iter().flat_map(of_piece).collect()
}

/// Centipawns per logit.
pub const SCALE: f64 = 120.0;

/// Expected results with normal noise of a standard deviation.
pub fn targets(pieces: &[Arc<TermBatch>], truth: &Point, noise: f64, seed: u64) -> Vec<f32> {
    let mut dice = Dice::new(seed);
    let mut target = |value: f64| (sigmoid(value / SCALE) + noise * dice.normal()) as f32;
    values(pieces, truth).into_iter().map(&mut target).collect()
}
