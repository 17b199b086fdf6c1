//! A board that numbers moves as binpacks do: destinations are pseudo-legal, in order of squares;
//! castling rights count as moves whether castling is possible or not; en passant counts only if
//! some pawn may legally take.

use std::num::NonZeroU16;

use shakmaty::{Bitboard, Color, Square, attacks};

use crate::sample::{Played, Position};

const PAWN: usize = 0;
const ROOK: usize = 3;
const KING: usize = 5;

/// A right to castle: the squares of king and rook, before and after.
struct Castling {
    color: Color,
    king: Square,
    rook: Square,
    king_to: Square,
    rook_to: Square,
    between: Bitboard,
}

/// Short before long; the long one is counted first where a side has both.
const CASTLINGS: [Castling; 4] = [
    castling(Color::White, Square::E1, Square::H1, Square::G1, Square::F1, 0x60),
    castling(Color::White, Square::E1, Square::A1, Square::C1, Square::D1, 0x0e),
    castling(Color::Black, Square::E8, Square::H8, Square::G8, Square::F8, 0x60 << 56),
    castling(Color::Black, Square::E8, Square::A8, Square::C8, Square::D8, 0x0e << 56),
];

const fn castling(
    color: Color,
    king: Square,
    rook: Square,
    king_to: Square,
    rook_to: Square,
    between: u64,
) -> Castling {
    Castling { color, king, rook, king_to, rook_to, between: Bitboard(between) }
}

#[derive(Clone)]
pub struct Board {
    /// A nibble a piece in order of squares, role and + 8 Black's; rooks that may castle are rooks.
    nibbles: u128,
    /// The same nibbles by square, of no meaning where no piece stands.
    squares: [u8; 64],
    roles: [Bitboard; 6],
    sides: [Bitboard; 2],
    turn: Color,
    /// A bit for each of [`CASTLINGS`].
    rights: u8,
    /// The en passant square as moves are counted.
    ep: Option<Square>,
    /// The square that a pawn has just passed.
    stepped: Option<Square>,
    halfmove: u8,
}

impl Board {
    /// The board of a position; an error where its castling rights do not fit.
    pub fn new(position: &Position) -> Result<Self, String> {
        let mut board = Self::empty(position.turn(), position.halfmove());
        for piece in position.pieces() {
            board.put(piece.square, piece.role as usize - 1, piece.color);
            if piece.castles {
                let place = CASTLINGS.iter().position(|castling| castling.rook == piece.square);
                let kind =
                    place.ok_or("castling from other squares than those of the usual chess")?;
                board.rights |= 1 << kind;
            }
        }
        for (kind, castling) in CASTLINGS.iter().enumerate() {
            if board.rights >> kind & 1 == 1 && !board.stands_ready(castling) {
                return Err("castling from other squares than those of the usual chess".to_string());
            }
        }
        if let Some(square) = position.ep_square() {
            board.set_ep(square)?;
        }
        board.check()?;
        Ok(board)
    }

    /// The board of a stem: occupied squares, the highest byte first, then a nibble a piece.
    pub fn unpack(bytes: &[u8; 24], halfmove: u8) -> Result<Self, String> {
        let occupied = u64::from_be_bytes(*bytes.first_chunk().expect("24 bytes"));
        let nibbles = u128::from_le_bytes(*bytes.last_chunk().expect("24 bytes"));
        if occupied.count_ones() > 32 {
            return Err(format!("{} pieces on the board, at most 32 fit", occupied.count_ones()));
        }
        let mut board = Self::empty(Color::White, halfmove);
        let mut ep = None;
        for (i, square) in Bitboard(occupied).into_iter().enumerate() {
            let nibble = (nibbles >> (4 * i)) as usize & 15;
            let castling = |color: Color| {
                let find = |castling: &Castling| castling.color == color && castling.rook == square;
                let kind = CASTLINGS.iter().position(find);
                kind.ok_or_else(|| format!("a rook that may castle on {square}"))
            };
            let (role, color) = match nibble {
                0..=11 => (nibble / 2, Color::from_black(nibble % 2 == 1)),
                12 => {
                    ep = Square::try_from(square as u32 ^ 8).ok();
                    (PAWN, Color::from_white((square as u32) < 32))
                }
                13 => {
                    board.rights |= 1 << castling(Color::White)?;
                    (ROOK, Color::White)
                }
                14 => {
                    board.rights |= 1 << castling(Color::Black)?;
                    (ROOK, Color::Black)
                }
                _ => {
                    board.turn = Color::Black;
                    (KING, Color::Black)
                }
            };
            board.put(square, role, color);
        }
        if let Some(square) = ep {
            board.set_ep(square)?;
        }
        board.check()?;
        Ok(board)
    }

    /// The bytes that [`Board::unpack`] takes.
    pub fn pack(&self) -> [u8; 24] {
        let mut nibbles = 0u128;
        for (i, square) in self.occupied().into_iter().enumerate() {
            let nibble = self.nibble(square);
            let (role, color) = (nibble & 7, Color::from_black(nibble & 8 != 0));
            let pushed = self.ep.is_some_and(|ep| ep as u32 ^ 8 == square as u32);
            let castles = (0..4).any(|kind| {
                self.rights >> kind & 1 == 1 && CASTLINGS[kind].rook == square && role == ROOK
            });
            let nibble = match role {
                PAWN if pushed => 12,
                ROOK if castles => 13 + usize::from(color.is_black()),
                KING if color.is_black() && self.turn.is_black() => 15,
                _ => 2 * role + usize::from(color.is_black()),
            };
            nibbles |= (nibble as u128) << (4 * i);
        }
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.occupied().0.to_be_bytes());
        bytes[8..].copy_from_slice(&nibbles.to_le_bytes());
        bytes
    }

    /// The position, its move number that of the half-move.
    pub fn position(&self, ply: u16) -> Position {
        let mut nibbles = self.nibbles;
        for (kind, castling) in CASTLINGS.iter().enumerate() {
            // A rook's nibble becomes that of one that may castle.
            if self.rights >> kind & 1 == 1 && self.stands_ready(castling) {
                nibbles ^= 5 << self.shift(castling.rook);
            }
        }
        let ep = self.ep_shown();
        let occupied = self.occupied().0;
        Position::from_parts(
            occupied,
            nibbles.to_le_bytes(),
            self.turn,
            ep,
            self.halfmove,
            ply / 2 + 1,
        )
        .expect("the board holds pieces and no more than 32")
    }

    fn empty(turn: Color, halfmove: u8) -> Self {
        let (roles, sides) = ([Bitboard::EMPTY; 6], [Bitboard::EMPTY; 2]);
        Self {
            nibbles: 0,
            squares: [0; 64],
            roles,
            sides,
            turn,
            rights: 0,
            ep: None,
            stepped: None,
            halfmove,
        }
    }

    fn set_ep(&mut self, square: Square) -> Result<(), String> {
        let wrong = || format!("en passant on {square}, but no pawn has passed it");
        let (pawn, start) = (behind(square), square as u32 ^ 16 ^ 8);
        let start = Square::try_from(start).map_err(|_| wrong())?;
        let theirs = self.roles[PAWN] & self.side(!self.turn);
        let rank = if self.turn.is_white() { 5 } else { 2 };
        let empty = !self.occupied().contains(square) && !self.occupied().contains(start);
        if square as u32 / 8 != rank || !theirs.contains(pawn) || !empty {
            return Err(wrong());
        }
        (self.ep, self.stepped) = (Some(square), Some(square));
        Ok(())
    }

    /// The en passant square if a pawn stands ready to take there, pinned or not.
    fn ep_shown(&self) -> Option<Square> {
        let pawns = self.roles[PAWN] & self.side(self.turn);
        self.stepped.filter(|&square| (attacks::pawn_attacks(!self.turn, square) & pawns).any())
    }

    /// One king a side, no pawn on a back rank, and the side that just moved not in check.
    fn check(&self) -> Result<(), String> {
        for (color, name) in [(Color::White, "White"), (Color::Black, "Black")] {
            let kings = (self.roles[KING] & self.side(color)).count();
            if kings != 1 {
                return Err(format!("{name} has {kings} kings, expected 1"));
            }
        }
        if (self.roles[PAWN] & Bitboard::BACKRANKS).any() {
            return Err("a pawn stands on the first or last rank".to_string());
        }
        if self.in_check(!self.turn) {
            return Err("the side that just moved is in check".to_string());
        }
        Ok(())
    }

    fn occupied(&self) -> Bitboard {
        self.sides[0] | self.sides[1]
    }

    fn side(&self, color: Color) -> Bitboard {
        self.sides[usize::from(color.is_black())]
    }

    /// Where the nibble of a square stands or would stand.
    fn shift(&self, square: Square) -> u32 {
        4 * (self.occupied().0 & ((1 << square as u32) - 1)).count_ones()
    }

    fn nibble(&self, square: Square) -> usize {
        usize::from(self.squares[square as usize])
    }

    /// Puts a piece on an empty square; there are fewer than 32.
    fn put(&mut self, square: Square, role: usize, color: Color) {
        let shift = self.shift(square);
        let below = self.nibbles & ((1 << shift) - 1);
        let nibble = role as u8 | u8::from(color.is_black()) << 3;
        self.nibbles = (self.nibbles ^ below) << 4 | u128::from(nibble) << shift | below;
        self.squares[square as usize] = nibble;
        self.roles[role].add(square);
        self.sides[usize::from(color.is_black())].add(square);
    }

    /// Takes the piece off an occupied square.
    fn take(&mut self, square: Square) {
        let (shift, nibble) = (self.shift(square), self.nibble(square));
        let below = self.nibbles & ((1 << shift) - 1);
        self.nibbles = (self.nibbles >> shift >> 4) << shift | below;
        self.roles[nibble & 7].discard(square);
        self.sides[nibble >> 3].discard(square);
    }

    /// Whether king and rook stand where castling begins.
    fn stands_ready(&self, castling: &Castling) -> bool {
        let own = self.side(castling.color);
        (own & self.roles[KING]).contains(castling.king)
            && (own & self.roles[ROOK]).contains(castling.rook)
    }

    fn in_check(&self, color: Color) -> bool {
        let king = (self.roles[KING] & self.side(color)).first();
        king.is_some_and(|king| self.attacked(king, !color, self.occupied(), Bitboard::EMPTY))
    }

    /// Whether pieces of a side, without some of them, attack a square on a board so occupied.
    fn attacked(&self, square: Square, by: Color, occupied: Bitboard, without: Bitboard) -> bool {
        let [pawns, knights, bishops, rooks, queens, kings] = self.roles;
        let near = attacks::pawn_attacks(!by, square) & pawns
            | attacks::knight_attacks(square) & knights
            | attacks::king_attacks(square) & kings;
        let far = attacks::bishop_attacks(square, occupied) & (bishops | queens)
            | attacks::rook_attacks(square, occupied) & (rooks | queens);
        ((near | far) & self.side(by) & !without).any()
    }
}

/// The square behind a double step, or that of the pawn which made it.
fn behind(square: Square) -> Square {
    Square::new(square as u32 ^ 8)
}

impl Board {
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

    /// Plays a move that [`Board::is_possible`]; an error if it leaves the own king in check.
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
                self.take(to);
                quiet = false;
            }
            self.put(to, role, us);
            if played.is_en_passant() && ep == Some(to) {
                self.take(behind(to));
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

    /// Whether a pawn of the side that moves next may legally take en passant on a square.
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

/// Takes bits off bytes.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next bits, at most 8 of them; none where the bytes end before them.
    pub fn take(&mut self, count: u32) -> Option<u32> {
        let first = self.at / 8;
        let shift = self.at % 8;
        self.at += count as usize;
        if self.at > 8 * self.bytes.len() {
            return None;
        }
        let byte = |at: usize| u32::from(self.bytes.get(at).copied().unwrap_or(0));
        let two = byte(first) << 8 | byte(first + 1);
        Some((two << shift & 0xffff) >> (16 - count))
    }

    /// A number in blocks of four bits, the lowest first, each after a bit for another one.
    pub fn number(&mut self) -> Option<u16> {
        let mut number = 0;
        for shift in [0, 4, 8, 12] {
            let block = self.take(5)?;
            number |= (block as u16 & 15) << shift;
            if block < 16 {
                return Some(number);
            }
        }
        None
    }

    pub fn bytes_taken(&self) -> usize {
        self.at.div_ceil(8)
    }
}

/// Puts bits behind each other.
#[derive(Default)]
pub struct BitWriter {
    pub bytes: Vec<u8>,
    /// Bits of the last byte that are free.
    free: u32,
}

impl BitWriter {
    /// Appends so many bits of a value, at most 8.
    pub fn put(&mut self, value: u32, count: u32) {
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

    /// Appends a number as [`BitReader::number`] takes it.
    pub fn number(&mut self, mut number: u16) {
        loop {
            let more = u32::from(number > 15);
            self.put(u32::from(number & 15) | more << 4, 5);
            number >>= 4;
            if more == 0 {
                return;
            }
        }
    }
}

/// How many bits tell apart so many choices.
pub fn width(choices: u32) -> u32 {
    u32::BITS - choices.saturating_sub(1).leading_zeros()
}

/// A signed number as an unsigned one with the sign in the lowest bit.
pub fn folded(number: i16) -> u16 {
    let bits = number.cast_unsigned();
    (if number < 0 { bits ^ 0x7fff } else { bits }).rotate_left(1)
}

pub fn unfolded(bits: u16) -> i16 {
    let turned = bits.rotate_right(1).cast_signed();
    if turned < 0 { turned ^ 0x7fff } else { turned }
}
