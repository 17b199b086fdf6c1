//! Feature sets, and the board from a perspective.

use std::cell::OnceCell;
use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Color, Role, Square, attacks};

use super::{DirtyPieces, Kings, MAX_ACTIVE, Rows, attack_counts, bounds};
use crate::sample::{Piece, Position};

/// A block of sparse inputs: the rows of weights that a position activates for one perspective. Each
/// file is one set. A set numbers its rows from 0; a net concatenates the rows of its sets. The
/// active rows depend on the position alone.
pub trait FeatureSet: Send + Sync + 'static {
    /// The name in configs, manifests and arrays: lower-case words joined by hyphens.
    fn name(&self) -> &str;
    /// The number of rows.
    fn row_count(&self) -> usize;
    /// The maximum number of active rows of one perspective, with repetitions.
    fn max_active(&self) -> usize;
    /// Adds the active rows of one perspective, each below [`row_count`](Self::row_count).
    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows);

    /// Whether a move may change the active rows of one perspective; if not, they are reused.
    fn may_change(&self, _moved: &DirtyPieces, _perspective: Color) -> bool {
        true
    }

    /// Describes a row, such as "own knight on f3".
    fn describe_row(&self, row: u32) -> String;

    /// Whether a position may activate a row more than once.
    fn has_repeats(&self) -> bool {
        false
    }

    /// The number of rows of the factor, 0 without one. Its weights are added to the rows that share
    /// them while training, and merged by the export.
    fn factor_rows(&self) -> usize {
        0
    }

    /// The row of the factor that is added to a row.
    fn factor_row(&self, _row: u32) -> Option<u32> {
        None
    }

    /// The integer type of the weights on export.
    fn integer_type(&self) -> Integer {
        Integer::I16
    }

    /// Bounds the sum of the active rows of any legal position, `[smallest, largest]`, from the
    /// integers of one neuron, `[rows]`; by default, by the [`max_active`](Self::max_active)
    /// smallest and largest weights.
    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        bounds::lower_and_upper(weights, |weight| {
            let values = (0..weights.len()).map(weight).collect();
            match self.has_repeats() {
                true => bounds::sum_largest(values, 1) * self.max_active() as i64,
                false => bounds::sum_largest(values, self.max_active()),
            }
        })
    }

    /// Engine code: a function that lists the active rows of a perspective, with what the templates
    /// provide (`src/export/snippet/sets.*`), named as the set with `_` for hyphens, in C `nnue_...`.
    fn engine_code(&self, _language: Language) -> Option<String> {
        None
    }

    /// Whether a legal position activates the row. All other rows are zero in a net's file.
    fn is_reachable(&self, _row: u32) -> bool {
        true
    }

    /// The king buckets, if the rows are pieces on squares.
    fn kings(&self) -> Option<&Kings> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names describe them")]
pub enum Language {
    Rust,
    /// C, as a header that is valid C++ as well.
    C,
}

impl Language {
    /// Returns the argument of this language.
    pub fn choose_between<T>(self, rust: T, c: T) -> T {
        match self {
            Language::Rust => rust,
            Language::C => c,
        }
    }
}

/// The integer type of weights in a net's file; weights of sets have 8 or 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "their names describe them")]
pub enum Integer {
    I8,
    I16,
    I32,
}

/// A feature set of a net. Sets are equal if their names, king buckets, planes and integers are.
#[derive(Clone)]
pub struct Set {
    set: Arc<dyn FeatureSet>,
    integer: Integer,
}

impl Set {
    /// Wraps a set behind a shared pointer.
    pub fn new(set: impl FeatureSet) -> Self {
        let integer = set.integer_type();
        Self { set: Arc::new(set), integer }
    }

    /// The integer type of the weights in a net's file.
    pub fn integer(&self) -> Integer {
        self.integer
    }

    /// The set with other integers in a net's file.
    pub fn stored_as(self, integer: Integer) -> Self {
        Self { integer, ..self }
    }

    fn identity_key(&self) -> (&str, Option<&Kings>, Integer) {
        (self.name(), self.kings(), self.integer)
    }
}

impl Deref for Set {
    type Target = dyn FeatureSet;

    fn deref(&self) -> &Self::Target {
        &*self.set
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        self.identity_key() == other.identity_key()
    }
}

impl Eq for Set {}

impl Hash for Set {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity_key().hash(state);
    }
}

impl Debug for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A position with bitboards for feature sets; attacks are computed once, when first needed.
pub struct Board {
    position: Position,
    /// The pieces in order of their squares, and their number.
    pieces: ([Piece; MAX_ACTIVE], usize),
    bitboards: [[u64; 6]; 2],
    attacks: OnceCell<[u64; 64]>,
    threats: OnceCell<Vec<Threat>>,
    attack_counts: OnceCell<attack_counts::Counts>,
}

/// An attack on an occupied square.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Threat {
    pub attacker: Piece,
    /// The attacked piece of either side, kings included.
    pub victim: Piece,
}

impl Board {
    /// The board of a position; attacks are computed once.
    pub fn new(position: &Position) -> Self {
        let (square, color, role) = (Square::A1, Color::White, Role::Pawn);
        let none = Piece { square, color, role, castles: false };
        let mut pieces = ([none; MAX_ACTIVE], position.piece_count());
        pieces.0.iter_mut().zip(position.pieces()).for_each(|(slot, piece)| *slot = piece);
        let bitboards = position.bitboards();
        let (attacks, threats, attack_counts) = Default::default();
        Self { position: *position, pieces, bitboards, attacks, threats, attack_counts }
    }

    /// The position of the board.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The pieces in order of their squares, a1 first.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let (pieces, count) = &self.pieces;
        pieces[..*count].iter().copied()
    }

    /// The squares of the pieces of a colour and role, a1 in the lowest bit.
    pub fn squares_of(&self, color: Color, role: Role) -> u64 {
        self.bitboards[usize::from(color.is_black())][role as usize - 1]
    }

    /// The occupied squares as bits, a1 lowest.
    pub fn occupied(&self) -> u64 {
        self.position.occupied()
    }

    /// The square of a colour's king; a1 on boards without one.
    pub fn king_square(&self, color: Color) -> Square {
        Square::new(self.squares_of(color, Role::King).trailing_zeros() % 64)
    }

    /// The squares attacked from a square, by sliders up to and including the first piece; 0 if empty.
    pub fn attacks_from(&self, square: Square) -> u64 {
        self.all_attacks()[square as usize]
    }

    pub(super) fn all_attacks(&self) -> &[u64; 64] {
        self.attacks.get_or_init(|| {
            let mut squares_attacked = [0; 64];
            let occupied = Bitboard(self.occupied());
            // The order by roles makes changes of the kind of attack rare.
            for (color, roles) in [Color::White, Color::Black].into_iter().zip(self.bitboards) {
                for (role, squares) in Role::ALL.into_iter().zip(roles) {
                    for square in Bitboard(squares) {
                        let piece = shakmaty::Piece { color, role };
                        squares_attacked[square as usize] =
                            attacks::attacks(square, piece, occupied).0;
                    }
                }
            }
            squares_attacked
        })
    }

    /// All attacks on occupied squares.
    pub fn threats(&self) -> &[Threat] {
        self.threats.get_or_init(|| {
            let mut pieces = [None; 64];
            self.pieces().for_each(|piece| pieces[piece.square as usize] = Some(piece));
            let attacks = self.all_attacks();
            let mut threats = Vec::with_capacity(64);
            for attacker in self.pieces() {
                for square in Bitboard(attacks[attacker.square as usize] & self.occupied()) {
                    if let Some(victim) = pieces[square as usize] {
                        threats.push(Threat { attacker, victim });
                    }
                }
            }
            threats
        })
    }

    pub(super) fn attack_counts(&self) -> &attack_counts::Counts {
        let count = || pulp::Arch::new().dispatch(attack_counts::Count(self));
        self.attack_counts.get_or_init(count)
    }
}

/// The names of the kinds of pieces from a perspective, in the order of [`Perspective::piece_kind`].
pub const KINDS: [&str; 12] = [
    "own pawn",
    "own knight",
    "own bishop",
    "own rook",
    "own queen",
    "own king",
    "enemy pawn",
    "enemy knight",
    "enemy bishop",
    "enemy rook",
    "enemy queen",
    "enemy king",
];

/// The perspective of one side: ranks are flipped for Black, and files if the set mirrors them.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Perspective {
    pub color: Color,
    /// The exclusive or of the squares.
    pub flip: usize,
}

impl Perspective {
    pub(super) const WHITE: Self = Self { color: Color::White, flip: 0 };

    /// A perspective whose files are flipped if the own king stands on files e to h.
    pub fn mirrored_by_king(board: &Board, color: Color) -> Self {
        let flip = if color.is_white() { 0 } else { 56 };
        let right = board.king_square(color) as usize & 4 != 0;
        Self { color, flip: flip ^ if right { 7 } else { 0 } }
    }

    /// Converts a square to the perspective, a1 = 0.
    pub fn relative_square(self, square: Square) -> usize {
        square as usize ^ self.flip
    }

    /// The kind of a piece: 0 to 5 for an own pawn to king, 6 to 11 for pieces of the other side.
    pub fn piece_kind(self, piece: Piece) -> usize {
        6 * usize::from(piece.color != self.color) + piece.role as usize - 1
    }
}
