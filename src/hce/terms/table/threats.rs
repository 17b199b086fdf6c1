//! Threats and space.

use super::groups;
use crate::hce::terms::{Group, PIECES, WITH_PAWNS};

pub const GROUPS: &[Group] = groups! { Normal:
    "threats.pawn" [PIECES] |i| [[50, 30], [50, 40], [60, 30], [50, 30]][i] =>
        "enemy pieces that pawns attack",
    "threats.minor" [WITH_PAWNS] |i| [[4, 15], [20, 25], [20, 25], [50, 20], [40, 30]][i] =>
        "enemy pieces that knights or bishops attack: poorly defended ones, and all rooks and \
         queens",
    "threats.rook" [WITH_PAWNS] |i| [[2, 15], [25, 25], [25, 25], [10, 15], [50, 20]][i] =>
        "enemy pieces that rooks attack: poorly defended ones, and all queens",
    "threats.queen" [] |_| [10, 15] =>
        "poorly defended enemy pieces, no kings, that queens attack",
    "threats.king" [] |_| [10, 25] =>
        "poorly defended enemy pieces that the king attacks",
    "threats.hanging" [] |_| [20, 15] =>
        "enemy pieces, no kings, that are attacked and not defended",
    "threats.overloaded" [] |_| [6, 4] =>
        "enemy pieces, no kings, attacked once and defended once",
    "threats.push" [] |_| [15, 15] =>
        "enemy pieces, kings too, that pawns do not attack but could after a safe push",
    "space.restricted" [] |_| [3, 3] =>
        "squares that the enemy reaches, without pawns and only once, and that are attacked",
    "space.centre" [] |_| [2, 0] =>
        "squares on files c to f and ranks 2 to 4 without own pawns or enemy pawns' attacks",
};
