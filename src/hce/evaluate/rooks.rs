//! Where rooks stand well.

use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const OPEN: Row<0> = row("rooks.open");
const HALF: Row<0> = row("rooks.half");
const SEVENTH: Row<0> = row("rooks.seventh");
const TRAPPED: Row<0> = row("rooks.trapped");
const CLOSED: Row<1> = row("rooks.closed");

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let seventh = RANK_1 << 48;
    let prey = rank_of(them.king) >= 6 || them.pieces[PAWN] & seventh != 0;
    for piece in view.pieces().filter(|piece| piece.role == ROOK) {
        let (square, file) = (piece.square, file(file_of(piece.square)));
        if us.pieces[PAWN] & file == 0 {
            let row = if them.pieces[PAWN] & file == 0 { OPEN } else { HALF };
            add(row.at([]), 1);
        }
        if seventh >> square & 1 == 1 && prey {
            add(SEVENTH.at([]), 1);
        }
        let moves = number(piece.attacks & !us.all);
        if rank_of(square) < 2 && rank_of(us.king) < 2 && moves <= 3 && shut_in(square, us.king) {
            add(TRAPPED.at([]), 1);
        }
        add(CLOSED.at([view.closed]), 1);
    }
}

/// Whether the rook stands between its king and the edge that the king is nearer to.
fn shut_in(rook: u32, king: u32) -> bool {
    let (rook, king) = (file_of(rook), file_of(king));
    if king < 4 { rook < king } else { rook > king }
}
