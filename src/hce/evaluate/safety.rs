//! The danger that a king is in.

use super::king::{Storm, files};
use super::squares::*;
use super::view::View;
use crate::hce::Term;
use crate::hce::terms::{Row, row};

const CONSTANT: Row<0> = row("king.safety.constant");
const ATTACKERS: Row<1> = row("king.safety.attackers");
const ATTACKS: Row<0> = row("king.safety.attacks");
const WEAK: Row<0> = row("king.safety.weak");
const CHECK: Row<1> = row("king.safety.check");
const QUEENLESS: Row<0> = row("king.safety.queenless");
const SHELTER: Row<2> = row("king.safety.shelter");
const FREE: Row<1> = row("king.safety.storm.free");
const BLOCKED: Row<1> = row("king.safety.storm.blocked");

pub fn count(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let queen = them.pieces[QUEEN] != 0;
    if them.attackers.iter().sum::<i32>() < 2 - i32::from(queen) {
        return;
    }
    let mut some = |term: Term, count: i32| {
        if count != 0 {
            add(term, count);
        }
    };
    some(CONSTANT.at([]), 1);
    let last = us.attacks[QUEEN] | us.attacks[KING];
    let others = us.attacks[PAWN] | us.attacks[KNIGHT] | us.attacks[BISHOP] | us.attacks[ROOK];
    debug_assert_eq!(others | last, us.attacked);
    let weak = them.attacked & !us.twice & !others;
    some(ATTACKS.at([]), them.hits);
    some(WEAK.at([]), number(weak & us.area));
    let safe = !them.all & (!us.attacked | weak & them.twice);
    let lines = [bishop(us.king, view.occupied), rook(us.king, view.occupied)];
    for role in KNIGHT..=QUEEN {
        some(ATTACKERS.at([role - 1]), them.attackers[role]);
        let from = match role {
            KNIGHT => knight(us.king),
            BISHOP => lines[0],
            ROOK => lines[1],
            _ => lines[0] | lines[1],
        };
        some(CHECK.at([role - 1]), number(from & safe & them.attacks[role]));
    }
    some(QUEENLESS.at([]), i32::from(!queen));
    for file in files(view) {
        some(SHELTER.at([file.edge(), file.shelter]), 1);
        match file.storm {
            Some(Storm::Free(rank)) => some(FREE.at([rank]), 1),
            Some(Storm::Blocked(rank)) => some(BLOCKED.at([rank]), 1),
            None => {}
        }
    }
}
