//! Threats and space.

use super::normal;
use crate::hce::terms::{Group, PIECES, WITH_PAWNS};

pub const GROUPS: [Group; 10] = [
    normal("threats.pawn", "enemy pieces that pawns attack", &[PIECES], |i| {
        [[50, 30], [50, 40], [60, 30], [50, 30]][i]
    }),
    normal(
        "threats.minor",
        "enemy pieces that knights or bishops attack: poorly defended ones, and all rooks and queens",
        &[WITH_PAWNS],
        |i| [[4, 15], [20, 25], [20, 25], [50, 20], [40, 30]][i],
    ),
    normal(
        "threats.rook",
        "enemy pieces that rooks attack: poorly defended ones, and all queens",
        &[WITH_PAWNS],
        |i| [[2, 15], [25, 25], [25, 25], [10, 15], [50, 20]][i],
    ),
    normal(
        "threats.queen",
        "poorly defended enemy pieces, no kings, that queens attack",
        &[],
        |_| [10, 15],
    ),
    normal("threats.king", "poorly defended enemy pieces that the king attacks", &[], |_| [10, 25]),
    normal(
        "threats.hanging",
        "enemy pieces, no kings, that are attacked and not defended",
        &[],
        |_| [20, 15],
    ),
    normal(
        "threats.overloaded",
        "enemy pieces, no kings, attacked once and defended once",
        &[],
        |_| [6, 4],
    ),
    normal(
        "threats.push",
        "enemy pieces, kings too, that pawns do not attack but could after a safe push",
        &[],
        |_| [15, 15],
    ),
    normal(
        "space.restricted",
        "squares that the enemy reaches, without pawns and only once, and that are attacked",
        &[],
        |_| [3, 3],
    ),
    normal(
        "space.centre",
        "squares on files c to f and ranks 2 to 4 without own pawns or enemy pawns' attacks",
        &[],
        |_| [2, 0],
    ),
];
