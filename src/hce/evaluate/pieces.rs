//! Placement and mobility of knights, bishops, rooks and queens.

use super::View;
use super::squares::*;
use crate::hce::Term;
use crate::hce::terms::{TermGroupRow, row_of_terms, term};

const MOBILITY: [TermGroupRow<1>; 4] = [
    row_of_terms("mobility.knight"),
    row_of_terms("mobility.bishop"),
    row_of_terms("mobility.rook"),
    row_of_terms("mobility.queen"),
];

/// Returns the squares without enemy pawn attacks, own king, and own pawns blocked or on rank 2.
fn mobility_area(view: &View) -> u64 {
    let stuck = view.us.pieces[PAWN] & (view.occupied >> 8 | RANK_1 << 8);
    !(view.them.attacks[PAWN] | view.us.pieces[KING] | stuck)
}

pub fn evaluate_mobility(view: &View, add: &mut impl FnMut(Term, i32)) {
    let area = mobility_area(view);
    for piece in view.pieces() {
        add(MOBILITY[piece.role - 1].term_at([count_squares(piece.attacks & area) as usize]), 1);
    }
    let steps = king_attacks(view.us.king) & !view.us.all & !view.them.attacked;
    add(term!("mobility.king", count_squares(steps) as usize), 1);
}

pub fn evaluate_knights(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let pawns = us.pieces[PAWN] | them.pieces[PAWN];
    for square in squares_of(us.pieces[KNIGHT]) {
        let bit = 1u64 << square;
        if is_outpost(square, them.pieces[PAWN]) {
            let defended = usize::from(us.attacks[PAWN] & bit != 0);
            add(term!("knights.outpost", is_central(square), defended), 1);
        }
        add(term!("knights.behind"), any_square(pawns & bit << 8));
        add(term!("knights.closed", view.closed), 1);
    }
}

/// The squares d4, e4, d5, e5.
const BISHOP_CENTRE: u64 = 0x18_1800_0000;

/// Counts terms of the placement of bishops, and of the pawns that block them.
pub fn evaluate_bishops(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let pawns = us.pieces[PAWN] | them.pieces[PAWN];
    let [dark, light] = [DARK, !DARK].map(|squares| any_square(us.pieces[BISHOP] & squares));
    add(term!("bishops.pair"), dark & light);
    for square in squares_of(us.pieces[BISHOP]) {
        let bit = 1u64 << square;
        let colour = if bit & DARK != 0 { DARK } else { !DARK };
        let bad = us.pieces[PAWN] & colour;
        add(term!("bishops.pawns"), count_squares(bad));
        add(term!("bishops.rammed"), count_squares(bad & them.pieces[PAWN] >> 8));
        if is_outpost(square, them.pieces[PAWN]) {
            let defended = usize::from(us.attacks[PAWN] & bit != 0);
            add(term!("bishops.outpost", is_central(square), defended), 1);
        }
        add(term!("bishops.behind"), any_square(pawns & bit << 8));
        let centre = count_squares((bishop_attacks(square, pawns) | bit) & BISHOP_CENTRE);
        add(term!("bishops.diagonal"), i32::from(centre == 2));
    }
}

pub fn evaluate_rooks(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let seventh = RANK_1 << 48;
    let prey = rank_of(them.king) >= 6 || them.pieces[PAWN] & seventh != 0;
    for piece in view.pieces().filter(|piece| piece.role == ROOK) {
        let (square, file) = (piece.square, file_squares(file_of(piece.square)));
        if us.pieces[PAWN] & file == 0 {
            match them.pieces[PAWN] & file {
                0 => add(term!("rooks.open"), 1),
                _ => add(term!("rooks.half"), 1),
            }
        }
        add(term!("rooks.seventh"), i32::from(seventh >> square & 1 == 1 && prey));
        let moves = count_squares(piece.attacks & !us.all);
        let low = rank_of(square) < 2 && rank_of(us.king) < 2;
        add(term!("rooks.trapped"), i32::from(low && moves <= 3 && is_shut_in(square, us.king)));
        add(term!("rooks.closed", view.closed), 1);
    }
}

/// Returns whether the rook stands between its king and the edge that the king is nearer to.
fn is_shut_in(rook: u32, king: u32) -> bool {
    let (rook, king) = (file_of(rook), file_of(king));
    if king < 4 { rook < king } else { rook > king }
}

/// Counts attacks on a queen through another piece, and her distance to the enemy king.
pub fn evaluate_queens(view: &View, add: &mut impl FnMut(Term, i32)) {
    let them = &view.them;
    for square in squares_of(view.us.pieces[QUEEN]) {
        let beyond = |attacks: fn(u32, u64) -> u64| {
            let direct = attacks(square, view.occupied);
            attacks(square, view.occupied & !direct) & !direct
        };
        let hidden =
            beyond(bishop_attacks) & them.pieces[BISHOP] | beyond(rook_attacks) & them.pieces[ROOK];
        add(term!("queens.exposed"), count_squares(hidden));
        add(term!("queens.distance", king_distance(square, them.king).saturating_sub(1)), 1);
    }
}
