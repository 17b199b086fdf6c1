//! Pieces on squares by the square of the own king, as Stockfish numbers them (HalfKAv2_hm).

use shakmaty::{Color, Square};

use super::{
    Board, FeatureSet, KINDS, Language, MAX_ACTIVE, PIECES, Perspective, Rows, Set, bounds,
};

/// The feature set. Files are flipped if the own king stands on a to d, so that it is on e to h.
pub struct HalfKa {
    /// Whether both kings share a plane, as in Stockfish's files.
    pub merged: bool,
}

impl HalfKa {
    /// Rows of a block.
    const fn block_rows(&self) -> usize {
        if self.merged { PIECES - 64 } else { PIECES }
    }

    /// First row of a kind of piece, on a1.
    const fn first(&self, kind: usize) -> usize {
        let plane = 2 * (kind % 6) + kind / 6;
        64 * if self.merged && plane == 11 { 10 } else { plane }
    }

    /// The block, and the row in a block of two planes of kings.
    fn unmerged(&self, row: u32) -> (usize, usize) {
        let (block, row) = (row as usize / self.block_rows(), row as usize % self.block_rows());
        let is_enemy = self.merged && row / 64 == 10 && row % 64 != king(block);
        (block, if is_enemy { row + 64 } else { row })
    }
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
        32 * self.block_rows()
    }

    fn max_active(&self) -> usize {
        MAX_ACTIVE
    }

    fn active(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let mut seen = Perspective::mirrored(board, perspective);
        seen.flip ^= 7;
        let block = self.block_rows() * bucket(seen.square(board.king(perspective)));
        let row = |piece| block + self.first(seen.kind(piece)) + seen.square(piece.square);
        board.pieces().for_each(|piece| rows.push(row(piece) as u32));
    }

    fn describe(&self, row: u32) -> String {
        let (block, row) = self.unmerged(row);
        let plane = row / 64;
        let [square, king] = [row % 64, king(block)].map(|it| Square::new(it as u32));
        format!("{} on {square}, own king on {king}", KINDS[plane / 2 + 6 * (plane % 2)])
    }

    /// The piece on its square, without the king's square.
    fn factor_rows(&self) -> usize {
        if self.merged { 0 } else { PIECES }
    }

    fn factor(&self, row: u32) -> Option<u32> {
        (!self.merged).then_some(row % PIECES as u32)
    }

    fn is_reachable(&self, row: u32) -> bool {
        let (block, row) = self.unmerged(row);
        let plane = row / 64;
        bounds::is_square_of(plane / 2 + 6 * (plane % 2), row % 64, &[king(block)])
    }

    fn has_merged_kings(&self) -> bool {
        self.merged
    }

    fn merge_kings(&self) -> Result<Option<Set>, String> {
        Ok(Some(Set::new(Self { merged: true })))
    }

    fn unmerged_row(&self, row: u32) -> u32 {
        let (block, row) = self.unmerged(row);
        (PIECES * block + row) as u32
    }

    fn bounds(&self, weights: &[i32]) -> [i64; 2] {
        bounds::both(weights, |weight| {
            let of_block = |block| {
                let first = self.block_rows() * block;
                let value = |kind, square| weight(first + self.first(kind) + square);
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
    let block = BLOCK * (31 - (4 * (king / 8) + king % 8 - 4));
    for (kind, square) in board.men(view) {
        let plane = (2 * (kind % 6) + kind / 6).min(LAST);
        rows.push(block + 64 * plane + (square ^ flip));
    }
}
",
            r"
/* Pieces on squares by the square of the own king, which is seen on files e to h. */
static inline void nnue_halfka_hm(const NnueBoard *board, int view, NnueRows *rows) {
    int flip = nnue_flip(board, view) ^ 7, king = board->king[view] ^ flip;
    int block = BLOCK * (31 - (4 * (king / 8) + king % 8 - 4));
    for (uint64_t men = board->occupied; men;) {
        int square = nnue_pop(&men), kind = nnue_kind(board, view, square);
        int plane = 2 * (kind % 6) + kind / 6;
        nnue_add(rows, block + 64 * (plane < LAST ? plane : LAST) + (square ^ flip));
    }
}
",
        );
        let last = self.block_rows() / 64 - 1;
        let code = code.replace("BLOCK", &self.block_rows().to_string());
        Some(code.replace("LAST", &last.to_string()))
    }
}
