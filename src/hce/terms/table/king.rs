//! The king: shelter, danger, and winning chances of endgames.

use super::normal;
use crate::hce::terms::{Axis, EDGES, FILES, Group, NEAREST, PIECES, RANKS};
use crate::terms::Kind;

/// Ranks of enemy pawns that an own pawn right below blocks.
const BLOCKED: Axis = Axis::Numbers { first: 3, len: 5 };
pub const GROUPS: [Group; 5] = [
    normal(
        "king.defenders",
        "kings with so many own pawns, knights and bishops in their area, or more than 5",
        &[Axis::from_zero(6)],
        |n| [6 * n as i32 - 16, 0],
    ),
    normal(
        "king.pawns",
        "kings so many files from the nearest pawn of either side; nothing without pawns",
        &[Axis::from_zero(8)],
        |n| [0, 6 - 4 * n as i32],
    ),
    normal(
        "king.shelter",
        "files at the king, its own or beside it, by the rank of the nearest own pawn that is \
         level with it or ahead; a king on a or h looks at b and c or f and g too",
        &[Axis::Words(&["own", "beside"]), FILES, NEAREST],
        |i| [[-14, 12, 6, 0, -4, -6, -8][i % 7], 0],
    ),
    normal(
        "king.storm.free",
        "files at the king, by the rank of the nearest enemy pawn level with it or ahead, unless \
         an own pawn stands right below that one",
        &[EDGES, RANKS],
        |i| [[-8, -16, -12, -4, 0, 2][i % 6], 0],
    ),
    normal(
        "king.storm.blocked",
        "files at the king, by the rank of the nearest enemy pawn level with it or ahead, if an \
         own pawn stands right below it",
        &[EDGES, BLOCKED],
        |i| [[-8, 0, 2, 2, 2][i % 5], 0],
    ),
];

/// Counted for the side whose king is in danger.
const fn safety(
    name: &'static str,
    counts: &'static str,
    axes: &'static [Axis],
    start: fn(usize) -> [i32; 2],
) -> Group {
    Group { name, counts, kind: Kind::Safety, axes, start }
}

/// Counts where two pieces attack the king's area, or one with a queen on the board.
pub const SAFETY: [Group; 9] = [
    safety("king.safety.constant", "1 where the king is attacked at all", &[], |_| [10, 10]),
    safety("king.safety.attackers", "enemy pieces that attack the king's area", &[PIECES], |i| {
        [[30, 20], [20, 15], [25, 5], [20, 15]][i]
    }),
    safety(
        "king.safety.attacks",
        "squares of the king's area that enemy pieces attack, counted for each piece",
        &[],
        |_| [10, 4],
    ),
    safety(
        "king.safety.weak",
        "squares of the king's area that the enemy attacks and that are not defended twice, and \
         by king or queen at best",
        &[],
        |_| [18, 8],
    ),
    safety(
        "king.safety.check",
        "squares from which enemy pieces could safely give check",
        &[PIECES],
        |i| [[45, 10], [20, 10], [45, 10], [40, 20]][i],
    ),
    safety("king.safety.queenless", "1 where the enemy has no queen", &[], |_| [-100, -40]),
    safety(
        "king.safety.shelter",
        "files at the king by the rank of the nearest own pawn, as in king.shelter",
        &[EDGES, NEAREST],
        |i| [[14, -6, 0, 4, 6, 6, 6][i % 7], 0],
    ),
    safety(
        "king.safety.storm.free",
        "files at the king by the rank of the nearest enemy pawn, as in king.storm.free",
        &[RANKS],
        |i| [[4, 10, 4, -2, -4, -4][i], 0],
    ),
    safety(
        "king.safety.storm.blocked",
        "files at the king by the rank of the nearest enemy pawn, as in king.storm.blocked",
        &[BLOCKED],
        |i| [[6, 0, -2, -2, -2][i], 0],
    ),
];

/// Counted once a position.
const fn complexity(
    name: &'static str,
    counts: &'static str,
    start: fn(usize) -> [i32; 2],
) -> Group {
    Group { name, counts, kind: Kind::Complexity, axes: &[], start }
}

pub const COMPLEXITY: [Group; 4] = [
    complexity("complexity.pawns", "pawns of both sides", |_| [0, 4]),
    complexity("complexity.flanks", "1 where pawns stand on both a to d and e to h", |_| [0, 20]),
    complexity("complexity.ending", "1 where only kings and pawns stand", |_| [0, 30]),
    complexity("complexity.constant", "1 always", |_| [0, -40]),
];
