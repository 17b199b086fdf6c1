//! Where bishops stand well, and which pawns are in their way.

use super::files::{central, is_outpost};
use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const PAIR: Row<0> = row("bishops.pair");
const PAWNS: Row<0> = row("bishops.pawns");
const RAMMED: Row<0> = row("bishops.rammed");
const OUTPOST: Row<2> = row("bishops.outpost");
const BEHIND: Row<0> = row("bishops.behind");
const DIAGONAL: Row<0> = row("bishops.diagonal");

/// d4, e4, d5, e5
const CENTRE: u64 = 0x18_1800_0000;

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let pawns = us.pieces[PAWN] | them.pieces[PAWN];
    if us.pieces[BISHOP] & DARK != 0 && us.pieces[BISHOP] & !DARK != 0 {
        add(PAIR.at([]), 1);
    }
    for square in each(us.pieces[BISHOP]) {
        let bit = 1u64 << square;
        let colour = if bit & DARK != 0 { DARK } else { !DARK };
        let bad = us.pieces[PAWN] & colour;
        let rammed = bad & them.pieces[PAWN] >> 8;
        for (term, set) in [(PAWNS, bad), (RAMMED, rammed)] {
            if set != 0 {
                add(term.at([]), number(set));
            }
        }
        if is_outpost(square, them.pieces[PAWN]) {
            let defended = usize::from(us.attacks[PAWN] & bit != 0);
            add(OUTPOST.at([central(square), defended]), 1);
        }
        if pawns & bit << 8 != 0 {
            add(BEHIND.at([]), 1);
        }
        if number((bishop(square, pawns) | bit) & CENTRE) == 2 {
            add(DIAGONAL.at([]), 1);
        }
    }
}
