//! Attacks of pieces on each other, counted by kinds.

use shakmaty::{Color, Role};

use super::{Board, FeatureSet, KINDS, Language, Perspective, Rows, bounds};

/// The set: a row for each kind of attacker and of victim, added once for each attack on an occupied
/// square.
pub struct ThreatKinds;

/// Rows.
pub(super) const THREAT_KINDS: usize = 144;

/// Pieces that a pawn to king can attack at once.
const VICTIMS: [usize; 6] = [2, 8, 4, 4, 8, 8];

/// The row of an attacker and a victim by their kinds.
pub(super) const fn row(attacker: usize, victim: usize) -> usize {
    12 * attacker + victim
}

/// Kinds of attackers and victims and their counts, as White sees them, and how many there are.
pub(super) type Counts = ([[u8; 3]; THREAT_KINDS], usize);

/// Counts for both sides.
pub(super) struct Count<'a>(pub &'a Board);

/// Inlined where the processor's instruction that counts bits may be used.
impl pulp::NullaryFnOnce for Count<'_> {
    type Output = Counts;

    #[inline(always)]
    fn call(self) -> Counts {
        let (board, attacks) = (self.0, self.0.all_attacks());
        let of = |kind| board.of(Color::from_white(kind < 6), Role::ALL[kind % 6]);
        let (victims, mut counts) = (std::array::from_fn::<u64, 12, _>(of), [[0; 12]; 12]);
        for piece in board.pieces() {
            let of_kind = &mut counts[Perspective::WHITE.kind(piece)];
            for (count, victims) in of_kind.iter_mut().zip(victims) {
                *count += (attacks[piece.square as usize] & victims).count_ones() as u8;
            }
        }
        let (mut found, mut number) = ([[0; 3]; THREAT_KINDS], 0);
        for (attacker, counts) in counts.into_iter().enumerate() {
            for (victim, count) in counts.into_iter().enumerate() {
                // Written in any case: which of them occur cannot be predicted.
                found[number] = [attacker as u8, victim as u8, count];
                number += usize::from(count > 0);
            }
        }
        (found, number)
    }
}

impl FeatureSet for ThreatKinds {
    fn name(&self) -> &str {
        "threat-kinds"
    }

    fn rows(&self) -> usize {
        THREAT_KINDS
    }

    /// 32 pieces attack at most eight others each.
    fn max_active(&self) -> usize {
        256
    }

    fn active(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let side = 6 * usize::from(perspective.is_black());
        let (found, number) = board.threat_kinds();
        for &[attacker, victim, times] in &found[..*number] {
            let [attacker, victim] = [attacker, victim].map(|it| (usize::from(it) + side) % 12);
            rows.push_times(row(attacker, victim) as u32, times.into());
        }
    }

    fn describe(&self, row: u32) -> String {
        let [attacker, victim] = [row / 12, row % 12].map(|kind| KINDS[kind as usize]);
        format!("{attacker}s attack {victim}s")
    }

    fn repeats(&self) -> bool {
        true
    }

    /// Each piece attacks so many others at most, and either king once.
    fn bounds(&self, weights: &[i32]) -> [i64; 2] {
        bounds::both(weights, |weight| {
            bounds::of_material(|attacker| {
                let most = VICTIMS[attacker % 6];
                let times = |victim| if victim % 6 == 5 { 1 } else { most };
                let mut values: Vec<i64> = (0..12)
                    .flat_map(|victim| vec![weight(row(attacker, victim)).max(0); times(victim)])
                    .collect();
                values.sort_unstable_by(|a, b| b.cmp(a));
                values[..most].iter().sum()
            })
        })
    }

    fn source(&self, language: Language) -> Option<String> {
        let code = match language {
            Language::Rust => {
                r"
/// Attacks of pieces on each other, by kinds.
fn threat_kinds(board: &Board, view: usize, rows: &mut Rows) {
    for (attacker, from) in board.men(view) {
        for (victim, _) in board.men_on(view, board.attacks[from]) {
            rows.push(12 * attacker + victim);
        }
    }
}
"
            }
            Language::C => {
                r"
/* Who attacks whom, by kinds of pieces. */
static inline void nnue_threat_kinds(const NnueBoard *board, int view, NnueRows *rows) {
    for (uint64_t men = board->occupied; men;) {
        int from = nnue_pop(&men), attacker = nnue_kind(board, view, from);
        for (uint64_t victims = board->attacks[from] & board->occupied; victims;)
            nnue_add(rows, 12 * attacker + nnue_kind(board, view, nnue_pop(&victims)));
    }
}
"
            }
        };
        Some(code.into())
    }
}
