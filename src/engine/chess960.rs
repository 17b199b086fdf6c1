//! The 960 arrays of Chess960, and games that begin with one array for each side.

use shakmaty::{Bitboard, Board, ByColor, CastlingMode, Chess, Color, FromSetup as _, Setup};

/// The number of arrays, by the numbers of Reinhard Scharnagl. 518 is the usual array.
pub const ARRAYS: u16 = 960;

/// The start of a game with an array for each side, and all rights to castle. Equal numbers make
/// a game of Chess960, others one of double Chess960.
pub fn start(arrays: ByColor<u16>) -> Chess {
    let mut setup = Setup::initial();
    setup.board = Board::empty();
    for color in Color::ALL {
        for (square, piece) in Board::chess960(u32::from(*arrays.get(color))) {
            if piece.color == color {
                setup.board.set_piece_at(square, piece);
            }
        }
    }
    setup.castling_rights = setup.board.rooks() & Bitboard::BACKRANKS;
    Chess::from_setup(setup, CastlingMode::Chess960)
        .expect("no piece attacks anything but pawns that stand before its king's array")
}
