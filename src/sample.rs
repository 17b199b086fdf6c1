//! One training position. Facts that a format lacks are `None`, never a default.

mod fen;
#[doc(hidden)]
pub mod planes;

pub use planes::Planes;

use std::num::{NonZeroU16, NonZeroU64};

use serde::{Deserialize, Serialize};
use shakmaty::{
    Bitboard, Board, ByColor, ByRole, CastlingMode, Chess, Color, EnPassantMode, FromSetup, Move,
    Position as _, PositionError, Role, Setup, Square, attacks, fen::Fen,
};

/// A board and its state in 28 bytes, as marlinformat packs it, from White's point of view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// Bit `i` is set where square `i` (a1 = 0, h8 = 63) holds a piece.
    occupied: u64,
    /// A nibble per piece in order of squares: role (0 to 5; 6 = rook that may castle), + 8 if black.
    nibbles: [u8; 16],
    /// Bit 7: Black is to move. Low bits: the en passant square, 64 = none.
    turn_ep: u8,
    halfmove: u8,
    fullmove: u16,
}

const ROOK: u8 = 3;
const KING: u64 = 5;
const CASTLING_ROOK: u8 = 6;
const NO_EP: u8 = 64;
const LOWEST: u128 = u128::MAX / 15;

/// The sides, kings and rooks of castling in usual chess. Long castling comes first.
pub(crate) const CASTLINGS: [(Color, Square, Square); 4] = [
    (Color::White, Square::E1, Square::A1),
    (Color::White, Square::E1, Square::H1),
    (Color::Black, Square::E8, Square::A8),
    (Color::Black, Square::E8, Square::H8),
];

/// A piece and its square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Piece {
    pub square: Square,
    pub color: Color,
    pub role: Role,
    /// Whether it is a rook that may still castle.
    pub castles: bool,
}

/// The reason why a position is illegal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IllegalPosition(String);

impl Position {
    /// Parses a FEN, whose last four fields may be missing. Castling rights and en passant squares
    /// that contradict the board are dropped.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a FEN, if there are more than 32 pieces, and as
    /// [`Position::check_rules`] does.
    pub fn from_fen(fen: &str) -> Result<Self, IllegalPosition> {
        if let Some(position) = Self::from_plain_fen(fen) {
            return Ok(position);
        }
        let fen: Fen =
            fen.parse().map_err(|error| IllegalPosition(format!("not a FEN ({error})")))?;
        Self::from_setup(fen.into_setup())
    }

    /// Parses ordinary FENs fast; None if anything is unusual.
    pub(crate) fn from_plain_fen(fen: &str) -> Option<Self> {
        fen::parse_plain(fen.as_bytes())
    }

    /// Checks a raw board against the rules, as [`Position::from_fen`] does.
    ///
    /// # Errors
    ///
    /// Fails if there are more than 32 pieces, and as [`Position::check_rules`] does.
    pub fn from_setup(setup: Setup) -> Result<Self, IllegalPosition> {
        at_most_32(setup.board.occupied().count())?;
        Ok(Self::from_chess(&check_legal(setup)?))
    }

    /// Converts a position of shakmaty.
    pub fn from_chess(chess: &Chess) -> Self {
        let board = chess.board();
        let castling = chess.castles().castling_rights() & board.rooks();
        let bits = [
            board.knights() | board.kings() | (board.rooks() & !castling),
            board.bishops() | board.rooks(),
            board.queens() | board.kings() | castling,
            board.black(),
        ]
        .map(u64::from);
        let occupied = board.occupied().into();
        let nibbles = Planes { occupied, bits }.to_nibbles();
        let ep = chess.pseudo_legal_ep_square().map_or(NO_EP, |square| square as u8);
        Self {
            occupied,
            nibbles: nibbles.to_le_bytes(),
            turn_ep: ep | (chess.turn().is_black() as u8) << 7,
            halfmove: chess.halfmoves().min(255) as u8,
            fullmove: chess.fullmoves().get().min(65_535) as u16,
        }
    }

    /// Makes a position from a board, and a byte as [`Position::turn_and_ep`] returns it. Nothing
    /// is checked.
    pub fn of_board_and_turn(occupied: u64, nibbles: [u8; 16], turn_ep: u8) -> Self {
        Self { occupied, nibbles, turn_ep, halfmove: 0, fullmove: 1 }
    }

    /// A position from its fields; nothing but the nibbles is checked.
    ///
    /// # Errors
    ///
    /// Fails if more than 32 squares are occupied, if a nibble is no piece, and if there are
    /// nibbles for more pieces than squares.
    #[inline(always)]
    pub fn from_parts(
        occupied: u64,
        nibbles: [u8; 16],
        turn: Color,
        ep: Option<Square>,
        halfmove: u8,
        fullmove: u16,
    ) -> Result<Self, IllegalPosition> {
        let count = occupied.count_ones();
        let packed = u128::from_le_bytes(nibbles);
        // The lowest bit of each nibble with role 7, which does not exist.
        let wrong = packed & packed >> 1 & packed >> 2 & LOWEST;
        let beyond = packed.checked_shr(4 * count).unwrap_or(0);
        if count > 32 || wrong != 0 || beyond != 0 {
            return Err(parts_error(count as usize, packed, wrong));
        }
        let ep = ep.map_or(NO_EP, |square| square as u8);
        let turn_ep = ep | (turn.is_black() as u8) << 7;
        Ok(Self { occupied, nibbles, turn_ep, halfmove, fullmove })
    }

    /// Parses the first 28 bytes of a record of marlinformat, as [`Position::to_bytes`] writes them.
    ///
    /// # Errors
    ///
    /// Fails as [`Position::from_parts`] does, and if the number of the en passant square is not 0
    /// to 64.
    #[inline(always)]
    pub fn from_bytes(bytes: &[u8; 28]) -> Result<Self, IllegalPosition> {
        let occupied = u64::from_le_bytes(*bytes.first_chunk().expect("28 bytes"));
        let nibbles = *bytes[8..].first_chunk().expect("20 bytes follow");
        let [turn_ep, halfmove, low, high] = *bytes.last_chunk().expect("28 bytes");
        let square = turn_ep & 127;
        let turn = Color::from_black(turn_ep >> 7 == 1);
        let ep = Square::try_from(u32::from(square)).ok();
        if ep.is_none() && square != NO_EP {
            return Err(IllegalPosition(format!(
                "en passant square number {square}, expected 0 to 63, or 64 for none"
            )));
        }
        let fullmove = u16::from_le_bytes([low, high]);
        Self::from_parts(occupied, nibbles, turn, ep, halfmove, fullmove)
    }

    /// Packs all fields, little-endian.
    pub fn to_bytes(&self) -> [u8; 28] {
        let mut bytes = [0; 28];
        bytes[..8].copy_from_slice(&self.occupied.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.nibbles);
        bytes[24..26].copy_from_slice(&[self.turn_ep, self.halfmove]);
        bytes[26..].copy_from_slice(&self.fullmove.to_le_bytes());
        bytes
    }

    /// Whether a king or a rook that may castle stands on an unusual file, as in Chess960.
    pub fn castles_unusually(&self) -> bool {
        CastlingMode::detect(&self.setup()).is_chess960()
    }

    /// Converts to a position for move generation.
    ///
    /// # Errors
    ///
    /// Fails as [`Position::check_rules`] does.
    pub fn to_chess(&self) -> Result<Chess, IllegalPosition> {
        check_legal(self.setup())
    }

    fn setup(&self) -> Setup {
        let mut setup = Setup::empty();
        setup.board = self.to_board();
        setup.castling_rights = Bitboard(self.planes().castling_rooks());
        setup.turn = self.turn();
        setup.ep_square = self.ep_square();
        setup.halfmoves = self.halfmove.into();
        setup.fullmoves =
            std::num::NonZeroU32::new(self.fullmove.into()).unwrap_or(std::num::NonZeroU32::MIN);
        setup
    }

    /// The board of shakmaty.
    ///
    /// # Panics
    ///
    /// Panics if a nibble is no piece, which [`Position::of_board_and_turn`] does not check.
    pub fn to_board(&self) -> Board {
        let planes = self.planes();
        let [pawn, knight, bishop, rook, queen, king] = planes.by_role().map(Bitboard);
        let roles = ByRole { pawn, knight, bishop, rook, queen, king };
        let colors = ByColor::new_with(|color| Bitboard(planes.of_color(color)));
        Board::try_from_bitboards(roles, colors).expect("every piece has one role and one colour")
    }

    /// The FEN; castling rights name the rooks' files if castling starts from unusual squares.
    pub fn to_fen(&self) -> String {
        match self.to_chess() {
            Ok(chess) => Fen::from_position(&chess, EnPassantMode::PseudoLegal).to_string(),
            Err(_) => Fen::try_from(self.setup())
                .map_or_else(|_| "(no FEN)".to_string(), |fen| fen.to_string()),
        }
    }

    /// The pieces in order of their squares, a1 first.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let nibbles = u128::from_le_bytes(self.nibbles);
        Bitboard(self.occupied).into_iter().enumerate().map(move |(i, square)| {
            let nibble = (nibbles >> (4 * i)) as u8 & 15;
            let castles = nibble & 7 == CASTLING_ROOK;
            let role = if castles { Role::Rook } else { Role::ALL[(nibble & 7) as usize] };
            Piece { square, color: Color::from_white(nibble & 8 == 0), role, castles }
        })
    }

    /// The number of pieces, kings included.
    pub fn piece_count(&self) -> usize {
        self.occupied.count_ones() as usize
    }

    /// The square of a king.
    pub fn king(&self, color: Color) -> Option<Square> {
        let king = u128::from(KING + if color.is_white() { 0 } else { 8 });
        let differs = u128::from_le_bytes(self.nibbles) ^ (king * LOWEST);
        // The lowest bit of each nibble that equals the king's.
        let kings = !(differs | differs >> 1 | differs >> 2 | differs >> 3) & LOWEST;
        planes::nth_square(self.occupied, kings.trailing_zeros() / 4).filter(|_| kings != 0)
    }

    /// The occupied squares as bits, a1 lowest.
    pub fn occupied(&self) -> u64 {
        self.occupied
    }

    /// The packed pieces, 4 bits each.
    pub fn nibbles(&self) -> [u8; 16] {
        self.nibbles
    }

    /// The bitboards by colour, White first, and role, pawn to king.
    pub fn bitboards(&self) -> [[u64; 6]; 2] {
        let planes = self.planes();
        let white = planes.of_color(Color::White);
        [white, planes.bits[3]].map(|side| planes.by_role().map(|pieces| pieces & side))
    }

    /// The pieces as bitboards.
    pub fn planes(&self) -> Planes {
        Planes::from_nibbles(self.occupied, u128::from_le_bytes(self.nibbles))
    }

    /// Checks the rules that evaluations rely on, as [`Position::to_chess`] does.
    ///
    /// # Errors
    ///
    /// Fails if a side does not have exactly one king, if a pawn stands on the first or last rank,
    /// and if the side that just moved is in check.
    pub fn check_rules(&self) -> Result<(), IllegalPosition> {
        self.planes().check_rules(self.turn())
    }

    /// Whether the side to move is in check.
    pub fn in_check(&self) -> bool {
        self.planes().is_king_attacked(self.turn())
    }

    /// The side to move.
    pub fn turn(&self) -> Color {
        Color::from_black(self.turn_ep >> 7 == 1)
    }

    /// The side to move and the en passant square in one byte, for [`Position::of_board_and_turn`].
    pub fn turn_and_ep(&self) -> u8 {
        self.turn_ep
    }

    /// The en passant square.
    pub fn ep_square(&self) -> Option<Square> {
        Square::try_from(u32::from(self.turn_ep & 127)).ok()
    }

    /// The number of half-moves since the last capture or pawn move.
    pub fn halfmove(&self) -> u8 {
        self.halfmove
    }

    /// The number of the move, from 1.
    pub fn fullmove(&self) -> u16 {
        self.fullmove
    }

    /// The position with another move number.
    pub fn with_fullmove(&self, fullmove: u16) -> Self {
        Self { fullmove, ..*self }
    }

    /// The same position with colours swapped and the board mirrored top to bottom.
    pub fn flip_colours(&self) -> Self {
        let flipped = self.planes().flip_colours();
        let ep = self.ep_square().map_or(NO_EP, |square| square.flip_vertical() as u8);
        Self {
            occupied: flipped.occupied,
            nibbles: flipped.to_nibbles().to_le_bytes(),
            turn_ep: ep | (self.turn().is_white() as u8) << 7,
            ..*self
        }
    }

    /// A hash of pieces, turn, castling and en passant, equal for the flipped position. The en passant
    /// square counts if a capture is legal, as in FIDE's rule of repetition.
    pub fn zobrist_key(&self) -> u64 {
        let legal = |_: &Square| self.to_chess().is_ok_and(|it| it.legal_ep_square().is_some());
        let ep = self.ep_square().filter(legal).map_or(NO_EP, |square| square as u8);
        let position = Self { turn_ep: self.turn_ep & 128 | ep, ..*self };
        let relative = if self.turn().is_black() { position.flip_colours() } else { position };
        let nibbles = u128::from_le_bytes(relative.nibbles);
        [relative.occupied, nibbles as u64, (nibbles >> 64) as u64, relative.turn_ep.into()]
            .into_iter()
            .fold(0, mix_hash)
    }
}

impl std::fmt::Debug for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Position({})", self.to_fen())
    }
}

/// Mixes a word into a 64-bit hash, the same on every machine (finaliser of SplitMix64).
pub fn mix_hash(hash: u64, word: u64) -> u64 {
    let mut z = hash.rotate_left(23) ^ word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Checks a board against the rules; castling rights and en passant that contradict it are dropped.
pub(crate) fn check_legal(setup: Setup) -> Result<Chess, IllegalPosition> {
    Chess::from_setup(setup, CastlingMode::Chess960)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .or_else(PositionError::ignore_impossible_check)
        .or_else(PositionError::ignore_too_much_material)
        .map_err(|error| IllegalPosition(error.to_string()))
}

#[cold]
fn parts_error(count: usize, packed: u128, wrong: u128) -> IllegalPosition {
    at_most_32(count).err().unwrap_or_else(|| {
        let nibble = (packed >> wrong.trailing_zeros().min(127)) as u8 & 15;
        IllegalPosition(match wrong {
            0 => format!("{count} squares are occupied, but there are more pieces"),
            _ => format!("nibble {nibble} is not a piece"),
        })
    })
}

fn at_most_32(pieces: usize) -> Result<(), IllegalPosition> {
    match pieces <= 32 {
        true => Ok(()),
        false => Err(IllegalPosition(format!("{pieces} pieces on the board, expected at most 32"))),
    }
}

/// Whether a move is legal, without generating all moves.
fn is_legal(chess: &Chess, played: Move) -> bool {
    let Move::Normal { role, from, to, promotion, .. } = played else {
        return chess.is_legal(played);
    };
    let board = chess.board();
    let us = chess.turn();
    let [our_pieces, occupied] = [chess.us(), board.occupied()];
    let targets = match role {
        Role::Pawn => {
            attacks::pawn_attacks(us, from) & chess.them() | pawn_steps(from, us, occupied)
        }
        _ => attacks::attacks(from, role.of(us), occupied) & !our_pieces,
    };
    let promotes = role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
    if !our_pieces.contains(from) || !targets.contains(to) || promotes != promotion.is_some() {
        return false;
    }
    let king = if role == Role::King { Some(to) } else { board.king_of(us) };
    let after = occupied.without(from).with(to);
    king.is_some_and(|king| board.attacks_to(king, !us, after).without(to).is_empty())
}

/// The empty squares to which a pawn can advance, two from its first rank.
pub(crate) fn pawn_steps(from: Square, color: Color, occupied: Bitboard) -> Bitboard {
    let free = !occupied.0;
    let pawn = 1u64 << from as u32;
    Bitboard(if color.is_white() {
        let single = pawn << 8 & free;
        single | (single & 0xff_0000) << 8 & free
    } else {
        let single = pawn >> 8 & free;
        single | (single & 0xff00_0000_0000) >> 8 & free
    })
}

/// One training position. Score and result have the point of view of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Sample {
    pub position: Position,
    /// The result: 0, 0.5 or 1 (values in between in some text files).
    pub result: f32,
    /// The score in centipawns.
    pub score: Option<i16>,
    /// The number of half-moves since the start of the game.
    pub ply: Option<u16>,
    pub played: Option<PlayedMove>,
    /// The hash of the game's start position and moves: equal for all positions of a game.
    pub game: Option<NonZeroU64>,
    /// Whether the game is known to have ended by the clock, a lost connection or a broken rule.
    pub forfeit: bool,
    /// The number of the source in a run, from 1; readers set 0.
    pub source: u8,
}

impl Sample {
    /// A position with no other facts; its result counts as a draw.
    pub fn from_position(position: Position) -> Self {
        let (score, ply, played, game, forfeit) = (None, None, None, None, false);
        Self { position, result: 0.5, score, ply, played, game, forfeit, source: 0 }
    }

    /// The key for the split: the game if it is known, else the position.
    pub fn split_group(&self) -> u64 {
        self.game.map_or_else(|| self.position.zobrist_key(), NonZeroU64::get)
    }
}

/// A running hash of a game: of its start position and moves, nothing else.
#[derive(Clone, Copy, Debug)]
pub struct GameHash(u64);

impl GameHash {
    /// The hash of a start position without moves.
    pub fn from_start(start: &Position) -> Self {
        Self(start.zobrist_key())
    }

    /// Adds a move.
    pub fn add_move(&mut self, played: PlayedMove) {
        self.0 = mix_hash(self.0, u64::from(played.0.get()));
    }

    /// The hash after the last move.
    pub fn to_game(self) -> NonZeroU64 {
        NonZeroU64::new(self.0).unwrap_or(NonZeroU64::MIN)
    }
}

/// The reciprocal of the share of positions that may lack a game.
const ONE_IN: usize = 1000;

/// The largest score that is not a mate or a tablebase result.
pub const DECIDED: u16 = 20_000;
/// The minimum number of positions with a score from which a scale is measured.
const FEWEST_SCORED: usize = 2000;

/// Selects centipawns and results of undecided positions, to fit a scale; None if they are too few.
pub fn scores_and_results(samples: &[Sample]) -> Option<(Vec<f64>, Vec<f64>)> {
    let undecided = samples.iter().filter_map(|sample| {
        let score = sample.score.filter(|score| score.unsigned_abs() <= DECIDED)?;
        Some((f64::from(score), f64::from(sample.result)))
    });
    let (scores, results): (Vec<f64>, Vec<f64>) = undecided.unzip();
    (scores.len() >= FEWEST_SCORED).then_some((scores, results))
}

/// Whether the games of at least 999 in 1,000 samples are known.
pub fn games_known<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> bool {
    let [mut total, mut unknown] = [0; 2];
    for sample in samples {
        total += 1;
        unknown += usize::from(sample.game.is_none());
    }
    unknown * ONE_IN <= total
}

/// Samples drawn by a hash of their index; the probability halves when there are too many.
pub struct SampleDraw {
    drawn: Vec<(u64, Sample)>,
    limit: usize,
    count: u64,
    level: u32,
}

impl SampleDraw {
    /// Draws at most `limit` samples, and of a longer stream at least about half as many.
    pub fn new(limit: usize) -> Self {
        Self { drawn: Vec::new(), limit, count: 0, level: 0 }
    }

    /// Decides at random whether a sample is drawn.
    pub fn add(&mut self, sample: &Sample) {
        // Every second sample of a game has White to move, so the draw has to be irregular.
        let hash = mix_hash(0, self.count);
        self.count += 1;
        if hash.leading_zeros() < self.level {
            return;
        }
        self.drawn.push((hash, *sample));
        if self.drawn.len() > self.limit {
            self.level += 1;
            let level = self.level;
            self.drawn.retain(|(hash, _)| hash.leading_zeros() >= level);
        }
    }

    /// The samples that were drawn.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.drawn.iter().map(|(_, sample)| sample)
    }
}

/// The move played in a position, in viriformat's 16 bits: from (bits 0-5), to (6-11), promotion to
/// N, B, R, Q (12-13), kind (14-15: normal, en passant, castling as king takes rook, promotion).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayedMove(pub NonZeroU16);

impl PlayedMove {
    /// The square that the piece leaves.
    pub fn from(self) -> Square {
        Square::new(u32::from(self.0.get() & 63))
    }

    /// The square that the piece reaches; the rook's square for castling.
    pub fn target_square(self) -> Square {
        Square::new(u32::from(self.0.get() >> 6 & 63))
    }

    /// Whether the move is an en passant capture.
    pub fn is_en_passant(self) -> bool {
        self.0.get() >> 14 == 1
    }

    /// Whether the move is castling.
    pub fn is_castling(self) -> bool {
        self.0.get() >> 14 == 2
    }

    /// The role to which a pawn is promoted.
    pub fn promotion(self) -> Option<Role> {
        let role = Role::ALL[1 + usize::from(self.0.get() >> 12 & 3)];
        (self.0.get() >> 14 == 3).then_some(role)
    }

    /// Whether the move captures a piece.
    pub fn is_capture(self, position: &Position) -> bool {
        let target = position.occupied >> self.target_square() as u32 & 1 == 1;
        self.is_en_passant() || target && !self.is_castling()
    }

    /// Converts a move; None for drops, which chess lacks.
    pub fn from_move(played: &Move) -> Option<Self> {
        let promotion = played.promotion().map_or(0, |role| (role as u16 - 2) << 12 | 3 << 14);
        let (from, to, kind) = match *played {
            Move::Normal { from, to, .. } => (from, to, promotion),
            Move::EnPassant { from, to } => (from, to, 1 << 14),
            Move::Castle { king, rook } => (king, rook, 2 << 14),
            Move::Put { .. } => return None,
        };
        NonZeroU16::new(from as u16 | (to as u16) << 6 | kind).map(PlayedMove)
    }

    /// The move in `chess`; None if it is illegal.
    pub fn legal_move(self, chess: &Chess) -> Option<Move> {
        let role = chess.board().role_at(self.from())?;
        let played = if self.is_castling() {
            Move::Castle { king: self.from(), rook: self.target_square() }
        } else if self.is_en_passant() {
            Move::EnPassant { from: self.from(), to: self.target_square() }
        } else {
            let capture = chess.board().role_at(self.target_square());
            let to = self.target_square();
            Move::Normal { role, from: self.from(), capture, to, promotion: self.promotion() }
        };
        is_legal(chess, played).then_some(played)
    }
}
