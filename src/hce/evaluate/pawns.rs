//! Pawn structure and passed pawns.

use super::View;
use super::squares::*;
use crate::hce::Term;
use crate::hce::terms::term;

pub fn evaluate_pawns(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (pawns, enemies) = (view.us.pieces[PAWN], view.them.pieces[PAWN]);
    for square in squares_of(pawns) {
        let (bit, rank) = (1u64 << square, pawn_rank(square));
        let near = beside_file(square);
        let above = ranks_above(square);
        let next = bit << 8;
        let friends = pawns & near;
        let in_front = squares_ahead(square) & enemies;
        if friends == 0 {
            add(term!("pawns.isolated", file_of(square)), 1);
        } else if friends & !above == 0 && view.them.attacks[PAWN] & next != 0 {
            add(term!("pawns.backward", usize::from(in_front == 0), rank), 1);
        }
        let (doubled, upper) = (pawns & squares_ahead(square), rank.saturating_sub(1));
        add(term!("pawns.doubled", usize::from(friends != 0)), any_square(doubled));
        add(term!("pawns.supported", upper), any_square(view.us.attacks[PAWN] & bit));
        add(term!("pawns.phalanx", rank), any_square(pawns & shift_sideways(bit)));
        let sentries = enemies & near & above;
        let helpers = friends & !above;
        let helped = sentries != 0 && count_squares(helpers) >= count_squares(sentries);
        if in_front == 0 && doubled == 0 && helped {
            let hit = count_squares(pawn_attacks(next) & enemies);
            match count_squares(shift_sideways(bit) & pawns) >= hit {
                true => add(term!("pawns.candidate.now", rank), 1),
                false => add(term!("pawns.candidate.later", upper), 1),
            }
        }
    }
}

pub fn evaluate_passed(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    for square in squares_of(us.pieces[PAWN]) {
        let path = squares_ahead(square);
        let controlled = path | beside_file(square) & ranks_above(square);
        // A pawn on rank 8 is illegal, but a damaged file may contain one.
        if controlled & them.pieces[PAWN] != 0 || path & us.pieces[PAWN] != 0 || path == 0 {
            continue;
        }
        let (bit, rank, next) = (1u64 << square, pawn_rank(square), square + 8);
        let is_next_in = |set: u64| usize::from(set >> next & 1 == 1);
        add(term!("pawns.passed", is_next_in(view.occupied), is_next_in(them.attacked), rank), 1);
        add(term!("pawns.passed.own", king_distance(us.king, next), rank), 1);
        add(term!("pawns.passed.other", king_distance(them.king, next), rank), 1);
        let supported = any_square(us.attacks[PAWN] & bit);
        add(term!("pawns.passed.supported", rank.saturating_sub(1)), supported);
        add(term!("pawns.passed.path"), i32::from(path & (them.all | them.attacked) == 0));
        let behind = rook_attacks(square, view.occupied) & file_squares(file_of(square)) & !path;
        for (i, side) in [us, them].into_iter().enumerate() {
            add(term!("pawns.passed.rook", i), any_square(behind & side.pieces[ROOK]));
        }
        let runs = path & view.occupied == 0 && outruns_king(view, square);
        add(term!("pawns.passed.runner"), i32::from(runs));
    }
}

/// Returns whether the pawn outruns the enemy king, the enemy's only piece (rule of the square).
fn outruns_king(view: &View, square: u32) -> bool {
    let them = &view.them;
    let has_bare_king = them.all == them.pieces[PAWN] | them.pieces[KING];
    let steps = (7 - rank_of(square)).min(5);
    let promotion = 56 + file_of(square) as u32;
    has_bare_king && king_distance(them.king, promotion) > steps + usize::from(!view.our_turn)
}
