//! Moves as binpacks count them.
//!
//! Destinations are pseudo-legal and counted in order of their squares, castling rights count as
//! moves whether castling is possible or not, and an en passant square counts after a double step
//! only if some pawn may legally take there.

use std::num::NonZeroU16;

use shakmaty::{Bitboard, Color, Square, attacks};

use super::bits::{BitReader, BitWriter, width};
use super::board::{Board, CASTLINGS, KING, PAWN, ROOK, behind};
use crate::sample::Played;

impl Board {
    /// Takes a move off the movetext.
    pub fn read_move(&self, bits: &mut BitReader) -> Result<Played, String> {
        let ends = || "the movetext ends within a move".to_string();
        let own = self.side(self.turn);
        let count = own.count() as u32;
        let number = bits.take(width(count)).ok_or_else(ends)?;
        let from = nth(own, number).ok_or_else(|| format!("piece {number} of {count}"))?;
        let (to, choices) = self.choices(from);
        let number = bits.take(width(choices)).ok_or_else(ends)?;
        let wrong = || format!("move {number} of {choices} of the piece on {from}");
        if number >= choices {
            return Err(wrong());
        }
        let (to, kind) = match self.nibble(from) & 7 {
            PAWN if self.promotes(from) => {
                (nth(to, number / 4).ok_or_else(wrong)?, (number % 4) << 12 | 3 << 14)
            }
            PAWN => {
                let to = nth(to, number).ok_or_else(wrong)?;
                (to, u32::from(self.ep == Some(to)) << 14)
            }
            KING if number as usize >= to.count() => {
                let kind = self.castling(number - to.count() as u32).ok_or_else(wrong)?;
                return Ok(played(from, CASTLINGS[kind].rook, 2 << 14));
            }
            _ => (nth(to, number).ok_or_else(wrong)?, 0),
        };
        Ok(played(from, to, kind))
    }

    /// Puts a move, which must be legal, into the movetext.
    pub fn write_move(&self, played: Played, bits: &mut BitWriter) {
        let (from, to) = (played.from(), played.to());
        let before = |squares: Bitboard, square: Square| {
            (squares & Bitboard((1 << square as u32) - 1)).count() as u32
        };
        let own = self.side(self.turn);
        bits.put(before(own, from), width(own.count() as u32));
        let (destinations, choices) = self.choices(from);
        let number = if played.is_castling() {
            let which = (0..=1)
                .find(|&nth| self.castling(nth).is_some_and(|kind| CASTLINGS[kind].rook == to));
            destinations.count() as u32 + which.unwrap_or(0)
        } else if let Some(role) = played.promotion() {
            4 * before(destinations, to) + role as u32 - 2
        } else {
            before(destinations, to)
        };
        bits.put(number, width(choices));
    }

    /// Whether a move can be made here, the safety of the own king aside.
    pub fn is_possible(&self, played: Played) -> bool {
        let (from, to) = (played.from(), played.to());
        if !self.side(self.turn).contains(from) {
            return false;
        }
        if played.is_castling() {
            return (0..4)
                .any(|kind| self.rights >> kind & 1 == 1 && self.may_castle(kind, from, to));
        }
        let pawn = self.nibble(from) & 7 == PAWN;
        self.choices(from).0.contains(to)
            && played.promotion().is_some() == (pawn && self.promotes(from))
            && played.is_en_passant() == (pawn && self.ep == Some(to))
    }

    /// Plays a move that came from [`Board::read_move`] or [`Board::is_possible`]; an error if it
    /// leaves the own king in check, or castles where that is not allowed.
    pub fn play(&mut self, played: Played) -> Result<(), String> {
        let (from, to, us) = (played.from(), played.to(), self.turn);
        let role = self.nibble(from) & 7;
        let illegal = || format!("move {from}{to} is not legal");
        let mut quiet = role != PAWN;
        let ep = self.ep.take();
        self.stepped = None;
        if played.is_castling() {
            let kind = (0..4).find(|&kind| self.may_castle(kind, from, to)).ok_or_else(illegal)?;
            let castling = &CASTLINGS[kind];
            self.take(from);
            self.take(to);
            self.put(castling.king_to, KING, us);
            self.put(castling.rook_to, ROOK, us);
        } else {
            let role = played.promotion().map_or(role, |role| role as usize - 1);
            self.take(from);
            if self.occupied().contains(to) {
                self.replace(to, role, us);
                quiet = false;
            } else {
                self.put(to, role, us);
                if played.is_en_passant() && ep == Some(to) {
                    self.take(behind(to));
                }
            }
        }
        if self.in_check(us) {
            return Err(illegal());
        }
        if self.rights != 0 {
            for (kind, castling) in CASTLINGS.iter().enumerate() {
                let touched = |square| square == from || square == to;
                if touched(castling.king) || touched(castling.rook) {
                    self.rights &= !(1 << kind);
                }
            }
        }
        self.halfmove = if quiet { self.halfmove.saturating_add(1) } else { 0 };
        if role == PAWN && from as u32 ^ to as u32 == 16 {
            let square = behind(to);
            self.stepped = Some(square);
            self.ep = self.stepped.filter(|&square| self.may_take_there(square));
        }
        self.turn = !us;
        Ok(())
    }

    /// Where the piece on a square can go, castling aside, and how many moves these count as.
    fn choices(&self, from: Square) -> (Bitboard, u32) {
        let (us, occupied) = (self.turn, self.occupied());
        let free = !self.side(us);
        let to = match self.nibble(from) & 7 {
            PAWN => {
                let ep = self.ep.map_or(Bitboard::EMPTY, Bitboard::from_square);
                let to = attacks::pawn_attacks(us, from) & (self.side(!us) | ep)
                    | steps(from, us, occupied);
                let times = if self.promotes(from) { 4 } else { 1 };
                return (to, times * to.count() as u32);
            }
            KING => {
                let to = attacks::king_attacks(from) & free;
                let rights = self.rights >> (2 * u32::from(us.is_black())) & 3;
                return (to, to.count() as u32 + rights.count_ones());
            }
            1 => attacks::knight_attacks(from),
            2 => attacks::bishop_attacks(from, occupied),
            ROOK => attacks::rook_attacks(from, occupied),
            _ => attacks::queen_attacks(from, occupied),
        };
        let to = to & free;
        (to, to.count() as u32)
    }

    /// Whether a pawn that moves from here is promoted.
    fn promotes(&self, from: Square) -> bool {
        from as u32 / 8 == if self.turn.is_white() { 6 } else { 1 }
    }

    /// The kind of the castling counted first or second, if the side to move has that right.
    fn castling(&self, number: u32) -> Option<usize> {
        let first = 2 * usize::from(self.turn.is_black());
        let held = |kind: &usize| self.rights >> kind & 1 == 1;
        [first + 1, first].into_iter().filter(held).nth(number as usize)
    }

    /// Whether castling with these squares of king and rook is legal here.
    fn may_castle(&self, kind: usize, king: Square, rook: Square) -> bool {
        let castling = &CASTLINGS[kind];
        let occupied = self.occupied();
        let safe = |square| !self.attacked(square, !self.turn, occupied, Bitboard::EMPTY);
        self.rights >> kind & 1 == 1
            && (castling.color, castling.king, castling.rook) == (self.turn, king, rook)
            && self.stands_ready(castling)
            && (castling.between & occupied).is_empty()
            && [castling.king, castling.rook_to, castling.king_to].into_iter().all(safe)
    }

    /// Whether a pawn of the other side, which moves next, may legally take on a square that a
    /// pawn of the side to move has just passed.
    fn may_take_there(&self, square: Square) -> bool {
        let (us, them) = (self.turn, !self.turn);
        let pushed = Bitboard::from_square(behind(square));
        let king = (self.roles[KING] & self.side(them)).first();
        let takers = attacks::pawn_attacks(us, square) & self.roles[PAWN] & self.side(them);
        takers.into_iter().any(|taker| {
            let occupied = self.occupied() ^ pushed ^ Bitboard::from_square(taker);
            let occupied = occupied | Bitboard::from_square(square);
            king.is_some_and(|king| !self.attacked(king, us, occupied, pushed))
        })
    }
}

/// The empty squares before a pawn, two where it stands on its first rank.
fn steps(from: Square, color: Color, occupied: Bitboard) -> Bitboard {
    let free = !occupied.0;
    let pawn = 1u64 << from as u32;
    Bitboard(if color.is_white() {
        let one = pawn << 8 & free;
        one | (one & 0xff_0000) << 8 & free
    } else {
        let one = pawn >> 8 & free;
        one | (one & 0xff00_0000_0000) >> 8 & free
    })
}

/// The square with so many below it.
fn nth(squares: Bitboard, number: u32) -> Option<Square> {
    squares.into_iter().nth(number as usize)
}

fn played(from: Square, to: Square, kind: u32) -> Played {
    let bits = from as u16 | (to as u16) << 6 | kind as u16;
    Played(NonZeroU16::new(bits).expect("no piece moves from a1 to a1"))
}
