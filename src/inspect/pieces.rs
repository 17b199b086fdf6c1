//! Piece values: the evaluation with a piece minus that without it.

use serde::Serialize;
use shakmaty::{Color, Role};

use super::by_chunk;
use crate::features::Rows;
use crate::floats::Float;
use crate::hce::Phase;
use crate::sample::{Position, Sample};

pub const ROLES: [&str; 5] = ["pawn", "knight", "bishop", "rook", "queen"];

/// Ranges of knights + bishops + 2 rooks + 4 queens of both sides, with the lower bound of each.
pub const BANDS: [(&str, u8); 3] = [("opening", 17), ("middlegame", 9), ("endgame", 0)];

/// Fewest pieces for a mean on a square.
const ENOUGH: u64 = 5;

/// Value of the pieces of a role and a band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    pub count: u64,
    /// Centipawns for the owner: mean and standard deviation.
    pub mean: f64,
    pub spread: f64,
}

/// By role of [`ROLES`] and band of [`BANDS`].
pub type Values = [[Option<Value>; 3]; 5];

/// Mean piece values by square for the owner, a1 first; `None` for fewer than five pieces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Squares {
    pub role: &'static str,
    /// Where at least half of the phase is middlegame.
    pub middlegame: Vec<Option<f64>>,
    pub endgame: Vec<Option<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RemovedPiece {
    /// Place in [`ROLES`].
    role: usize,
    /// Square from the owner's point of view, a1 = 0.
    square: usize,
    /// Place in [`BANDS`].
    band: usize,
    middlegame: bool,
    /// Centipawns for its owner.
    value: f64,
}

/// Values of all pieces but kings.
pub(super) fn removed_pieces(float: &Float, scale: f64, samples: &[&Sample]) -> Vec<RemovedPiece> {
    let chunks = by_chunk(samples, |samples| {
        let mut removed_pieces = Vec::with_capacity(24 * samples.len());
        let mut counts = vec![0; float.net.inputs.rows()];
        for Sample { position, .. } in samples {
            of_position(float, scale, position, &mut counts, &mut removed_pieces);
        }
        removed_pieces
    });
    chunks.concat()
}

/// `counts` has a number for each row, 0 before and afterwards.
fn of_position(
    float: &Float,
    scale: f64,
    position: &Position,
    counts: &mut [i32],
    removed_pieces: &mut Vec<RemovedPiece>,
) {
    let net = &float.net;
    let lists = net.inputs.lists(position);
    let accumulators = float.sums(&lists);
    let value = |accumulators: &[Vec<f64>], position: &Position| {
        float.output(accumulators, net.bucket_of(position), |_, _| ())
    };
    let with = value(&accumulators, position);
    let sign = scale * f64::from(net.inputs.sign(position));
    removed(position, removed_pieces, |place| {
        let (left, mut without) = (without(position, place), accumulators.clone());
        // Rows of other pieces change, too, in other sets.
        let others = if net.inputs.is_pieces() { Vec::new() } else { net.inputs.lists(&left) };
        for (view, (accumulator, before)) in without.iter_mut().zip(&lists).enumerate() {
            match others.get(view) {
                None => float.add(before.entries()[place].number as usize, -1.0, accumulator),
                Some(after) => Rows::changes([before, after], counts, |row, times| {
                    float.add(row, times.into(), accumulator);
                }),
            }
        }
        sign * (with - value(&without, &left))
    });
}

/// The board without the piece number `place` of [`Position::pieces`].
fn without(position: &Position, place: usize) -> Position {
    let nibbles = u128::from_le_bytes(position.nibbles());
    let below = (1 << (4 * place)) - 1;
    let left = nibbles & below | nibbles >> 4 & !below;
    let square = position.pieces().nth(place).map_or(0, |piece| 1 << piece.square as u32);
    let (occupied, turn) = (position.occupied() & !square, position.turn_and_ep());
    Position::of_board_and_turn(occupied, left.to_le_bytes(), turn)
}

/// Adds the pieces of a position; `value` gives centipawns for the side to move, by place.
fn removed(
    position: &Position,
    removed_pieces: &mut Vec<RemovedPiece>,
    mut value: impl FnMut(usize) -> f64,
) {
    let pieces = |color: Color, role: Role| {
        position.bitboards()[usize::from(color.is_black())][role as usize - 1].count_ones() as u8
    };
    let both = |role| pieces(Color::White, role) + pieces(Color::Black, role);
    let left =
        both(Role::Knight) + both(Role::Bishop) + 2 * both(Role::Rook) + 4 * both(Role::Queen);
    let band = BANDS.iter().position(|(_, least)| left >= *least).expect("the last begins at 0");
    let middlegame = Phase::of(position).middlegame() >= 0.5;
    for (place, piece) in position.pieces().enumerate().filter(|(_, it)| it.role != Role::King) {
        let sign = if piece.color == position.turn() { 1.0 } else { -1.0 };
        let flip = if piece.color == Color::White { 0 } else { 56 };
        removed_pieces.push(RemovedPiece {
            role: piece.role as usize - 1,
            square: piece.square as usize ^ flip,
            band,
            middlegame,
            value: sign * value(place),
        });
    }
}

/// Means and standard deviations by role and band.
pub(super) fn values(removed_pieces: &[RemovedPiece]) -> Values {
    let mut sums = [[(0, 0.0, 0.0); 3]; 5];
    for it in removed_pieces {
        let (count, sum, squares) = &mut sums[it.role][it.band];
        (*count, *sum, *squares) = (*count + 1, *sum + it.value, *squares + it.value * it.value);
    }
    let value = |(count, sum, squares): (u64, f64, f64)| {
        let mean = sum / count as f64;
        let spread = (squares / count as f64 - mean * mean).max(0.0).sqrt();
        (count > 0).then_some(Value { count, mean, spread })
    };
    sums.map(|bands| bands.map(value))
}

pub(super) fn squares(removed_pieces: &[RemovedPiece]) -> Vec<Squares> {
    let mut sums = [[[(0, 0.0); 64]; 2]; 5];
    for it in removed_pieces {
        let (count, sum) = &mut sums[it.role][usize::from(!it.middlegame)][it.square];
        (*count, *sum) = (*count + 1, *sum + it.value);
    }
    let mean = |(count, sum): &(u64, f64)| (*count >= ENOUGH).then(|| sum / *count as f64);
    let boards = |(role, phases): (&'static str, &[[(u64, f64); 64]; 2])| Squares {
        role,
        middlegame: phases[0].iter().map(mean).collect(),
        endgame: phases[1].iter().map(mean).collect(),
    };
    ROLES.into_iter().zip(&sums).map(boards).collect()
}
