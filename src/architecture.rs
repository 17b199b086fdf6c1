//! A net described as data: the one description that everything else reads.
//!
//! What a net sees ([`Inputs`]), how wide its accumulators are and what becomes of them, the
//! layers behind them ([`Layer`]), and how many sets of these there are ([`Architecture::buckets`]).
//! From it follow the arrays of numbers ([`Architecture::arrays`]), by which weights are drawn,
//! trained, quantised, read and shown; the rows that pieces switch on, in `features/`; and what the
//! integers of an engine compute, in `net/`. Nothing else knows what kinds of nets there are.

mod activation;
mod arrays;
mod check;
mod form;
mod inputs;
mod words;

pub use activation::{Activation, Curve, LayerActivation};
pub use arrays::{Array, Factor, Part};
pub use check::Impossible;
pub use form::{Form, LayerForm};
pub use inputs::{Inputs, Kings, PIECES, Views};

use serde::{Deserialize, Serialize};

/// A net, apart from its numbers: inputs to accumulators, accumulators to layers, layers to one
/// output.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct Architecture {
    pub inputs: Inputs,
    /// Neurons of an accumulator, N.
    pub hidden: usize,
    /// What is done to the numbers of an accumulator.
    pub activation: Activation,
    /// Whether those of the first half are multiplied by those of the second, one by one.
    pub pairwise: bool,
    /// The layers between accumulators and output; often none.
    pub head: Vec<Layer>,
    /// Whether the first of these layers has one more neuron, which takes no activation and is
    /// added to the output.
    pub skip: bool,
    /// Sets of all layers behind the accumulators, of which the number of pieces on the board
    /// chooses one; 1 to 32.
    pub buckets: usize,
}

/// A layer of the head: an affine map and an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layer {
    /// Neurons.
    pub size: usize,
    /// What they do to their values.
    pub activation: LayerActivation,
}

/// The most pieces that a board holds; they number the output buckets.
pub const MOST_PIECES: usize = 32;

impl Architecture {
    /// A net with nothing behind its accumulators but the output.
    pub fn simple(views: Views, hidden: usize, activation: Activation) -> Self {
        Self {
            inputs: Inputs::of(views),
            hidden,
            activation,
            pairwise: false,
            head: Vec::new(),
            skip: false,
            buckets: 1,
        }
    }

    /// The same net with another number of neurons.
    pub fn with_hidden(&self, hidden: usize) -> Self {
        Self { hidden, ..self.clone() }
    }

    /// The same net as engines have it, without what only training needs.
    pub fn merged(&self) -> Self {
        Self { inputs: Inputs { factorised: false, ..self.inputs }, ..self.clone() }
    }

    /// Accumulators, one a view.
    pub fn views(&self) -> usize {
        self.inputs.views.count()
    }

    /// Rows of the accumulator's weights.
    pub fn rows(&self) -> usize {
        self.inputs.rows()
    }

    /// What one view hands to the layers behind it.
    pub fn outputs_of_view(&self) -> usize {
        if self.pairwise { self.hidden / 2 } else { self.hidden }
    }

    /// What all views hand on, side by side, the side to move's first.
    pub fn features(&self) -> usize {
        self.views() * self.outputs_of_view()
    }

    /// Inputs and outputs of each affine map behind the accumulators, the output's last. The skip
    /// neuron is the last output of the first one.
    pub fn maps(&self) -> Vec<[usize; 2]> {
        let mut width = self.features();
        let mut maps = Vec::with_capacity(self.head.len() + 1);
        for (i, layer) in self.head.iter().enumerate() {
            maps.push([width, layer.size + usize::from(self.skip && i == 0)]);
            width = layer.outputs();
        }
        maps.push([width, 1]);
        maps
    }

    /// The set of layers that judges a position with so many pieces.
    pub fn bucket(&self, pieces: usize) -> usize {
        pieces.saturating_sub(2).min(MOST_PIECES - 2) / self.pieces_per_bucket()
    }

    /// Numbers of pieces that share an output bucket.
    pub fn pieces_per_bucket(&self) -> usize {
        MOST_PIECES.div_ceil(self.buckets)
    }

    /// Whether layers stand between accumulators and output.
    pub fn has_layers(&self) -> bool {
        !self.head.is_empty()
    }

    /// Whether a product or layers stand between accumulators and output. If not, all numbers of an
    /// exported net are i16.
    pub fn is_deep(&self) -> bool {
        self.pairwise || self.has_layers()
    }
}

impl Layer {
    /// What it hands on.
    pub fn outputs(&self) -> usize {
        self.size * self.activation.curves().len()
    }
}
