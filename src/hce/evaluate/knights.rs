//! Where knights stand well.

use super::files::{central, is_outpost};
use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const OUTPOST: Row<2> = row("knights.outpost");
const BEHIND: Row<0> = row("knights.behind");
const CLOSED: Row<1> = row("knights.closed");

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let pawns = us.pieces[PAWN] | them.pieces[PAWN];
    for square in each(us.pieces[KNIGHT]) {
        let bit = 1u64 << square;
        if is_outpost(square, them.pieces[PAWN]) {
            let defended = usize::from(us.attacks[PAWN] & bit != 0);
            add(OUTPOST.at([central(square), defended]), 1);
        }
        if pawns & bit << 8 != 0 {
            add(BEHIND.at([]), 1);
        }
        add(CLOSED.at([view.closed]), 1);
    }
}
