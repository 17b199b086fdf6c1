//! What threatens a queen from behind another piece, and how near she is to the enemy king.

use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const EXPOSED: Row<0> = row("queens.exposed");
const DISTANCE: Row<1> = row("queens.distance");

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let them = &view.them;
    for square in each(view.us.pieces[QUEEN]) {
        let beyond = |attacks: fn(u32, u64) -> u64| {
            let direct = attacks(square, view.occupied);
            attacks(square, view.occupied & !direct) & !direct
        };
        let hidden =
            number(beyond(bishop) & them.pieces[BISHOP] | beyond(rook) & them.pieces[ROOK]);
        if hidden != 0 {
            add(EXPOSED.at([]), hidden);
        }
        add(DISTANCE.at([distance(square, them.king).saturating_sub(1)]), 1);
    }
}
