//! Threats against the enemy's pieces.

use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const BY_PAWN: Row<1> = row("threats.pawn");
const BY_MINOR: Row<1> = row("threats.minor");
const BY_ROOK: Row<1> = row("threats.rook");
const BY_QUEEN: Row<0> = row("threats.queen");
const BY_KING: Row<0> = row("threats.king");
const HANGING: Row<0> = row("threats.hanging");
const OVERLOADED: Row<0> = row("threats.overloaded");
const PUSH: Row<0> = row("threats.push");

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let mut some = |term: Term, set: u64| {
        if set != 0 {
            add(term, number(set));
        }
    };
    let takeable = them.all & !them.pieces[KING];
    let pieces = takeable & !them.pieces[PAWN];
    // Poorly defended: by no pawn, and not twice unless attacked twice.
    let poor = takeable & !them.attacks[PAWN] & (!them.twice | us.twice);
    let minors = us.attacks[KNIGHT] | us.attacks[BISHOP];
    let great = them.pieces[QUEEN] | them.pieces[ROOK];
    for role in PAWN..=QUEEN {
        let victims = them.pieces[role];
        if role != PAWN {
            some(BY_PAWN.at([role - 1]), us.attacks[PAWN] & victims);
        }
        some(BY_MINOR.at([role]), minors & victims & (poor | great));
        some(BY_ROOK.at([role]), us.attacks[ROOK] & victims & (poor | them.pieces[QUEEN]));
    }
    some(BY_QUEEN.at([]), us.attacks[QUEEN] & poor);
    some(BY_KING.at([]), us.attacks[KING] & poor);
    some(HANGING.at([]), us.attacked & pieces & !them.attacked);
    let once = us.attacked & !us.twice & them.attacked & !them.twice;
    some(OVERLOADED.at([]), once & pieces);
    some(PUSH.at([]), after_pushes(view) & (pieces | them.pieces[KING]) & !us.attacks[PAWN]);
}

/// What pawns attack after a push to a square that no enemy pawn attacks, and that is defended
/// or not attacked at all.
fn after_pushes(view: &View) -> u64 {
    let (us, them) = (&view.us, &view.them);
    let empty = !view.occupied;
    let once = us.pieces[PAWN] << 8 & empty;
    let twice = (once & RANK_1 << 16) << 8 & empty;
    let safe = !them.attacks[PAWN] & (us.attacked | !them.attacked);
    pawn_attacks((once | twice) & safe)
}
