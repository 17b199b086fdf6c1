//! Pieces on squares by the square of the own king, as Stockfish numbers them (HalfKAv2_hm).

use shakmaty::{Color, Square};

use super::{Board, FeatureSet, KINDS, Language, MAX_ACTIVE, PIECES, Perspective, Rows, bounds};

/// The feature set. Files are flipped if the own king stands on a to d, so that it is on e to h.
pub struct HalfKa;

/// First row of a kind of piece, on a1.
const fn first(kind: usize) -> usize {
    64 * (2 * (kind % 6) + kind / 6)
}

/// Block of rows for a king on files e to h.
const fn bucket(king: usize) -> usize {
    31 - (4 * (king / 8) + king % 8 - 4)
}

/// King's square of a block.
const fn king(bucket: usize) -> usize {
    let place = 31 - bucket;
    8 * (place / 4) + place % 4 + 4
}

impl FeatureSet for HalfKa {
    fn name(&self) -> &str {
        "halfka-hm"
    }

    fn rows(&self) -> usize {
        32 * PIECES
    }

    fn max_active(&self) -> usize {
        MAX_ACTIVE
    }

    fn active(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let mut seen = Perspective::mirrored(board, perspective);
        seen.flip ^= 7;
        let block = PIECES * bucket(seen.square(board.king(perspective)));
        let row = |piece| block + first(seen.kind(piece)) + seen.square(piece.square);
        board.pieces().for_each(|piece| rows.push(row(piece) as u32));
    }

    fn describe(&self, row: u32) -> String {
        let row = row as usize;
        let (plane, king) = (row % PIECES / 64, king(row / PIECES));
        let [square, king] = [row % 64, king].map(|it| Square::new(it as u32));
        format!("{} on {square}, own king on {king}", KINDS[plane / 2 + 6 * (plane % 2)])
    }

    /// The piece on its square, without the king's square.
    fn factor_rows(&self) -> usize {
        PIECES
    }

    fn factor(&self, row: u32) -> Option<u32> {
        Some(row % PIECES as u32)
    }

    fn bounds(&self, weights: &[i32]) -> [i64; 2] {
        bounds::both(weights, |weight| {
            let of_block = |block| {
                let value = |kind, square| weight(PIECES * block + first(kind) + square);
                bounds::of_squares(&[king(block)], value)
            };
            (0..32).map(of_block).max().unwrap_or(0)
        })
    }

    fn source(&self, language: Language) -> Option<String> {
        let code = language.choose(
            r"
/// Pieces on squares by the square of the own king, flipped to files e to h.
fn halfka_hm(board: &Board, view: usize, rows: &mut Rows) {
    let flip = board.flip(view) ^ 7;
    let king = board.kings[view] ^ flip;
    let block = 768 * (31 - (4 * (king / 8) + king % 8 - 4));
    for (kind, square) in board.men(view) {
        rows.push(block + 64 * (2 * (kind % 6) + kind / 6) + (square ^ flip));
    }
}
",
            r"
/* Pieces on squares by the square of the own king, which is seen on files e to h. */
static inline void nnue_halfka_hm(const NnueBoard *board, int view, NnueRows *rows) {
    int flip = nnue_flip(board, view) ^ 7, king = board->king[view] ^ flip;
    int block = 768 * (31 - (4 * (king / 8) + king % 8 - 4));
    for (uint64_t men = board->occupied; men;) {
        int square = nnue_pop(&men), kind = nnue_kind(board, view, square);
        nnue_add(rows, block + 64 * (2 * (kind % 6) + kind / 6) + (square ^ flip));
    }
}
",
        );
        Some(code.into())
    }
}
