//! A symmetric matrix over weights, stored once.

/// The lower triangle of a symmetric matrix of the weights, in blocks of a pair of terms. The
/// tempo counts as one more term, whose endgame weight is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangle {
    /// Row `i` has the blocks of the terms `0..=i`. A block is `[mg mg, mg eg, eg mg, eg eg]`, the
    /// first of the row's term, the second of the column's.
    pub(crate) blocks: Vec<[f64; 4]>,
    terms: usize,
}

impl Triangle {
    /// All zeros, for so many terms, the tempo left out.
    pub fn zeros(terms: usize) -> Self {
        Self { blocks: vec![[0.0; 4]; row(terms + 1)], terms }
    }

    /// Rows and columns, the number of weights with the tempo.
    pub fn len(&self) -> usize {
        2 * self.terms + 1
    }

    /// Never: there is always a tempo.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The element of two weights by their numbers.
    ///
    /// # Panics
    /// If there is no such weight.
    pub fn get(&self, one: usize, other: usize) -> f64 {
        let (low, high) = (one.min(other), one.max(other));
        assert!(high < self.len(), "weight {high} of {}", self.len());
        self.blocks[row(high / 2) + low / 2][2 * (high % 2) + low % 2]
    }
}

/// Where the blocks of a term's row begin.
pub(crate) fn row(term: usize) -> usize {
    term * (term + 1) / 2
}
