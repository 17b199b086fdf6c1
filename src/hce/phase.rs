//! The phase of the game, from middlegame to endgame, and the scale factor of endgames.

use shakmaty::Role;

use super::evaluate::{DARK, TermBoard};
use crate::sample::Position;

/// The phase of a position in 256ths, and the scale factor of its endgame in 128ths. As in Ethereal,
/// `lambda = knights + bishops + 2 * rooks + 4 * queens`, at most 24, and in integers
/// `rho = (256 * (24 - lambda) + 12) / 24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Phase: 0 with all pieces, 256 with kings and pawns only.
    pub rho: i32,
    /// Scale factor of the endgame, at most 128, equal for both colours.
    pub xi: i32,
}

/// The denominator of `rho`.
const ONE: i32 = 256;
const UNSCALED: i32 = 128;

impl Phase {
    pub fn from_position(position: &Position) -> Phase {
        Phase::of_board(&TermBoard::from_position(position), true)
    }

    pub(super) fn of_board(board: &TermBoard, scale_factor: bool) -> Phase {
        let xi = if scale_factor { endgame_factor(board) } else { UNSCALED };
        Phase { rho: (ONE * (24 - phase_lambda(board)) + 12) / 24, xi }
    }

    /// Returns `lambda`: 24 with all pieces, 0 with kings and pawns only.
    pub fn piece_phase(position: &Position) -> u8 {
        phase_lambda(&TermBoard::from_position(position)) as u8
    }

    /// Returns the shares of the middlegame and the endgame weight, the second one times the scale
    /// factor: 0 to 1, exact in an f32 too.
    pub fn phase_shares(self) -> [f64; 2] {
        let endgame = f64::from(self.rho * self.xi) / f64::from(ONE * UNSCALED);
        [f64::from(ONE - self.rho) / f64::from(ONE), endgame]
    }
}

fn phase_lambda(board: &TermBoard) -> i32 {
    let side_lambda = |[_, knights, bishops, rooks, queens, _]: [i32; 6]| {
        knights + bishops + 2 * rooks + 4 * queens
    };
    board.counts.map(side_lambda).iter().sum::<i32>().min(24)
}

/// Returns the scale factor of the endgame in 128ths.
fn endgame_factor(board: &TermBoard) -> i32 {
    let [white, black] = board.counts;
    let dark = board.pieces.map(|sets| sets[Role::Bishop as usize - 1] & DARK != 0);
    let both = |rule: fn([i32; 6], [i32; 6]) -> i32| rule(white, black).min(rule(black, white));
    let bishops = if dark[0] == dark[1] { UNSCALED } else { lone_bishops(white, black) };
    bishops.min(both(queen_against_pieces)).min(both(without_pawns))
}

/// Counts knights, bishops, rooks and queens.
fn count_pieces([_, knights, bishops, rooks, queens, _]: [i32; 6]) -> i32 {
    knights + bishops + rooks + queens
}

/// Returns the factor of single bishops on different colours, at most two pawns apart.
fn lone_bishops(a: [i32; 6], b: [i32; 6]) -> i32 {
    if (a[0] - b[0]).abs() > 2 || a[1..5] != b[1..5] {
        return UNSCALED;
    }
    match a[1..5] {
        [0, 1, 0, 0] => 64,
        [1, 1, 0, 0] => 96,
        [0, 1, 1, 0] => 104,
        _ => UNSCALED,
    }
}

/// Returns the factor of a single queen against several pieces.
fn queen_against_pieces(a: [i32; 6], b: [i32; 6]) -> i32 {
    let is_single_queen = a[4] == 1 && count_pieces(a) == 1;
    if is_single_queen && b[4] == 0 && count_pieces(b) > 1 { 88 } else { UNSCALED }
}

/// Returns the factor of a side without pawns, ahead by at most three pawns or by two knights.
fn without_pawns(a: [i32; 6], b: [i32; 6]) -> i32 {
    // Beginner's values of the pieces, in pawns.
    let value = |[_, knights, bishops, rooks, queens, _]: [i32; 6]| {
        3 * (knights + bishops) + 5 * rooks + 9 * queens
    };
    let lead = value(a) - value(b);
    let ahead = a[0] == 0 && lead > b[0];
    let two_knights = a[1] == 2 && count_pieces(a) == 2 && count_pieces(b) == 0;
    if ahead && (lead <= 3 || two_knights) { 16 } else { UNSCALED }
}
