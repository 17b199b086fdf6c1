//! Piece values: the evaluation with a piece minus the evaluation without it.

use rayon::prelude::*;
use serde::Serialize;
use shakmaty::{Color, Role};

use super::ROLES;
use crate::draw::board::format_whole;
use crate::features::Rows;
use crate::floats::Float;
use crate::hce::{Phase, count_phase_material};
use crate::sample::{Position, Sample};

/// Ranges of knights + bishops + 2 rooks + 4 queens of both sides, each with its lower bound.
pub const BANDS: [(&str, u8); 3] = [("opening", 17), ("middlegame", 9), ("endgame", 0)];
/// The fewest pieces for a mean on a square.
const ENOUGH: u64 = 5;

/// Value of the pieces of a role and a band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PieceValue {
    pub count: u64,
    /// Centipawns for the owner: mean and standard deviation.
    pub mean: f64,
    pub spread: f64,
}

/// Piece values by role of [`ROLES`] and band of [`BANDS`].
pub type PieceValues = [[Option<PieceValue>; 3]; 5];

/// Mean piece values by square for the owner, a1 first; `None` for fewer than five pieces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Squares {
    pub role: &'static str,
    /// Means over positions whose phase is at least half middlegame.
    pub middlegame: Vec<Option<f64>>,
    pub endgame: Vec<Option<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RemovedPiece {
    /// Index in [`ROLES`].
    role: usize,
    /// Square from the owner's point of view, a1 = 0.
    square: usize,
    /// Index in [`BANDS`].
    band: usize,
    middlegame: bool,
    /// Centipawns for its owner.
    value: f64,
}

pub(super) fn removed_pieces(float: &Float, scale: f64, samples: &[&Sample]) -> Vec<RemovedPiece> {
    let chunks = samples.par_chunks(super::CHUNK).map(|samples| {
        let mut removed_pieces = Vec::with_capacity(24 * samples.len());
        let mut counts = vec![0; float.net.inputs.row_count()];
        for Sample { position, .. } in samples {
            remove_from_position(float, scale, position, &mut counts, &mut removed_pieces);
        }
        removed_pieces
    });
    chunks.collect::<Vec<_>>().concat()
}

/// Adds the pieces of a position. `counts` has a number per row, 0 before and after the call.
fn remove_from_position(
    float: &Float,
    scale: f64,
    position: &Position,
    counts: &mut [i32],
    removed_pieces: &mut Vec<RemovedPiece>,
) {
    let net = &float.net;
    let lists = net.inputs.active_rows(position);
    let accumulators = float.sum_rows(&lists);
    let value = |accumulators: &[Vec<f64>], position: &Position| {
        float.evaluate_output(accumulators, net.bucket_of(position), |_, _| ())
    };
    let with = value(&accumulators, position);
    let sign = scale * f64::from(net.inputs.sign_of_output(position));
    remove_pieces(position, removed_pieces, |index| {
        let left = without_piece(position, index);
        let mut without = accumulators.clone();
        // In other sets, rows of other pieces change too.
        let lists_after =
            if net.inputs.is_pieces() { Vec::new() } else { net.inputs.active_rows(&left) };
        for (perspective, (accumulator, before)) in without.iter_mut().zip(&lists).enumerate() {
            match lists_after.get(perspective) {
                None => float.add(before.entries()[index].number as usize, -1.0, accumulator),
                Some(after) => Rows::visit_changes([before, after], counts, |row, times| {
                    float.add(row, times.into(), accumulator);
                }),
            }
        }
        sign * (with - value(&without, &left))
    });
}

/// Ordinary positions of all phases. Removing any piece lowers a sound evaluation.
const ORDINARY: [&str; 7] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 b - - 2 13",
    "r2qkb1r/p1pb2pp/1p3n2/3p1p2/Pn3P2/4PN2/1P1PB1PP/RNBQK2R b KQkq - 3 10",
    "r4r1k/6pp/1p1b1q2/p2p1p2/Pn1PnP2/2N3P1/1P1BB2P/2RQ1RK1 w - - 1 20",
    "3r2k1/1q3ppp/p1n1p3/1p6/8/1P2PN2/PQ3PPP/3R2K1 w - - 0 24",
    "8/5pk1/p2b2p1/1p6/3N2P1/1P6/P3rPK1/3R4 w - - 0 35",
];

/// Returns mean values by role in ordinary positions. `value` evaluates for the side to move.
pub fn ordinary_values(value: impl Fn(&Position) -> f64) -> [f64; 5] {
    let (mut pieces, mut sums) = (Vec::new(), [(0.0, 0.0); 5]);
    for fen in ORDINARY {
        let position = Position::from_fen(fen).expect("the positions are legal");
        let with = value(&position);
        remove_pieces(&position, &mut pieces, |index| {
            with - value(&without_piece(&position, index))
        });
    }
    for piece in pieces {
        let (sum, count) = &mut sums[piece.role];
        *sum += piece.value;
        *count += 1.0;
    }
    sums.map(|(sum, count)| sum / count)
}

/// Lists values that cannot be those of pieces: "pawn 42, knight -4, ...". Sound evaluations rate
/// every other piece at 1.5 pawns or more.
pub fn describe_unsound(values: &[f64; 5]) -> Option<String> {
    let is_sound = values[0] > 0.0 && values[1..].iter().all(|value| *value >= 1.5 * values[0]);
    (!is_sound).then(|| list_values(values))
}

/// Lists values: "pawn 98, knight 331, ...".
pub fn list_values(values: &[f64; 5]) -> String {
    let each =
        ROLES.iter().zip(values).map(|(role, value)| format!("{role} {}", format_whole(*value)));
    each.collect::<Vec<_>>().join(", ")
}

/// Returns the board without the piece at an index of [`Position::pieces`].
fn without_piece(position: &Position, index: usize) -> Position {
    let nibbles = u128::from_le_bytes(position.nibbles());
    let before = (1 << (4 * index)) - 1;
    let left = nibbles & before | nibbles >> 4 & !before;
    let square = position.pieces().nth(index).map_or(0, |piece| 1 << piece.square as u32);
    let (occupied, turn) = (position.occupied() & !square, position.turn_and_ep());
    Position::of_board_and_turn(occupied, left.to_le_bytes(), turn)
}

/// Adds the pieces of a position. `value` returns centipawns for the side to move, by index.
fn remove_pieces(
    position: &Position,
    removed_pieces: &mut Vec<RemovedPiece>,
    mut value: impl FnMut(usize) -> f64,
) {
    let material = count_phase_material(position);
    let band =
        BANDS.iter().position(|(_, lowest)| material >= *lowest).expect("the last begins at 0");
    let middlegame = Phase::from_position(position).phase_shares()[0] >= 0.5;
    for (index, piece) in position.pieces().enumerate().filter(|(_, it)| it.role != Role::King) {
        let sign = if piece.color == position.turn() { 1.0 } else { -1.0 };
        let flip = if piece.color == Color::White { 0 } else { 56 };
        let (role, square) = (piece.role as usize - 1, piece.square as usize ^ flip);
        let value = sign * value(index);
        removed_pieces.push(RemovedPiece { role, square, band, middlegame, value });
    }
}

/// Returns means and standard deviations by role and band.
pub(super) fn values_by_role(removed_pieces: &[RemovedPiece]) -> PieceValues {
    let mut sums = [[(0, 0.0, 0.0); 3]; 5];
    for piece in removed_pieces {
        let (count, sum, squares) = &mut sums[piece.role][piece.band];
        *count += 1;
        *sum += piece.value;
        *squares += piece.value * piece.value;
    }
    let value = |(count, sum, squares): (u64, f64, f64)| {
        let mean = sum / count as f64;
        let spread = (squares / count as f64 - mean * mean).max(0.0).sqrt();
        (count > 0).then_some(PieceValue { count, mean, spread })
    };
    sums.map(|bands| bands.map(value))
}

pub(super) fn values_by_square(removed_pieces: &[RemovedPiece]) -> Vec<Squares> {
    let mut sums = [[[(0, 0.0); 64]; 2]; 5];
    for piece in removed_pieces {
        let phase = usize::from(!piece.middlegame);
        let (count, sum) = &mut sums[piece.role][phase][piece.square];
        *count += 1;
        *sum += piece.value;
    }
    let mean = |(count, sum): &(u64, f64)| (*count >= ENOUGH).then(|| sum / *count as f64);
    let boards = |(role, phases): (&'static str, &[[(u64, f64); 64]; 2])| Squares {
        role,
        middlegame: phases[0].iter().map(mean).collect(),
        endgame: phases[1].iter().map(mean).collect(),
    };
    ROLES.into_iter().zip(&sums).map(boards).collect()
}
