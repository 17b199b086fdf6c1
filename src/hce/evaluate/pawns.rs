//! Pawn structure and passed pawns.

use super::View;
use super::squares::*;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const ISOLATED: Row<1> = row("pawns.isolated");
const DOUBLED: Row<1> = row("pawns.doubled");
const BACKWARD: Row<2> = row("pawns.backward");
const SUPPORTED: Row<1> = row("pawns.supported");
const PHALANX: Row<1> = row("pawns.phalanx");
const LATER: Row<1> = row("pawns.candidate.later");
const NOW: Row<1> = row("pawns.candidate.now");

pub fn pawns(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (pawns, enemies) = (view.us.pieces[PAWN], view.them.pieces[PAWN]);
    for square in each(pawns) {
        let (bit, rank) = (1u64 << square, pawn_rank(square));
        let near = beside_file(square);
        let above = above(square);
        let next = bit << 8;
        let friends = pawns & near;
        let in_front = ahead(square) & enemies;
        if friends == 0 {
            add(ISOLATED.at([file_of(square)]), 1);
        } else if friends & !above == 0 && view.them.attacks[PAWN] & next != 0 {
            add(BACKWARD.at([usize::from(in_front == 0), rank]), 1);
        }
        if pawns & ahead(square) != 0 {
            add(DOUBLED.at([usize::from(friends != 0)]), 1);
        }
        if view.us.attacks[PAWN] & bit != 0 {
            add(SUPPORTED.at([rank.saturating_sub(1)]), 1);
        }
        if pawns & beside(bit) != 0 {
            add(PHALANX.at([rank]), 1);
        }
        let sentries = enemies & near & above;
        let helpers = friends & !above;
        if in_front == 0
            && pawns & ahead(square) == 0
            && sentries != 0
            && number(helpers) >= number(sentries)
        {
            let hit = number(pawn_attacks(next) & enemies);
            let held = number(beside(bit) & pawns);
            let term =
                if held >= hit { NOW.at([rank]) } else { LATER.at([rank.saturating_sub(1)]) };
            add(term, 1);
        }
    }
}

const PASSED_PASSED: Row<3> = row("pawns.passed");
const PASSED_OWN_KING: Row<2> = row("pawns.passed.own");
const PASSED_OTHER_KING: Row<2> = row("pawns.passed.other");
const PASSED_SUPPORTED: Row<1> = row("pawns.passed.supported");
const PASSED_PATH: Row<0> = row("pawns.passed.path");
const PASSED_ROOK_BEHIND: Row<1> = row("pawns.passed.rook");
const PASSED_RUNNER: Row<0> = row("pawns.passed.runner");

pub fn passed(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    for square in each(us.pieces[PAWN]) {
        let way = ahead(square);
        let guarded = way | beside_file(square) & above(square);
        // A pawn on rank 8 is illegal, but a damaged file may contain one.
        if guarded & them.pieces[PAWN] != 0 || way & us.pieces[PAWN] != 0 || way == 0 {
            continue;
        }
        let (bit, rank, next) = (1u64 << square, pawn_rank(square), square + 8);
        let on = |set: u64| usize::from(set >> next & 1 == 1);
        add(PASSED_PASSED.at([on(view.occupied), on(them.attacked), rank]), 1);
        add(PASSED_OWN_KING.at([distance(us.king, next), rank]), 1);
        add(PASSED_OTHER_KING.at([distance(them.king, next), rank]), 1);
        if us.attacks[PAWN] & bit != 0 {
            add(PASSED_SUPPORTED.at([rank.saturating_sub(1)]), 1);
        }
        if way & (them.all | them.attacked) == 0 {
            add(PASSED_PATH.at([]), 1);
        }
        let behind = rook(square, view.occupied) & file(file_of(square)) & !way;
        for (i, rooks) in [us.pieces[ROOK], them.pieces[ROOK]].into_iter().enumerate() {
            if behind & rooks != 0 {
                add(PASSED_ROOK_BEHIND.at([i]), 1);
            }
        }
        if way & view.occupied == 0 && runs(view, square) {
            add(PASSED_RUNNER.at([]), 1);
        }
    }
}

/// Whether the pawn outruns the enemy king, the enemy's only piece (rule of the square).
fn runs(view: &View, square: u32) -> bool {
    let them = &view.them;
    let alone = them.all == them.pieces[PAWN] | them.pieces[KING];
    let steps = (7 - rank_of(square)).min(5);
    let promotion = 56 + file_of(square) as u32;
    alone && distance(them.king, promotion) > steps + usize::from(!view.our_turn)
}
