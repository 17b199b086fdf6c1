//! What a piece is worth where it stands: the evaluation with it less that without it.

use rayon::prelude::*;
use shakmaty::{Color, Role};

use super::forward::Forward;
use crate::hce::{HceEvaluator, Phase};
use crate::sample::{Piece, Position, Sample};

/// Positions that a thread looks at, one after the other.
const CHUNK: usize = 256;

/// One piece of one position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Worth {
    pub role: Role,
    /// a1 = 0, seen by the piece's owner.
    pub square: u8,
    /// The pieces on the board, see [`pieces`].
    pub pieces: u8,
    /// Share of the middlegame, 0 to 1; the endgame has the rest.
    pub middlegame: f32,
    /// The output bucket of the position; 0 for a handcrafted evaluation.
    pub bucket: u8,
    /// Centipawns for its owner.
    pub value: f32,
}

/// Knights + bishops + 2 rooks + 4 queens of both sides: 24 at the start, 0 without pieces.
pub(super) fn pieces(position: &Position) -> u8 {
    let [white, black] = position.bitboards();
    let both =
        |role: Role| (white[role as usize - 1] | black[role as usize - 1]).count_ones() as u8;
    both(Role::Knight) + both(Role::Bishop) + 2 * both(Role::Rook) + 4 * both(Role::Queen)
}

/// The worth of all pieces but kings, position by position, as a net sees it.
pub(super) fn of_net(
    forward: &Forward,
    samples: &[&Sample],
    seen: &(dyn Fn(u64) + Sync),
) -> Vec<Worth> {
    let net = &forward.net;
    each(samples, seen, |position, worths| {
        let mut room = forward.room();
        forward.see(position, &mut room);
        let sign = f64::from(net.inputs.sign(position));
        let with = forward.value(&mut room);
        let bucket = net.bucket_of(position) as u8;
        let value = |place| sign * (with - forward.without(&mut room, place));
        worth(position, bucket, worths, value);
    })
}

/// The same as a handcrafted evaluation sees it.
pub(super) fn of_hce(
    evaluator: &HceEvaluator,
    samples: &[&Sample],
    seen: &(dyn Fn(u64) + Sync),
) -> Vec<Worth> {
    each(samples, seen, |position, worths| {
        let with = evaluator.evaluate(position);
        worth(position, 0, worths, |place| with - evaluator.evaluate(&without(position, place)));
    })
}

/// The worths of all positions in their order.
fn each(
    samples: &[&Sample],
    seen: &(dyn Fn(u64) + Sync),
    of: impl Fn(&Position, &mut Vec<Worth>) + Sync,
) -> Vec<Worth> {
    let chunks: Vec<Vec<Worth>> = samples
        .par_chunks(CHUNK)
        .map(|samples| {
            let mut worths = Vec::with_capacity(24 * samples.len());
            samples.iter().for_each(|sample| of(&sample.position, &mut worths));
            seen(samples.len() as u64);
            worths
        })
        .collect();
    chunks.concat()
}

/// Adds the pieces of a position; `value` gives centipawns for the side to move, by place.
fn worth(
    position: &Position,
    bucket: u8,
    worths: &mut Vec<Worth>,
    mut value: impl FnMut(usize) -> f64,
) {
    let pieces = pieces(position);
    let middlegame = Phase::of(position).middlegame() as f32;
    let some = position.pieces().enumerate().filter(|(_, piece)| piece.role != Role::King);
    worths.extend(some.map(|(place, piece)| {
        let for_owner = if piece.color == position.turn() { 1.0 } else { -1.0 };
        let value = (for_owner * value(place)) as f32;
        Worth { role: piece.role, square: owners_square(&piece), pieces, middlegame, bucket, value }
    }));
}

/// The square as the piece's owner sees it, a1 = 0.
pub(super) fn owners_square(piece: &Piece) -> u8 {
    piece.square as u8 ^ if piece.color == Color::White { 0 } else { 56 }
}

/// The position without the piece at a place, see [`Position::pieces`].
pub fn without(position: &Position, place: usize) -> Position {
    let nibbles = u128::from_le_bytes(position.nibbles());
    let below = (1 << (4 * place)) - 1;
    let left = nibbles & below | nibbles >> 4 & !below;
    let square = position.pieces().nth(place).map_or(0, |piece| 1 << piece.square as u32);
    Position::of_board(position.occupied() & !square, left.to_le_bytes(), position.turn())
}
