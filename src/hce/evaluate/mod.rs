//! The evaluation, written once.
//!
//! Every part is written for White alone: for Black it sees the board turned top to bottom with
//! the colours swapped. So colours cannot differ.

mod bishops;
mod board;
mod closedness;
mod complexity;
mod files;
mod king;
mod knights;
mod mobility;
mod passed;
mod pawns;
mod queens;
mod rooks;
mod safety;
mod space;
mod squares;
mod threats;
mod view;

use shakmaty::Color;

use super::Sink;
use super::terms::Part;
use crate::sample::Position;

pub(super) use board::Board;
pub(super) use squares::DARK;
use view::View;

/// Names every term that applies in a position, for both colours.
///
/// What is no term, the phase and the tempo, is left to whoever sums up.
pub fn evaluate(position: &Position, sink: &mut impl Sink) {
    evaluate_board(&Board::of(position), sink);
}

/// Registers the parts that are written for one side: each counts what its file says.
macro_rules! parts {
    ($($part:ident: $file:ident,)*) => {
        const ONE_SIDED: &[Part] = &[$(Part::$part),*];

        fn one_side(view: &View, colour: Color, sink: &mut impl Sink) {
            $(if sink.wants(Part::$part) {
                $file::count(view, &mut |term, count| sink.add(term, colour, count));
            })*
        }
    };
}

parts! {
    Mobility: mobility,
    Pawns: pawns,
    Passed: passed,
    Knights: knights,
    Bishops: bishops,
    Rooks: rooks,
    Queens: queens,
    Threats: threats,
    Space: space,
    King: king,
    Safety: safety,
}

pub(super) fn evaluate_board(board: &Board, sink: &mut impl Sink) {
    board::count(board, sink);
    if ONE_SIDED.iter().any(|part| sink.wants(*part)) {
        let [white, black] = View::both(board);
        one_side(&white, Color::White, sink);
        one_side(&black, Color::Black, sink);
    }
    if sink.wants(Part::Complexity) {
        complexity::count(board, sink);
    }
}
