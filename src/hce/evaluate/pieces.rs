//! Placement and mobility of knights, bishops, rooks and queens.

use super::View;
use super::squares::*;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const MOBILITY_PIECES: [Row<1>; 4] =
    [row("mobility.knight"), row("mobility.bishop"), row("mobility.rook"), row("mobility.queen")];
const MOBILITY_STEPS: Row<1> = row("mobility.king");

/// Squares without attacks of pawns, own king, and own pawns blocked or on rank 2.
fn area(view: &View) -> u64 {
    let stuck = view.us.pieces[PAWN] & (view.occupied >> 8 | RANK_1 << 8);
    !(view.them.attacks[PAWN] | view.us.pieces[KING] | stuck)
}

pub fn mobility(view: &View, add: &mut impl FnMut(Term, i32)) {
    let area = area(view);
    for piece in view.pieces() {
        add(MOBILITY_PIECES[piece.role - 1].at([number(piece.attacks & area) as usize]), 1);
    }
    let steps = king(view.us.king) & !view.us.all & !view.them.attacked;
    add(MOBILITY_STEPS.at([number(steps) as usize]), 1);
}

const KNIGHT_OUTPOST: Row<2> = row("knights.outpost");
const KNIGHT_BEHIND: Row<0> = row("knights.behind");
const KNIGHT_CLOSED: Row<1> = row("knights.closed");

pub fn knights(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let pawns = us.pieces[PAWN] | them.pieces[PAWN];
    for square in each(us.pieces[KNIGHT]) {
        let bit = 1u64 << square;
        if is_outpost(square, them.pieces[PAWN]) {
            let defended = usize::from(us.attacks[PAWN] & bit != 0);
            add(KNIGHT_OUTPOST.at([central(square), defended]), 1);
        }
        if pawns & bit << 8 != 0 {
            add(KNIGHT_BEHIND.at([]), 1);
        }
        add(KNIGHT_CLOSED.at([view.closed]), 1);
    }
}

const BISHOP_PAIR: Row<0> = row("bishops.pair");
const BISHOP_PAWNS: Row<0> = row("bishops.pawns");
const BISHOP_RAMMED: Row<0> = row("bishops.rammed");
const BISHOP_OUTPOST: Row<2> = row("bishops.outpost");
const BISHOP_BEHIND: Row<0> = row("bishops.behind");
const BISHOP_DIAGONAL: Row<0> = row("bishops.diagonal");

/// d4, e4, d5, e5
const BISHOP_CENTRE: u64 = 0x18_1800_0000;

/// Placement of bishops, and the pawns that block them.
pub fn bishops(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let pawns = us.pieces[PAWN] | them.pieces[PAWN];
    if us.pieces[BISHOP] & DARK != 0 && us.pieces[BISHOP] & !DARK != 0 {
        add(BISHOP_PAIR.at([]), 1);
    }
    for square in each(us.pieces[BISHOP]) {
        let bit = 1u64 << square;
        let colour = if bit & DARK != 0 { DARK } else { !DARK };
        let bad = us.pieces[PAWN] & colour;
        let rammed = bad & them.pieces[PAWN] >> 8;
        for (term, set) in [(BISHOP_PAWNS, bad), (BISHOP_RAMMED, rammed)] {
            if set != 0 {
                add(term.at([]), number(set));
            }
        }
        if is_outpost(square, them.pieces[PAWN]) {
            let defended = usize::from(us.attacks[PAWN] & bit != 0);
            add(BISHOP_OUTPOST.at([central(square), defended]), 1);
        }
        if pawns & bit << 8 != 0 {
            add(BISHOP_BEHIND.at([]), 1);
        }
        if number((bishop(square, pawns) | bit) & BISHOP_CENTRE) == 2 {
            add(BISHOP_DIAGONAL.at([]), 1);
        }
    }
}

const ROOK_OPEN: Row<0> = row("rooks.open");
const ROOK_HALF: Row<0> = row("rooks.half");
const ROOK_SEVENTH: Row<0> = row("rooks.seventh");
const ROOK_TRAPPED: Row<0> = row("rooks.trapped");
const ROOK_CLOSED: Row<1> = row("rooks.closed");

pub fn rooks(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let seventh = RANK_1 << 48;
    let prey = rank_of(them.king) >= 6 || them.pieces[PAWN] & seventh != 0;
    for piece in view.pieces().filter(|piece| piece.role == ROOK) {
        let (square, file) = (piece.square, file(file_of(piece.square)));
        if us.pieces[PAWN] & file == 0 {
            let row = if them.pieces[PAWN] & file == 0 { ROOK_OPEN } else { ROOK_HALF };
            add(row.at([]), 1);
        }
        if seventh >> square & 1 == 1 && prey {
            add(ROOK_SEVENTH.at([]), 1);
        }
        let moves = number(piece.attacks & !us.all);
        if rank_of(square) < 2 && rank_of(us.king) < 2 && moves <= 3 && shut_in(square, us.king) {
            add(ROOK_TRAPPED.at([]), 1);
        }
        add(ROOK_CLOSED.at([view.closed]), 1);
    }
}

/// Whether the rook stands between its king and the edge that the king is nearer to.
fn shut_in(rook: u32, king: u32) -> bool {
    let (rook, king) = (file_of(rook), file_of(king));
    if king < 4 { rook < king } else { rook > king }
}

const QUEEN_EXPOSED: Row<0> = row("queens.exposed");
const QUEEN_DISTANCE: Row<1> = row("queens.distance");

/// Threats to a queen from behind another piece, and her distance to the enemy king.
pub fn queens(view: &View, add: &mut impl FnMut(Term, i32)) {
    let them = &view.them;
    for square in each(view.us.pieces[QUEEN]) {
        let beyond = |attacks: fn(u32, u64) -> u64| {
            let direct = attacks(square, view.occupied);
            attacks(square, view.occupied & !direct) & !direct
        };
        let hidden =
            number(beyond(bishop) & them.pieces[BISHOP] | beyond(rook) & them.pieces[ROOK]);
        if hidden != 0 {
            add(QUEEN_EXPOSED.at([]), hidden);
        }
        add(QUEEN_DISTANCE.at([distance(square, them.king).saturating_sub(1)]), 1);
    }
}
