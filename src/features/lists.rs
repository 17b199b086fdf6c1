//! All rows of a position at once. Training waits for this.

use shakmaty::{Color, Role, Square};

use super::{MAX_ACTIVE, index, king};
use crate::architecture::{Inputs, PIECES, Views};
use crate::sample::{Piece, Position};

impl Inputs {
    /// Writes the active rows of all views, each padded to [`MAX_ACTIVE`] with `self.rows()`. The
    /// i-th place of a list is that of the i-th piece.
    ///
    /// # Panics
    /// If `out` has not `views * 32` places.
    pub fn write(&self, position: &Position, out: &mut [u16]) {
        let views = self.views.count();
        assert_eq!(out.len(), views * MAX_ACTIVE, "places for {views} views");
        out.fill(self.rows() as u16);
        let turn = position.turn();
        match self.views {
            Views::Plain => self.lists(position, [Color::White], out),
            Views::SideToMove => self.lists(position, [turn], out),
            Views::Perspective => self.lists(position, [turn, !turn], out),
        }
    }

    /// The lists of some views, each [`MAX_ACTIVE`] places from the one before: one look-up in a
    /// table, one exclusive or and one addition a piece and view, out of [`Inputs::row`].
    #[inline(always)]
    fn lists<const VIEWS: usize>(
        &self,
        position: &Position,
        views: [Color; VIEWS],
        out: &mut [u16],
    ) {
        let tables = views.map(|view| &FIRST[usize::from(view.is_black())]);
        let mut flips = views.map(|view| if view.is_white() { 0 } else { 56 });
        let mut bases = [0; VIEWS];
        if self.kings.matter() {
            for (view, color) in views.into_iter().enumerate() {
                let own = king(position, color) as usize ^ usize::from(flips[view]);
                let (turned, bucket) = self.kings.seen(own);
                flips[view] ^= turned as u16;
                bases[view] = (PIECES * bucket) as u16;
            }
        }
        let mut squares = position.occupied();
        let mut nibbles = u128::from_le_bytes(position.nibbles());
        let mut place = 0;
        while squares != 0 {
            let square = squares.trailing_zeros() as u16;
            let nibble = (nibbles & 15) as usize;
            for view in 0..VIEWS {
                out[view * MAX_ACTIVE + place] =
                    bases[view] + tables[view][nibble] + (square ^ flips[view]);
            }
            squares &= squares - 1;
            nibbles >>= 4;
            place += 1;
        }
    }
}

/// By the colour of the view and the nibble of a piece (see `Position`): the input on the square
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
    let mut table = [PIECES as u16; 16];
    let mut nibble = 0;
    while nibble < 16 {
        if nibble & 7 < roles.len() {
            let color = if nibble < 8 { Color::White } else { Color::Black };
            let square = if matches!(view, Color::White) { Square::A1 } else { Square::A8 };
            let piece = Piece { square, color, role: roles[nibble & 7], castles: false };
            table[nibble] = index(view, piece) as u16;
        }
        nibble += 1;
    }
    table
}
