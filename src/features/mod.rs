//! Positions to the rows that their pieces switch on; [`Inputs::row`] alone numbers them.

use shakmaty::{CastlingSide, Color, Move, Role, Square};

use crate::architecture::{Architecture, Inputs, PIECES, Views};
use crate::point_of_view::PointOfView;
use crate::sample::{Piece, Position};

/// No position has more pieces than this, so no view has more active inputs.
pub const MAX_ACTIVE: usize = 32;

impl Inputs {
    /// The colours whose views these inputs are, in their order.
    pub fn views_of(&self, position: &Position) -> impl Iterator<Item = Color> {
        let turn = position.turn();
        let (first, second) = match self.views {
            Views::Plain => (Color::White, None),
            Views::SideToMove => (turn, None),
            Views::Perspective => (turn, Some(!turn)),
        };
        [Some(first), second].into_iter().flatten()
    }

    /// Which king buckets the views of a position have, as one number: positions with the same number
    /// have the same; below [`Kings::MOST`](crate::architecture::Kings::MOST) squared.
    pub fn kings_of(&self, position: &Position) -> usize {
        let buckets =
            self.views_of(position).map(|view| self.kings.seen(seen(view, king(position, view))).1);
        buckets.fold(0, |all, bucket| all * self.kings.count() + bucket)
    }

    /// Calls `each` with every active row of one view.
    pub fn active(&self, position: &Position, view: usize, each: &mut dyn FnMut(usize)) {
        let color = self.views_of(position).nth(view).expect("these inputs have the view");
        let king = king(position, color);
        position.pieces().for_each(|piece| each(self.row(color, king, piece)));
    }

    /// +1, or -1 where the output is the other side's advantage.
    pub fn sign(&self, position: &Position) -> i32 {
        self.views.point_of_view().sign(position.turn())
    }

    /// Writes the active rows of all views, each padded to [`MAX_ACTIVE`] with `self.rows()`.
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

    /// Whether a move requires a refresh of a colour's view.
    pub fn refreshes(&self, view: Color, moved: &Moved) -> bool {
        let seen = |square| self.kings.seen(seen(view, square));
        moved.turn == view && moved.king.is_some_and(|[from, to]| seen(from) != seen(to))
    }

    /// The row of a piece in a view whose own king stands on a square.
    pub fn row(&self, view: Color, king: Square, piece: Piece) -> usize {
        let (turned, bucket) = self.kings.seen(seen(view, king));
        // The square is in the lowest bits.
        PIECES * bucket + (index(view, piece) ^ turned)
    }

    /// The piece of a row; white where it is the view's own.
    pub fn piece(&self, row: usize) -> Option<Piece> {
        let base = row % PIECES;
        pieces().find(|&piece| row < self.rows() && index(Color::White, piece) == base)
    }

    /// A row in words: "white queen on d4", or "own queen on d4" in a player's view.
    pub fn describe(&self, row: usize) -> String {
        let Some(piece) = self.piece(row) else {
            return format!("input {row}");
        };
        let whose = match (self.views.point_of_view(), piece.color) {
            (PointOfView::White, color) => color.to_string(),
            (PointOfView::SideToMove, Color::White) => "own".to_string(),
            (PointOfView::SideToMove, Color::Black) => "opposing".to_string(),
        };
        let role = format!("{:?}", piece.role).to_lowercase();
        let bucket = match self.kings.count() {
            1 => String::new(),
            _ => format!(", king bucket {}", row / PIECES),
        };
        format!("{whose} {role} on {}{bucket}", piece.square)
    }
}

impl Architecture {
    /// The set of layers that judges a position.
    pub fn bucket_of(&self, position: &Position) -> usize {
        self.bucket(position.count())
    }
}

/// Where the king of a colour stands; a board without one counts as a1.
pub(crate) fn king(position: &Position, color: Color) -> Square {
    position.king(color).unwrap_or(Square::A1)
}

/// By view and nibble of a piece: the input on the view's a1.
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

/// Pieces that a move adds and removes, at most two each (dirty pieces).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    added: [Piece; 2],
    /// How many of `added` there are, 1 or 2.
    adds: usize,
    removed: [Piece; 2],
    /// How many of `removed` there are, 1 or 2.
    removes: usize,
    /// Where the king of the side that moves goes, if it does, and where it comes from.
    king: Option<[Square; 2]>,
    turn: Color,
}

impl Moved {
    /// Changes by a legal move of one side, castling in Chess960 included.
    pub fn of(turn: Color, played: &Move) -> Self {
        let piece = |role, square| Piece { square, color: turn, role, castles: false };
        let other = |role, square| Piece { square, color: !turn, role, castles: false };
        let none = piece(Role::Pawn, Square::A1);
        let mut moved =
            Self { added: [none; 2], adds: 0, removed: [none; 2], removes: 0, king: None, turn };
        match *played {
            Move::Normal { role, from, capture, to, promotion } => {
                moved.remove(piece(role, from));
                if let Some(captured) = capture {
                    moved.remove(other(captured, to));
                }
                moved.add(piece(promotion.unwrap_or(role), to));
                moved.king = (role == Role::King).then_some([from, to]);
            }
            Move::EnPassant { from, to } => {
                moved.remove(piece(Role::Pawn, from));
                moved.remove(other(Role::Pawn, Square::from_coords(to.file(), from.rank())));
                moved.add(piece(Role::Pawn, to));
            }
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_queen_side(rook < king);
                let (king_to, rook_to) = (
                    Square::from_coords(side.king_to_file(), king.rank()),
                    Square::from_coords(side.rook_to_file(), rook.rank()),
                );
                moved.remove(piece(Role::King, king));
                moved.remove(piece(Role::Rook, rook));
                moved.add(piece(Role::King, king_to));
                moved.add(piece(Role::Rook, rook_to));
                moved.king = Some([king, king_to]);
            }
            Move::Put { role, to } => moved.add(piece(role, to)),
        }
        moved
    }

    fn add(&mut self, piece: Piece) {
        self.added[self.adds] = piece;
        self.adds += 1;
    }

    fn remove(&mut self, piece: Piece) {
        self.removed[self.removes] = piece;
        self.removes += 1;
    }

    /// The pieces on their new squares.
    pub fn added(&self) -> &[Piece] {
        &self.added[..self.adds]
    }

    /// The pieces on the squares that they leave, the captured one among them.
    pub fn removed(&self) -> &[Piece] {
        &self.removed[..self.removes]
    }
}

/// The input of a piece in the view of one colour, 0 to 767, before buckets and mirroring.
pub const fn index(view: Color, piece: Piece) -> usize {
    let other =
        !matches!((view, piece.color), (Color::White, Color::White) | (Color::Black, Color::Black));
    384 * other as usize + 64 * (piece.role as usize - 1) + seen(view, piece.square)
}

/// A square as the view of a colour has it, a1 = 0.
const fn seen(view: Color, square: Square) -> usize {
    square as usize ^ if matches!(view, Color::White) { 0 } else { 56 }
}

/// Every piece on every square.
pub fn pieces() -> impl Iterator<Item = Piece> {
    Color::ALL.into_iter().flat_map(|color| {
        Role::ALL.into_iter().flat_map(move |role| {
            Square::ALL.into_iter().map(move |square| Piece { square, color, role, castles: false })
        })
    })
}
