//! Pairs of pawns on the same or neighbouring files, as Stockfish numbers them (PP_3Wide).

use shakmaty::{Bitboard, Color, Role, Square};

use super::{Board, DirtyPieces, FeatureSet, Language, Perspective, Rows, bounds};

/// The feature set. Files are flipped if the own king stands on e to h.
pub struct PawnPairs;

const PAWNS: usize = 96;

/// The row of two pawns, each 48 * (1 for an enemy pawn) + square - 8.
fn row_of_pair(a: usize, b: usize) -> usize {
    let high = a.max(b);
    high * (high - 1) / 2 + a.min(b)
}

/// The lower and the higher pawn of a row.
fn pawns_of_row(row: usize) -> [usize; 2] {
    let high = (1..PAWNS).find(|high| high * (high + 1) / 2 > row).unwrap_or(PAWNS - 1);
    [row - high * (high - 1) / 2, high]
}

/// Whether pawns stand on the same or neighbouring files.
fn are_near(a: usize, b: usize) -> bool {
    (a % 8).abs_diff(b % 8) <= 1
}

/// The squares of a file and its neighbours.
fn near_files(file: u32) -> u64 {
    const A: u64 = 0x0101_0101_0101_0101;
    let files = 0b111 << file >> 1 & 0xff;
    A * files
}

impl FeatureSet for PawnPairs {
    fn name(&self) -> &str {
        "pawn-pairs"
    }

    fn row_count(&self) -> usize {
        PAWNS * (PAWNS - 1) / 2
    }

    /// The number of pairs of 16 pawns.
    fn max_active(&self) -> usize {
        120
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let mirrored = Perspective::mirrored_by_king(board, perspective);
        let [own, enemy] =
            [perspective, !perspective].map(|color| board.squares_of(color, Role::Pawn));
        let pawn = |square: Square| {
            let is_enemy = (enemy >> square as u32 & 1) as usize;
            // A pawn on the first rank of an illegal position is moved to the next rank.
            48 * is_enemy + mirrored.relative_square(square).clamp(8, 55) - 8
        };
        let mut rest = own | enemy;
        for square in Bitboard(rest) {
            rest &= rest - 1;
            let first = pawn(square);
            for partner in Bitboard(rest & near_files(square as u32 % 8)) {
                rows.push(row_of_pair(first, pawn(partner)) as u32);
            }
        }
    }

    fn may_change(&self, moved: &DirtyPieces, perspective: Color) -> bool {
        let mut pieces = moved.removed.iter().chain(&moved.added).flatten();
        pieces.any(|piece| piece.role == Role::Pawn) || moved.changes_mirror(perspective)
    }

    fn describe_row(&self, row: u32) -> String {
        let pawns = pawns_of_row(row as usize);
        let [low, high] = pawns.map(|pawn| Square::new((pawn % 48 + 8) as u32));
        match pawns.map(|pawn| pawn < 48) {
            [true, true] => format!("own pawns on {low} and {high}"),
            [true, false] => format!("own pawn on {low}, enemy pawn on {high}"),
            _ => format!("enemy pawns on {low} and {high}"),
        }
    }

    /// Whether the pawns are near, and on different squares.
    fn is_reachable(&self, row: u32) -> bool {
        let [low, high] = pawns_of_row(row as usize);
        are_near(low, high) && low % 48 != high % 48
    }

    /// Bounds sums over pairs by half of the sum over pawns of their largest pairs. A side has eight
    /// pawns at most, so a pawn has at most seven partners of its side and eight of the other.
    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        bounds::lower_and_upper(weights, |weight| {
            let sum_pairs = |pawn: usize| {
                let sum_partners = |first: usize, count: usize| {
                    let partners = (first..first + 48).filter(|it| *it != pawn);
                    let partners = partners.filter(|it| are_near(*it, pawn));
                    let values = partners.map(|it| weight(row_of_pair(it, pawn)));
                    bounds::sum_largest(values.collect(), count)
                };
                let own_pawns = 48 * (pawn / 48);
                sum_partners(own_pawns, 7) + sum_partners(48 - own_pawns, 8)
            };
            let sum_side =
                |first: usize| bounds::sum_largest((first..first + 48).map(sum_pairs).collect(), 8);
            (sum_side(0) + sum_side(48)) / 2
        })
    }

    fn engine_code(&self, language: Language) -> Option<String> {
        let code = language.choose_between(
            r"
/// Pairs of pawns on the same or neighbouring files.
fn pawn_pairs(board: &Board, perspective: usize, rows: &mut Rows) {
    let flip = board.flip(perspective);
    let pawns = || {
        let pawns = board.pieces(perspective).filter(|(kind, _)| kind % 6 == 0);
        pawns.map(|(kind, square)| 48 * (kind / 6) + (square ^ flip) - 8)
    };
    for high in pawns() {
        for low in pawns().filter(|&low| low < high && (low % 8).abs_diff(high % 8) <= 1) {
            rows.push(high * (high - 1) / 2 + low);
        }
    }
}
",
            r"
/* Pairs of pawns on the same or neighbouring files. */
static inline void nnue_pawn_pairs(const NnueBoard *board, int perspective, NnueRows *rows) {
    int flip = nnue_flip(board, perspective), count = 0, pawns[64];
    for (uint64_t squares = board->occupied; squares;) {
        int square = nnue_pop(&squares), kind = nnue_kind(board, perspective, square);
        if (kind % 6 == 0) pawns[count++] = 48 * (kind / 6) + (square ^ flip) - 8;
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int high = pawns[i], low = pawns[j], files = high % 8 - low % 8;
            bool are_near = files >= -1 && files <= 1;
            if (low < high && are_near) nnue_add(rows, high * (high - 1) / 2 + low);
        }
}
",
        );
        Some(code.into())
    }
}
