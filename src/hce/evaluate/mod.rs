//! The evaluation, written once for White. For Black the board is flipped.

mod king;
mod pawns;
mod pieces;
mod squares;
mod threats;

pub(super) use squares::DARK;

use shakmaty::Color;
use squares::*;

use super::terms::term;
use super::{Term, TermSink};
use crate::sample::Position;

/// A position, and its pieces as bitboards.
#[derive(Clone, Copy, Debug)]
pub struct TermBoard<'a> {
    pub position: &'a Position,
    /// Pieces of each colour by role, White first, pawn to king.
    pub pieces: [[u64; 6]; 2],
    pub counts: [[i32; 6]; 2],
}

impl<'a> TermBoard<'a> {
    pub fn from_position(position: &'a Position) -> Self {
        let pieces = position.bitboards();
        let counts = pieces.map(|sets| sets.map(|set| set.count_ones() as i32));
        Self { position, pieces, counts }
    }
}

/// Adds every term of a position to a sink. Its owner adds phase and tempo.
pub fn evaluate_terms(position: &Position, sink: &mut impl TermSink) {
    evaluate_board(&TermBoard::from_position(position), sink);
}

/// Defines the parts of the evaluation by the first words of their terms: parts of a whole board,
/// then parts that a function counts for one side.
macro_rules! parts {
    ($($board_words:literal $board_part:ident,)*;
     $($words:literal $part:ident $file:ident::$count:ident,)*) => {
        /// A part of the evaluation, skipped if none of its terms is used.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EvaluationPart {
            $($board_part,)*
            $($part,)*
        }

        /// Whether each part is counted.
        pub type Parts = [bool; PARTS.len()];
        const PARTS: &[(&str, EvaluationPart)] = &[
            $(($board_words, EvaluationPart::$board_part),)*
            $(($words, EvaluationPart::$part),)*
        ];
        const ONE_SIDED: &[EvaluationPart] = &[$(EvaluationPart::$part),*];

        fn one_side(view: &View, colour: Color, sink: &mut impl TermSink) {
            $(if sink.needs_part(EvaluationPart::$part) {
                $file::$count(view, &mut term_counter(sink, colour));
            })*
        }
    };
}

parts! {
    "material" Material,
    "psqt" Psqt,
    "complexity" Complexity,
    ;
    "mobility" Mobility pieces::evaluate_mobility,
    "pawns" Pawns pawns::evaluate_pawns,
    "pawns.passed" Passed pawns::evaluate_passed,
    "knights" Knights pieces::evaluate_knights,
    "bishops" Bishops pieces::evaluate_bishops,
    "rooks" Rooks pieces::evaluate_rooks,
    "queens" Queens pieces::evaluate_queens,
    "threats" Threats threats::evaluate_threats,
    "space" Space threats::evaluate_space,
    "king" King king::evaluate_king,
    "king.safety" Safety king::evaluate_safety,
}

impl EvaluationPart {
    /// Returns the part that counts a group, by its name.
    pub(super) fn part_of_group(name: &str) -> EvaluationPart {
        let parts = PARTS.iter().filter(|(words, _)| name.starts_with(words));
        parts.max_by_key(|(words, _)| words.len()).expect("each group is of a part").1
    }
}

/// Returns a function that passes counts of a colour's terms to a sink, unless they are 0.
#[inline]
fn term_counter(sink: &mut impl TermSink, colour: Color) -> impl FnMut(Term, i32) {
    move |term, count| {
        if count != 0 {
            sink.add(term, colour, count);
        }
    }
}

pub(super) fn evaluate_board(board: &TermBoard, sink: &mut impl TermSink) {
    count_material_and_squares(board, sink);
    if ONE_SIDED.iter().any(|part| sink.needs_part(*part)) {
        let [white, black] = View::both_views(board);
        one_side(&white, Color::White, sink);
        one_side(&black, Color::Black, sink);
    }
    if sink.needs_part(EvaluationPart::Complexity) {
        threats::evaluate_complexity(board, &mut term_counter(sink, Color::White));
    }
}

/// Counts terms that need bitboards only: material and squares.
fn count_material_and_squares(board: &TermBoard, sink: &mut impl TermSink) {
    if sink.needs_part(EvaluationPart::Material) {
        for (colour, counts) in Color::ALL.into_iter().zip(&board.counts) {
            let mut add = term_counter(sink, colour);
            counts[..5].iter().enumerate().for_each(|(i, it)| add(term!("material", i), *it));
        }
    }
    if sink.needs_part(EvaluationPart::Psqt) {
        // Square by square: a loop for each role would be mispredicted twelve times.
        for piece in board.position.pieces() {
            let square = piece.square as usize ^ piece.color.fold_wb(0, 56);
            sink.add(term!("psqt", piece.role as usize - 1, square), piece.color, 1);
        }
    }
}

/// A piece other than pawn and king, and its attacks.
#[derive(Clone, Copy, Default)]
struct TermPiece {
    pub square: u32,
    pub role: usize,
    pub attacks: u64,
}

#[derive(Clone, Copy, Default)]
struct TermSide {
    pub pieces: [u64; 6],
    pub all: u64,
    pub king: u32,
    /// The king, the squares around it, and those one rank further up.
    pub area: u64,
    /// Squares attacked, by role.
    pub attacks: [u64; 6],
    pub attacked: u64,
    /// Squares attacked by two pieces or more.
    pub twice: u64,
    /// Pieces that attack the enemy king's area, by role.
    pub attackers: [i32; 6],
    /// Number of squares of the enemy king's area that each piece attacks, summed.
    pub hits: i32,
}

/// A board from the point of view of one side.
struct View {
    pub us: TermSide,
    pub them: TermSide,
    pub occupied: u64,
    /// Own pieces; the first `len` entries are used.
    list: [TermPiece; 32],
    len: usize,
    pub closed: usize,
    pub our_turn: bool,
}

impl View {
    pub fn pieces(&self) -> impl Iterator<Item = TermPiece> + '_ {
        self.list[..self.len].iter().copied()
    }

    pub fn both_views(board: &TermBoard) -> [View; 2] {
        let [white, black] = board.pieces;
        let flip = |sets: [u64; 6]| sets.map(u64::swap_bytes);
        let (ours, white_list, white_len) = TermSide::from_bitboards(&white, &black);
        let (theirs, black_list, black_len) = TermSide::from_bitboards(&flip(black), &flip(white));
        let occupied = ours.all | theirs.all.swap_bytes();
        let closed = pawn_closedness(white[PAWN], black[PAWN]);
        let view = |us: &TermSide, them: &TermSide, list, len, occupied, our_turn| {
            let (us, them) = (*us, them.flip_side());
            View { us, them, occupied, list, len, closed, our_turn }
        };
        let white_turn = board.position.turn().is_white();
        [
            view(&ours, &theirs, white_list, white_len, occupied, white_turn),
            view(&theirs, &ours, black_list, black_len, occupied.swap_bytes(), !white_turn),
        ]
    }
}

impl TermSide {
    fn from_bitboards(us: &[u64; 6], them: &[u64; 6]) -> (TermSide, [TermPiece; 32], usize) {
        let all = us.iter().fold(0, |all, set| all | set);
        let occupied = them.iter().fold(all, |all, set| all | set);
        let target = king_area(king_square(them[KING], 56), true);
        let king = king_square(us[KING], 0);
        let mut side = TermSide { pieces: *us, all, king, ..TermSide::default() };
        side.area = king_area(king, false);
        side.add_attack(PAWN, shift_east(us[PAWN]) << 8);
        side.add_attack(PAWN, shift_west(us[PAWN]) << 8);
        side.add_attack(KING, king_attacks(king));
        let mut list = [TermPiece::default(); 32];
        let mut len = 0;
        let through_queens = occupied & !us[QUEEN];
        let through_rooks = through_queens & !us[ROOK];
        for (role, squares) in us.iter().enumerate().take(QUEEN + 1).skip(KNIGHT) {
            for square in squares_of(*squares) {
                let attacks = match role {
                    KNIGHT => knight_attacks(square),
                    BISHOP => bishop_attacks(square, through_queens),
                    ROOK => rook_attacks(square, through_rooks),
                    _ => bishop_attacks(square, occupied) | rook_attacks(square, occupied),
                };
                side.add_attack(role, attacks);
                if attacks & target != 0 {
                    side.attackers[role] += 1;
                    side.hits += count_squares(attacks & target);
                }
                list[len] = TermPiece { square, role, attacks };
                len += 1;
            }
        }
        (side, list, len)
    }

    fn add_attack(&mut self, role: usize, squares: u64) {
        self.attacks[role] |= squares;
        self.twice |= self.attacked & squares;
        self.attacked |= squares;
    }

    /// Returns the side from the other side's point of view.
    fn flip_side(&self) -> TermSide {
        TermSide {
            pieces: self.pieces.map(u64::swap_bytes),
            all: self.all.swap_bytes(),
            king: self.king ^ 56,
            area: self.area.swap_bytes(),
            attacks: self.attacks.map(u64::swap_bytes),
            attacked: self.attacked.swap_bytes(),
            twice: self.twice.swap_bytes(),
            ..*self
        }
    }
}

/// Returns the king's square. Without a king, as in damaged files, it is e1, flipped by `flip`.
fn king_square(kings: u64, flip: u32) -> u32 {
    if kings == 0 { 4 ^ flip } else { kings.trailing_zeros() }
}

fn king_area(square: u32, down: bool) -> u64 {
    let ring = king_attacks(square) | 1 << square;
    ring | if down { ring >> 8 } else { ring << 8 }
}
