//! Who owns the board.

use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const RESTRICTED: Row<0> = row("space.restricted");
const CENTRE: Row<0> = row("space.centre");

/// Files c to f, ranks 2 to 4.
const AREA: u64 = 0x3c3c_3c00;

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let restricted = them.attacked & !them.twice & !them.attacks[PAWN] & us.attacked;
    let centre = AREA & !us.pieces[PAWN] & !them.attacks[PAWN];
    for (term, set) in [(RESTRICTED, restricted), (CENTRE, centre)] {
        if set != 0 {
            add(term.at([]), number(set));
        }
    }
}
