//! Passed pawns.

use super::files::{ahead, beside_file};
use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const PASSED: Row<3> = row("pawns.passed");
const OWN_KING: Row<2> = row("pawns.passed.own");
const OTHER_KING: Row<2> = row("pawns.passed.other");
const SUPPORTED: Row<1> = row("pawns.passed.supported");
const PATH: Row<0> = row("pawns.passed.path");
const ROOK_BEHIND: Row<1> = row("pawns.passed.rook");
const RUNNER: Row<0> = row("pawns.passed.runner");

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    for square in each(us.pieces[PAWN]) {
        let way = ahead(square);
        let guarded = way | beside_file(square) & above(square);
        // A pawn on rank 8 is none of chess, but a damaged file may hold one.
        if guarded & them.pieces[PAWN] != 0 || way & us.pieces[PAWN] != 0 || way == 0 {
            continue;
        }
        let (bit, rank, next) = (1u64 << square, pawn_rank(square), square + 8);
        let on = |set: u64| usize::from(set >> next & 1 == 1);
        add(PASSED.at([on(view.occupied), on(them.attacked), rank]), 1);
        add(OWN_KING.at([distance(us.king, next), rank]), 1);
        add(OTHER_KING.at([distance(them.king, next), rank]), 1);
        if us.attacks[PAWN] & bit != 0 {
            add(SUPPORTED.at([rank.saturating_sub(1)]), 1);
        }
        if way & (them.all | them.attacked) == 0 {
            add(PATH.at([]), 1);
        }
        let behind = rook(square, view.occupied) & file(file_of(square)) & !way;
        for (i, rooks) in [us.pieces[ROOK], them.pieces[ROOK]].into_iter().enumerate() {
            if behind & rooks != 0 {
                add(ROOK_BEHIND.at([i]), 1);
            }
        }
        if way & view.occupied == 0 && runs(view, square) {
            add(RUNNER.at([]), 1);
        }
    }
}

/// Whether the pawn is through before the enemy king, the enemy's only piece, can take it: the
/// rule of the square, with the double step of a pawn on rank 2.
fn runs(view: &View, square: u32) -> bool {
    let them = &view.them;
    let alone = them.all == them.pieces[PAWN] | them.pieces[KING];
    let steps = (7 - rank_of(square)).min(5);
    let promotion = 56 + file_of(square) as u32;
    alone && distance(them.king, promotion) > steps + usize::from(!view.our_turn)
}
