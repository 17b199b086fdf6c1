//! Attacks of pieces on each other by squares, numbered as in Stockfish (Full_Threats).

use std::sync::OnceLock;

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::threat_kinds::{self, THREAT_KINDS};
use super::{Board, FeatureSet, Integer, KINDS, Language, Perspective, Rows, Threat, bounds};

/// A feature set. Files are flipped if the perspective's king stands on e to h. Two pieces of the
/// same role that attack each other have one row, with the attacker on the higher square.
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
const KNIGHT_AND_ROOK: &[Role] = &[Role::Knight, Role::Rook];
const PAWN_KNIGHT_AND_ROOK: &[Role] = &[Role::Pawn, Role::Knight, Role::Rook];

/// The sets of several versions of Stockfish.
///
/// Stockfish reserves 128 active rows. A capture lets at most three pawns pass each other to promote;
/// among such positions searches found up to 115, 115, 122 and 129 threats.
pub static SETS: [Threats; 4] = [
    // Stockfish 19.
    Threats {
        name: "threats",
        rows: 59_808,
        max_active: 128,
        victims: [KNIGHT_AND_ROOK, TO_QUEEN, TO_ROOK, TO_ROOK, TO_QUEEN, &[]],
        tables: OnceLock::new(),
    },
    // Versions from 13 February 2026 on.
    Threats {
        name: "threats-60144",
        rows: 60_144,
        max_active: 128,
        victims: [PAWN_KNIGHT_AND_ROOK, TO_QUEEN, TO_ROOK, TO_ROOK, TO_QUEEN, &[]],
        tables: OnceLock::new(),
    },
    // Versions from 4 February 2026 on.
    Threats {
        name: "threats-66864",
        rows: 66_864,
        max_active: 136,
        victims: [PAWN_KNIGHT_AND_ROOK, TO_QUEEN, TO_ROOK, TO_ROOK, TO_QUEEN, TO_ROOK],
        tables: OnceLock::new(),
    },
    // Stockfish 18.
    Threats {
        name: "threats-79856",
        rows: 79_856,
        max_active: 144,
        victims: [
            PAWN_KNIGHT_AND_ROOK,
            &Role::ALL,
            ROOK_AND_KING,
            ROOK_AND_KING,
            &Role::ALL,
            TO_ROOK,
        ],
        tables: OnceLock::new(),
    },
];

/// The first row of a pair of kinds without rows.
const NO_ROWS: u32 = u32::MAX;

/// The rows of an attacker and a victim: for each square of the attacker, a1 first, one for each
/// square that it attacks from there on an empty board.
struct ThreatBlock {
    attacker: usize,
    victim: usize,
    first_row: usize,
}

/// Tables of a set. Kinds of pieces are indices of [`KINDS`].
struct ThreatTables {
    blocks: Vec<ThreatBlock>,
    /// The first row, or [`NO_ROWS`], by whether the attacker is on the lower square, and by the
    /// kinds of attacker and victim.
    first_rows: [[[u32; 12]; 12]; 2],
    /// The offset from the first row, by kind of attacker, its square, and attacked square.
    offsets: [Box<[[u16; 64]; 64]>; 12],
    /// The [`attack_line`] of each row. Rows of one line exclude each other.
    lines: Vec<u16>,
}

/// Returns the squares that a piece attacks on an empty board; none for a pawn on a rank without
/// pawns.
fn reachable_squares(kind: usize, from: Square) -> Bitboard {
    let piece = Piece { color: Color::from_white(kind < 6), role: Role::ALL[kind % 6] };
    if piece.role == Role::Pawn && Bitboard::BACKRANKS.contains(from) {
        return Bitboard::EMPTY;
    }
    attacks::attacks(from, piece, Bitboard::EMPTY)
}

/// Iterates over all squares of a piece, a1 first, each with all that it attacks from there on an
/// empty board.
fn empty_board_attacks(kind: usize) -> impl Iterator<Item = [Square; 2]> {
    Square::ALL
        .into_iter()
        .flat_map(move |from| reachable_squares(kind, from).into_iter().map(move |to| [from, to]))
}

impl ThreatTables {
    fn new(victims: &[&[Role]; 6]) -> Self {
        let mut tables = Self {
            blocks: Vec::new(),
            first_rows: [[[NO_ROWS; 12]; 12]; 2],
            offsets: std::array::from_fn(|_| Box::new([[0; 64]; 64])),
            lines: Vec::new(),
        };
        for attacker in 0..12 {
            for (offset, [from, to]) in empty_board_attacks(attacker).enumerate() {
                tables.offsets[attacker][from as usize][to as usize] = offset as u16;
            }
            for first_kind in [0, 6] {
                for role in victims[attacker % 6] {
                    tables.add_block(attacker, first_kind + *role as usize - 1);
                }
            }
        }
        tables
    }

    /// Adds the rows of an attacker and a victim.
    fn add_block(&mut self, attacker: usize, victim: usize) {
        let first_row = self.lines.len();
        self.blocks.push(ThreatBlock { attacker, victim, first_row });
        self.lines.extend(empty_board_attacks(attacker).map(attack_line));
        self.first_rows[0][attacker][victim] = first_row as u32;
        // Pieces of the same role attack each other, except pawns of one side.
        let is_pawn = attacker.is_multiple_of(6);
        let is_mutual = attacker % 6 == victim % 6 && !(is_pawn && attacker == victim);
        if !is_mutual {
            self.first_rows[1][attacker][victim] = first_row as u32;
        }
    }

    fn block_of_row(&self, row: u32) -> &ThreatBlock {
        &self.blocks[self.blocks.partition_point(|block| block.first_row <= row as usize) - 1]
    }

    /// Returns the kinds of the attacker and the victim of a row, and their squares.
    fn threat_of_row(&self, row: u32) -> ([usize; 2], [Square; 2]) {
        let ThreatBlock { attacker, victim, first_row } = *self.block_of_row(row);
        let squares = empty_board_attacks(attacker).nth(row as usize - first_row);
        ([attacker, victim], squares.expect("a block has its rows"))
    }
}

/// Returns the square of the attacker and the direction of the attack as one number, `8 * square +
/// direction`. The eight directions of a queen are numbered from 0 to 7, and so are those of a
/// knight. So a piece attacks at most one other piece along a line.
fn attack_line([from, to]: [Square; 2]) -> u16 {
    let files = f64::from(to.file() as i32 - from.file() as i32);
    let ranks = f64::from(to.rank() as i32 - from.rank() as i32);
    let degrees = ranks.atan2(files).to_degrees() + 360.0;
    // A queen's directions are multiples of 45 degrees, to which one degree is added against
    // rounding. A knight has one direction between each two of them.
    let direction = (degrees + 1.0) as u16 / 45 % 8;
    8 * from as u16 + direction
}

impl Threats {
    fn tables(&self) -> &ThreatTables {
        self.tables.get_or_init(|| {
            let tables = ThreatTables::new(&self.victims);
            assert_eq!(tables.lines.len(), self.rows, "{}", self.name);
            tables
        })
    }

    /// Formats the first rows as lines of engine code: an array for each row of the table.
    fn format_first_rows(&self, language: Language) -> String {
        // `NO_ROWS` becomes -1.
        let to_line = |row: &[u32; 12]| format_array(language, row.map(|first| first as i32));
        self.tables().first_rows.as_flattened().iter().map(to_line).collect()
    }
}

/// Formats, as lines of engine code, how many squares a kind of piece attacks from all lower squares,
/// by square: an array for each kind up to an enemy pawn.
fn format_attack_counts(language: Language) -> String {
    let to_line = |kind: usize| {
        let mut before = 0;
        let counts = Square::ALL.map(|from| {
            let count = before;
            before += reachable_squares(kind, from).count();
            count
        });
        format_array(language, counts)
    };
    (0..7).map(to_line).collect()
}

/// Formats an array within an array of engine code, twelve numbers a line.
fn format_array<T: ToString, const N: usize>(language: Language, numbers: [T; N]) -> String {
    let [open, close] = language.choose_between(["[", "]"], ["{", "}"]);
    let to_line = |numbers: &[String]| format!("            {},\n", numbers.join(", "));
    let lines: String = numbers.map(|it| it.to_string()).chunks(12).map(to_line).collect();
    format!("        {open}\n{lines}        {close},\n")
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
            let from = mirrored.relative_square(attacker.square);
            let to = mirrored.relative_square(victim.square);
            let attacker = mirrored.piece_kind(*attacker);
            let victim = mirrored.piece_kind(*victim);
            let first_row = tables.first_rows[usize::from(from < to)][attacker][victim];
            let row = first_row.wrapping_add(tables.offsets[attacker][from][to].into());
            rows.push_if(first_row != NO_ROWS, row, 1);
        }
    }

    fn describe_row(&self, row: u32) -> String {
        let ([attacker, victim], [from, to]) = self.tables().threat_of_row(row);
        format!("{} on {from} attacks {} on {to}", KINDS[attacker], KINDS[victim])
    }

    /// Whether the squares are possible: pawns stand on six ranks, the own king on files a to d. A
    /// mutual attack has its attacker on the higher square.
    fn is_reachable(&self, row: u32) -> bool {
        let ([attacker, victim], squares) = self.tables().threat_of_row(row);
        let [from, to] = squares.map(usize::from);
        let own_kings: Vec<usize> = (0..64).filter(|square| square % 8 < 4).collect();
        self.tables().first_rows[usize::from(from < to)][attacker][victim] != NO_ROWS
            && bounds::is_square_of(attacker, from, &own_kings)
            && bounds::is_square_of(victim, to, &own_kings)
    }

    /// The factor is the set `threat-kinds`.
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
            let mut largest_by_line = vec![0; 8 * 64];
            for (row, line) in self.tables().lines.iter().enumerate() {
                let largest = &mut largest_by_line[usize::from(*line)];
                *largest = weight(row).max(*largest);
            }
            bounds::sum_largest(largest_by_line, self.max_active)
        })
    }

    fn engine_code(&self, language: Language) -> Option<String> {
        let code = language.choose_between(
            r"
/// Attacks of pieces on each other, by their squares.
fn NAME(board: &Board, perspective: usize, rows: &mut Rows) {
    /// First rows by the kinds of attacker and victim, -1 if there are none; 12 lines later if the
    /// attacker is on the lower square.
    const FIRST: [[isize; 12]; 24] = [
FIRST_ROWS    ];
    /// By kind of attacker and its square, how many squares it attacks from lower squares on an
    /// empty board, up to an enemy pawn.
    const BEFORE: [[u16; 64]; 7] = [
STEPS    ];
    let flip = board.flip(perspective);
    for (attacker, from) in board.pieces(perspective) {
        for (victim, to) in board.pieces_on(perspective, board.attacks[from]) {
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
static inline void nnue_NAME(const NnueBoard *board, int perspective, NnueRows *rows) {
    /* First rows by the kinds of attacker and victim, -1 where there are none; 12 lines later where
     * the attacker is on the lower square. */
    static const int first_rows[24][12] = {
FIRST_ROWS    };
    /* By kind of attacker and its square, how many squares it attacks from lower squares on an
     * empty board, up to an enemy pawn. */
    static const uint16_t before[7][64] = {
STEPS    };
    int flip = nnue_flip(board, perspective);
    for (uint64_t squares = board->occupied; squares;) {
        int at = nnue_pop(&squares), attacker = nnue_kind(board, perspective, at), from = at ^ flip;
        for (uint64_t victims = board->attacks[at] & board->occupied; victims;) {
            int on = nnue_pop(&victims), victim = nnue_kind(board, perspective, on), to = on ^ flip;
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
        let code = code
            .replace("NAME", &self.name.replace('-', "_"))
            .replace("FIRST_ROWS", &self.format_first_rows(language))
            .replace("STEPS", &format_attack_counts(language));
        Some(code)
    }
}
