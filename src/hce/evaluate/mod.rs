//! The evaluation, written once.
//!
//! Every part is written for White alone: for Black it sees the board turned top to bottom with
//! the colours swapped. So colours cannot differ.

mod king;
mod pawns;
mod pieces;
mod squares;
mod threats;
mod view;

use shakmaty::{Color, Role};

use super::Sink;
use super::terms::{Part, Row, row};
use crate::sample::Position;

pub(super) use squares::DARK;
use view::View;

const MATERIAL: Row<1> = row("material");
const PSQT: Row<2> = row("psqt");

/// A position, and its pieces as sets of squares.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    pub position: &'a Position,
    /// The pieces of each colour by role, White first, pawn to king.
    pub pieces: [[u64; 6]; 2],
    /// How many they are.
    counts: [[i32; 6]; 2],
}

impl<'a> Board<'a> {
    pub fn of(position: &'a Position) -> Self {
        let pieces = position.bitboards();
        let counts = pieces.map(|sets| sets.map(|set| set.count_ones() as i32));
        Self { position, pieces, counts }
    }

    /// Pieces of a role, by colour.
    pub fn counts(&self, role: Role) -> [i32; 2] {
        self.counts.map(|counts| counts[role as usize - 1])
    }
}

/// Names every term that applies in a position, for both colours.
///
/// What is no term, the phase and the tempo, is left to whoever sums up.
pub fn evaluate(position: &Position, sink: &mut impl Sink) {
    evaluate_board(&Board::of(position), sink);
}

/// Registers the parts that are written for one side.
macro_rules! parts {
    ($($part:ident: $file:ident::$count:ident,)*) => {
        const ONE_SIDED: &[Part] = &[$(Part::$part),*];

        fn one_side(view: &View, colour: Color, sink: &mut impl Sink) {
            $(if sink.wants(Part::$part) {
                $file::$count(view, &mut |term, count| sink.add(term, colour, count));
            })*
        }
    };
}

parts! {
    Mobility: pieces::mobility,
    Pawns: pawns::pawns,
    Passed: pawns::passed,
    Knights: pieces::knights,
    Bishops: pieces::bishops,
    Rooks: pieces::rooks,
    Queens: pieces::queens,
    Threats: threats::threats,
    Space: threats::space,
    King: king::king,
    Safety: king::safety,
}

pub(super) fn evaluate_board(board: &Board, sink: &mut impl Sink) {
    material_and_squares(board, sink);
    if ONE_SIDED.iter().any(|part| sink.wants(*part)) {
        let [white, black] = View::both(board);
        one_side(&white, Color::White, sink);
        one_side(&black, Color::Black, sink);
    }
    if sink.wants(Part::Complexity) {
        threats::complexity(board, sink);
    }
}

/// Counts what needs bitboards alone: material and squares.
fn material_and_squares(board: &Board, sink: &mut impl Sink) {
    if sink.wants(Part::Material) {
        for (colour, counts) in [Color::White, Color::Black].into_iter().zip(&board.counts) {
            for (role, count) in counts[..5].iter().enumerate().filter(|(_, count)| **count != 0) {
                sink.add(MATERIAL.at([role]), colour, *count);
            }
        }
    }
    if sink.wants(Part::Psqt) {
        // Square after square: a loop for each role would be mispredicted twelve times.
        for piece in board.position.pieces() {
            let square = piece.square as usize ^ piece.color.fold_wb(0, 56);
            sink.add(PSQT.at([piece.role as usize - 1, square]), piece.color, 1);
        }
    }
}
