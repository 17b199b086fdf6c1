//! What the pieces are worth to an evaluation, whichever it is.

use rayon::prelude::*;
use shakmaty::Role;

use super::pieces::{ROLES, place};
use super::removal::without;
use crate::sample::Position;

/// The worth of a piece in centipawns, by the roles of [`ROLES`]: what the evaluation loses when
/// it is taken off where it stands, as its owner sees it, on average over all pieces of these
/// positions; none where there is no such piece.
///
/// `evaluate` gives centipawns for the side to move. [`inspect`](super::inspect) finds the same,
/// faster, for nets whose insides it knows, and band by band.
pub fn worth(
    positions: &[Position],
    evaluate: impl Fn(&Position) -> f64 + Sync,
) -> [Option<f64>; ROLES.len()] {
    let of_position = |position: &Position| {
        let with = evaluate(position);
        let mut sums = [(0u64, 0.0); ROLES.len()];
        for (number, piece) in position.pieces().enumerate().filter(|(_, it)| it.role != Role::King)
        {
            let lost = with - evaluate(&without(position, number));
            let sum = &mut sums[place(piece.role)];
            let for_owner = if piece.color == position.turn() { lost } else { -lost };
            *sum = (sum.0 + 1, sum.1 + for_owner);
        }
        sums
    };
    // Added up in the order of the positions, whatever the number of threads.
    let sums: Vec<_> = positions.par_iter().map(of_position).collect();
    std::array::from_fn(|role| {
        let (count, sum) = sums
            .iter()
            .fold((0, 0.0), |(count, sum), sums| (count + sums[role].0, sum + sums[role].1));
        (count > 0).then(|| sum / count as f64)
    })
}
