//! Counts of attacks between pieces, by kinds.

use shakmaty::Color;

use super::{Board, FeatureSet, KINDS, Language, Perspective, Rows, Threat, bounds};

/// The feature set. Each pair of kinds of attacker and victim has a row, added once per attack.
pub struct ThreatKinds;

pub(super) const THREAT_KINDS: usize = 144;
/// The maximum number of pieces that each role, pawn to king, can attack at once.
const VICTIMS: [usize; 6] = [2, 8, 4, 4, 8, 8];

/// The row of an attacker and a victim by their kinds.
pub(super) const fn row_of_kinds(attacker: usize, victim: usize) -> usize {
    12 * attacker + victim
}

impl FeatureSet for ThreatKinds {
    fn name(&self) -> &str {
        "threat-kinds"
    }

    fn row_count(&self) -> usize {
        THREAT_KINDS
    }

    /// The bound for 32 pieces, each of which attacks at most eight others.
    fn max_active(&self) -> usize {
        256
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let mirrored = Perspective::mirrored_by_king(board, perspective);
        // Each row is pushed once, in the order of first occurrence.
        let mut counts = [0; THREAT_KINDS];
        let mut order = [0; THREAT_KINDS + 1];
        let mut row_count = 0;
        for Threat { attacker, victim } in board.threats() {
            let row = row_of_kinds(mirrored.piece_kind(*attacker), mirrored.piece_kind(*victim));
            counts[row] += 1;
            order[row_count] = row as u32;
            row_count += usize::from(counts[row] == 1);
        }
        order[..row_count].iter().for_each(|row| rows.push_times(*row, counts[*row as usize]));
    }

    fn describe_row(&self, row: u32) -> String {
        let [attacker, victim] = [row / 12, row % 12].map(|kind| KINDS[kind as usize]);
        format!("{attacker}s attack {victim}s")
    }

    /// Whether the attack is possible; kings do not attack each other.
    fn is_reachable(&self, row: u32) -> bool {
        row / 12 % 6 != 5 || row % 6 != 5
    }

    fn has_repeats(&self) -> bool {
        true
    }

    /// Bounds sums by the number of pieces that each piece attacks; a king is attacked once.
    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        bounds::lower_and_upper(weights, |weight| {
            bounds::of_material(|attacker| {
                let count = VICTIMS[attacker % 6];
                let times = |victim| if victim % 6 == 5 { 1 } else { count };
                let values_of =
                    |victim| vec![weight(row_of_kinds(attacker, victim)); times(victim)];
                bounds::sum_largest((0..12).flat_map(values_of).collect(), count)
            })
        })
    }

    fn engine_code(&self, language: Language) -> Option<String> {
        let code = language.choose_between(
            r"
/// Attacks of pieces on each other, by kinds.
fn threat_kinds(board: &Board, perspective: usize, rows: &mut Rows) {
    for (attacker, from) in board.pieces(perspective) {
        for (victim, _) in board.pieces_on(perspective, board.attacks[from]) {
            rows.push(12 * attacker + victim);
        }
    }
}
",
            r"
/* Attacks between pieces, by their kinds. */
static inline void nnue_threat_kinds(const NnueBoard *board, int perspective, NnueRows *rows) {
    for (uint64_t squares = board->occupied; squares;) {
        int from = nnue_pop(&squares), attacker = nnue_kind(board, perspective, from);
        for (uint64_t victims = board->attacks[from] & board->occupied; victims;)
            nnue_add(rows, 12 * attacker + nnue_kind(board, perspective, nnue_pop(&victims)));
    }
}
",
        );
        Some(code.into())
    }
}
