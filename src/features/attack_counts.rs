//! Counts of mobility and of attacks on squares beside the kings, by kinds of pieces.

use shakmaty::{Bitboard, Color, Role, attacks};

use super::{Board, FeatureSet, KINDS, Language, Perspective, Rows, bounds};

/// The feature set. Each kind has a row that is added once for each attacked square; except for
/// pawns, squares that enemy pawns attack do not count. After these rows, each kind has two rows
/// that are added once for each attacked square within one step of the own and the enemy king.
pub struct AttackCounts;

const ROWS: usize = 36;
/// The maximum number of squares that each role, pawn to king, can attack at once.
const SQUARES: [usize; 6] = [2, 8, 13, 14, 27, 8];
/// The maximum number of these squares within one step of one king.
const BESIDE_KING: [usize; 6] = [2, 2, 3, 4, 6, 8];

const fn beside_king(kind: usize, side: usize) -> usize {
    12 + 2 * kind + side
}

/// Counts by kind, White's first: mobility, attacks beside White's king, attacks beside Black's.
pub(super) type Counts = [[u32; 3]; 12];

pub(super) struct Count<'a>(pub &'a Board);

/// Counts with inlining, so that the code may use the bit count instruction.
impl pulp::NullaryFnOnce for Count<'_> {
    type Output = Counts;

    #[inline(always)]
    fn call(self) -> Counts {
        let board = self.0;
        let attacks = board.all_attacks();
        let near = Color::ALL.map(|color| {
            let king = board.king_square(color);
            attacks::king_attacks(king).with(king).0
        });
        let pawn_attacks = Color::ALL.map(|color| {
            let pawns = Bitboard(board.squares_of(color, Role::Pawn)).into_iter();
            pawns.fold(0, |squares, pawn| squares | attacks[pawn as usize])
        });
        let mut counts = [[0; 3]; 12];
        for piece in board.pieces() {
            let attacked = attacks[piece.square as usize];
            let unsafe_squares = match piece.role {
                Role::Pawn => 0,
                _ => pawn_attacks[usize::from(piece.color.is_white())],
            };
            let [mobility, white, black] = &mut counts[Perspective::WHITE.piece_kind(piece)];
            *mobility += (attacked & !unsafe_squares).count_ones();
            *white += (attacked & near[0]).count_ones();
            *black += (attacked & near[1]).count_ones();
        }
        counts
    }
}

impl FeatureSet for AttackCounts {
    fn name(&self) -> &str {
        "attack-counts"
    }

    fn row_count(&self) -> usize {
        ROWS
    }

    fn max_active(&self) -> usize {
        bounds::of_material(|kind| (SQUARES[kind % 6] + 2 * BESIDE_KING[kind % 6]) as i64) as usize
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let side = usize::from(perspective.is_black());
        for kind in 0..12 {
            let [mobility, beside @ ..] = board.attack_counts()[(kind + 6 * side) % 12];
            rows.push_times(kind as u32, mobility);
            rows.push_times(beside_king(kind, 0) as u32, beside[side]);
            rows.push_times(beside_king(kind, 1) as u32, beside[1 - side]);
        }
    }

    fn describe_row(&self, row: u32) -> String {
        match row as usize {
            kind @ 0..12 => {
                let (side, role) = KINDS[kind].split_once(' ').expect("two words");
                format!("mobility of {side} {role}s")
            }
            row => {
                let side = ["own", "enemy"][row % 2];
                format!("{}s attack squares beside the {side} king", KINDS[(row - 12) / 2])
            }
        }
    }

    fn has_repeats(&self) -> bool {
        true
    }

    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        bounds::lower_and_upper(weights, |weight| {
            bounds::of_material(|kind| {
                let bound_row = |row, count: usize| weight(row).max(0) * count as i64;
                let beside = |side| bound_row(beside_king(kind, side), BESIDE_KING[kind % 6]);
                bound_row(kind, SQUARES[kind % 6]) + beside(0) + beside(1)
            })
        })
    }

    fn engine_code(&self, language: Language) -> Option<String> {
        let code = language.choose_between(
            r"
/// Mobility, and attacks on squares beside the kings, by kinds of pieces.
fn attack_counts(board: &Board, perspective: usize, rows: &mut Rows) {
    let beside = [perspective, 1 - perspective].map(|side| {
        let king = board.kings[side];
        attacks(5, king, 0) | 1 << king
    });
    let mut by_pawns = [0; 2];
    for (kind, square) in board.pieces(perspective).filter(|(kind, _)| kind % 6 == 0) {
        by_pawns[kind / 6] |= board.attacks[square];
    }
    for (kind, square) in board.pieces(perspective) {
        let attacked = board.attacks[square];
        let safe = if kind % 6 == 0 { attacked } else { attacked & !by_pawns[1 - kind / 6] };
        let [own, other] = beside.map(|squares| squares & attacked);
        for (row, squares) in [(kind, safe), (12 + 2 * kind, own), (13 + 2 * kind, other)] {
            (0..squares.count_ones()).for_each(|_| rows.push(row));
        }
    }
}
",
            r"
/* Mobility, and attacks on squares beside the kings, by kinds of pieces. */
static inline void nnue_attack_counts(const NnueBoard *board, int perspective, NnueRows *rows) {
    uint64_t beside[2], by_pawns[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        int king = board->king[i ^ perspective];
        beside[i] = nnue_attacks(5, king, 0) | (uint64_t)1 << king;
    }
    for (uint64_t squares = board->occupied; squares;) {
        int square = nnue_pop(&squares), kind = nnue_kind(board, perspective, square);
        if (kind % 6 == 0) by_pawns[kind / 6] |= board->attacks[square];
    }
    for (uint64_t squares = board->occupied; squares;) {
        int square = nnue_pop(&squares), kind = nnue_kind(board, perspective, square);
        uint64_t attacked = board->attacks[square];
        uint64_t safe = kind % 6 == 0 ? attacked : attacked & ~by_pawns[kind < 6];
        for (; safe; nnue_pop(&safe)) nnue_add(rows, kind);
        for (int i = 0; i < 2; i++)
            for (uint64_t squares = attacked & beside[i]; squares; nnue_pop(&squares))
                nnue_add(rows, 12 + 2 * kind + i);
    }
}
",
        );
        Some(code.into())
    }
}
