//! The 960 arrays of Chess960, and games that begin with one array for each side.

use shakmaty::{
    Bitboard, Board, ByColor, CastlingMode, Chess, Color, File, FromSetup as _, Piece, Rank, Role,
    Setup, Square,
};

/// How many arrays there are.
pub const ARRAYS: u16 = 960;

/// The pieces of the first rank, from the a-file on, of an array by its number from 0 to 959.
///
/// The numbers are those of Reinhard Scharnagl: the remainder by 4 places the bishop on light
/// squares, that of the quotient by 4 the one on dark squares, the next by 6 the queen on one of
/// the squares left, and what is then left one of ten pairs of squares for the knights. Rook, king
/// and rook take the last three squares in this order. 518 is the array of old.
pub fn back_rank(number: u16) -> [Role; 8] {
    let mut rank = [None; 8];
    let number = usize::from(number % ARRAYS);
    rank[2 * (number % 4) + 1] = Some(Role::Bishop);
    rank[2 * (number / 4 % 4)] = Some(Role::Bishop);
    place(&mut rank, number / 16 % 6, Role::Queen);
    let pairs = (0..5).flat_map(|first| (first + 1..5).map(move |second| (first, second)));
    let (first, second) = pairs.clone().nth(number / 96).expect("10 pairs for 960 / 96 numbers");
    // The later one first: it does not move the squares before it.
    place(&mut rank, second, Role::Knight);
    place(&mut rank, first, Role::Knight);
    for role in [Role::Rook, Role::King, Role::Rook] {
        place(&mut rank, 0, role);
    }
    rank.map(|role| role.expect("two bishops, a queen, two knights and three more are eight"))
}

/// Puts a piece on the free square of this number, counted from the a-file.
fn place(rank: &mut [Option<Role>; 8], free: usize, role: Role) {
    let square = rank.iter_mut().filter(|square| square.is_none()).nth(free);
    *square.expect("fewer squares are taken than the number leaves") = Some(role);
}

/// The start of a game with an array for each side, and all rights to castle. Equal numbers make
/// a game of Chess960, others one of double Chess960.
pub fn start(arrays: ByColor<u16>) -> Chess {
    let mut setup = Setup::initial();
    setup.board = Board::empty();
    for (color, first, pawns) in
        [(Color::White, Rank::First, Rank::Second), (Color::Black, Rank::Eighth, Rank::Seventh)]
    {
        for (file, role) in File::ALL.into_iter().zip(back_rank(*arrays.get(color))) {
            let piece = |role| Piece { color, role };
            setup.board.set_piece_at(Square::from_coords(file, first), piece(role));
            setup.board.set_piece_at(Square::from_coords(file, pawns), piece(Role::Pawn));
        }
    }
    setup.castling_rights = setup.board.rooks() & Bitboard::BACKRANKS;
    Chess::from_setup(setup, CastlingMode::Chess960)
        .expect("no piece attacks anything but pawns that stand before its king's array")
}
