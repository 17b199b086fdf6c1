//! Rows of the accumulator's weights: which of them positions switch on, king bucket by king
//! bucket.

use serde::Serialize;
use shakmaty::{Role, Square};

use super::forward::Forward;
use crate::architecture::{Inputs, PIECES, Part};
use crate::features::MAX_ACTIVE;
use crate::sample::Piece;

/// The rows of the accumulator's weights; what king buckets share is added to each of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rows {
    pub rows: usize,
    /// Rows of pawns on the first and last rank, and of a view's own king where its bucket and its
    /// side of the board do not have it, which no position has.
    pub impossible: usize,
    /// Mean magnitude of the weights in them; decay alone moves these.
    pub impossible_magnitude: f64,
    /// Mean magnitude of all others.
    pub magnitude: f64,
    /// Possible rows that none of the positions looked at switches on.
    pub unseen: usize,
    /// By input: how many views switch it on.
    pub seen: Vec<u64>,
    /// Where there are several.
    pub buckets: Vec<KingBucket>,
}

/// The rows that count while a view's own king stands on some squares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KingBucket {
    pub bucket: usize,
    /// The squares of the king; where views are mirrored, those on files a to d.
    pub squares: Vec<String>,
    /// Views whose king stands there.
    pub views: u64,
    /// Rows that a position can switch on.
    pub possible: usize,
    /// Those of them that none of the positions looked at does.
    pub unseen: usize,
    /// Mean magnitude of the weights in possible rows.
    pub magnitude: f64,
    /// The same of what the bucket adds to the weights that all share; None without such.
    pub own_magnitude: Option<f64>,
}

/// The rows of a net, and how often the positions given as lists of active rows use them. `own` are
/// the rows before what buckets share is added.
pub(super) fn rows(forward: &Forward, lists: &[u16], own: Option<&[f32]>) -> Rows {
    let inputs = &forward.net.inputs;
    let rows = inputs.rows();
    // One place more, for the padding.
    let mut seen = vec![0; rows + 1];
    for list in lists.chunks_exact(MAX_ACTIVE) {
        for input in list {
            seen[usize::from(*input)] += 1;
        }
    }
    seen.truncate(rows);
    let impossible = impossible(inputs);
    let (no_position, some): (Vec<usize>, Vec<usize>) = (0..rows).partition(|row| impossible[*row]);
    let weights = forward.get(Part::Accumulator);
    let hidden = forward.net.hidden;
    let unseen = |rows: &[usize]| rows.iter().filter(|row| seen[**row] == 0).count();
    let bucket = |bucket: usize| {
        let possible: Vec<usize> =
            some.iter().copied().filter(|row| row / PIECES == bucket).collect();
        let squares = squares(inputs, bucket);
        let views = squares.iter().map(|square| seen[PIECES * bucket + KING + *square as usize]);
        KingBucket {
            bucket,
            views: views.sum(),
            squares: squares.iter().map(Square::to_string).collect(),
            possible: possible.len(),
            unseen: unseen(&possible),
            magnitude: magnitude(weights, hidden, &possible),
            own_magnitude: own.map(|own| magnitude(own, hidden, &possible)),
        }
    };
    let several = |count: &usize| *count > 1;
    let buckets = Some(inputs.kings.count()).filter(several).unwrap_or_default();
    Rows {
        rows,
        impossible: no_position.len(),
        impossible_magnitude: magnitude(weights, hidden, &no_position),
        magnitude: magnitude(weights, hidden, &some),
        unseen: unseen(&some),
        buckets: (0..buckets).map(bucket).collect(),
        seen,
    }
}

/// The first input of a view's own king, before king buckets.
const KING: usize = 64 * (Role::King as usize - 1);

/// The squares of a view's own king that have a bucket, as the view sees them when it is turned.
fn squares(inputs: &Inputs, bucket: usize) -> Vec<Square> {
    let of_bucket = |square: &Square| inputs.kings.seen(*square as usize) == (0, bucket);
    Square::ALL.into_iter().filter(of_bucket).collect()
}

/// By row: whether no position can switch it on.
pub(super) fn impossible(inputs: &Inputs) -> Vec<bool> {
    let pieces: Vec<Option<Piece>> = (0..PIECES).map(|input| inputs.piece(input)).collect();
    let impossible = |row: usize| {
        let input = row % PIECES;
        let own_king = (KING..KING + 64).contains(&input);
        pieces[input].is_none_or(|piece| match piece.role {
            Role::Pawn => matches!(piece.square as u32 / 8, 0 | 7),
            _ => own_king && inputs.kings.seen(piece.square as usize) != (0, row / PIECES),
        })
    };
    (0..inputs.rows()).map(impossible).collect()
}

/// Mean magnitude of the weights in some rows; 0 where there is none.
fn magnitude(weights: &[f32], hidden: usize, rows: &[usize]) -> f64 {
    let values = rows.iter().flat_map(|row| &weights[row * hidden..][..hidden]);
    let (count, sum) =
        values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + f64::from(value.abs())));
    if count > 0.0 { sum / count } else { 0.0 }
}
