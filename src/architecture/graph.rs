//! The operations behind the accumulators as a graph: each takes values of earlier ones. The graph
//! follows from the keys of a net, and is evaluated in any [`Arithmetic`].

use std::ops::Range;

use super::{Activation, Architecture, Arithmetic};

/// An operation on values of a position, at first the accumulators, the side to move's first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The accumulators without the piece-square values behind them.
    Neurons,
    /// Half of the difference of both sides' piece-square values.
    PieceSquares,
    /// Applies all curves, side by side.
    Activate(Activation),
    /// Multiplies the two halves of each perspective.
    Product,
    /// Affine map of this number, by output bucket.
    Affine(usize),
    /// Some of the values.
    Slice(Range<usize>),
    /// The values of all inputs, side by side.
    Concatenate,
    /// The sum of two inputs, value by value.
    Sum,
}

/// Operations in an order in which they can be computed; the last is the output.
#[derive(Clone, Debug)]
pub struct Graph(Vec<Node>);

#[derive(Clone, Debug)]
struct Node {
    operation: Operation,
    inputs: Vec<Input>,
}

/// The value that a node takes: 0 for the accumulators, else one more than its node's place.
#[derive(Clone, Copy, Debug)]
struct Input {
    value: usize,
    /// Whether no later node takes it.
    is_last: bool,
}

/// Connections of the layers behind the accumulators, where each does not just follow the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// By map, the layers whose values it takes, side by side; empty or missing: the one before.
    pub inputs: Vec<Vec<usize>>,
    /// By layer, the earlier one whose values are added to its own.
    pub sums: Vec<Option<usize>>,
}

impl Connections {
    /// Whether each map takes the values of the layer before it alone.
    pub fn is_chain(&self) -> bool {
        self.inputs.iter().all(Vec::is_empty) && self.sums.iter().all(Option::is_none)
    }

    pub fn inputs(&self, map: usize) -> &[usize] {
        self.inputs.get(map).map_or(&[], Vec::as_slice)
    }

    pub fn sum(&self, layer: usize) -> Option<usize> {
        self.sums.get(layer).copied().flatten()
    }
}

impl Architecture {
    /// The layers whose values a map takes, in order; none for the first map.
    pub fn inputs_of_map(&self, map: usize) -> Vec<usize> {
        match self.connections.inputs(map) {
            [] => map.checked_sub(1).into_iter().collect(),
            inputs => inputs.to_vec(),
        }
    }

    /// The operations behind the accumulators.
    pub fn graph(&self) -> Graph {
        let (mut graph, mut neurons, mut added) = (Graph(Vec::new()), 0, None);
        if self.psqt {
            added = Some(graph.push(Operation::PieceSquares, &[0]));
            neurons = graph.push(Operation::Neurons, &[0]);
        }
        let mut features = graph.push(Operation::Activate(self.activation), &[neurons]);
        if self.pairwise {
            features = graph.push(Operation::Product, &[features]);
        }
        let mut layers = Vec::new();
        let push_map = |graph: &mut Graph, map: usize, layers: &[usize]| {
            let inputs = self.inputs_of_map(map).into_iter().map(|layer| layers[layer]);
            let taken = match &inputs.collect::<Vec<_>>()[..] {
                [] => features,
                [one] => *one,
                several => graph.push(Operation::Concatenate, several),
            };
            graph.push(Operation::Affine(map), &[taken])
        };
        for (number, layer) in self.head.iter().enumerate() {
            let mut outputs = push_map(&mut graph, number, &layers);
            if self.skip && number == 0 {
                let skip = graph.push(Operation::Slice(layer.size..layer.size + 1), &[outputs]);
                added = Some(match added {
                    None => skip,
                    Some(added) => graph.push(Operation::Sum, &[added, skip]),
                });
                outputs = graph.push(Operation::Slice(0..layer.size), &[outputs]);
            }
            let mut values = graph.push(Operation::Activate(layer.activation), &[outputs]);
            if let Some(earlier) = self.connections.sum(number) {
                values = graph.push(Operation::Sum, &[values, layers[earlier]]);
            }
            layers.push(values);
        }
        let output = push_map(&mut graph, self.head.len(), &layers);
        if let Some(added) = added {
            graph.push(Operation::Sum, &[output, added]);
        }
        graph.mark_last_uses();
        graph
    }
}

impl Graph {
    /// Appends an operation; returns the number of its value.
    fn push(&mut self, operation: Operation, inputs: &[usize]) -> usize {
        let inputs = inputs.iter().map(|value| Input { value: *value, is_last: false }).collect();
        self.0.push(Node { operation, inputs });
        self.0.len()
    }

    fn mark_last_uses(&mut self) {
        let mut is_used = vec![false; self.0.len() + 1];
        for node in self.0.iter_mut().rev() {
            for input in node.inputs.iter_mut().rev() {
                input.is_last = !std::mem::replace(&mut is_used[input.value], true);
            }
        }
    }

    /// The output from the accumulators; `see` receives each operation with the values before it.
    #[inline(always)]
    pub fn evaluate<A: Arithmetic>(
        &self,
        net: &Architecture,
        arithmetic: &A,
        accumulators: A::Values,
        mut see: impl FnMut(&Operation, &A::Values),
    ) -> A::Values {
        let mut values = Vec::with_capacity(self.0.len() + 1);
        values.push(Some(accumulators));
        for Node { operation, inputs } in &self.0 {
            let mut take = |place: usize| {
                let Input { value, is_last } = inputs[place];
                let taken = if is_last { values[value].take() } else { values[value].clone() };
                taken.expect("a value is there until its last use")
            };
            let x = take(0);
            see(operation, &x);
            let value = match operation {
                Operation::Neurons => arithmetic.neurons(x),
                Operation::PieceSquares => arithmetic.piece_squares(x),
                Operation::Activate(activation) => arithmetic.activate(x, activation.curves()),
                Operation::Product => {
                    let half = net.outputs_of_view();
                    arithmetic.multiply(x, net.views(), [0..half, half..2 * half])
                }
                Operation::Affine(map) => arithmetic.affine(*map, x),
                Operation::Slice(columns) => arithmetic.columns(&x, 1, columns.clone()),
                Operation::Concatenate => {
                    let others = (1..inputs.len()).map(&mut take);
                    arithmetic.concatenate([x].into_iter().chain(others).collect())
                }
                Operation::Sum => arithmetic.add(x, take(1)),
            };
            values.push(Some(value));
        }
        values.pop().flatten().expect("a net has an output")
    }
}
