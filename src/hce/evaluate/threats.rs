//! Threats against enemy pieces, space, and winning chances of endgames.

use shakmaty::Color;

use super::squares::*;
use super::{Board, View};
use crate::hce::terms::{Row, row};
use crate::hce::{Sink, Term};

const BY_PAWN: Row<1> = row("threats.pawn");
const BY_MINOR: Row<1> = row("threats.minor");
const BY_ROOK: Row<1> = row("threats.rook");
const BY_QUEEN: Row<0> = row("threats.queen");
const BY_KING: Row<0> = row("threats.king");
const HANGING: Row<0> = row("threats.hanging");
const OVERLOADED: Row<0> = row("threats.overloaded");
const PUSH: Row<0> = row("threats.push");

pub fn threats(view: &View, add: &mut impl FnMut(Term, i32)) {
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

/// Attacks of pawns after a push to a safe square.
fn after_pushes(view: &View) -> u64 {
    let (us, them) = (&view.us, &view.them);
    let empty = !view.occupied;
    let once = us.pieces[PAWN] << 8 & empty;
    let twice = (once & RANK_1 << 16) << 8 & empty;
    let safe = !them.attacks[PAWN] & (us.attacked | !them.attacked);
    pawn_attacks((once | twice) & safe)
}

const SPACE_RESTRICTED: Row<0> = row("space.restricted");
const SPACE_CENTRE: Row<0> = row("space.centre");

/// Files c to f, ranks 2 to 4.
const SPACE_AREA: u64 = 0x3c3c_3c00;

pub fn space(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let restricted = them.attacked & !them.twice & !them.attacks[PAWN] & us.attacked;
    let centre = SPACE_AREA & !us.pieces[PAWN] & !them.attacks[PAWN];
    for (term, set) in [(SPACE_RESTRICTED, restricted), (SPACE_CENTRE, centre)] {
        if set != 0 {
            add(term.at([]), number(set));
        }
    }
}

const COMPLEXITY_PAWNS: Row<0> = row("complexity.pawns");
const COMPLEXITY_FLANKS: Row<0> = row("complexity.flanks");
const COMPLEXITY_ENDING: Row<0> = row("complexity.ending");
const COMPLEXITY_CONSTANT: Row<0> = row("complexity.constant");

const COMPLEXITY_QUEENSIDE: u64 = 0x0f0f_0f0f_0f0f_0f0f;

pub fn complexity(board: &Board, sink: &mut impl Sink) {
    let [white, black] = &board.pieces;
    let pawns = white[PAWN] | black[PAWN];
    let pieces = (KNIGHT..=QUEEN).fold(0, |all, role| all | white[role] | black[role]);
    let flanks = pawns & COMPLEXITY_QUEENSIDE != 0 && pawns & !COMPLEXITY_QUEENSIDE != 0;
    for (row, count) in [
        (COMPLEXITY_PAWNS, number(pawns)),
        (COMPLEXITY_FLANKS, i32::from(flanks)),
        (COMPLEXITY_ENDING, i32::from(pieces == 0)),
        (COMPLEXITY_CONSTANT, 1),
    ] {
        if count != 0 {
            sink.add(row.at([]), Color::White, count);
        }
    }
}
