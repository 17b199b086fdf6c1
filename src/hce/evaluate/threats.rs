//! Threats against enemy pieces, space, and winning chances of endgames.

use super::squares::*;
use super::{TermBoard, View};
use crate::hce::Term;
use crate::hce::terms::term;

pub fn evaluate_threats(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let mut count = |term: Term, set: u64| add(term, count_squares(set));
    let takeable = them.all & !them.pieces[KING];
    let pieces = takeable & !them.pieces[PAWN];
    // Poorly defended: by no pawn, and not twice unless attacked twice.
    let weak = takeable & !them.attacks[PAWN] & (!them.twice | us.twice);
    let minors = us.attacks[KNIGHT] | us.attacks[BISHOP];
    let great = them.pieces[QUEEN] | them.pieces[ROOK];
    for role in PAWN..=QUEEN {
        let victims = them.pieces[role];
        if role != PAWN {
            count(term!("threats.pawn", role - 1), us.attacks[PAWN] & victims);
        }
        count(term!("threats.minor", role), minors & victims & (weak | great));
        count(
            term!("threats.rook", role),
            us.attacks[ROOK] & victims & (weak | them.pieces[QUEEN]),
        );
    }
    count(term!("threats.queen"), us.attacks[QUEEN] & weak);
    count(term!("threats.king"), us.attacks[KING] & weak);
    count(term!("threats.hanging"), us.attacked & pieces & !them.attacked);
    let once = us.attacked & !us.twice & them.attacked & !them.twice;
    count(term!("threats.overloaded"), once & pieces);
    let targets = (pieces | them.pieces[KING]) & !us.attacks[PAWN];
    count(term!("threats.push"), after_pushes(view) & targets);
}

/// Returns the attacks of pawns after a push to a safe square.
fn after_pushes(view: &View) -> u64 {
    let (us, them) = (&view.us, &view.them);
    let empty = !view.occupied;
    let once = us.pieces[PAWN] << 8 & empty;
    let twice = (once & RANK_1 << 16) << 8 & empty;
    let safe = !them.attacks[PAWN] & (us.attacked | !them.attacked);
    pawn_attacks((once | twice) & safe)
}

/// The squares on files c to f and ranks 2 to 4.
const SPACE_AREA: u64 = 0x3c3c_3c00;

pub fn evaluate_space(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let restricted = them.attacked & !them.twice & !them.attacks[PAWN] & us.attacked;
    let centre = SPACE_AREA & !us.pieces[PAWN] & !them.attacks[PAWN];
    add(term!("space.restricted"), count_squares(restricted));
    add(term!("space.centre"), count_squares(centre));
}

const QUEENSIDE: u64 = 0x0f0f_0f0f_0f0f_0f0f;

pub fn evaluate_complexity(board: &TermBoard, add: &mut impl FnMut(Term, i32)) {
    let [white, black] = &board.pieces;
    let pawns = white[PAWN] | black[PAWN];
    let pieces = (KNIGHT..=QUEEN).fold(0, |all, role| all | white[role] | black[role]);
    let flanks = pawns & QUEENSIDE != 0 && pawns & !QUEENSIDE != 0;
    add(term!("complexity.pawns"), count_squares(pawns));
    add(term!("complexity.flanks"), i32::from(flanks));
    add(term!("complexity.ending"), i32::from(pieces == 0));
    add(term!("complexity.constant"), 1);
}
