//! Conversion of positions to active rows of weights. Each file is a [`FeatureSet`]; a net has a list
//! of sets, whose rows are numbered set after set.

mod attack_counts;
pub mod bounds;
mod first;
mod moved;
mod pawn_pairs;
#[doc(hidden)]
mod perspectives;
mod pieces;
mod rows;
mod set;
mod threat_kinds;
mod threats;

use std::ops::Range;

use shakmaty::{Color, Role, Square};

pub use first::{FirstView, MIRRORED, NUMBERS, flip_row, is_mirrored};
pub use moved::DirtyPieces;
pub use perspectives::Perspectives;
pub use pieces::{Kings, KingsError, PIECES, Pieces, input_index};
pub use rows::{Row, Rows};
pub use set::{Board, FeatureSet, Integer, KINDS, Language, Perspective, Set, Threat};

use crate::registry::{self, NameMissing, NameTaken, RegistryKind};
use crate::sample::{Piece, Position};

/// The maximum number of pieces, and so of active rows of pieces of a perspective.
pub const MAX_ACTIVE: usize = 32;
/// The maximum number of rows of a small set.
const FEW: usize = 1 << 13;
/// The number of rows above which a batch touches only a part of them.
const MANY: usize = 1 << 15;

impl RegistryKind for Set {
    const NOUN: &'static str = "feature set";
}

/// Registers a set, which configs and manifests can then name.
///
/// # Errors
///
/// Fails if the name is taken.
pub fn register_set(set: Set) -> Result<(), NameTaken> {
    let name = set.name().to_string();
    match set_names().contains(&name) {
        false => registry::add(&name, set),
        true => Err(NameTaken { noun: Set::NOUN, name }),
    }
}

/// All sets except `pieces`, which a net describes with separate keys.
fn all_sets() -> impl Iterator<Item = Set> {
    let others = [
        Set::new(pawn_pairs::PawnPairs),
        Set::new(threat_kinds::ThreatKinds),
        Set::new(attack_counts::AttackCounts),
    ];
    let added = registry::all::<Set>().into_iter().map(|added| added.value.clone());
    threats::SETS.iter().map(Set::new).chain(others).chain(added)
}

/// The names of all sets, built-in and added.
pub fn set_names() -> Vec<String> {
    let names = all_sets().map(|set| set.name().to_string());
    [pieces::NAME.to_string()].into_iter().chain(names).collect()
}

/// Finds a set by name; `kings` are the king buckets of `pieces`.
///
/// # Errors
///
/// Fails if no set has this name.
pub fn set_named(name: &str, kings: Kings) -> Result<Set, NameMissing> {
    if name == pieces::NAME {
        return Ok(Set::new(Pieces(kings)));
    }
    all_sets().find(|set| set.name() == name).ok_or_else(|| {
        let names = set_names();
        NameMissing::of::<Set>(name, &names.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

/// The error for rows of a position that contradict the declarations of a set.
#[derive(Debug, thiserror::Error)]
#[error("the feature set `{set}` {wrong}: {fen}")]
#[allow(missing_docs, reason = "its message describes them")]
pub struct WrongRows {
    pub set: String,
    pub wrong: String,
    pub fen: String,
}

/// The inputs of a net: the perspectives, and the feature sets with their rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inputs {
    /// The perspectives that have accumulators.
    pub perspectives: Perspectives,
    sets: Vec<Set>,
    /// Whether factors are used in training.
    pub factorised: bool,
    /// The index of the set `pieces`, with its king buckets.
    pieces: Option<(usize, Kings)>,
    /// The end of each set's rows.
    ends: Vec<usize>,
}

impl Inputs {
    /// The inputs of several sets.
    ///
    /// # Panics
    ///
    /// Panics without sets.
    pub fn new(perspectives: Perspectives, sets: Vec<Set>, factorised: bool) -> Self {
        let end = |rows: &mut usize, set: &Set| {
            *rows += set.row_count();
            Some(*rows)
        };
        let ends = sets.iter().scan(0, end).collect();
        let kings = sets.iter().map(|set| set.kings().copied()).enumerate();
        let pieces = kings.filter_map(|(index, kings)| Some((index, kings?))).next();
        assert!(!sets.is_empty(), "a net has inputs");
        Self { perspectives, sets, factorised, pieces, ends }
    }

    /// Merges the planes of both kings.
    ///
    /// # Errors
    ///
    /// Fails with [`KingsError::NoPlanes`] without a set of pieces, and with [`KingsError::Apart`]
    /// as [`Kings::merge_planes`] does.
    pub fn merge_kings(mut self) -> Result<Self, KingsError> {
        let Some((index, kings)) = self.pieces else {
            return Err(KingsError::NoPlanes);
        };
        let merged = Set::new(Pieces(kings.merge_planes()?));
        self.sets[index] = merged.stored_as(self.sets[index].integer());
        Ok(Self::new(self.perspectives, self.sets, self.factorised))
    }

    /// Whether both kings share a plane.
    pub fn has_merged_kings(&self) -> bool {
        self.kings().merged
    }

    /// The inputs of pieces alone.
    pub fn of_pieces(perspectives: Perspectives, kings: Kings, factorised: bool) -> Self {
        Self::new(perspectives, vec![Set::new(Pieces(kings))], factorised)
    }

    /// The inputs without the factors, which only training needs.
    pub fn without_factoriser(&self) -> Self {
        Self { factorised: false, ..self.clone() }
    }

    /// The sets, in the order of their rows.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The number of rows of all sets.
    pub fn row_count(&self) -> usize {
        self.ends[self.ends.len() - 1]
    }

    /// The number of a set's first row.
    pub fn first_row(&self, set: usize) -> usize {
        if set == 0 { 0 } else { self.ends[set - 1] }
    }

    /// The set of a row, and the number of the row within it.
    pub fn set_of(&self, row: usize) -> (usize, usize) {
        let set = self.ends.partition_point(|end| *end <= row);
        (set, row - self.first_row(set))
    }

    /// The number of rows of a set's factor; 0 without a factor.
    pub fn factor_rows(&self, set: usize) -> usize {
        if self.factorised { self.sets[set].factor_rows() } else { 0 }
    }

    /// The king buckets of the set `pieces`; one without mirroring if there is no such set.
    pub fn kings(&self) -> Kings {
        self.pieces.map_or(Kings::NONE, |(_, kings)| kings)
    }

    /// The index of the set of pieces on squares, with its king buckets.
    pub fn pieces(&self) -> Option<&(usize, Kings)> {
        self.pieces.as_ref()
    }

    /// Whether pieces are the only set.
    pub fn is_pieces(&self) -> bool {
        self.pieces.is_some() && self.sets.len() == 1
    }

    /// The maximum number of active rows of a perspective, with repetitions.
    pub fn max_active(&self) -> usize {
        self.sets.iter().map(|set| set.max_active()).sum()
    }

    /// Whether a perspective may activate a row more than once.
    pub fn has_repeats(&self) -> bool {
        self.sets.iter().any(|set| set.has_repeats())
    }

    /// Whether a pass over all rows takes longer than a batch, and rows with pairs exceed 16 bits.
    pub fn is_large(&self) -> bool {
        !self.is_pieces() && self.row_count() > MANY
    }

    /// Whether a step updates only those rows of a set that its batch activates.
    pub fn is_sparse(&self, set: usize) -> bool {
        self.is_large() && self.sets[set].row_count() > FEW
    }

    /// The rows of small sets that perspectives of a king bucket may activate.
    pub fn few_rows(&self, king_bucket: usize) -> Vec<Range<usize>> {
        let to_range = |(index, set): (usize, &Set)| {
            let start = self.first_row(index);
            match set.kings() {
                Some(kings) => {
                    let start = start + king_bucket * kings.rows_per_bucket();
                    Some(start..start + kings.rows_per_bucket())
                }
                None => (set.row_count() <= FEW).then_some(start..start + set.row_count()),
            }
        };
        self.sets.iter().enumerate().filter_map(to_range).collect()
    }

    /// The colours whose perspectives are used, in order.
    pub fn perspective_colors(&self, position: &Position) -> impl Iterator<Item = Color> + use<> {
        let turn = position.turn();
        let (first, second) = match self.perspectives {
            Perspectives::Plain => (Color::White, None),
            Perspectives::SideToMove => (turn, None),
            Perspectives::Perspective => (turn, Some(!turn)),
        };
        [Some(first), second].into_iter().flatten()
    }

    /// The king bucket of a colour's perspective.
    pub fn king_bucket(&self, position: &Position, color: Color) -> usize {
        self.kings().flip_and_bucket(pieces::relative_square(color, king_square(position, color))).1
    }

    /// The king buckets of a position as one number, below [`Kings::MAX_BUCKETS`] squared.
    pub fn kings_of(&self, position: &Position) -> usize {
        let buckets =
            self.perspective_colors(position).map(|color| self.king_bucket(position, color));
        buckets.fold(0, |number, bucket| number * self.kings().bucket_count() + bucket)
    }

    /// The active rows of each perspective.
    ///
    /// # Panics
    ///
    /// Panics as [`Inputs::rows_of`] does.
    pub fn active_rows(&self, position: &Position) -> Vec<Rows> {
        let board = Board::new(position);
        let list_rows = |color| {
            let mut rows = Rows::default();
            self.rows_of(&board, color, &mut rows);
            rows
        };
        self.perspective_colors(position).map(list_rows).collect()
    }

    /// Adds the active rows of a colour's perspective, set after set, and returns their number.
    ///
    /// # Panics
    ///
    /// Panics if a set activates a row behind its last.
    pub fn rows_of(&self, board: &Board, color: Color, rows: &mut Rows) -> usize {
        let [mut first, mut count] = [0; 2];
        for (set, &end) in self.sets.iter().zip(&self.ends) {
            let start = rows.entries().len();
            rows.begin_set(first);
            set.add_active_rows(board, color, rows);
            first = end as u32;
            let mut is_beyond = false;
            for row in &rows.entries()[start..] {
                is_beyond |= row.number >= first;
                count += row.times;
            }
            assert!(!is_beyond, "{} activates rows behind its last", set.name());
        }
        count as usize
    }

    /// Checks that the lists of a position agree with the declarations of the sets, and, more
    /// slowly, `bounds` of sums, with a weight of 1 for active rows and 0 for others.
    ///
    /// # Errors
    ///
    /// Fails for the first set and perspective whose rows contradict its row count, `max_active`,
    /// `has_repeats`, the symmetry of colours, or its bound of sums.
    pub fn check_position(&self, position: &Position, bounds: bool) -> Result<(), WrongRows> {
        let board = Board::new(position);
        let flipped = Board::new(&position.flip_colours());
        let lists = self
            .sets
            .iter()
            .flat_map(|set| self.perspective_colors(position).map(move |it| (set, it)));
        for (set, color) in lists {
            let [rows, flipped] = [(&board, color), (&flipped, !color)].map(|(board, color)| {
                let mut rows = Rows::default();
                set.add_active_rows(board, color, &mut rows);
                rows.sorted_rows()
            });
            let upper_bound = |rows: &[u32]| {
                let mut weights = vec![0; set.row_count()];
                rows.iter().for_each(|row| weights[*row as usize] = 1);
                set.bound_sums(&weights)[1]
            };
            let repeated = rows.windows(2).find(|pair| pair[0] == pair[1] && !set.has_repeats());
            let wrong = if let Some(row) =
                rows.last().filter(|row| **row as usize >= set.row_count())
            {
                format!("activates row {row} of {}, counted from 0", set.row_count())
            } else if rows.len() > set.max_active() {
                format!("activates {} rows, and `max_active` is {}", rows.len(), set.max_active())
            } else if let Some([row, _]) = repeated {
                format!("activates row {row} twice, and `repeats` is false")
            } else if self.perspectives != Perspectives::Plain && rows != flipped {
                "has other rows with colours swapped and ranks flipped".into()
            } else if bounds && set.kings().is_none() && upper_bound(&rows) < rows.len() as i64 {
                format!("bounds {} rows that weigh 1 by {}", rows.len(), upper_bound(&rows))
            } else {
                continue;
            };
            return Err(WrongRows { set: set.name().to_string(), wrong, fen: position.to_fen() });
        }
        Ok(())
    }

    /// The sign of the output for the side to move: -1 if the output is the other side's advantage.
    pub fn sign_of_output(&self, position: &Position) -> i32 {
        self.perspectives.point_of_view().sign_for(position.turn())
    }

    /// Writes the rows of all perspectives, `[perspectives, MAX_ACTIVE]`, padded with the row
    /// count.
    ///
    /// # Panics
    ///
    /// Panics if there are other sets than pieces, and if `out` has another length.
    pub fn write_rows(&self, position: &Position, out: &mut [u16]) {
        assert!(self.is_pieces(), "lists of pieces");
        let (_, kings) = self.pieces.as_ref().expect("there are pieces");
        let views = self.perspectives.count();
        assert_eq!(out.len(), views * MAX_ACTIVE, "places for {views} views");
        out.fill(self.row_count() as u16);
        let turn = position.turn();
        match self.perspectives {
            Perspectives::Plain => write_lists(kings, position, [Color::White], out),
            Perspectives::SideToMove => write_lists(kings, position, [turn], out),
            Perspectives::Perspective => write_lists(kings, position, [turn, !turn], out),
        }
    }

    /// Describes a row, such as "own queen on d4".
    ///
    /// # Panics
    ///
    /// Panics if `row` is not below [`row_count`](Self::row_count).
    pub fn describe_row(&self, row: usize) -> String {
        let (set, row) = self.set_of(row);
        self.sets[set].describe_row(row as u32)
    }
}

/// Writes the lists of perspectives, each of [`MAX_ACTIVE`] slots, with one table look-up, one
/// exclusive or and one addition per piece and perspective.
#[inline(always)]
fn write_lists<const VIEWS: usize>(
    kings: &Kings,
    position: &Position,
    colors: [Color; VIEWS],
    out: &mut [u16],
) {
    let tables = colors.map(|color| match kings.merged {
        false => &FIRST[usize::from(color.is_black())],
        true => &MERGED[usize::from(color.is_black())],
    });
    let mut flips = colors.map(|color| if color.is_white() { 0 } else { 56 });
    let mut bases = [0; VIEWS];
    if kings.has_effect() {
        for (list, color) in colors.into_iter().enumerate() {
            let king = king_square(position, color) as usize ^ usize::from(flips[list]);
            let (flip, bucket) = kings.flip_and_bucket(king);
            flips[list] ^= flip as u16;
            bases[list] = (kings.rows_per_bucket() * bucket) as u16;
        }
    }
    let mut squares = position.occupied();
    let mut nibbles = u128::from_le_bytes(position.nibbles());
    let mut slot = 0;
    while squares != 0 {
        let square = squares.trailing_zeros() as u16;
        let nibble = (nibbles & 15) as usize;
        for list in 0..VIEWS {
            out[list * MAX_ACTIVE + slot] =
                bases[list] + tables[list][nibble] + (square ^ flips[list]);
        }
        squares &= squares - 1;
        nibbles >>= 4;
        slot += 1;
    }
}

/// The square of a colour's king; a1 on boards without one.
pub(crate) fn king_square(position: &Position, color: Color) -> Square {
    position.king(color).unwrap_or(Square::A1)
}

/// The input of a piece on the perspective's a1, by perspective and nibble.
static FIRST: [[u16; 16]; 2] = [first_rows(Color::White, false), first_rows(Color::Black, false)];

/// The table [`FIRST`] with both kings on one plane.
static MERGED: [[u16; 16]; 2] = [first_rows(Color::White, true), first_rows(Color::Black, true)];

const fn first_rows(perspective: Color, merged: bool) -> [u16; 16] {
    use Role::{Bishop, King, Knight, Pawn, Queen, Rook};
    // The last role is a rook that may still castle.
    let roles = [Pawn, Knight, Bishop, Rook, Queen, King, Rook];
    let mut table = [PIECES as u16; 16];
    let mut nibble = 0;
    while nibble < 16 {
        if nibble & 7 < roles.len() {
            let color = if nibble < 8 { Color::White } else { Color::Black };
            let square = if matches!(perspective, Color::White) { Square::A1 } else { Square::A8 };
            let piece = Piece { square, color, role: roles[nibble & 7], castles: false };
            let kings = if merged { Kings::MERGED } else { Kings::NONE };
            table[nibble] = kings.row_of(0, input_index(perspective, piece)) as u16;
        }
        nibble += 1;
    }
    table
}
