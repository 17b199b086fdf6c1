//! Attacks of pieces on each other by squares, numbered as in Stockfish (Full_Threats, July 2026).

use std::sync::LazyLock;

use shakmaty::{Bitboard, Color, Piece, Role, Square, attacks};

use super::threat_kinds::{self, THREAT_KINDS};
use super::{Board, FeatureSet, Integer, KINDS, Language, Perspective, Rows, Threat, bounds};

/// The feature set. Files are flipped if the own king stands on e to h. Pieces of the same role
/// that attack each other are one row, that of the attacker on the higher square.
pub struct Threats;

/// Victims that have rows, by the role of their attacker, pawn to queen. Each pair of roles that
/// attack each other at once has rows in one direction, so that a pair of pieces has at most one.
const VICTIMS: [&[Role]; 5] = [
    &[Role::Knight, Role::Rook],
    &[Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen],
    &[Role::Pawn, Role::Knight, Role::Bishop, Role::Rook],
    &[Role::Pawn, Role::Knight, Role::Bishop, Role::Rook],
    &[Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen],
];

const ROWS: usize = 59_808;
/// Most threats, as many as Stockfish reserves. Two pieces have one row at most, and a capture lets
/// at most three pawns pass each other to promote: searches find up to 115 among such positions.
const MAX_THREATS: usize = 128;
/// First row of kinds without rows.
const NONE: u32 = u32::MAX;

/// Rows of an attacker and a victim: those of each square that the attacker can stand on, a1 first,
/// and each square that it attacks from there on an empty board.
struct Block {
    attacker: usize,
    victim: usize,
    first: usize,
}

struct Tables {
    blocks: Vec<Block>,
    /// First row by the kinds of attacker and victim.
    first: [[u32; 12]; 12],
    /// Distance from it, by attacker, square and attacked square.
    step: [Box<[[u16; 64]; 64]>; 12],
    /// Square and direction of each row as one number: rows of one number exclude each other.
    lines: Vec<u16>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::new);

/// Squares that a piece attacks on an empty board; none for a pawn on a rank without pawns.
fn reach(kind: usize, from: Square) -> Bitboard {
    let piece = Piece { color: Color::from_white(kind < 6), role: Role::ALL[kind % 6] };
    match piece.role == Role::Pawn && Bitboard::BACKRANKS.contains(from) {
        true => Bitboard::EMPTY,
        false => attacks::attacks(from, piece, Bitboard::EMPTY),
    }
}

/// All squares and those that a piece attacks from each on an empty board, in order.
fn steps(kind: usize) -> impl Iterator<Item = [Square; 2]> {
    Square::ALL
        .into_iter()
        .flat_map(move |from| reach(kind, from).into_iter().map(move |to| [from, to]))
}

impl Tables {
    fn new() -> Self {
        let mut tables = Self {
            blocks: Vec::new(),
            first: [[NONE; 12]; 12],
            step: std::array::from_fn(|_| Box::new([[0; 64]; 64])),
            lines: Vec::new(),
        };
        for attacker in (0..12).filter(|kind| kind % 6 < 5) {
            for (step, [from, to]) in steps(attacker).enumerate() {
                tables.step[attacker][from as usize][to as usize] = step as u16;
            }
            for side in [0, 6] {
                for role in VICTIMS[attacker % 6] {
                    let (victim, first) = (side + *role as usize - 1, tables.lines.len());
                    tables.blocks.push(Block { attacker, victim, first });
                    tables.first[attacker][victim] = first as u32;
                    tables.lines.extend(steps(attacker).map(line));
                }
            }
        }
        assert_eq!(tables.lines.len(), ROWS);
        tables
    }

    fn block(&self, row: u32) -> &Block {
        &self.blocks[self.blocks.partition_point(|block| block.first <= row as usize) - 1]
    }
}

/// The square of an attacker and the direction of the attacked square as one number: each of the
/// eight lines and jumps of a knight has its own.
fn line([from, to]: [Square; 2]) -> u16 {
    let across = f64::from(to.file() as i32 - from.file() as i32);
    let up = f64::from(to.rank() as i32 - from.rank() as i32);
    let degrees = up.atan2(across).to_degrees() + 360.0;
    // The first degree of an eighth is that of a line.
    8 * from as u16 + (degrees + 1.0) as u16 / 45 % 8
}

impl FeatureSet for Threats {
    fn name(&self) -> &str {
        "threats"
    }

    fn rows(&self) -> usize {
        ROWS
    }

    fn max_active(&self) -> usize {
        MAX_THREATS
    }

    fn active(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let (tables, seen) = (&*TABLES, Perspective::mirrored(board, perspective));
        for Threat { attacker, victim } in board.threats() {
            let [from, to] = [attacker, victim].map(|it| seen.square(it.square));
            let is_twin = attacker.role == victim.role && from < to;
            let [attacker, victim] = [*attacker, *victim].map(|it| seen.kind(it));
            let first = tables.first[attacker][victim];
            let row = first.wrapping_add(tables.step[attacker][from][to].into());
            rows.push_if((first != NONE) & !is_twin, row, 1);
        }
    }

    fn describe(&self, row: u32) -> String {
        let Block { attacker, victim, first } = TABLES.block(row);
        match steps(*attacker).nth(row as usize - first) {
            Some([from, to]) => {
                format!("{} on {from} attacks {} on {to}", KINDS[*attacker], KINDS[*victim])
            }
            None => format!("row {row}"),
        }
    }

    /// The kinds of attacker and victim, as the set `threat-kinds` has them.
    fn factor_rows(&self) -> usize {
        THREAT_KINDS
    }

    fn factor(&self, row: u32) -> Option<u32> {
        let Block { attacker, victim, .. } = TABLES.block(row);
        Some(threat_kinds::row(*attacker, *victim) as u32)
    }

    fn integer(&self) -> Integer {
        Integer::I8
    }

    /// The one piece on a square attacks at most one other in each direction.
    fn bounds(&self, weights: &[i32]) -> [i64; 2] {
        bounds::both(weights, |weight| {
            let mut lines = [0; 8 * 64];
            for (row, line) in TABLES.lines.iter().enumerate() {
                let most = &mut lines[usize::from(*line)];
                *most = weight(row).max(*most);
            }
            lines.sort_unstable_by(|a, b| b.cmp(a));
            lines[..MAX_THREATS].iter().sum()
        })
    }

    fn source(&self, language: Language) -> Option<String> {
        let code = language.choose(
            r"
/// First rows of threats by the kinds of attacker and victim; -1 if there are none.
const THREATS: [[isize; 12]; 12] = [
FIRST];

/// By kind of attacker and its square, how many squares it attacks from lower squares on an empty
/// board; an enemy pawn replaces the king.
const BEFORE: [[u16; 64]; 6] = [
STEPS];

/// Attacks of pieces on each other, by their squares.
fn threats(board: &Board, view: usize, rows: &mut Rows) {
    let flip = board.flip(view);
    for (attacker, from) in board.men(view) {
        for (victim, to) in board.men_on(view, board.attacks[from]) {
            let (from, to) = (from ^ flip, to ^ flip);
            let is_twin = attacker % 6 == victim % 6 && from < to;
            if THREATS[attacker][victim] < 0 || is_twin {
                continue;
            }
            let before = BEFORE[if attacker == 6 { 5 } else { attacker % 6 }][from];
            let lower = attacks(attacker, from, 0) & ((1 << to) - 1);
            let step = usize::from(before) + lower.count_ones() as usize;
            rows.push(THREATS[attacker][victim] as usize + step);
        }
    }
}
",
            r"
/* First rows of threats by the kinds of attacker and victim; -1 where there are none. */
static const int nnue_threats_first[12][12] = {
FIRST};

/* By kind of attacker and its square, how many squares it attacks from lower squares on an empty
 * board; the last row is for enemy pawns, as kings are not listed. */
static const uint16_t nnue_threats_before[6][64] = {
STEPS};

/* Attacks between pieces, by kinds and squares. */
static inline void nnue_threats(const NnueBoard *board, int view, NnueRows *rows) {
    int flip = nnue_flip(board, view);
    for (uint64_t men = board->occupied; men;) {
        int at = nnue_pop(&men), attacker = nnue_kind(board, view, at), from = at ^ flip;
        for (uint64_t victims = board->attacks[at] & board->occupied; victims;) {
            int on = nnue_pop(&victims), victim = nnue_kind(board, view, on), to = on ^ flip;
            int first = nnue_threats_first[attacker][victim];
            if (first < 0 || (attacker % 6 == victim % 6 && from < to)) continue;
            int before = nnue_threats_before[attacker == 6 ? 5 : attacker % 6][from];
            uint64_t lower = nnue_attacks(attacker, from, 0) & (((uint64_t)1 << to) - 1);
            nnue_add(rows, first + before + nnue_count(lower));
        }
    }
}
",
        );
        let [open, close] = language.choose(["[", "]"], ["{", "}"]);
        let lines = |rows: &mut dyn Iterator<Item = Vec<String>>| -> String {
            let line = |numbers: &[String]| format!("        {},\n", numbers.join(", "));
            let row = |numbers: Vec<String>| -> String { numbers.chunks(12).map(line).collect() };
            rows.map(|it| format!("    {open}\n{}    {close},\n", row(it))).collect()
        };
        let first = |row: [u32; 12]| row.map(|it| (it as i32).to_string()).to_vec();
        let before = |kind: usize| -> Vec<String> {
            let reaches = Square::ALL.map(|from| reach(kind, from).count());
            let before = |from: usize| reaches[..from].iter().sum::<usize>().to_string();
            (0..64).map(before).collect()
        };
        let first = lines(&mut TABLES.first.into_iter().map(first));
        let before = lines(&mut [0, 1, 2, 3, 4, 6].into_iter().map(before));
        Some(code.replace("FIRST", &first).replace("STEPS", &before))
    }
}
