//! How pawns stand to each other.

use super::files::{ahead, beside_file};
use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const ISOLATED: Row<1> = row("pawns.isolated");
const DOUBLED: Row<1> = row("pawns.doubled");
const BACKWARD: Row<2> = row("pawns.backward");
const SUPPORTED: Row<1> = row("pawns.supported");
const PHALANX: Row<1> = row("pawns.phalanx");
const LATER: Row<1> = row("pawns.candidate.later");
const NOW: Row<1> = row("pawns.candidate.now");

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
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
