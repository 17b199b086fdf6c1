//! Positions that no game can reach, and what is left of castling rights.

use serde::Serialize;
use shakmaty::{Color, Role, Square};

use crate::sample::Position;

/// So many examples are kept.
const KEPT: usize = 5;
const BACK_RANKS: u64 = 0xff00_0000_0000_00ff;

/// A position that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Counted from 1, bad records left out.
    pub position: u64,
    pub fen: String,
    pub reason: &'static str,
}

/// What is wrong with single boards, although a reader took them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Soundness {
    pub impossible: u64,
    /// The first of them.
    pub examples: Vec<Example>,
    /// Positions in which somebody may still castle.
    pub castling: u64,
    /// Those of them whose king or rook does not stand where it does in the usual chess.
    pub chess960: u64,
    /// Positions with a king and a rook on their first squares, whether they may castle or not.
    pub at_home: u64,
}

impl Soundness {
    pub(super) fn add(&mut self, position: &Position, sets: &[[u64; 6]; 2], number: u64) {
        if let Some(reason) = fault(position, sets) {
            self.impossible += 1;
            if self.examples.len() < KEPT {
                self.examples.push(Example { position: number, fen: position.fen(), reason });
            }
        }
        let (mut castling, mut unusual, mut at_home) = (false, false, false);
        for (pieces, first) in sets.iter().zip([0, 56]) {
            let king = pieces[Role::King as usize - 1];
            let corners = pieces[Role::Rook as usize - 1] & 0x81 << first;
            at_home |= king == 0x10 << first && corners != 0;
        }
        // Only rooks on their first rank can have the right, which most positions lack.
        let rooks = [(&sets[0], 0xff), (&sets[1], 0xff << 56)];
        if rooks.iter().any(|(pieces, rank)| pieces[Role::Rook as usize - 1] & rank != 0) {
            for piece in position.pieces().filter(|piece| piece.castles) {
                castling = true;
                let home = if piece.color.is_white() { Square::E1 } else { Square::E8 };
                let king = sets[usize::from(piece.color.is_black())][Role::King as usize - 1];
                let corner = matches!(piece.square.file() as u32, 0 | 7);
                unusual |= !corner || king != 1 << home as u32;
            }
        }
        self.castling += u64::from(castling);
        self.chess960 += u64::from(unusual);
        self.at_home += u64::from(at_home);
    }
}

/// Why no game can reach a position, if that is plain to see.
fn fault(position: &Position, sets: &[[u64; 6]; 2]) -> Option<&'static str> {
    let count = |pieces: &[u64; 6], role: Role| pieces[role as usize - 1].count_ones();
    for pieces in sets {
        match count(pieces, Role::King) {
            0 => return Some("a king is missing"),
            1 => {}
            _ => return Some("a side has more than one king"),
        }
        if pieces[0] & BACK_RANKS != 0 {
            return Some("a pawn stands on the first or last rank");
        }
        let pawns = count(pieces, Role::Pawn);
        if pawns > 8 {
            return Some("a side has more than eight pawns");
        }
        let usual = [(Role::Knight, 2), (Role::Bishop, 2), (Role::Rook, 2), (Role::Queen, 1)];
        let promoted: u32 =
            usual.iter().map(|(role, usual)| count(pieces, *role).saturating_sub(*usual)).sum();
        if promoted > 8 - pawns {
            return Some("a side has more pieces than its pawns can have become");
        }
    }
    let (board, waits): (_, Color) = (position.board(), !position.turn());
    let taken = board
        .king_of(waits)
        .is_some_and(|king| board.attacks_to(king, !waits, board.occupied()).any());
    taken.then_some("the side that just moved is in check")
}
