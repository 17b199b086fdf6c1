//! Material, squares, mobility and placement of pieces.

use super::normal;
use crate::hce::terms::{Axis, Group, ROLES, WITH_PAWNS};

/// Undefended or defended by an own pawn.
const DEFENDED: Axis = Axis::Words(&["alone", "defended"]);
/// Files a, b, g, h or c to f.
const PLACE: Axis = Axis::Words(&["side", "centre"]);

/// Outposts: a defended or central one gets a bonus.
fn outpost(i: usize) -> [i32; 2] {
    [[4, 2], [12, 8], [8, 4], [20, 12]][i]
}

pub const GROUPS: [Group; 23] = [
    normal("material", "pieces of this role", &[WITH_PAWNS], |role| {
        [[100, 320, 330, 500, 900][role]; 2]
    }),
    normal(
        "psqt",
        "pieces of this role on this square; squares flipped top to bottom for Black",
        &[ROLES, Axis::Squares],
        |_| [0; 2],
    ),
    normal(
        "mobility.knight",
        "knights that reach so many squares of the mobility area",
        &[Axis::from_zero(9)],
        |n| [6 * n as i32 - 24, 6 * n as i32 - 24],
    ),
    normal(
        "mobility.bishop",
        "bishops that reach so many squares of the mobility area, seen through own queens",
        &[Axis::from_zero(14)],
        |n| [5 * n as i32 - 30, 5 * n as i32 - 30],
    ),
    normal(
        "mobility.rook",
        "rooks that reach so many squares of the mobility area, seen through own rooks and queens",
        &[Axis::from_zero(15)],
        |n| [2 * n as i32 - 14, 4 * n as i32 - 28],
    ),
    normal(
        "mobility.queen",
        "queens that reach so many squares of the mobility area",
        &[Axis::from_zero(28)],
        |n| [n as i32 - 12, 3 * n as i32 - 36],
    ),
    normal(
        "mobility.king",
        "kings that may step on so many squares, or more than 4: not onto own pieces, nor \
         into attacks",
        &[Axis::from_zero(5)],
        |n| [0, 3 * n as i32 - 8],
    ),
    normal(
        "knights.outpost",
        "knights on ranks 4 to 6 that no enemy pawn can ever attack",
        &[PLACE, DEFENDED],
        outpost,
    ),
    normal("knights.behind", "knights with a pawn right in front", &[], |_| [4, 4]),
    normal(
        "knights.closed",
        "knights in a position so closed: pawns / 2 + 2 * rammed pairs - 2 * open files",
        &[Axis::from_zero(9)],
        |n| [2 * n as i32 - 6, 3 * n as i32 - 9],
    ),
    normal("bishops.pair", "both a bishop on light and one on dark squares", &[], |_| [24, 50]),
    normal("bishops.pawns", "own pawns on squares of a bishop's colour", &[], |_| [-2, -3]),
    normal(
        "bishops.rammed",
        "own pawns on squares of a bishop's colour with an enemy pawn right in front",
        &[],
        |_| [-6, -10],
    ),
    normal(
        "bishops.outpost",
        "bishops on ranks 4 to 6 that no enemy pawn can ever attack",
        &[PLACE, DEFENDED],
        outpost,
    ),
    normal("bishops.behind", "bishops with a pawn right in front", &[], |_| [3, 3]),
    normal(
        "bishops.diagonal",
        "bishops that see two of d4, e4, d5, e5, or see one and stand on one, through all but pawns",
        &[],
        |_| [16, 10],
    ),
    normal("rooks.open", "rooks on a file without pawns", &[], |_| [26, 8]),
    normal("rooks.half", "rooks on a file with enemy pawns but none of their own", &[], |_| {
        [10, 6]
    }),
    normal(
        "rooks.seventh",
        "rooks on rank 7 while the enemy king stands on rank 7 or 8, or enemy pawns on rank 7",
        &[],
        |_| [2, 24],
    ),
    normal(
        "rooks.trapped",
        "rooks on ranks 1 and 2 shut in by their own king, on the edge side of it, with three moves at most",
        &[],
        |_| [-30, -10],
    ),
    normal(
        "rooks.closed",
        "rooks in a position so closed: pawns / 2 + 2 * rammed pairs - 2 * open files",
        &[Axis::from_zero(9)],
        |n| [6 - 2 * n as i32, 9 - 3 * n as i32],
    ),
    normal(
        "queens.exposed",
        "enemy bishops and rooks that would attack a queen if one piece left the line",
        &[],
        |_| [-16, -12],
    ),
    normal(
        "queens.distance",
        "queens so many king's steps, or more than 5, from the enemy king",
        &[Axis::Numbers { first: 1, len: 5 }],
        |n| [6 - 2 * n as i32, 9 - 3 * n as i32],
    ),
];
