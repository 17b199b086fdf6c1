//! A board that plays moves as binpacks count them, and keeps its packed pieces at hand.

use shakmaty::{Bitboard, Color, Square, attacks};

use crate::sample::Position;

pub(super) const PAWN: usize = 0;
pub(super) const ROOK: usize = 3;
pub(super) const KING: usize = 5;

/// A right to castle: the squares of king and rook, before and after.
pub(super) struct Castling {
    pub(super) color: Color,
    pub(super) king: Square,
    pub(super) rook: Square,
    pub(super) king_to: Square,
    pub(super) rook_to: Square,
    /// Must be empty.
    pub(super) between: Bitboard,
}

/// Short before long; the long one is counted first where a side has both.
pub(super) const CASTLINGS: [Castling; 4] = [
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
    pub(super) nibbles: u128,
    /// The same nibbles by square, of no meaning where no piece stands.
    pub(super) squares: [u8; 64],
    pub(super) roles: [Bitboard; 6],
    pub(super) sides: [Bitboard; 2],
    pub(super) turn: Color,
    /// A bit for each of [`CASTLINGS`].
    pub(super) rights: u8,
    /// The en passant square as moves are counted.
    pub(super) ep: Option<Square>,
    /// The square that a pawn has just passed.
    pub(super) stepped: Option<Square>,
    pub(super) halfmove: u8,
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

    pub(super) fn occupied(&self) -> Bitboard {
        self.sides[0] | self.sides[1]
    }

    pub(super) fn side(&self, color: Color) -> Bitboard {
        self.sides[usize::from(color.is_black())]
    }

    /// Where the nibble of a square stands or would stand.
    fn shift(&self, square: Square) -> u32 {
        4 * (self.occupied().0 & ((1 << square as u32) - 1)).count_ones()
    }

    /// The nibble of the piece on an occupied square.
    pub(super) fn nibble(&self, square: Square) -> usize {
        usize::from(self.squares[square as usize])
    }

    /// Puts a piece on an empty square; there are fewer than 32.
    pub(super) fn put(&mut self, square: Square, role: usize, color: Color) {
        let shift = self.shift(square);
        let below = self.nibbles & ((1 << shift) - 1);
        let nibble = role as u8 | u8::from(color.is_black()) << 3;
        self.nibbles = (self.nibbles ^ below) << 4 | u128::from(nibble) << shift | below;
        self.squares[square as usize] = nibble;
        self.roles[role].add(square);
        self.sides[usize::from(color.is_black())].add(square);
    }

    /// Takes the piece off an occupied square.
    pub(super) fn take(&mut self, square: Square) {
        let (shift, nibble) = (self.shift(square), self.nibble(square));
        let below = self.nibbles & ((1 << shift) - 1);
        self.nibbles = (self.nibbles >> shift >> 4) << shift | below;
        self.roles[nibble & 7].discard(square);
        self.sides[nibble >> 3].discard(square);
    }

    /// Puts a piece in the place of one of the other side.
    pub(super) fn replace(&mut self, square: Square, role: usize, color: Color) {
        let taken = self.nibble(square);
        let nibble = role as u8 | u8::from(color.is_black()) << 3;
        self.nibbles ^= u128::from(taken as u8 ^ nibble) << self.shift(square);
        self.squares[square as usize] = nibble;
        self.roles[taken & 7].discard(square);
        self.sides[taken >> 3].discard(square);
        self.roles[role].add(square);
        self.sides[usize::from(color.is_black())].add(square);
    }

    /// Whether king and rook stand where castling begins.
    pub(super) fn stands_ready(&self, castling: &Castling) -> bool {
        let own = self.side(castling.color);
        (own & self.roles[KING]).contains(castling.king)
            && (own & self.roles[ROOK]).contains(castling.rook)
    }

    pub(super) fn in_check(&self, color: Color) -> bool {
        let king = (self.roles[KING] & self.side(color)).first();
        king.is_some_and(|king| self.attacked(king, !color, self.occupied(), Bitboard::EMPTY))
    }

    /// Whether pieces of a side, without some of them, attack a square on a board so occupied.
    pub(super) fn attacked(
        &self,
        square: Square,
        by: Color,
        occupied: Bitboard,
        without: Bitboard,
    ) -> bool {
        let [pawns, knights, bishops, rooks, queens, kings] = self.roles;
        let near = attacks::pawn_attacks(!by, square) & pawns
            | attacks::knight_attacks(square) & knights
            | attacks::king_attacks(square) & kings;
        let far = attacks::bishop_attacks(square, occupied) & (bishops | queens)
            | attacks::rook_attacks(square, occupied) & (rooks | queens);
        ((near | far) & self.side(by) & !without).any()
    }
}

/// The other square of those in front of and behind each other after a double step.
pub(super) fn behind(square: Square) -> Square {
    Square::new(square as u32 ^ 8)
}
