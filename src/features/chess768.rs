//! The 768 inputs: 2 colours x 6 roles x 64 squares, one-hot.
//!
//! Source: the founding wiki page "Training a Neural Network for Chess" and the engines in use.

use shakmaty::{Color, Role, Square};

use super::{Features, MAX_ACTIVE, PointOfView};
use crate::sample::{Man, Position};

pub const INPUTS: usize = 768;

/// White's view alone: the net `768 -> N -> 1` of the wiki, relative to White.
pub static PLAIN: Features = Features {
    name: "plain",
    about: "768 inputs seen by White: 64 * piece + square, white pawn 0 ... black king 11, a1 = 0",
    inputs: INPUTS,
    views: 1,
    point_of_view: PointOfView::White,
    lists: |position, out| lists(position, [Color::White], out),
};

/// The view of the side to move alone: what bullet trains without its dual perspective.
pub static SIDE_TO_MOVE: Features = Features {
    name: "side-to-move",
    about: "768 inputs seen by the side to move: own men 0..383, the other side's 384..767, \
            squares xor 56 for Black",
    inputs: INPUTS,
    views: 1,
    point_of_view: PointOfView::SideToMove,
    lists: |position, out| lists(position, [position.turn()], out),
};

/// Both views, one weight matrix: `(768 -> N)x2 -> 1`, side to move first.
pub static PERSPECTIVE: Features = Features {
    name: "perspective",
    about: "768 inputs twice, seen by the side to move and then by the other side: own men \
            0..383, the other side's 384..767, squares xor 56 for Black's view",
    inputs: INPUTS,
    views: 2,
    point_of_view: PointOfView::SideToMove,
    lists: |position, out| {
        let turn = position.turn();
        lists(position, [turn, !turn], out);
    },
};

/// The lists of some views, each [`MAX_ACTIVE`] places from the one before. Training waits for
/// this: one table look-up and one exclusive or a man and view, out of [`index`].
fn lists<const VIEWS: usize>(position: &Position, views: [Color; VIEWS], out: &mut [u16]) {
    let tables = views.map(|view| &FIRST[usize::from(view.is_black())]);
    let flips = views.map(|view| if view.is_white() { 0 } else { 56 });
    let mut squares = position.occupied();
    let mut men = u128::from_le_bytes(position.nibbles());
    let mut place = 0;
    while squares != 0 {
        let square = squares.trailing_zeros() as u16;
        let man = (men & 15) as usize;
        for view in 0..VIEWS {
            out[view * MAX_ACTIVE + place] = tables[view][man] + (square ^ flips[view]);
        }
        squares &= squares - 1;
        men >>= 4;
        place += 1;
    }
}

/// By the colour of the view and the nibble of a man (see `Position`): the input on the square
/// that the view calls a1.
static FIRST: [[u16; 16]; 2] = [first(Color::White), first(Color::Black)];

const fn first(view: Color) -> [u16; 16] {
    let roles = [
        Role::Pawn,
        Role::Knight,
        Role::Bishop,
        Role::Rook,
        Role::Queen,
        Role::King,
        // A rook that may still castle.
        Role::Rook,
    ];
    let mut table = [INPUTS as u16; 16];
    let mut nibble = 0;
    while nibble < 16 {
        if nibble & 7 < roles.len() {
            let color = if nibble < 8 { Color::White } else { Color::Black };
            let square = if matches!(view, Color::White) { Square::A1 } else { Square::A8 };
            let man = Man { square, color, role: roles[nibble & 7], castles: false };
            table[nibble] = index(view, man) as u16;
        }
        nibble += 1;
    }
    table
}

/// The input that a man switches on in the view of one colour, 0 to 767.
///
/// The one place where the index is computed.
pub const fn index(view: Color, man: Man) -> usize {
    let (white, other) = match (view, man.color) {
        (Color::White, color) => (true, matches!(color, Color::Black)),
        (Color::Black, color) => (false, matches!(color, Color::White)),
    };
    let square = man.square as usize ^ if white { 0 } else { 56 };
    384 * other as usize + 64 * (man.role as usize - 1) + square
}
