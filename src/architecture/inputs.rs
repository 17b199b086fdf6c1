//! Inputs of a net.

use serde::{Deserialize, Serialize};

use crate::point_of_view::PointOfView;

/// The pieces on squares of one view: 2 colours x 6 roles x 64 squares.
pub const PIECES: usize = 768;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inputs {
    pub views: Views,
    pub kings: Kings,
    /// Whether training has [`PIECES`] rows more that an export adds to each bucket.
    pub factorised: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Views {
    /// White's alone, `768 -> N -> 1`: 64 * piece + square, white pawn 0 ... black king 11, a1 = 0.
    Plain,
    /// That of the side to move alone: own pieces 0..383, the other side's 384..767, squares xor 56 for
    /// Black.
    SideToMove,
    /// That of the side to move, then that of the other side, by the same weights.
    Perspective,
}

/// How the square of a view's own king chooses among the rows of the pieces.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kings {
    /// Whether a view is turned left to right where its king stands on files e to h.
    pub mirror: bool,
    /// Buckets, kept since each position asks for it.
    count: u8,
    /// The bucket by the view's own king square, a1 first; mirrored, e to h repeat d to a.
    table: [u8; 64],
}

impl Views {
    pub const ALL: [Views; 3] = [Views::Plain, Views::SideToMove, Views::Perspective];

    pub fn name(self) -> &'static str {
        match self {
            Views::Plain => "plain",
            Views::SideToMove => "side-to-move",
            Views::Perspective => "perspective",
        }
    }

    pub fn count(self) -> usize {
        if self == Views::Perspective { 2 } else { 1 }
    }

    /// Sign from White's view to that of the output; `turn` is 1 for White to move, else -1.
    pub fn sign(self, turn: i8) -> i8 {
        match self.point_of_view() {
            PointOfView::White => 1,
            PointOfView::SideToMove => turn,
        }
    }

    pub fn point_of_view(self) -> PointOfView {
        if self == Views::Plain { PointOfView::White } else { PointOfView::SideToMove }
    }
}

impl Inputs {
    /// Without king buckets and the like.
    pub fn of(views: Views) -> Self {
        Self { views, kings: Kings::NONE, factorised: false }
    }

    /// Rows of the accumulator's weights: those of bucket 0 first.
    pub fn rows(&self) -> usize {
        self.kings.count() * PIECES
    }
}

impl Kings {
    /// The most buckets that there can be.
    pub const MOST: usize = 64;

    pub const NONE: Self = Self { mirror: false, count: 1, table: [0; 64] };

    /// Buckets by square: 64 numbers, 32 (files a to d) where mirrored, or none for one bucket.
    pub fn new(mirror: bool, buckets: &[u8]) -> Result<Self, String> {
        let mut table = [0; 64];
        match buckets.len() {
            0 => {}
            64 => {
                table.copy_from_slice(buckets);
                let uneven = |square: &usize| table[*square] != table[square ^ 7];
                if let Some(square) = (0..64).find(uneven).filter(|_| mirror) {
                    let name = shakmaty::Square::new(square as u32);
                    return Err(format!(
                        "mirrored inputs see kings on files a to d only, but {name} and its mirror \
                         image have different buckets; give 32 numbers"
                    ));
                }
            }
            32 if mirror => {
                for (square, bucket) in table.iter_mut().enumerate() {
                    let (rank, file) = (square / 8, square % 8);
                    *bucket = buckets[4 * rank + file.min(7 - file)];
                }
            }
            32 => return Err("32 numbers are for `mirror = true`; give 64".into()),
            count => {
                let wanted = if mirror { "32 numbers, files a to d" } else { "64 numbers" };
                return Err(format!("{wanted} from a1 to h8, found {count}"));
            }
        }
        let most = table.into_iter().max().unwrap_or(0);
        if usize::from(most) >= Self::MOST {
            return Err(format!("there are at most 64 buckets, 0 to 63, found number {most}"));
        }
        if let Some(missing) = (0..most).find(|bucket| !table.contains(bucket)) {
            return Err(format!(
                "no square has bucket {missing}, and there is a {most}; number them without gaps"
            ));
        }
        Ok(Self { mirror, count: most + 1, table })
    }

    /// The number of buckets, from 1.
    #[inline(always)]
    pub const fn count(&self) -> usize {
        self.count as usize
    }

    /// Whether the rows of a view hang on where its king stands.
    #[inline(always)]
    pub const fn matter(&self) -> bool {
        self.mirror || self.count > 1
    }

    /// The xor of a view's squares and its bucket, by its own king's square.
    #[inline(always)]
    pub const fn seen(&self, king: usize) -> (usize, usize) {
        let turned = if self.mirror && king & 4 != 0 { 7 } else { 0 };
        (turned, self.table[king] as usize)
    }

    /// The numbers as [`Kings::new`] takes them: none, 32 or 64.
    pub fn numbers(&self) -> Vec<u8> {
        match (self.count(), self.mirror) {
            (1, _) => Vec::new(),
            (_, true) => (0..64).filter(|square| square % 8 < 4).map(|i| self.table[i]).collect(),
            (_, false) => self.table.to_vec(),
        }
    }
}

impl std::fmt::Debug for Kings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mirror = if self.mirror { "mirrored " } else { "" };
        write!(f, "{mirror}{:?}", self.numbers())
    }
}
