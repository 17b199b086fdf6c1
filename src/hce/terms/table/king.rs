//! The king: shelter, danger, and winning chances of endgames.

use super::groups;
use crate::hce::terms::{EDGES, FILES, Group, NEAREST, PIECES, RANKS, TermAxis};

/// Ranks of enemy pawns that an own pawn one rank below blocks.
const BLOCKED: TermAxis = TermAxis::Numbers { first: 3, len: 5 };
pub const GROUPS: &[Group] = groups! { Normal:
    "king.defenders" [TermAxis::from_zero(6)] |n| [6 * n as i32 - 16, 0] =>
        "kings with so many own pawns, knights and bishops in their area, or more than 5",
    "king.pawns" [TermAxis::from_zero(8)] |n| [0, 6 - 4 * n as i32] =>
        "kings so many files from the nearest pawn of either side; nothing without pawns",
    "king.shelter" [TermAxis::Words(&["own", "beside"]), FILES, NEAREST]
        |i| [[-14, 12, 6, 0, -4, -6, -8][i % 7], 0] =>
        "files at the king, its own or beside it, by the rank of the nearest own pawn that is \
         level with it or ahead; a king on a or h looks at b and c or f and g too",
    "king.storm.free" [EDGES, RANKS] |i| [[-8, -16, -12, -4, 0, 2][i % 6], 0] =>
        "files at the king, by the rank of the nearest enemy pawn level with it or ahead, unless \
         an own pawn stands right below that one",
    "king.storm.blocked" [EDGES, BLOCKED] |i| [[-8, 0, 2, 2, 2][i % 5], 0] =>
        "files at the king, by the rank of the nearest enemy pawn level with it or ahead, if an \
         own pawn stands right below it",
};

/// Counts for the side whose king is in danger: two pieces attack its area, or one beside a queen.
pub const SAFETY: &[Group] = groups! { Safety:
    "king.safety.constant" [] |_| [10, 10] =>
        "1 where the king is attacked at all",
    "king.safety.attackers" [PIECES] |i| [[30, 20], [20, 15], [25, 5], [20, 15]][i] =>
        "enemy pieces that attack the king's area",
    "king.safety.attacks" [] |_| [10, 4] =>
        "squares of the king's area that enemy pieces attack, counted for each piece",
    "king.safety.weak" [] |_| [18, 8] =>
        "squares of the king's area that the enemy attacks and that are not defended twice, and \
         by king or queen at best",
    "king.safety.check" [PIECES] |i| [[45, 10], [20, 10], [45, 10], [40, 20]][i] =>
        "squares from which enemy pieces could safely give check",
    "king.safety.queenless" [] |_| [-100, -40] =>
        "1 where the enemy has no queen",
    "king.safety.shelter" [EDGES, NEAREST] |i| [[14, -6, 0, 4, 6, 6, 6][i % 7], 0] =>
        "files at the king by the rank of the nearest own pawn, as in king.shelter",
    "king.safety.storm.free" [RANKS] |i| [[4, 10, 4, -2, -4, -4][i], 0] =>
        "files at the king by the rank of the nearest enemy pawn, as in king.storm.free",
    "king.safety.storm.blocked" [BLOCKED] |i| [[6, 0, -2, -2, -2][i], 0] =>
        "files at the king by the rank of the nearest enemy pawn, as in king.storm.blocked",
};

/// Counts once per position.
pub const COMPLEXITY: &[Group] = groups! { Complexity:
    "complexity.pawns" [] |_| [0, 4] =>
        "pawns of both sides",
    "complexity.flanks" [] |_| [0, 20] =>
        "1 where pawns stand on both a to d and e to h",
    "complexity.ending" [] |_| [0, 30] =>
        "1 where only kings and pawns stand",
    "complexity.constant" [] |_| [0, -40] =>
        "1 always",
};
