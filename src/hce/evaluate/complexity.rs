//! How hard an endgame is to win.

use super::board::Board;
use super::squares::*;
use crate::hce::Sink;
use crate::hce::terms::{Row, row};

const PAWNS: Row<0> = row("complexity.pawns");
const FLANKS: Row<0> = row("complexity.flanks");
const ENDING: Row<0> = row("complexity.ending");
const CONSTANT: Row<0> = row("complexity.constant");

/// Files a to d.
const QUEENSIDE: u64 = 0x0f0f_0f0f_0f0f_0f0f;

pub fn count(board: &Board, sink: &mut impl Sink) {
    let [white, black] = &board.pieces;
    let pawns = white[PAWN] | black[PAWN];
    let pieces = (KNIGHT..=QUEEN).fold(0, |all, role| all | white[role] | black[role]);
    let flanks = pawns & QUEENSIDE != 0 && pawns & !QUEENSIDE != 0;
    for (row, count) in [
        (PAWNS, number(pawns)),
        (FLANKS, i32::from(flanks)),
        (ENDING, i32::from(pieces == 0)),
        (CONSTANT, 1),
    ] {
        if count != 0 {
            sink.complexity(row.at([]), count);
        }
    }
}
