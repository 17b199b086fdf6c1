//! The phase of the game, from middlegame to endgame, and the scale factor of endgames.

use shakmaty::Role;

use super::evaluate::{DARK, TermBoard};
use crate::sample::Position;

/// The phase of a position, as in Ethereal: the endgame weight of a term counts
/// `endgame / 256 * scale_factor / 128` times, the middlegame weight `1 - endgame / 256` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Share of the endgame in 256ths: 0 with all pieces, 256 with kings and pawns only.
    pub endgame: i32,
    /// Scale factor of the endgame in 128ths, 16 to 128, equal for both colours.
    pub scale_factor: i32,
}

/// Share of the endgame with kings and pawns only.
const WHOLE: i32 = 256;
/// Material of all pieces, as [`phase_material`] counts it.
const ALL_PIECES: i32 = 24;
/// Scale factor of an endgame that is not drawish.
const UNSCALED: i32 = 128;

impl Phase {
    /// Computes the phase of a position, with the scale factor of its endgame.
    pub fn from_position(position: &Position) -> Phase {
        Phase::from_board(&TermBoard::from_position(position), true)
    }

    /// Computes the phase of a board. Without `scales_endgame` no endgame is scaled down.
    pub(super) fn from_board(board: &TermBoard, scales_endgame: bool) -> Phase {
        let scale_factor = if scales_endgame { endgame_factor(board) } else { UNSCALED };
        // Rounded to the nearest.
        let missing = WHOLE * (ALL_PIECES - phase_material(board));
        Phase { endgame: (missing + ALL_PIECES / 2) / ALL_PIECES, scale_factor }
    }

    /// Returns the shares of the middlegame weight and of the endgame weight, the second one times
    /// the scale factor. Both are 0 to 1, and exact in an f32 too.
    pub fn phase_shares(self) -> [f64; 2] {
        let middlegame = f64::from(WHOLE - self.endgame) / f64::from(WHOLE);
        let endgame = f64::from(self.endgame * self.scale_factor) / f64::from(WHOLE * UNSCALED);
        [middlegame, endgame]
    }
}

/// Counts 1 for a minor piece, 2 for a rook and 4 for a queen: 24 with all pieces, which is the
/// maximum, 0 with kings and pawns only.
pub fn count_phase_material(position: &Position) -> u8 {
    phase_material(&TermBoard::from_position(position)) as u8
}

fn phase_material(board: &TermBoard) -> i32 {
    let [white, black] = board
        .counts
        .map(|[_, knights, bishops, rooks, queens, _]| knights + bishops + 2 * rooks + 4 * queens);
    (white + black).min(ALL_PIECES)
}

/// The number of pieces of a side by role, pawn to king.
type PieceCounts = [i32; 6];

/// Returns the scale factor of the endgame in 128ths: the lowest of all rules.
fn endgame_factor(board: &TermBoard) -> i32 {
    let [white, black] = board.counts;
    let factors = [
        opposite_bishops(board),
        queen_against_pieces(white, black),
        queen_against_pieces(black, white),
        without_pawns(white, black),
        without_pawns(black, white),
    ];
    factors.into_iter().min().unwrap_or(UNSCALED)
}

/// Returns the factor of single bishops on opposite colours, at most two pawns apart, with equal
/// other pieces: none, a knight each, or a rook each.
fn opposite_bishops(board: &TermBoard) -> i32 {
    let has_dark_bishop = |pieces: [u64; 6]| pieces[Role::Bishop as usize - 1] & DARK != 0;
    let [white, black] = board.pieces.map(has_dark_bishop);
    if white == black {
        return UNSCALED;
    }
    let [white, black] = board.counts;
    let ([white_pawns, ..], [black_pawns, ..]) = (white, black);
    let pieces = &white[1..5];
    if (white_pawns - black_pawns).abs() > 2 || *pieces != black[1..5] {
        return UNSCALED;
    }
    match pieces {
        [0, 1, 0, 0] => 64,
        [1, 1, 0, 0] => 96,
        [0, 1, 1, 0] => 104,
        _ => UNSCALED,
    }
}

/// Returns the factor of a single queen against several pieces without a queen.
fn queen_against_pieces(ours: PieceCounts, theirs: PieceCounts) -> i32 {
    let [.., our_queens, _] = ours;
    let [.., their_queens, _] = theirs;
    let is_single_queen = our_queens == 1 && count_pieces(ours) == 1;
    let are_several = their_queens == 0 && count_pieces(theirs) > 1;
    if is_single_queen && are_several { 88 } else { UNSCALED }
}

/// Returns the factor of a side without pawns whose pieces are worth more than the other's pieces and
/// pawns: a low one if they are worth at most three pawns more than its pieces, or are two knights
/// against pawns alone.
fn without_pawns(ours: PieceCounts, theirs: PieceCounts) -> i32 {
    let ([our_pawns, our_knights, ..], [their_pawns, ..]) = (ours, theirs);
    let lead = piece_value(ours) - piece_value(theirs);
    let is_ahead = our_pawns == 0 && lead > their_pawns;
    let two_knights = our_knights == 2 && count_pieces(ours) == 2 && count_pieces(theirs) == 0;
    if is_ahead && (lead <= 3 || two_knights) { 16 } else { UNSCALED }
}

/// Counts knights, bishops, rooks and queens.
fn count_pieces([_, knights, bishops, rooks, queens, _]: PieceCounts) -> i32 {
    knights + bishops + rooks + queens
}

/// Returns the value of knights, bishops, rooks and queens in pawns, as beginners count it.
fn piece_value([_, knights, bishops, rooks, queens, _]: PieceCounts) -> i32 {
    3 * (knights + bishops) + 5 * rooks + 9 * queens
}
