//! Output buckets: the number of pieces, or a function that the program adds, chooses one.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Architecture;
use crate::registry::{Kind, NamedValue};
use crate::sample::Position;

/// Output buckets that a program adds.
pub struct CustomBuckets {
    pub count: usize,
    /// The bucket of a position, below `count`.
    pub of: Box<dyn Fn(&Position) -> usize + Send + Sync>,
}

impl Kind for CustomBuckets {
    const NOUN: &'static str = "output buckets";
}

/// Output buckets in their written form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Buckets {
    /// This number of buckets, by the number of pieces.
    Pieces(usize),
    Own(NamedValue<CustomBuckets>),
}

impl Buckets {
    pub fn count(self) -> usize {
        match self {
            Self::Pieces(count) => count,
            Self::Own(own) => own.value.count,
        }
    }

    pub fn own(self) -> Option<NamedValue<CustomBuckets>> {
        match self {
            Self::Pieces(_) => None,
            Self::Own(own) => Some(own),
        }
    }

    pub(super) fn is_one(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Buckets {
    fn default() -> Self {
        Self::Pieces(1)
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a number of output buckets, or a name")]
        enum Written {
            Pieces(usize),
            Own(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Pieces(count) => Ok(Self::Pieces(count)),
            Written::Own(name) => name.parse().map(Self::Own).map_err(D::Error::custom),
        }
    }
}

impl Architecture {
    /// The output bucket of a position; numbers beyond the last count as the last.
    pub fn bucket_of(&self, position: &Position) -> usize {
        match self.own_buckets {
            None => self.bucket(position.count()),
            Some(own) => (own.value.of)(position).min(self.buckets - 1),
        }
    }
}
