//! Move ordering: moves that caused cutoffs before come first.

use shakmaty::{Bitboard, Board, Chess, Color, Move, MoveList, Position as _, Role, Square};

/// A move in 16 bits: from, to and promotion. 0 means no move, since every move leaves its square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedMove(u16);

impl PackedMove {
    pub fn from_move(played: Move) -> Self {
        let from = played.from().map_or(0, |square| square as u16);
        let promotion = played.promotion().map_or(0, |role| role as u16);
        Self(from | (played.to() as u16) << 6 | promotion << 12)
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    fn squares(self) -> [usize; 2] {
        [usize::from(self.0 & 63), usize::from(self.0 >> 6 & 63)]
    }
}

/// Returns whether a move neither captures nor promotes.
pub fn is_quiet(played: Move) -> bool {
    !played.is_capture() && !played.is_promotion()
}

/// History of cutoffs of quiet moves, by colour and squares.
#[derive(Debug)]
pub struct History(Box<[[[i16; 64]; 64]; 2]>);

impl History {
    pub const LIMIT: i32 = 1 << 14;

    pub fn new() -> Self {
        Self(Box::new([[[0; 64]; 64]; 2]))
    }

    pub fn clear_history(&mut self) {
        *self = Self::new();
    }

    /// Halves the history of earlier searches.
    pub fn age_history(&mut self) {
        self.0.as_flattened_mut().as_flattened_mut().iter_mut().for_each(|number| *number /= 2);
    }

    pub fn score_of(&self, turn: Color, played: PackedMove) -> i32 {
        let [from, to] = played.squares();
        self.0[turn as usize][from][to].into()
    }

    /// Adds a bonus to a move, or a malus, in proportion to the distance from its bound.
    pub fn learn_bonus(&mut self, turn: Color, played: PackedMove, bonus: i32) {
        let [from, to] = played.squares();
        let number = &mut self.0[turn as usize][from][to];
        let old = i32::from(*number);
        *number = (old + bonus - old * bonus.abs() / Self::LIMIT) as i16;
    }
}

/// Rank of the first move; higher ranks are tried earlier. Ranks of quiet moves lie between these
/// numbers, by history; captures that lose material have lower ranks.
const FIRST: i32 = 1 << 30;
const WINNING: i32 = 1 << 28;
const KILLER: i32 = 1 << 26;
const LOSING: i32 = -(1 << 28);
const MAX_MOVES: usize = 270;

/// The legal moves of a position in their order.
pub struct Picker<'a> {
    moves: &'a mut MoveList,
    ranks: [i32; MAX_MOVES],
    next: usize,
}

impl<'a> Picker<'a> {
    /// Creates a picker of all of these moves. `first` comes first if it is one of them.
    pub fn new(
        chess: &Chess,
        moves: &'a mut MoveList,
        first: PackedMove,
        killers: [PackedMove; 2],
        history: &History,
    ) -> Self {
        let mut ranks = [0; MAX_MOVES];
        for (rank, played) in ranks.iter_mut().zip(&*moves) {
            let packed = PackedMove::from_move(*played);
            *rank = match () {
                () if packed == first => FIRST,
                () if !is_quiet(*played) => capture_rank(chess, *played),
                () if packed == killers[0] => KILLER + 1,
                () if packed == killers[1] => KILLER,
                () => history.score_of(chess.turn(), packed),
            };
        }
        Self { moves, ranks, next: 0 }
    }

    pub fn pick_next(&mut self) -> Option<Move> {
        let slot = self.next;
        let rest = &self.ranks[slot..self.moves.len()];
        // The first of equal ones, so that the order depends on the rules only.
        let (mut best, mut highest) = (0, *rest.first()?);
        for (i, rank) in rest.iter().enumerate() {
            if *rank > highest {
                (best, highest) = (i, *rank);
            }
        }
        self.moves.swap(slot, slot + best);
        self.ranks.swap(slot, slot + best);
        self.next += 1;
        Some(self.moves[slot])
    }

    /// Returns whether the last picked move, and so each after it, loses material on its square.
    pub fn is_losing(&self) -> bool {
        self.ranks[self.next - 1] < LOSING / 2
    }
}

/// Ranks captures and promotions: most valuable victim, then least valuable attacker.
fn capture_rank(chess: &Chess, played: Move) -> i32 {
    let victim = played.capture().map_or(0, piece_value);
    let gain = 16 * victim + played.promotion().map_or(0, piece_value) - played.role() as i32;
    // Underpromotions are rare.
    let strange = played.promotion().is_some_and(|role| role != Role::Queen);
    // Taking a piece of at least equal value cannot lose.
    let safe = || victim >= piece_value(played.role()) && !played.is_promotion();
    let wins = !strange && (safe() || static_exchange(chess, played) >= 0);
    if wins { WINNING + gain } else { LOSING + gain }
}

/// Largest number of pieces that can take part in an exchange.
const MAX_PIECES: usize = 32;

/// Returns the value of a piece in an exchange in centipawns; the king's exceeds all others.
pub fn piece_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight | Role::Bishop => 300,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 20_000,
    }
}

/// Computes the material that a legal move wins after all exchanges on its square.
pub fn static_exchange(chess: &Chess, played: Move) -> i32 {
    let Some(from) = played.from().filter(|_| !played.is_castle()) else { return 0 };
    let (board, to) = (chess.board(), played.to());
    let mut occupied = board.occupied();
    occupied.discard(from);
    if played.is_en_passant() {
        occupied.discard(Square::from_coords(to.file(), from.rank()));
    }
    // `won[i]` is the gain of the side that takes for the i-th time, if the exchange stops there.
    let mut won = [0; MAX_PIECES + 1];
    let mut taken = 0;
    won[0] = played.capture().map_or(0, piece_value);
    let mut standing = piece_value(played.role());
    if let Some(promoted) = played.promotion() {
        won[0] += piece_value(promoted) - standing;
        standing = piece_value(promoted);
    }
    let mut side = !chess.turn();
    let attackers = |side, occupied| board.attacks_to(to, side, occupied) & occupied;
    while let Some((role, from)) = least_valuable(board, attackers(side, occupied)) {
        // A king takes last, and never a defended piece.
        if role == Role::King && attackers(!side, occupied).any() {
            break;
        }
        taken += 1;
        won[taken] = standing - won[taken - 1];
        standing = piece_value(role);
        occupied.discard(from);
        side = !side;
    }
    // Backwards: no side takes if that loses.
    for i in (0..taken).rev() {
        won[i] = won[i].min(-won[i + 1]);
    }
    won[0]
}

fn least_valuable(board: &Board, among: Bitboard) -> Option<(Role, Square)> {
    let first = |role: Role| Some((role, (among & board.by_role(role)).first()?));
    if among.is_empty() { None } else { Role::ALL.into_iter().find_map(first) }
}
