//! Pieces on squares, and whether each is attacked and defended.

use shakmaty::{Color, Square};

use super::{Board, FeatureSet, KINDS, MAX_ACTIVE, PIECES, Perspective, bounds};

/// The set: the row of the piece on its square, + 768 where its own side defends it, + 1,536 where
/// the other side attacks it. Files are flipped where the own king stands on e to h.
pub struct AttackedPieces;

impl FeatureSet for AttackedPieces {
    fn name(&self) -> &str {
        "attacked-pieces"
    }

    fn rows(&self) -> usize {
        4 * PIECES
    }

    fn max_active(&self) -> usize {
        MAX_ACTIVE
    }

    fn active(&self, board: &Board, perspective: Color, rows: &mut Vec<u32>) {
        let seen = Perspective::mirrored(board, perspective);
        let mut attacked = [0; 2];
        for piece in board.pieces() {
            attacked[piece.color as usize] |= board.attacks(piece.square);
        }
        rows.extend(board.pieces().map(|piece| {
            let by = |color: Color| (attacked[color as usize] >> piece.square as u32 & 1) as usize;
            let state = 2 * by(!piece.color) + by(piece.color);
            (PIECES * state + 64 * seen.kind(piece) + seen.square(piece.square)) as u32
        }));
    }

    fn describe(&self, row: u32) -> String {
        let row = row as usize;
        let (kind, square) = (KINDS[row % PIECES / 64], Square::new(row as u32 % 64));
        let state = ["neither attacked nor defended", "defended", "attacked", "attacked, defended"];
        format!("{kind} on {square}, {}", state[row / PIECES])
    }

    /// The piece on its square, attacked and defended or not.
    fn factor_rows(&self) -> usize {
        PIECES
    }

    fn factor(&self, row: u32) -> Option<u32> {
        Some(row % PIECES as u32)
    }

    fn bounds(&self, weights: &[i32]) -> [i64; 2] {
        let kings: Vec<usize> = (0..64).filter(|square| square % 8 < 4).collect();
        bounds::both(weights, |weight| {
            bounds::of_squares(&kings, |kind, square| {
                let of_state = |state| weight(PIECES * state + 64 * kind + square);
                (0..4).map(of_state).max().unwrap_or(0)
            })
        })
    }
}
