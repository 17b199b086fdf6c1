//! Host arrays for one step of training.

use std::sync::Arc;

/// What a model sees of the positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Inputs {
    /// One-hot inputs.
    Active(Active),
    /// Handcrafted terms, see [`Terms`].
    Terms(Terms),
}

/// Lists of the inputs that are one.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    /// Rows of the accumulator's weight matrix.
    pub inputs: usize,
    /// Lists a position.
    pub views: usize,
    /// Places a list; those behind the last active input hold `inputs`.
    pub places: usize,
    /// `[batch, views, places]`
    pub indices: Vec<u16>,
}

impl Active {
    /// The number of positions.
    pub fn len(&self) -> usize {
        self.indices.len() / (self.views * self.places)
    }

    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
}

/// Sparse coefficients of handcrafted terms, and what tapers them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// The number of terms, each with a middlegame and an endgame weight.
    pub terms: usize,
    /// Position `i` has the entries `offsets[i]..offsets[i + 1]`; so there is one more offset
    /// than there are positions.
    pub offsets: Vec<u32>,
    /// The term of each entry.
    pub term: Vec<u16>,
    /// How often the term applies for White minus for Black.
    pub coefficient: Vec<i8>,
    /// Share of the middlegame weight, 0 to 1.
    pub middlegame: Vec<f32>,
    /// Share of the endgame weight, 0 to 1.
    pub endgame: Vec<f32>,
    /// +1 where White is to move, -1 where Black is.
    pub turn: Vec<i8>,
}

/// A batch. Results and scores take the point of view of the model's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub inputs: Inputs,
    /// 0 to 1, one a position.
    pub results: Vec<f32>,
    /// Centipawns, one a position; empty where the data has no scores.
    pub scores: Vec<f32>,
    /// Where the stream stands behind this batch, for resuming; opaque to training.
    pub cursor: Option<Arc<str>>,
}

impl Batch {
    /// The number of positions.
    pub fn len(&self) -> usize {
        self.results.len()
    }

    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }
}
