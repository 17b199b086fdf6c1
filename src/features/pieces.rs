//! Pieces on squares, with 768 rows per king bucket: the usual feature set of nets.

use shakmaty::{Color, Square};

use super::{Board, DirtyPieces, FeatureSet, KINDS, Language, MAX_ACTIVE, Rows, bounds};
use crate::sample::Piece;

/// The number of rows of one perspective: 2 colours x 6 roles x 64 squares.
pub const PIECES: usize = 768;
/// The row of an enemy king on a1.
const ENEMY_KING: usize = PIECES - 64;
/// The maximum number of rows that a move adds before it removes others: two, for castling.
const ADDED: i64 = 2;
pub(super) const NAME: &str = "pieces";

/// The feature set. Its rows depend on the bucket of the own king, in the order of buckets.
pub struct Pieces(pub Kings);

impl FeatureSet for Pieces {
    fn name(&self) -> &str {
        NAME
    }

    fn row_count(&self) -> usize {
        self.0.bucket_count() * self.0.rows_per_bucket()
    }

    fn max_active(&self) -> usize {
        MAX_ACTIVE
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let king = board.king_square(perspective);
        board
            .pieces()
            .for_each(|piece| rows.push(self.0.row_of_piece(perspective, king, piece) as u32));
    }

    fn describe_row(&self, row: u32) -> String {
        let (bucket, input) = self.0.input_of(row as usize);
        let piece = format!("{} on {}", KINDS[input / 64], Square::new(input as u32 % 64));
        match self.0.bucket_count() {
            1 => piece,
            _ => format!("{piece}, king bucket {bucket}"),
        }
    }

    fn factor_rows(&self) -> usize {
        if self.0.bucket_count() > 1 && !self.0.merged { PIECES } else { 0 }
    }

    fn factor_row(&self, row: u32) -> Option<u32> {
        (self.factor_rows() > 0).then_some(row % PIECES as u32)
    }

    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        self.0.bound_sums(weights)[0]
    }

    fn kings(&self) -> Option<&Kings> {
        Some(&self.0)
    }

    fn is_reachable(&self, row: u32) -> bool {
        let (bucket, input) = self.0.input_of(row as usize);
        bounds::is_square_of(input / 64, input % 64, &self.0.own_kings(bucket))
    }

    fn engine_code(&self, language: Language) -> Option<String> {
        let code = language.choose_between(
            r"
fn pieces(board: &Board, perspective: usize, rows: &mut Rows) {
    let origin = ORIGIN;
    for (kind, square) in board.pieces(perspective) {
        rows.push((origin + 64 * KIND) ^ square);
    }
}
",
            r"
/* Pieces on squares. */
static inline void nnue_pieces(const NnueBoard *board, int perspective, NnueRows *rows) {
    int origin = ORIGIN;
    for (uint64_t squares = board->occupied; squares;) {
        int square = nnue_pop(&squares), kind = nnue_kind(board, perspective, square);
        nnue_add(rows, (origin + 64 * KIND) ^ square);
    }
}
",
        );
        let origin = match self.0.has_effect() {
            false => "56 * perspective",
            true => language.choose_between(
                "origin(perspective, board.kings[perspective])",
                "nnue_origin(perspective, board->king[perspective])",
            ),
        };
        // Both kings share the plane of the own king.
        let kind = match self.0.merged {
            false => "kind",
            true => language
                .choose_between("if kind == 11 { 5 } else { kind }", "(kind == 11 ? 5 : kind)"),
        };
        Some(code.replace("ORIGIN", origin).replace("KIND", kind))
    }
}

/// The reason why king buckets, or planes of kings, are impossible.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum KingsError {
    #[error(
        "mirrored inputs have kings on files a to d only, but {0} and its mirror image have \
         different buckets; give 32 numbers"
    )]
    Uneven(Square),
    #[error("32 numbers need `mirror = true`; give 64 without it")]
    NotMirrored,
    #[error("{0} from a1 to h8, found {1}")]
    Count(&'static str, usize),
    #[error("there are at most 64 buckets, 0 to 63, found number {0}")]
    Number(u8),
    #[error("no square has bucket {0}, but one has {1}; number the buckets without gaps")]
    Gap(u8, u8),
    #[error(
        "king bucket {0} has the squares {1} and {2}, where both kings can stand at once, so they \
         need two planes; keep these, or train with buckets of adjacent squares"
    )]
    Apart(usize, Square, Square),
    #[error("no feature set of this net has planes of kings")]
    NoPlanes,
}

/// The map from the square of the own king to a block of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kings {
    /// Whether a perspective is mirrored left to right if its king stands on files e to h.
    pub mirror: bool,
    /// Whether both kings share the plane of the own king. A row on a square of the bucket, whose
    /// squares are adjacent, means the own king, and on all other squares the enemy's.
    pub(super) merged: bool,
    /// The number of buckets, stored since each position needs it.
    count: u8,
    /// The bucket by the own king's square, a1 first; with mirroring, e to h repeat d to a.
    table: [u8; 64],
}

impl Kings {
    /// The maximum number of king buckets.
    pub const MAX_BUCKETS: usize = 64;
    /// One bucket, no mirroring.
    pub const NONE: Self = Self { mirror: false, merged: false, count: 1, table: [0; 64] };

    /// One bucket with both kings on one plane.
    pub(super) const MERGED: Self = Self { merged: true, ..Self::NONE };

    /// The buckets by square: 64 numbers, 32 (files a to d) with mirroring, or none for one bucket.
    ///
    /// # Errors
    ///
    /// Fails with [`KingsError::Count`] or [`KingsError::NotMirrored`] for another number of
    /// squares, with [`KingsError::Uneven`] if a square and its mirror image differ, with
    /// [`KingsError::Number`] for a bucket of [`MAX_BUCKETS`](Self::MAX_BUCKETS) or more, and with
    /// [`KingsError::Gap`] if a lower bucket has no square.
    pub fn new(mirror: bool, buckets: &[u8]) -> Result<Self, KingsError> {
        let mut table = [0; 64];
        match buckets.len() {
            0 => {}
            64 => {
                table.copy_from_slice(buckets);
                let uneven = |square: &usize| table[*square] != table[square ^ 7];
                if let Some(square) = (0..64).find(uneven).filter(|_| mirror) {
                    return Err(KingsError::Uneven(Square::new(square as u32)));
                }
            }
            32 if mirror => {
                for (square, bucket) in table.iter_mut().enumerate() {
                    let [rank, file] = [square / 8, square % 8];
                    *bucket = buckets[4 * rank + file.min(7 - file)];
                }
            }
            32 => return Err(KingsError::NotMirrored),
            count => {
                let wanted = if mirror { "32 numbers, files a to d" } else { "64 numbers" };
                return Err(KingsError::Count(wanted, count));
            }
        }
        let last = table.into_iter().max().unwrap_or(0);
        if usize::from(last) >= Self::MAX_BUCKETS {
            return Err(KingsError::Number(last));
        }
        if let Some(missing) = (0..last).find(|bucket| !table.contains(bucket)) {
            return Err(KingsError::Gap(missing, last));
        }
        Ok(Self { mirror, merged: false, count: last + 1, table })
    }

    /// Merges the planes of both kings.
    ///
    /// # Errors
    ///
    /// Fails with [`KingsError::Apart`] if both kings can stand on squares of one bucket at once.
    pub fn merge_planes(self) -> Result<Self, KingsError> {
        for bucket in 0..self.bucket_count() {
            let squares = self.own_kings(bucket);
            let pairs = squares.iter().flat_map(|a| squares.iter().map(move |b| [*a, *b]));
            if let Some(squares) =
                pairs.into_iter().find(|[a, b]| bounds::king_distance(*a, *b) > 1)
            {
                let [a, b] = squares.map(|square| Square::new(square as u32));
                return Err(KingsError::Apart(bucket, a, b));
            }
        }
        Ok(Self { merged: true, ..self })
    }

    /// The number that a row has with two planes of kings.
    pub fn unmerged_row(&self, row: usize) -> usize {
        let (bucket, input) = self.input_of(row);
        PIECES * bucket + input
    }

    /// The number of king buckets.
    #[inline(always)]
    pub const fn bucket_count(&self) -> usize {
        self.count as usize
    }

    /// The number of rows of a bucket.
    #[inline(always)]
    pub const fn rows_per_bucket(&self) -> usize {
        if self.merged { ENEMY_KING } else { PIECES }
    }

    /// The row of an input, 0 to 767, in a bucket.
    #[inline(always)]
    pub const fn row_of(&self, bucket: usize, input: usize) -> usize {
        let is_merged = self.merged && input >= ENEMY_KING;
        self.rows_per_bucket() * bucket + if is_merged { input - PIECES / 2 } else { input }
    }

    /// The bucket and the input of a row.
    pub fn input_of(&self, row: usize) -> (usize, usize) {
        let [bucket, row] = [row / self.rows_per_bucket(), row % self.rows_per_bucket()];
        let is_king = row / 64 == (ENEMY_KING - PIECES / 2) / 64;
        let is_enemy = self.merged && is_king && self.flip_and_bucket(row % 64) != (0, bucket);
        (bucket, if is_enemy { row + PIECES / 2 } else { row })
    }

    /// The squares of a bucket from a perspective; files a to d with mirroring.
    fn own_kings(&self, bucket: usize) -> Vec<usize> {
        (0..64).filter(|square| self.flip_and_bucket(*square) == (0, bucket)).collect()
    }

    /// Whether the rows of a perspective depend on its king's square.
    #[inline(always)]
    pub const fn has_effect(&self) -> bool {
        self.mirror || self.count > 1
    }

    /// The xor of a perspective's squares, and its bucket, from its own king's square.
    #[inline(always)]
    pub const fn flip_and_bucket(&self, king: usize) -> (usize, usize) {
        let flip = if self.mirror && king & 4 != 0 { 7 } else { 0 };
        (flip, self.table[king] as usize)
    }

    /// The row of a piece from a perspective whose own king stands on `king`.
    pub fn row_of_piece(&self, perspective: Color, king: Square, piece: Piece) -> usize {
        let (flip, bucket) = self.flip_and_bucket(relative_square(perspective, king));
        // The square is in the lowest bits.
        self.row_of(bucket, input_index(perspective, piece) ^ flip)
    }

    /// Whether a move requires a refresh of a colour's perspective.
    pub fn needs_refresh(&self, perspective: Color, moved: &DirtyPieces) -> bool {
        let flip_and_bucket = |square| self.flip_and_bucket(relative_square(perspective, square));
        moved.turn == perspective
            && moved.king.is_some_and(|[from, to]| flip_and_bucket(from) != flip_and_bucket(to))
    }

    /// Bounds the sum of the rows of any legal position, from the weights of one neuron, and all
    /// intermediate sums for any order in which a move changes rows.
    ///
    /// Each piece has one active row. A side has one king and at most 15 other pieces on different
    /// squares. So the rows of a side sum to at most its largest king row plus the 15 largest of
    /// `max(0, largest row of any other piece on the square)` over the squares, 48 for pawns. Both
    /// sides together bound the sum; the lower bound is analogous. Each king bucket is separate.
    ///
    /// A move adds at most two rows (castling) and removes at most two. In any order, an intermediate
    /// sum is at most the same bound of the positive values alone, plus twice the largest row.
    pub fn bound_sums(&self, weights: &[i32]) -> [[i64; 2]; 2] {
        let mut bounds = [[i64::MAX, i64::MIN]; 2];
        for (bucket, weights) in weights.chunks_exact(self.rows_per_bucket()).enumerate() {
            let upper_bounds = self.upper_bounds(bucket, |row| i64::from(weights[row]));
            let lower_bounds = self.upper_bounds(bucket, |row| -i64::from(weights[row]));
            for (i, [lower, upper]) in bounds.iter_mut().enumerate() {
                (*lower, *upper) = ((*lower).min(-lower_bounds[i]), (*upper).max(upper_bounds[i]));
            }
        }
        bounds
    }

    /// Computes the upper bounds of a king bucket: of legal positions and of intermediate sums.
    fn upper_bounds(&self, bucket: usize, weight: impl Fn(usize) -> i64) -> [i64; 2] {
        let kings = self.own_kings(bucket);
        let value = |kind: usize, square: usize| weight(self.row_of(0, 64 * kind + square));
        let positive = |kind, square| value(kind, square).max(0);
        let pieces = (0..12)
            .flat_map(|kind| bounds::possible_squares(kind, &kings).map(move |it| (kind, it)));
        let largest = pieces.map(|(kind, square)| positive(kind, square)).max().unwrap_or(0);
        [bounds::of_squares(&kings, value), bounds::of_squares(&kings, positive) + ADDED * largest]
    }

    /// The numbers in the form of [`Kings::new`]: none, 32 or 64.
    pub fn bucket_numbers(&self) -> Vec<u8> {
        match (self.bucket_count(), self.mirror) {
            (1, _) => Vec::new(),
            (_, true) => (0..64).filter(|square| square % 8 < 4).map(|i| self.table[i]).collect(),
            (_, false) => self.table.to_vec(),
        }
    }
}

/// The input of a piece from a colour's perspective, 0 to 767, before buckets and mirroring.
pub const fn input_index(perspective: Color, piece: Piece) -> usize {
    let is_enemy = !matches!(
        (perspective, piece.color),
        (Color::White, Color::White) | (Color::Black, Color::Black)
    );
    384 * is_enemy as usize
        + 64 * (piece.role as usize - 1)
        + relative_square(perspective, piece.square)
}

/// A square from a colour's perspective, a1 = 0.
pub(super) const fn relative_square(perspective: Color, square: Square) -> usize {
    square as usize ^ if matches!(perspective, Color::White) { 0 } else { 56 }
}
