//! Output buckets, chosen by the number of pieces or by a function that the program adds.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Architecture, ImpossibleNet, MAX_PIECES};
use crate::registry::{NamedValue, RegistryKind};
use crate::sample::Position;

/// Output buckets that a program adds.
pub struct CustomBuckets {
    pub count: usize,
    /// The function that chooses the bucket of a position, below `count`.
    pub choose: Box<dyn Fn(&Position) -> usize + Send + Sync>,
}

impl RegistryKind for CustomBuckets {
    const NOUN: &'static str = "output buckets";
}

/// The rule that chooses the output bucket of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BucketChoice {
    /// By the number of pieces, in equal ranges.
    #[default]
    Pieces,
    /// By the number of pieces, with a table.
    Table(BucketTable),
    /// By a function that the program adds.
    Own(NamedValue<CustomBuckets>),
}

/// The output buckets by the number of pieces on the board, 0 to 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTable(pub [u8; MAX_PIECES + 1]);

impl BucketTable {
    /// Makes a table of buckets, `[33]`, for 0 to 32 pieces on the board.
    ///
    /// # Errors
    ///
    /// Fails unless there are 33 numbers, and if a bucket up to the largest belongs to no number of
    /// pieces from 2 to 32.
    pub fn new(numbers: &[u8]) -> Result<Self, ImpossibleNet> {
        let wrong = |reason| ImpossibleNet { key: "output_buckets", reason };
        let table = Self(numbers.try_into().map_err(|_| {
            let count = numbers.len();
            wrong(format!("expected 33 numbers, for 0 to 32 pieces on the board, found {count}"))
        })?);
        // Boards have at least two kings.
        let missing = (0..table.bucket_count() as u8).find(|bucket| !numbers[2..].contains(bucket));
        match missing {
            None => Ok(table),
            Some(missing) => Err(wrong(format!(
                "no number of pieces from 2 to 32 has bucket {missing}, and others have higher \
                 ones; number the buckets without gaps"
            ))),
        }
    }

    pub fn bucket_count(&self) -> usize {
        usize::from(self.0.into_iter().max().unwrap_or(0)) + 1
    }
}

/// The output buckets in their written form: a number, a table, or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    pub count: usize,
    pub choice: BucketChoice,
}

impl Buckets {
    pub(super) fn is_one(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Buckets {
    fn default() -> Self {
        Self { count: 1, choice: BucketChoice::Pieces }
    }
}

impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.choice {
            BucketChoice::Pieces => self.count.serialize(serializer),
            BucketChoice::Table(table) => table.0[..].serialize(serializer),
            BucketChoice::Own(custom) => custom.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number of output buckets, 33 numbers, or a name")]
        enum Written {
            Pieces(usize),
            Table(Vec<u8>),
            Own(String),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Pieces(count) => Self { count, choice: BucketChoice::Pieces },
            Written::Table(numbers) => {
                let table = BucketTable::new(&numbers);
                let table = table.map_err(|wrong| D::Error::custom(wrong.reason))?;
                Self { count: table.bucket_count(), choice: BucketChoice::Table(table) }
            }
            Written::Own(name) => {
                let custom: NamedValue<CustomBuckets> = name.parse().map_err(D::Error::custom)?;
                Self { count: custom.value.count, choice: BucketChoice::Own(custom) }
            }
        })
    }
}

impl Architecture {
    /// The output bucket of a position; larger numbers are reduced to the last bucket.
    pub fn bucket_of(&self, position: &Position) -> usize {
        match self.bucket_choice {
            BucketChoice::Own(custom) => (custom.value.choose)(position).min(self.buckets - 1),
            BucketChoice::Pieces | BucketChoice::Table(_) => {
                self.bucket_by_pieces(position.piece_count())
            }
        }
    }
}
