//! Material, squares, mobility and placement of pieces.

use super::groups;
use crate::hce::terms::{Group, ROLES, TermAxis, WITH_PAWNS};

/// Pieces that an own pawn does not defend, or defends.
const DEFENDED: TermAxis = TermAxis::Words(&["alone", "defended"]);
/// Files a, b, g, h or c to f.
const CENTRALITY: TermAxis = TermAxis::Words(&["side", "centre"]);

/// Returns the weights of an outpost. Defended and central ones get a bonus.
fn outpost_bonus(i: usize) -> [i32; 2] {
    [[4, 2], [12, 8], [8, 4], [20, 12]][i]
}

pub const GROUPS: &[Group] = groups! { Normal:
    "material" [WITH_PAWNS] |role| [[100, 320, 330, 500, 900][role]; 2] =>
        "pieces of this role",
    "psqt" [ROLES, TermAxis::Squares] |_| [0; 2] =>
        "pieces of this role on this square; squares flipped top to bottom for Black",
    "mobility.knight" [TermAxis::from_zero(9)] |n| [6 * n as i32 - 24, 6 * n as i32 - 24] =>
        "knights that reach so many squares of the mobility area",
    "mobility.bishop" [TermAxis::from_zero(14)] |n| [5 * n as i32 - 30, 5 * n as i32 - 30] =>
        "bishops that reach so many squares of the mobility area, seen through own queens",
    "mobility.rook" [TermAxis::from_zero(15)] |n| [2 * n as i32 - 14, 4 * n as i32 - 28] =>
        "rooks that reach so many squares of the mobility area, seen through own rooks and \
         queens",
    "mobility.queen" [TermAxis::from_zero(28)] |n| [n as i32 - 12, 3 * n as i32 - 36] =>
        "queens that reach so many squares of the mobility area",
    "mobility.king" [TermAxis::from_zero(5)] |n| [0, 3 * n as i32 - 8] =>
        "kings that may step on so many squares, or more than 4: not onto own pieces, nor into \
         attacks",
    "knights.outpost" [CENTRALITY, DEFENDED] outpost_bonus =>
        "knights on ranks 4 to 6 that no enemy pawn can ever attack",
    "knights.behind" [] |_| [4, 4] =>
        "knights with a pawn right in front",
    "knights.closed" [TermAxis::from_zero(9)] |n| [2 * n as i32 - 6, 3 * n as i32 - 9] =>
        "knights in a position so closed: pawns / 2 + 2 * rammed pairs - 2 * open files",
    "bishops.pair" [] |_| [24, 50] =>
        "both a bishop on light and one on dark squares",
    "bishops.pawns" [] |_| [-2, -3] =>
        "own pawns on squares of a bishop's colour",
    "bishops.rammed" [] |_| [-6, -10] =>
        "own pawns on squares of a bishop's colour with an enemy pawn right in front",
    "bishops.outpost" [CENTRALITY, DEFENDED] outpost_bonus =>
        "bishops on ranks 4 to 6 that no enemy pawn can ever attack",
    "bishops.behind" [] |_| [3, 3] =>
        "bishops with a pawn right in front",
    "bishops.diagonal" [] |_| [16, 10] =>
        "bishops that see two of d4, e4, d5, e5, or see one and stand on one, through all but \
         pawns",
    "rooks.open" [] |_| [26, 8] =>
        "rooks on a file without pawns",
    "rooks.half" [] |_| [10, 6] =>
        "rooks on a file with enemy pawns but none of their own",
    "rooks.seventh" [] |_| [2, 24] =>
        "rooks on rank 7 while the enemy king stands on rank 7 or 8, or enemy pawns on rank 7",
    "rooks.trapped" [] |_| [-30, -10] =>
        "rooks on ranks 1 and 2 shut in by their own king, on the edge side of it, with three \
         moves at most",
    "rooks.closed" [TermAxis::from_zero(9)] |n| [6 - 2 * n as i32, 9 - 3 * n as i32] =>
        "rooks in a position so closed: pawns / 2 + 2 * rammed pairs - 2 * open files",
    "queens.exposed" [] |_| [-16, -12] =>
        "enemy bishops and rooks that would attack a queen if one piece left the line",
    "queens.distance" [TermAxis::Numbers { first: 1, len: 5 }]
        |n| [6 - 2 * n as i32, 9 - 3 * n as i32] =>
        "queens so many king's steps, or more than 5, from the enemy king",
};
