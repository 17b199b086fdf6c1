//! The king: its shelter, enemy pawns that storm it, and attacks on it.

use super::View;
use super::squares::*;
use crate::hce::Term;
use crate::hce::terms::term;

/// One of the three files near the king.
pub struct KingFile {
    /// File, 0 to 7.
    pub file: usize,
    /// Distance to the edge: 0 at the edge, 3 in the middle.
    pub edge: usize,
    pub is_kings: bool,
    /// Index of the nearest own pawn on the axis of nearest ranks.
    pub shelter: usize,
    /// Nearest enemy pawn, if there is one.
    pub storm: Option<Storm>,
}

/// An enemy pawn near the king.
#[derive(Clone, Copy)]
pub enum Storm {
    /// Index on the axis of ranks 2 to 7.
    Free(usize),
    /// Index on the axis of ranks 3 to 7.
    Blocked(usize),
}

pub fn files_near_king(view: &View) -> impl Iterator<Item = KingFile> + '_ {
    let king = view.us.king;
    let middle = file_of(king).clamp(1, 6);
    // Level with the king or ahead of it.
    let reach = !0 << (king & 56);
    (middle - 1..=middle + 1).map(move |file| {
        let nearest = |pawns: u64| {
            let pawns = pawns & file_squares(file) & reach;
            (pawns != 0).then(|| pawns.trailing_zeros())
        };
        let is_blocked = |square: u32| square >= 8 && view.us.pieces[PAWN] >> (square - 8) & 1 == 1;
        let storm = nearest(view.them.pieces[PAWN]).map(|square| match is_blocked(square) {
            true => Storm::Blocked(rank_of(square).saturating_sub(2)),
            false => Storm::Free(pawn_rank(square)),
        });
        KingFile {
            file,
            edge: file.min(7 - file),
            is_kings: file == file_of(king),
            shelter: nearest(view.us.pieces[PAWN]).map_or(0, rank_of),
            storm,
        }
    })
}

/// Counts terms of the king's shelter, and of enemy pawns that storm it.
pub fn evaluate_king(view: &View, add: &mut impl FnMut(Term, i32)) {
    let us = &view.us;
    let guards = us.pieces[PAWN] | us.pieces[KNIGHT] | us.pieces[BISHOP];
    add(term!("king.defenders", count_squares(us.area & guards) as usize), 1);
    let pawns = us.pieces[PAWN] | view.them.pieces[PAWN];
    if let Some(far) = squares_of(pawns).map(|pawn| file_of(pawn).abs_diff(file_of(us.king))).min()
    {
        add(term!("king.pawns", far), 1);
    }
    for file in files_near_king(view) {
        add(term!("king.shelter", usize::from(!file.is_kings), file.file, file.shelter), 1);
        match file.storm {
            Some(Storm::Free(rank)) => add(term!("king.storm.free", file.edge, rank), 1),
            Some(Storm::Blocked(rank)) => add(term!("king.storm.blocked", file.edge, rank), 1),
            None => {}
        }
    }
}

pub fn evaluate_safety(view: &View, add: &mut impl FnMut(Term, i32)) {
    let (us, them) = (&view.us, &view.them);
    let queen = them.pieces[QUEEN] != 0;
    if them.attackers.iter().sum::<i32>() < 2 - i32::from(queen) {
        return;
    }
    add(term!("king.safety.constant"), 1);
    let last = us.attacks[QUEEN] | us.attacks[KING];
    let other_attacks =
        us.attacks[PAWN] | us.attacks[KNIGHT] | us.attacks[BISHOP] | us.attacks[ROOK];
    debug_assert_eq!(other_attacks | last, us.attacked);
    let weak = them.attacked & !us.twice & !other_attacks;
    add(term!("king.safety.attacks"), them.hits);
    add(term!("king.safety.weak"), count_squares(weak & us.area));
    let safe = !them.all & (!us.attacked | weak & them.twice);
    let lines = [bishop_attacks(us.king, view.occupied), rook_attacks(us.king, view.occupied)];
    for role in KNIGHT..=QUEEN {
        add(term!("king.safety.attackers", role - 1), them.attackers[role]);
        let from = match role {
            KNIGHT => knight_attacks(us.king),
            BISHOP => lines[0],
            ROOK => lines[1],
            _ => lines[0] | lines[1],
        };
        add(term!("king.safety.check", role - 1), count_squares(from & safe & them.attacks[role]));
    }
    add(term!("king.safety.queenless"), i32::from(!queen));
    for file in files_near_king(view) {
        add(term!("king.safety.shelter", file.edge, file.shelter), 1);
        match file.storm {
            Some(Storm::Free(rank)) => add(term!("king.safety.storm.free", rank), 1),
            Some(Storm::Blocked(rank)) => add(term!("king.safety.storm.blocked", rank), 1),
            None => {}
        }
    }
}
