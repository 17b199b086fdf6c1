//! A position as bitboards, and the terms that need no more: material and squares.

use shakmaty::{Color, Role};

use crate::hce::Sink;
use crate::hce::terms::{Part, Row, row};
use crate::sample::Position;

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

pub fn count(board: &Board, sink: &mut impl Sink) {
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
