//! Piece-square tables of kings, which cannot be taken off the board.
//!
//! Each king is moved to a square where a king of its side stands in another position of the same
//! band, if that is empty there and no enemy king is next to it; what the evaluation loses is the
//! difference of the two squares. Tables are fitted to these differences by least squares. They
//! are known but for a constant a phase, which is chosen so that the mean over the kings is 0.

use faer::{Mat, Side, linalg::solvers::Solve};
use rayon::prelude::*;
use shakmaty::{Color, Role};

use super::forward::Forward;
use super::pieces::{BANDS, band};
use super::removal::{owners_square, pieces, without};
use super::squares::{Equations, SquareTable};
use crate::hce::{HceEvaluator, Phase};
use crate::sample::{Piece, Position, Sample, mix};

/// As if so many kings had been seen whose squares were worth nothing: it holds what no
/// difference determines.
const RIDGE: f64 = 1.0;
/// Positions that a thread looks at, one after the other.
const CHUNK: usize = 256;

/// A king that moves; squares are seen by its owner, a1 = 0.
pub(super) struct Step {
    position: Position,
    moved: Position,
    squares: [usize; 2],
    middlegame: f64,
    /// +1, or -1 where the king is not that of the side to move.
    for_owner: f64,
}

/// One step of each king, where the square that is drawn for it will do.
pub(super) fn steps(samples: &[&Sample]) -> Vec<Step> {
    let mut squares: [Vec<u8>; BANDS.len()] = Default::default();
    for sample in samples {
        let band = band(pieces(&sample.position));
        squares[band].extend(kings(&sample.position).map(|(_, king)| owners_square(&king)));
    }
    samples.iter().flat_map(|sample| of_position(&sample.position, &squares)).collect()
}

fn kings(position: &Position) -> impl Iterator<Item = (usize, Piece)> {
    position.pieces().enumerate().filter(|(_, piece)| piece.role == Role::King)
}

fn of_position(position: &Position, squares: &[Vec<u8>; BANDS.len()]) -> Vec<Step> {
    let squares = &squares[band(pieces(position))];
    let step = |(place, king): (usize, Piece)| {
        let draw = mix(mix(0, position.key()), king.color as u64);
        let to = squares[(draw % squares.len() as u64) as usize];
        let flip = if king.color == Color::White { 0 } else { 56 };
        let target = u32::from(to ^ flip);
        let near = |(_, other): (usize, Piece)| {
            let other_square = other.square as u32;
            let files = (other_square % 8).abs_diff(target % 8);
            other.color != king.color && files.max((other_square / 8).abs_diff(target / 8)) < 2
        };
        if position.occupied() >> target & 1 == 1 || kings(position).any(near) {
            return None;
        }
        let gone = without(position, place);
        let after = (gone.occupied() & ((1 << target) - 1)).count_ones() as usize;
        let nibbles = u128::from_le_bytes(gone.nibbles());
        let below = (1 << (4 * after)) - 1;
        let nibble = u128::from_le_bytes(position.nibbles()) >> (4 * place) & 15;
        let nibbles = nibbles & below | nibble << (4 * after) | (nibbles & !below) << 4;
        let occupied = gone.occupied() | 1 << target;
        Some(Step {
            position: *position,
            moved: Position::of_board(occupied, nibbles.to_le_bytes(), position.turn()),
            squares: [owners_square(&king).into(), to.into()],
            middlegame: Phase::of(position).middlegame(),
            for_owner: if king.color == position.turn() { 1.0 } else { -1.0 },
        })
    };
    kings(position).filter_map(step).collect()
}

/// The king's table as a net has it; a king that moves may change the rows of all other pieces.
pub(super) fn of_net(forward: &Forward, steps: &[Step]) -> SquareTable {
    table(steps, |step| {
        let mut room = forward.room();
        let mut value = |position: &Position| {
            forward.see(position, &mut room);
            forward.value(&mut room)
        };
        let sign = f64::from(forward.net.inputs.sign(&step.position));
        sign * (value(&step.position) - value(&step.moved))
    })
}

/// The same as a handcrafted evaluation has it.
pub(super) fn of_hce(evaluator: &HceEvaluator, steps: &[Step]) -> SquareTable {
    table(steps, |step| evaluator.evaluate(&step.position) - evaluator.evaluate(&step.moved))
}

/// Fits differences, in centipawns for the side to move.
fn table(steps: &[Step], difference: impl Fn(&Step) -> f64 + Sync) -> SquareTable {
    let differences: Vec<Vec<f64>> =
        steps.par_chunks(CHUNK).map(|steps| steps.iter().map(&difference).collect()).collect();
    let mut matrix = Mat::<f64>::identity(128, 128) * RIDGE;
    let mut right = Mat::<f64>::zeros(128, 1);
    let mut sums = [Equations::default(); 64];
    for (step, difference) in steps.iter().zip(differences.into_iter().flatten()) {
        let [from, to] = step.squares;
        let shares = [step.middlegame, 1.0 - step.middlegame];
        let row =
            [(from, shares[0]), (64 + from, shares[1]), (to, -shares[0]), (64 + to, -shares[1])];
        for (i, a) in row {
            right[(i, 0)] += a * difference * step.for_owner;
            row.iter().for_each(|(j, b)| matrix[(i, *j)] += a * b);
        }
        sums[from].add(step.middlegame, 1);
    }
    let factors = matrix.llt(Side::Lower).expect("the ridge makes the matrix positive definite");
    let values = factors.solve(&right);
    let mean = |phase: usize| {
        let shares = sums.iter().map(|sums| sums.known()[phase]);
        let sum: f64 =
            shares.clone().enumerate().map(|(i, w)| w * values[(64 * phase + i, 0)]).sum();
        let all = shares.sum::<f64>();
        if all > 0.0 { sum / all } else { 0.0 }
    };
    let means = [mean(0), mean(1)];
    SquareTable::new("king", &sums, |square, phase| values[(64 * phase + square, 0)] - means[phase])
}
