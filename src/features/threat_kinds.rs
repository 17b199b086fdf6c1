//! Attacks of pieces on each other, counted by kinds.

use shakmaty::Color;

use super::{Board, FeatureSet, KINDS, Language, Perspective, Rows, Threat, bounds};

/// The feature set: a row for each kind of attacker and victim, added once for each such attack.
pub struct ThreatKinds;

pub(super) const THREAT_KINDS: usize = 144;
/// Most pieces that a pawn to king can attack at once.
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

    /// 32 pieces attack at most eight others each.
    fn max_active(&self) -> usize {
        256
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let seen = Perspective::mirrored_by_king(board, perspective);
        // Each row once, in the order in which they first occur.
        let (mut counts, mut order, mut found) = ([0; THREAT_KINDS], [0; THREAT_KINDS + 1], 0);
        for Threat { attacker, victim } in board.threats() {
            let row = row_of_kinds(seen.piece_kind(*attacker), seen.piece_kind(*victim));
            counts[row] += 1;
            order[found] = row as u32;
            found += usize::from(counts[row] == 1);
        }
        order[..found].iter().for_each(|row| rows.push_times(*row, counts[*row as usize]));
    }

    fn describe_row(&self, row: u32) -> String {
        let [attacker, victim] = [row / 12, row % 12].map(|kind| KINDS[kind as usize]);
        format!("{attacker}s attack {victim}s")
    }

    /// Kings do not attack each other.
    fn is_reachable(&self, row: u32) -> bool {
        row / 12 % 6 != 5 || row % 6 != 5
    }

    fn has_repeats(&self) -> bool {
        true
    }

    /// Each piece attacks a limited number of others, and either king once.
    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        bounds::lower_and_upper(weights, |weight| {
            bounds::of_material(|attacker| {
                let most = VICTIMS[attacker % 6];
                let times = |victim| if victim % 6 == 5 { 1 } else { most };
                let mut values: Vec<i64> = (0..12)
                    .flat_map(|victim| {
                        vec![weight(row_of_kinds(attacker, victim)).max(0); times(victim)]
                    })
                    .collect();
                values.sort_unstable_by(|a, b| b.cmp(a));
                values[..most].iter().sum()
            })
        })
    }

    fn engine_code(&self, language: Language) -> Option<String> {
        let code = language.choose_between(
            r"
/// Attacks of pieces on each other, by kinds.
fn threat_kinds(board: &Board, view: usize, rows: &mut Rows) {
    for (attacker, from) in board.men(view) {
        for (victim, _) in board.men_on(view, board.attacks[from]) {
            rows.push(12 * attacker + victim);
        }
    }
}
",
            r"
/* Attacks between pieces, by their kinds. */
static inline void nnue_threat_kinds(const NnueBoard *board, int view, NnueRows *rows) {
    for (uint64_t men = board->occupied; men;) {
        int from = nnue_pop(&men), attacker = nnue_kind(board, view, from);
        for (uint64_t victims = board->attacks[from] & board->occupied; victims;)
            nnue_add(rows, 12 * attacker + nnue_kind(board, view, nnue_pop(&victims)));
    }
}
",
        );
        Some(code.into())
    }
}
