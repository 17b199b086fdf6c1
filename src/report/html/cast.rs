//! Who takes part in a comparison, in words.

/// An evaluation of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cast {
    pub name: String,
    /// What it is, for readers who do not know the name.
    pub what: String,
    /// Whether it competes; else it is there to measure others against.
    pub rival: bool,
}
