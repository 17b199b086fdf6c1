//! Piece values: the evaluation with a piece minus that without it.

use rayon::prelude::*;
use serde::Serialize;
use shakmaty::{Color, Role};

use crate::draw::board::format_whole;
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
pub struct PieceValue {
    pub count: u64,
    /// Centipawns for the owner: mean and standard deviation.
    pub mean: f64,
    pub spread: f64,
}

/// By role of [`ROLES`] and band of [`BANDS`].
pub type PieceValues = [[Option<PieceValue>; 3]; 5];

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

pub(super) fn removed_pieces(float: &Float, scale: f64, samples: &[&Sample]) -> Vec<RemovedPiece> {
    let chunks = samples.par_chunks(super::CHUNK).map(|samples| {
        let mut removed_pieces = Vec::with_capacity(24 * samples.len());
        let mut counts = vec![0; float.net.inputs.row_count()];
        for Sample { position, .. } in samples {
            of_position(float, scale, position, &mut counts, &mut removed_pieces);
        }
        removed_pieces
    });
    chunks.collect::<Vec<_>>().concat()
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
    let lists = net.inputs.active_rows(position);
    let accumulators = float.sum_rows(&lists);
    let value = |accumulators: &[Vec<f64>], position: &Position| {
        float.evaluate_output(accumulators, net.bucket_of(position), |_, _| ())
    };
    let with = value(&accumulators, position);
    let sign = scale * f64::from(net.inputs.sign_of_output(position));
    remove_pieces(position, removed_pieces, |place| {
        let (left, mut without) = (without_piece(position, place), accumulators.clone());
        // Rows of other pieces change, too, in other sets.
        let others =
            if net.inputs.is_pieces() { Vec::new() } else { net.inputs.active_rows(&left) };
        for (view, (accumulator, before)) in without.iter_mut().zip(&lists).enumerate() {
            match others.get(view) {
                None => float.add(before.entries()[place].number as usize, -1.0, accumulator),
                Some(after) => Rows::visit_changes([before, after], counts, |row, times| {
                    float.add(row, times.into(), accumulator);
                }),
            }
        }
        sign * (with - value(&without, &left))
    });
}

/// Ordinary positions of openings, middlegames and endgames, in which a sound evaluation misses any
/// piece.
const ORDINARY: [&str; 7] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 b - - 2 13",
    "r2qkb1r/p1pb2pp/1p3n2/3p1p2/Pn3P2/4PN2/1P1PB1PP/RNBQK2R b KQkq - 3 10",
    "r4r1k/6pp/1p1b1q2/p2p1p2/Pn1PnP2/2N3P1/1P1BB2P/2RQ1RK1 w - - 1 20",
    "3r2k1/1q3ppp/p1n1p3/1p6/8/1P2PN2/PQ3PPP/3R2K1 w - - 0 24",
    "8/5pk1/p2b2p1/1p6/3N2P1/1P6/P3rPK1/3R4 w - - 0 35",
];

/// Mean values of the pieces over ordinary positions, by role of [`ROLES`]. `value` is an evaluation
/// for the side to move.
pub fn ordinary_values(value: impl Fn(&Position) -> f64) -> [f64; 5] {
    let (mut worths, mut sums) = (Vec::new(), [(0.0, 0.0); 5]);
    for fen in ORDINARY {
        let position = Position::from_fen(fen).expect("the positions are legal");
        let with = value(&position);
        remove_pieces(&position, &mut worths, |place| {
            with - value(&without_piece(&position, place))
        });
    }
    for it in worths {
        let (sum, count) = &mut sums[it.role];
        (*sum, *count) = (*sum + it.value, *count + 1.0);
    }
    sums.map(|(sum, count)| sum / count)
}

/// "pawn 42, knight -4, ..." where these values are not those of pieces: sound evaluations take
/// every other piece for two pawns or more.
pub fn describe_unsound(values: &[f64; 5]) -> Option<String> {
    let is_sound = values[0] > 0.0 && values[1..].iter().all(|value| *value >= 1.5 * values[0]);
    (!is_sound).then(|| list_values(values))
}

/// "pawn 98, knight 331, ...".
pub fn list_values(values: &[f64; 5]) -> String {
    let each =
        ROLES.iter().zip(values).map(|(role, value)| format!("{role} {}", format_whole(*value)));
    each.collect::<Vec<_>>().join(", ")
}

/// The board without the piece at a place of [`Position::pieces`].
fn without_piece(position: &Position, place: usize) -> Position {
    let nibbles = u128::from_le_bytes(position.nibbles());
    let below = (1 << (4 * place)) - 1;
    let left = nibbles & below | nibbles >> 4 & !below;
    let square = position.pieces().nth(place).map_or(0, |piece| 1 << piece.square as u32);
    let (occupied, turn) = (position.occupied() & !square, position.turn_and_ep());
    Position::of_board_and_turn(occupied, left.to_le_bytes(), turn)
}

/// Adds the pieces of a position; `value` gives centipawns for the side to move, by place.
fn remove_pieces(
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
    let middlegame = Phase::from_position(position).phase_shares()[0] >= 0.5;
    for (place, piece) in position.pieces().enumerate().filter(|(_, it)| it.role != Role::King) {
        let sign = if piece.color == position.turn() { 1.0 } else { -1.0 };
        let flip = if piece.color == Color::White { 0 } else { 56 };
        let (role, square) = (piece.role as usize - 1, piece.square as usize ^ flip);
        let value = sign * value(place);
        removed_pieces.push(RemovedPiece { role, square, band, middlegame, value });
    }
}

/// Means and standard deviations by role and band.
pub(super) fn values_by_role(removed_pieces: &[RemovedPiece]) -> PieceValues {
    let mut sums = [[(0, 0.0, 0.0); 3]; 5];
    for it in removed_pieces {
        let (count, sum, squares) = &mut sums[it.role][it.band];
        (*count, *sum, *squares) = (*count + 1, *sum + it.value, *squares + it.value * it.value);
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
