//! How far pieces reach.

use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const PIECES: [Row<1>; 4] =
    [row("mobility.knight"), row("mobility.bishop"), row("mobility.rook"), row("mobility.queen")];
const STEPS: Row<1> = row("mobility.king");

/// Squares that no enemy pawn attacks and that hold neither the own king nor an own pawn that
/// is blocked or still on rank 2.
fn area(view: &View) -> u64 {
    let stuck = view.us.pieces[PAWN] & (view.occupied >> 8 | RANK_1 << 8);
    !(view.them.attacks[PAWN] | view.us.pieces[KING] | stuck)
}

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let area = area(view);
    for piece in view.pieces() {
        add(PIECES[piece.role - 1].at([number(piece.attacks & area) as usize]), 1);
    }
    let steps = king(view.us.king) & !view.us.all & !view.them.attacked;
    add(STEPS.at([number(steps) as usize]), 1);
}
