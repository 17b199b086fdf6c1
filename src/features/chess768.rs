//! The 768 inputs: 2 colours x 6 roles x 64 squares, one-hot.
//!
//! Source: the founding wiki page "Training a Neural Network for Chess" and the engines in use.

use shakmaty::Color;

use super::{Features, PointOfView};
use crate::sample::{Man, Position};

pub const INPUTS: usize = 768;

/// White's view alone: the net `768 -> N -> 1` of the wiki, relative to White.
pub static PLAIN: Features = Features {
    name: "plain",
    about: "768 inputs seen by White: 64 * piece + square, white pawn 0 ... black king 11, a1 = 0",
    inputs: INPUTS,
    views: 1,
    point_of_view: PointOfView::White,
    list: |position, _, each| list(position, Color::White, each),
};

/// The view of the side to move alone: what bullet trains without its dual perspective.
pub static SIDE_TO_MOVE: Features = Features {
    name: "side-to-move",
    about: "768 inputs seen by the side to move: own men 0..383, the other side's 384..767, \
            squares xor 56 for Black",
    inputs: INPUTS,
    views: 1,
    point_of_view: PointOfView::SideToMove,
    list: |position, _, each| list(position, position.turn(), each),
};

/// Both views, one weight matrix: `(768 -> N)x2 -> 1`, side to move first.
pub static PERSPECTIVE: Features = Features {
    name: "perspective",
    about: "768 inputs twice, seen by the side to move and then by the other side: own men \
            0..383, the other side's 384..767, squares xor 56 for Black's view",
    inputs: INPUTS,
    views: 2,
    point_of_view: PointOfView::SideToMove,
    list: |position, view, each| {
        let turn = position.turn();
        list(position, if view == 0 { turn } else { !turn }, each);
    },
};

fn list(position: &Position, view: Color, each: &mut dyn FnMut(usize)) {
    position.men().for_each(|man| each(index(view, man)));
}

/// The input that a man switches on in the view of one colour, 0 to 767.
///
/// The one place where the index is computed.
pub fn index(view: Color, man: Man) -> usize {
    let square = man.square as usize ^ if view.is_white() { 0 } else { 56 };
    384 * usize::from(man.color != view) + 64 * (man.role as usize - 1) + square
}
