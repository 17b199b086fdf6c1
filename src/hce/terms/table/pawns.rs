//! Pawn structure and passed pawns.

use super::groups;
use crate::hce::terms::{FILES, Group, RANKS, TermAxis};

/// Ranks with a rank below them on which an own pawn can stand.
const UPPER: TermAxis = TermAxis::Numbers { first: 3, len: 5 };
const DISTANCE: TermAxis = TermAxis::from_zero(8);

/// Returns the bonus for the advance of a pawn on the i-th of the ranks 2 to 7.
fn pawn_advance(i: usize) -> i32 {
    [0, 0, 2, 6, 12, 20][i]
}

pub const GROUPS: &[Group] = groups! { Normal:
    "pawns.isolated" [FILES] |_| [-8, -12] =>
        "pawns of this file without own pawns on the files beside it",
    "pawns.doubled" [TermAxis::Words(&["alone", "together"])] |i| [[-10, -25], [-5, -12]][i] =>
        "pawns with an own pawn in front on the file, isolated (alone) or not (together)",
    "pawns.backward" [TermAxis::Words(&["closed", "open"]), TermAxis::Numbers { first: 2, len: 4 }]
        |i| [[-4, -6], [-12, -10]][i / 4] =>
        "pawns whose next square an enemy pawn attacks, with own pawns on the files beside them \
         but only further up; open where no enemy pawn stands in front on the file",
    "pawns.supported" [UPPER] |i| [6 + pawn_advance(i + 1), 3 + pawn_advance(i + 1)] =>
        "pawns that an own pawn defends",
    "pawns.phalanx" [RANKS] |i| [3 + pawn_advance(i), 2 + pawn_advance(i)] =>
        "pawns with an own pawn right beside them",
    "pawns.candidate.later" [TermAxis::Numbers { first: 3, len: 3 }]
        |i| [4 + pawn_advance(i + 1), 6 + pawn_advance(i + 1)] =>
        "pawns that are not passed but have no pawn in front on the file, and on the files \
         beside it no more enemy pawns ahead than own pawns level or behind, while more enemy \
         than own pawns attack the next square",
    "pawns.candidate.now" [TermAxis::Numbers { first: 2, len: 5 }]
        |i| [4 + pawn_advance(i), 10 + pawn_advance(i)] =>
        "pawns like those of pawns.candidate.later, but no more enemy than own pawns attack the \
         next square",
    "pawns.passed" [TermAxis::Words(&["free", "blocked"]), TermAxis::Words(&["safe", "attacked"]), RANKS]
        |i| {
            let far = pawn_advance(i % 6);
            match i / 6 {
                0 => [5 * far, 12 + 10 * far],
                1 => [4 * far, 8 + 6 * far],
                2 => [3 * far, 5 + 5 * far],
                _ => [2 * far, 2 + 3 * far],
            }
        } =>
        "passed pawns, the foremost of a file: free or blocked by a piece on the next square, \
         which is safe or attacked by the enemy",
    "pawns.passed.own" [DISTANCE, RANKS] |i| [0, -(i as i32 / 6 - 3) * (1 + pawn_advance(i % 6) / 2)] =>
        "passed pawns with their own king so many steps from the next square, by the pawn's rank",
    "pawns.passed.other" [DISTANCE, RANKS] |i| [0, (i as i32 / 6 - 3) * (1 + pawn_advance(i % 6) / 2)] =>
        "passed pawns with the enemy king so many steps from the next square, by the pawn's rank",
    "pawns.passed.supported" [UPPER] |i| [2 + pawn_advance(i + 1) / 2, 4 + pawn_advance(i + 1)] =>
        "passed pawns that an own pawn defends",
    "pawns.passed.path" [] |_| [8, 20] =>
        "passed pawns with no enemy piece on the way to promotion, and no enemy attack on it",
    "pawns.passed.rook" [TermAxis::Words(&["own", "other"])] |i| [[6, 12], [-6, -12]][i] =>
        "passed pawns with a rook right behind them on the file: their own, or the other side's",
    "pawns.passed.runner" [] |_| [0, 250] =>
        "passed pawns with nothing on the way that the enemy, who has pawns and a king alone, \
         cannot catch with it",
};
