//! Pieces on squares, and whether each is attacked and defended.

use shakmaty::{Color, Square};

use super::{Board, FeatureSet, KINDS, Language, MAX_ACTIVE, PIECES, Perspective, Rows, bounds};

/// The feature set: the row of the piece on its square, + 768 where its own side defends it, +
/// 1,536 where the other side attacks it. Files are flipped where the own king stands on e to h.
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

    fn active(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let seen = Perspective::mirrored(board, perspective);
        let mut attacked = [0; 2];
        for piece in board.pieces() {
            attacked[piece.color as usize] |= board.attacks(piece.square);
        }
        for piece in board.pieces() {
            let by = |color: Color| (attacked[color as usize] >> piece.square as u32 & 1) as usize;
            let state = 2 * by(!piece.color) + by(piece.color);
            rows.push((PIECES * state + 64 * seen.kind(piece) + seen.square(piece.square)) as u32);
        }
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

    fn source(&self, language: Language) -> Option<String> {
        let code = language.choose(
            r"
/// Pieces on squares, and whether each is attacked and defended.
fn attacked_pieces(board: &Board, view: usize, rows: &mut Rows) {
    let flip = board.flip(view);
    let mut attacked = [0; 2];
    for (kind, square) in board.men(view) {
        attacked[kind / 6] |= board.attacks[square];
    }
    for (kind, square) in board.men(view) {
        let by = |side: usize| (attacked[side] >> square & 1) as usize;
        let (own, other) = (by(kind / 6), by(1 - kind / 6));
        rows.push(768 * (2 * other + own) + 64 * kind + (square ^ flip));
    }
}
",
            r"
/* Pieces on squares, and whether each is attacked and defended. */
static inline void nnue_attacked_pieces(const NnueBoard *board, int view, NnueRows *rows) {
    int flip = nnue_flip(board, view);
    uint64_t attacked[2] = {0, 0};
    for (uint64_t men = board->occupied; men;) {
        int square = nnue_pop(&men), kind = nnue_kind(board, view, square);
        attacked[kind / 6] |= board->attacks[square];
    }
    for (uint64_t men = board->occupied; men;) {
        int square = nnue_pop(&men), kind = nnue_kind(board, view, square);
        int own = attacked[kind / 6] >> square & 1, other = attacked[kind < 6] >> square & 1;
        nnue_add(rows, 768 * (2 * other + own) + 64 * kind + (square ^ flip));
    }
}
",
        );
        Some(code.into())
    }
}
