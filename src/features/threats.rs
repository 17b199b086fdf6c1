//! Attacks of pieces on each other by squares, numbered as in Stockfish (Full_Threats).

use std::sync::OnceLock;

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::threat_kinds::{self, THREAT_KINDS};
use super::{Board, FeatureSet, Integer, KINDS, Language, Perspective, Rows, Threat, bounds};

/// A feature set. Files are flipped if the own king stands on e to h. Two pieces of the same role
/// that attack each other have one row, with the attacker on the higher square.
pub struct Threats {
    name: &'static str,
    rows: usize,
    max_active: usize,
    /// The victims that have rows, in their order, by the role of their attacker, pawn to king.
    victims: [&'static [Role]; 6],
    tables: OnceLock<ThreatTables>,
}

const TO_ROOK: &[Role] = Role::ALL.split_at(4).0;
const TO_QUEEN: &[Role] = Role::ALL.split_at(5).0;
const ROOK_AND_KING: &[Role] = &[Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::King];
const OF_PAWN: &[Role] = &[Role::Pawn, Role::Knight, Role::Rook];

/// The sets, each with the victims of pawns, knights, bishops, rooks, queens and kings: of Stockfish
/// 19, of its versions from 13 and from 4 February 2026 on, and of Stockfish 18.
///
/// Stockfish reserves 128 active rows. A capture lets at most three pawns pass each other to promote;
/// among such positions searches found up to 115, 115, 122 and 129 threats.
pub static SETS: [Threats; 4] = [
    Threats::new(
        ("threats", 59_808, 128),
        [&[Role::Knight, Role::Rook], TO_QUEEN, TO_ROOK, TO_ROOK, TO_QUEEN, &[]],
    ),
    Threats::new(
        ("threats-60144", 60_144, 128),
        [OF_PAWN, TO_QUEEN, TO_ROOK, TO_ROOK, TO_QUEEN, &[]],
    ),
    Threats::new(
        ("threats-66864", 66_864, 136),
        [OF_PAWN, TO_QUEEN, TO_ROOK, TO_ROOK, TO_QUEEN, TO_ROOK],
    ),
    Threats::new(
        ("threats-79856", 79_856, 144),
        [OF_PAWN, &Role::ALL, ROOK_AND_KING, ROOK_AND_KING, &Role::ALL, TO_ROOK],
    ),
];

/// The first row of kinds without rows.
const NONE: u32 = u32::MAX;

/// The rows of an attacker and a victim: for each square of the attacker, a1 first, one for each
/// square that it attacks from there on an empty board.
struct ThreatBlock {
    attacker: usize,
    victim: usize,
    first: usize,
}

struct ThreatTables {
    blocks: Vec<ThreatBlock>,
    /// The first row, by whether the attacker is on the lower square, and the kinds of both pieces.
    first: [[[u32; 12]; 12]; 2],
    /// The offset from the first row, by attacker, square and attacked square.
    step: [Box<[[u16; 64]; 64]>; 12],
    /// The square and direction of each row as one number; rows of one number exclude each other.
    lines: Vec<u16>,
}

/// The squares that a piece attacks on an empty board; none for a pawn on a rank without pawns.
fn reachable_squares(kind: usize, from: Square) -> Bitboard {
    let piece = Piece { color: Color::from_white(kind < 6), role: Role::ALL[kind % 6] };
    match piece.role == Role::Pawn && Bitboard::BACKRANKS.contains(from) {
        true => Bitboard::EMPTY,
        false => attacks::attacks(from, piece, Bitboard::EMPTY),
    }
}

/// All squares with the squares that a piece attacks from there on an empty board, in order.
fn all_reaches(kind: usize) -> impl Iterator<Item = [Square; 2]> {
    Square::ALL
        .into_iter()
        .flat_map(move |from| reachable_squares(kind, from).into_iter().map(move |to| [from, to]))
}

impl ThreatTables {
    fn new(victims: &[&[Role]; 6]) -> Self {
        let mut tables = Self {
            blocks: Vec::new(),
            first: [[[NONE; 12]; 12]; 2],
            step: std::array::from_fn(|_| Box::new([[0; 64]; 64])),
            lines: Vec::new(),
        };
        for attacker in 0..12 {
            for (step, [from, to]) in all_reaches(attacker).enumerate() {
                tables.step[attacker][from as usize][to as usize] = step as u16;
            }
            for side in [0, 6] {
                for role in victims[attacker % 6] {
                    let victim = side + *role as usize - 1;
                    let first = tables.lines.len();
                    tables.blocks.push(ThreatBlock { attacker, victim, first });
                    tables.first[0][attacker][victim] = first as u32;
                    // Pawns of one side cannot attack each other mutually.
                    if attacker % 6 != victim % 6 || attacker == victim && *role == Role::Pawn {
                        tables.first[1][attacker][victim] = first as u32;
                    }
                    tables.lines.extend(all_reaches(attacker).map(attack_line));
                }
            }
        }
        tables
    }

    fn block_of_row(&self, row: u32) -> &ThreatBlock {
        &self.blocks[self.blocks.partition_point(|block| block.first <= row as usize) - 1]
    }

    /// The kinds of the attacker and the victim of a row, and their squares.
    fn threat_of_row(&self, row: u32) -> ([usize; 2], [Square; 2]) {
        let ThreatBlock { attacker, victim, first } = *self.block_of_row(row);
        let squares = all_reaches(attacker).nth(row as usize - first);
        ([attacker, victim], squares.expect("a block has its rows"))
    }
}

/// The square of an attacker and the direction of the attacked square as one number. Each of the
/// eight lines, and each of a knight's jumps, has its number.
fn attack_line([from, to]: [Square; 2]) -> u16 {
    let across = f64::from(to.file() as i32 - from.file() as i32);
    let up = f64::from(to.rank() as i32 - from.rank() as i32);
    let degrees = up.atan2(across).to_degrees() + 360.0;
    // A line is the first degree of an eighth.
    8 * from as u16 + (degrees + 1.0) as u16 / 45 % 8
}

impl Threats {
    const fn new(
        (name, rows, max_active): (&'static str, usize, usize),
        victims: [&'static [Role]; 6],
    ) -> Self {
        Self { name, rows, max_active, victims, tables: OnceLock::new() }
    }

    fn tables(&self) -> &ThreatTables {
        self.tables.get_or_init(|| {
            let tables = ThreatTables::new(&self.victims);
            assert_eq!(tables.lines.len(), self.rows, "{}", self.name);
            tables
        })
    }
}

impl FeatureSet for &'static Threats {
    fn name(&self) -> &str {
        self.name
    }

    fn row_count(&self) -> usize {
        self.rows
    }

    fn max_active(&self) -> usize {
        self.max_active
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let tables = self.tables();
        let mirrored = Perspective::mirrored_by_king(board, perspective);
        for Threat { attacker, victim } in board.threats() {
            let [from, to] = [attacker, victim].map(|it| mirrored.relative_square(it.square));
            let [attacker, victim] = [*attacker, *victim].map(|it| mirrored.piece_kind(it));
            let first = tables.first[usize::from(from < to)][attacker][victim];
            let row = first.wrapping_add(tables.step[attacker][from][to].into());
            rows.push_if(first != NONE, row, 1);
        }
    }

    fn describe_row(&self, row: u32) -> String {
        let ([attacker, victim], [from, to]) = self.tables().threat_of_row(row);
        format!("{} on {from} attacks {} on {to}", KINDS[attacker], KINDS[victim])
    }

    /// Whether the squares are possible: pawns stand on six ranks, the own king on files a to d.
    fn is_reachable(&self, row: u32) -> bool {
        let ([attacker, victim], squares) = self.tables().threat_of_row(row);
        let [from, to] = squares.map(usize::from);
        let own_kings: Vec<usize> = (0..64).filter(|square| square % 8 < 4).collect();
        self.tables().first[usize::from(from < to)][attacker][victim] != NONE
            && bounds::is_square_of(attacker, from, &own_kings)
            && bounds::is_square_of(victim, to, &own_kings)
    }

    /// The number of rows of the set `threat-kinds`, which is the factor.
    fn factor_rows(&self) -> usize {
        THREAT_KINDS
    }

    fn factor_row(&self, row: u32) -> Option<u32> {
        let ThreatBlock { attacker, victim, .. } = self.tables().block_of_row(row);
        Some(threat_kinds::row_of_kinds(*attacker, *victim) as u32)
    }

    fn integer_type(&self) -> Integer {
        Integer::I8
    }

    /// Bounds sums by lines: the piece on a square attacks at most one other in each direction.
    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        bounds::lower_and_upper(weights, |weight| {
            let mut lines = vec![0; 8 * 64];
            for (row, line) in self.tables().lines.iter().enumerate() {
                let most = &mut lines[usize::from(*line)];
                *most = weight(row).max(*most);
            }
            bounds::sum_largest(lines, self.max_active)
        })
    }

    fn engine_code(&self, language: Language) -> Option<String> {
        let code = language.choose_between(
            r"
/// Attacks of pieces on each other, by their squares.
fn NAME(board: &Board, view: usize, rows: &mut Rows) {
    /// First rows by the kinds of attacker and victim, -1 if there are none; 12 lines later if the
    /// attacker is on the lower square.
    const FIRST: [[isize; 12]; 24] = [
FIRST_ROWS    ];
    /// By kind of attacker and its square, how many squares it attacks from lower squares on an
    /// empty board, up to an enemy pawn.
    const BEFORE: [[u16; 64]; 7] = [
STEPS    ];
    let flip = board.flip(view);
    for (attacker, from) in board.men(view) {
        for (victim, to) in board.men_on(view, board.attacks[from]) {
            let (from, to) = (from ^ flip, to ^ flip);
            let first = FIRST[12 * usize::from(from < to) + attacker][victim];
            if first < 0 {
                continue;
            }
            let before = BEFORE[if attacker == 6 { 6 } else { attacker % 6 }][from];
            let lower = attacks(attacker, from, 0) & ((1 << to) - 1);
            rows.push(first as usize + usize::from(before) + lower.count_ones() as usize);
        }
    }
}
",
            r"
/* Attacks between pieces, by kinds and squares. */
static inline void nnue_NAME(const NnueBoard *board, int view, NnueRows *rows) {
    /* First rows by the kinds of attacker and victim, -1 where there are none; 12 lines later where
     * the attacker is on the lower square. */
    static const int first_rows[24][12] = {
FIRST_ROWS    };
    /* By kind of attacker and its square, how many squares it attacks from lower squares on an
     * empty board, up to an enemy pawn. */
    static const uint16_t before[7][64] = {
STEPS    };
    int flip = nnue_flip(board, view);
    for (uint64_t men = board->occupied; men;) {
        int at = nnue_pop(&men), attacker = nnue_kind(board, view, at), from = at ^ flip;
        for (uint64_t victims = board->attacks[at] & board->occupied; victims;) {
            int on = nnue_pop(&victims), victim = nnue_kind(board, view, on), to = on ^ flip;
            int first = first_rows[12 * (from < to) + attacker][victim];
            if (first < 0) continue;
            uint64_t lower = nnue_attacks(attacker, from, 0) & (((uint64_t)1 << to) - 1);
            int kind = attacker == 6 ? 6 : attacker % 6;
            nnue_add(rows, first + before[kind][from] + nnue_count(lower));
        }
    }
}
",
        );
        let [open, close] = language.choose_between(["[", "]"], ["{", "}"]);
        let lines = |rows: &mut dyn Iterator<Item = Vec<String>>| -> String {
            let line = |numbers: &[String]| format!("            {},\n", numbers.join(", "));
            let row = |numbers: Vec<String>| -> String { numbers.chunks(12).map(line).collect() };
            rows.map(|it| format!("        {open}\n{}        {close},\n", row(it))).collect()
        };
        let first = |row: &[u32; 12]| row.map(|it| (it as i32).to_string()).to_vec();
        let before = |kind: usize| -> Vec<String> {
            let reaches = Square::ALL.map(|from| reachable_squares(kind, from).count());
            let before = |from: usize| reaches[..from].iter().sum::<usize>().to_string();
            (0..64).map(before).collect()
        };
        let first = lines(&mut self.tables().first.as_flattened().iter().map(first));
        let before = lines(&mut (0..7).map(before));
        let code = code.replace("NAME", &self.name.replace('-', "_"));
        Some(code.replace("FIRST_ROWS", &first).replace("STEPS", &before))
    }
}
