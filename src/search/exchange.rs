//! What a move wins on the square that it goes to, if both sides take there as long as it pays.
//!
//! Source of the method: the swap algorithm of static exchange evaluation, as the chess
//! programming literature has it. Pins do not count, nor do promotions by those who take back.

use shakmaty::{Bitboard, Board, Chess, Move, Position as _, Role, Square};

/// No more pieces than these can take part.
const MOST: usize = 32;

/// What a piece counts in an exchange, in hundredths of a pawn, whatever the evaluation. A king
/// counts more than all the rest, since it may not be lost.
pub fn worth(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight | Role::Bishop => 300,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 20_000,
    }
}

/// The material that a legal move wins, or loses below 0, in hundredths of a pawn, after all
/// exchanges on its square.
pub fn exchange(chess: &Chess, played: Move) -> i32 {
    let Some(from) = played.from().filter(|_| !played.is_castle()) else { return 0 };
    let (board, to) = (chess.board(), played.to());
    let mut occupied = board.occupied();
    occupied.discard(from);
    if played.is_en_passant() {
        occupied.discard(Square::from_coords(to.file(), from.rank()));
    }
    // What the side that takes for the i-th time has won by then, if it stops there.
    let mut won = [0; MOST + 1];
    let mut taken = 0;
    won[0] = played.capture().map_or(0, worth);
    let mut standing = worth(played.role());
    if let Some(promoted) = played.promotion() {
        won[0] += worth(promoted) - standing;
        standing = worth(promoted);
    }
    let mut side = !chess.turn();
    let attackers = |side, occupied| board.attacks_to(to, side, occupied) & occupied;
    while let Some((role, from)) = least(board, attackers(side, occupied)) {
        // A king takes last, and only what nobody guards.
        if role == Role::King && attackers(!side, occupied).any() {
            break;
        }
        taken += 1;
        won[taken] = standing - won[taken - 1];
        standing = worth(role);
        occupied.discard(from);
        side = !side;
    }
    // Backwards: nobody takes where it loses.
    for i in (0..taken).rev() {
        won[i] = won[i].min(-won[i + 1]);
    }
    won[0]
}

/// The least of some pieces.
fn least(board: &Board, among: Bitboard) -> Option<(Role, Square)> {
    let first = |role: Role| Some((role, (among & board.by_role(role)).first()?));
    if among.is_empty() { None } else { Role::ALL.into_iter().find_map(first) }
}
