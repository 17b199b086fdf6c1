//! The numbering of moves in binpacks. Destinations are pseudo-legal, in order of squares. Castling
//! rights count as moves even if castling is impossible, en passant only if it is legal.

use shakmaty::{
    Bitboard, CastlingSide, Chess, Color, Move, Position as _, Rank, Role, Setup, Square, attacks,
};

use super::super::{RecordError, fields};
use crate::sample::planes::nth_square;
use crate::sample::{CASTLINGS, PlayedMove, Position, check_legal, pawn_steps};

#[derive(Clone)]
pub struct BinpackBoard {
    chess: Chess,
    /// A bit for each counted right of [`CASTLINGS`], even if the king is elsewhere.
    rights: u8,
}

impl BinpackBoard {
    /// Converts a position. Fails if its castling rights do not fit.
    pub fn new(position: &Position) -> Result<Self, RecordError> {
        let mut rights = 0;
        for rook in position.pieces().filter(|piece| piece.castles) {
            let king = position.king(rook.color).ok_or("a king is missing")?;
            let index = CASTLINGS.iter().position(|it| *it == (rook.color, king, rook.square));
            rights |= 1 << index.ok_or("castling from other squares than in usual chess")?;
        }
        Ok(Self { chess: position.to_chess()?, rights })
    }

    /// Unpacks a stem: occupied squares, the highest byte first, then a nibble per piece.
    pub fn unpack_stem(bytes: &[u8; 24], halfmove: u8) -> Result<Self, RecordError> {
        let occupied = u64::from_be_bytes(*bytes.first_chunk().expect("24 bytes"));
        let nibbles = u128::from_le_bytes(*bytes.last_chunk().expect("24 bytes"));
        let count = occupied.count_ones();
        if count > 32 {
            return Err(format!("{count} pieces on the board, at most 32 fit").into());
        }
        let mut setup = Setup::empty();
        let mut rights = 0;
        setup.halfmoves = halfmove.into();
        for (i, square) in Bitboard(occupied).into_iter().enumerate() {
            let nibble = (nibbles >> (4 * i)) as usize & 15;
            let (role, color) = match nibble {
                0..=11 => (Role::ALL[nibble / 2], Color::from_black(nibble % 2 == 1)),
                12 => {
                    setup.ep_square = Some(square_behind(square));
                    (Role::Pawn, Color::from_white((square as u32) < 32))
                }
                13 | 14 => {
                    let color = Color::from_black(nibble == 14);
                    let index = CASTLINGS.iter().position(|it| (it.0, it.2) == (color, square));
                    let wrong = || format!("a rook that may castle on {square}");
                    rights |= 1 << index.ok_or_else(wrong)?;
                    (Role::Rook, color)
                }
                _ => {
                    setup.turn = Color::Black;
                    (Role::King, Color::Black)
                }
            };
            setup.board.set_piece_at(square, role.of(color));
        }
        for (index, &(color, king, rook)) in CASTLINGS.iter().enumerate() {
            if rights >> index & 1 == 1 && setup.board.piece_at(king) == Some(Role::King.of(color))
            {
                setup.castling_rights.add(rook);
            }
        }
        if let Some(square) = setup.ep_square {
            fields::check_ep(&setup.board, setup.turn, square)?;
        }
        Ok(Self { chess: check_legal(setup)?, rights })
    }

    #[inline]
    pub fn to_position(&self, ply: u16) -> Position {
        Position::from_chess(&self.chess).with_fullmove(ply / 2 + 1)
    }

    pub fn find_legal_move(&self, played: PlayedMove) -> Result<Move, RecordError> {
        played
            .legal_move(&self.chess)
            .ok_or_else(|| illegal_move(played.from(), played.target_square()))
    }

    pub fn read_move(&self, bits: &mut BitReader) -> Result<Move, RecordError> {
        let ends = "the movetext ends within a move";
        let board = self.chess.board();
        let pieces = self.chess.us();
        let count = pieces.count() as u32;
        let number = bits.take_bits(bits_for_choices(count)).ok_or(ends)?;
        let from =
            nth_square(pieces.0, number).ok_or_else(|| format!("piece {number} of {count}"))?;
        let role = board.role_at(from).expect("the square is occupied");
        let (squares, choices) = self.list_choices(from, role);
        let number = bits.take_bits(bits_for_choices(choices)).ok_or(ends)?;
        let wrong = || format!("move {number} of {choices} of the piece on {from}");
        if number >= choices {
            return Err(wrong().into());
        }
        let steps = squares.count() as u32;
        if role == Role::King && number >= steps {
            let rook = self.castling_rooks().nth((number - steps) as usize).ok_or_else(wrong)?;
            return Ok(Move::Castle { king: from, rook });
        }
        let (number, promotion) = match self.is_promotion(from, role) {
            true => (number / 4, Some(Role::ALL[1 + number as usize % 4])),
            false => (number, None),
        };
        let to = nth_square(squares.0, number).ok_or_else(wrong)?;
        let capture = board.role_at(to);
        Ok(match role == Role::Pawn && capture.is_none() && from.file() != to.file() {
            true => Move::EnPassant { from, to },
            false => Move::Normal { role, from, capture, to, promotion },
        })
    }

    /// Encodes a legal move into the movetext.
    pub fn write_move(&self, played: Move, bits: &mut BitWriter) {
        let from = played.from().expect("chess has no drops");
        let count_before = |squares: Bitboard, square: Square| {
            (squares & Bitboard((1 << square as u32) - 1)).count() as u32
        };
        let pieces = self.chess.us();
        bits.put_bits(count_before(pieces, from), bits_for_choices(pieces.count() as u32));
        let (squares, choices) = self.list_choices(from, played.role());
        let number = match played {
            Move::Castle { rook, .. } => {
                let index = self.castling_rooks().position(|it| it == rook);
                squares.count() as u32 + index.expect("its right is held") as u32
            }
            _ => match played.promotion() {
                Some(role) => 4 * count_before(squares, played.to()) + role as u32 - 2,
                None => count_before(squares, played.to()),
            },
        };
        bits.put_bits(number, bits_for_choices(choices));
    }

    /// Plays a move that the format can encode. Fails if it is not legal.
    pub fn play_move(&mut self, played: Move) -> Result<(), RecordError> {
        let us = self.chess.turn();
        let to = played.to();
        let from = played.from().expect("chess has no drops");
        let castles = |side: &CastlingSide| self.chess.castling_moves(*side).contains(&played);
        if played.is_castle() && !CastlingSide::ALL.iter().any(castles) {
            return Err(illegal_move(from, to));
        }
        self.chess.play_unchecked(played);
        let board = self.chess.board();
        let attacked = |king| board.attacks_to(king, !us, board.occupied()).any();
        if board.king_of(us).is_none_or(attacked) {
            return Err(illegal_move(from, to));
        }
        if self.rights == 0 {
            return Ok(());
        }
        for (index, (_, king, rook)) in CASTLINGS.iter().enumerate() {
            if [*king, *rook].iter().any(|square| [from, to].contains(square)) {
                self.rights &= !(1 << index);
            }
        }
        Ok(())
    }

    /// Lists the targets of a piece, without castling, and counts its moves.
    fn list_choices(&self, from: Square, role: Role) -> (Bitboard, u32) {
        let us = self.chess.turn();
        let occupied = self.chess.board().occupied();
        let squares = match role {
            Role::Pawn => {
                let ep =
                    self.chess.legal_ep_square().map_or(Bitboard::EMPTY, Bitboard::from_square);
                attacks::pawn_attacks(us, from) & (self.chess.them() | ep)
                    | pawn_steps(from, us, occupied)
            }
            role => attacks::attacks(from, role.of(us), occupied) & !self.chess.us(),
        };
        let count = squares.count() as u32;
        let choices = match role {
            Role::King => count + self.castling_rooks().count() as u32,
            role if self.is_promotion(from, role) => 4 * count,
            _ => count,
        };
        (squares, choices)
    }

    fn is_promotion(&self, from: Square, role: Role) -> bool {
        role == Role::Pawn && from.rank() == self.chess.turn().relative_rank(Rank::Seventh)
    }

    /// The rooks of the side to move with castling rights, in the order of encoding.
    fn castling_rooks(&self) -> impl Iterator<Item = Square> {
        let counted = |(index, (color, ..)): &(usize, &(Color, Square, Square))| {
            self.rights >> index & 1 == 1 && *color == self.chess.turn()
        };
        CASTLINGS.iter().enumerate().filter(counted).map(|(_, (_, _, rook))| *rook)
    }
}

fn illegal_move(from: Square, to: Square) -> RecordError {
    format!("move {from}{to} is not legal").into()
}

pub fn pack_stem(position: &Position) -> [u8; 24] {
    let pushed = position.ep_square().map(square_behind);
    let mut nibbles = 0u128;
    for (i, piece) in position.pieces().enumerate() {
        let black = u8::from(piece.color.is_black());
        let nibble = match piece.role {
            Role::Pawn if Some(piece.square) == pushed => 12,
            Role::Rook if piece.castles => 13 + black,
            Role::King if black == 1 && position.turn().is_black() => 15,
            role => 2 * (role as u8 - 1) + black,
        };
        nibbles |= u128::from(nibble) << (4 * i);
    }
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&position.occupied().to_be_bytes());
    bytes[8..].copy_from_slice(&nibbles.to_le_bytes());
    bytes
}

/// Converts between the target of a pawn's double step and the square that it passed.
fn square_behind(square: Square) -> Square {
    Square::new(square as u32 ^ 8)
}

pub struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Reads the next bits, at most 8; none if too few are left.
    pub fn take_bits(&mut self, count: u32) -> Option<u32> {
        let [first, shift] = [self.position / 8, self.position % 8];
        self.position += count as usize;
        if self.position > 8 * self.bytes.len() {
            return None;
        }
        let word = match self.bytes[first.min(self.bytes.len())..] {
            [high, low, ..] => u16::from_be_bytes([high, low]),
            [high] => u16::from(high) << 8,
            [] => 0,
        };
        Some(u32::from(word << shift) >> (16 - count))
    }

    /// Reads a number in blocks of four bits, the lowest first, each after a bit for another block.
    pub fn read_number(&mut self) -> Option<u16> {
        let mut number = 0;
        for shift in [0, 4, 8, 12] {
            let block = self.take_bits(5)?;
            number |= (block as u16 & 15) << shift;
            if block < 16 {
                return Some(number);
            }
        }
        None
    }

    pub fn bytes_taken(&self) -> usize {
        self.position.div_ceil(8)
    }
}

#[derive(Default)]
pub struct BitWriter {
    pub bytes: Vec<u8>,
    /// The number of free bits of the last byte.
    free: u32,
}

impl BitWriter {
    /// Appends `count` bits of a value, at most 8.
    pub fn put_bits(&mut self, value: u32, count: u32) {
        for bit in (0..count).rev() {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            self.free -= 1;
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> bit & 1) as u8) << self.free;
        }
    }

    /// Appends a number as [`BitReader::read_number`] reads it.
    pub fn write_number(&mut self, mut number: u16) {
        loop {
            let more = u32::from(number > 15);
            self.put_bits(u32::from(number & 15) | more << 4, 5);
            number >>= 4;
            if more == 0 {
                return;
            }
        }
    }
}

/// The number of bits that distinguish the given number of choices.
pub fn bits_for_choices(choices: u32) -> u32 {
    u32::BITS - choices.saturating_sub(1).leading_zeros()
}

/// Encodes a signed number as an unsigned one with the sign in the lowest bit.
pub fn fold_sign(number: i16) -> u16 {
    let bits = number.cast_unsigned();
    (if number < 0 { bits ^ 0x7fff } else { bits }).rotate_left(1)
}

pub fn unfold_sign(bits: u16) -> i16 {
    let turned = bits.rotate_right(1).cast_signed();
    if turned < 0 { turned ^ 0x7fff } else { turned }
}
