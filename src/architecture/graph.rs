//! The graph of operations after the accumulators, each of which takes values of earlier ones. It
//! follows from the keys of a net, and is evaluated in any [`GraphArithmetic`].

use super::{
    Activation, Architecture, Combination, GraphArithmetic, ImpossibleNet, Layer, Operation,
    head_error, refuse_head,
};

/// The operations in an order in which they can be computed; the last is the output.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// The index of each layer's value.
    layers: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub operation: Operation,
    /// The input values: 0 for the accumulators, else one more than the node's index.
    inputs: Vec<NodeInput>,
    /// The number of values per position.
    pub width: usize,
}

const SUM: Operation = Operation::Combine(Combination::Sum);

#[derive(Clone, Copy, Debug)]
struct NodeInput {
    value: usize,
    /// Whether no later node takes the value.
    is_last: bool,
}

/// A node from the sums of the first map on; inputs are indices of such nodes.
pub struct HeadNode {
    pub operation: Operation,
    pub inputs: Vec<usize>,
    pub width: usize,
}

impl Node {
    /// The nodes whose values are the inputs. Panics if the accumulators are.
    pub fn input_nodes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.inputs.iter().map(|input| input.value.checked_sub(1).expect("no accumulators"))
    }
}

impl Architecture {
    /// The operations after the accumulators.
    ///
    /// # Panics
    ///
    /// Panics if the layers do not fit each other, which [`Architecture::check_layers`] refuses.
    pub fn graph(&self) -> Graph {
        self.connect_layers().expect("the layers fit each other")
    }

    /// Connects the layers. Fails if they do not fit each other.
    pub(super) fn connect_layers(&self) -> Result<Graph, ImpossibleNet> {
        let mut graph = Graph::default();
        let mut neurons = 0;
        let mut skip_sum = None;
        if self.psqt {
            skip_sum = Some(graph.push_operation(self, Operation::PieceSquares, &[0]));
            neurons = graph.push_operation(self, Operation::Neurons, &[0]);
        }
        let mut features =
            graph.push_operation(self, Operation::Activate(self.activation), &[neurons]);
        if self.pairwise {
            features = graph.push_operation(self, Operation::Pairwise, &[features]);
        }
        let mut layers: Vec<usize> = Vec::new();
        let mut map = 0;
        for (layer_index, layer) in self.layers().enumerate() {
            let mut values =
                self.append_inputs(&mut graph, layer, layer_index, &layers, features)?;
            if let Some([start, end]) = layer.columns {
                if layer_index == 0 {
                    return refuse_head("the first layer takes all accumulators; remove `columns`");
                }
                let width = graph.value_width(values);
                if start >= end || end > width {
                    let name = self.name_of_layer(layer_index);
                    return refuse_head(format!(
                        "{name} takes columns {start} to {end} of {width} values"
                    ));
                }
                values = graph.push_operation(self, Operation::Slice(start..end), &[values]);
            }
            match layer.size {
                None if layer_index == 0 => return refuse_head("the first layer needs a `size`"),
                None => {}
                Some(size) => {
                    if let Some(linear) = graph.linear_layer(values, &layers) {
                        let names = Activation::ALL.map(Activation::name).join(", ");
                        let linear = self.name_of_layer(linear);
                        return refuse_head(format!(
                            "{linear} has no activation; give one of {names}"
                        ));
                    }
                    let skips = self.skip && map == 0 && self.has_layers();
                    let outputs = size + usize::from(skips);
                    values = graph.push_node(Operation::Affine(map), &[values], outputs);
                    map += 1;
                    if skips {
                        let column = Operation::Slice(size..size + 1);
                        let skip = graph.push_operation(self, column, &[values]);
                        skip_sum = Some(match skip_sum {
                            None => skip,
                            Some(sum) => graph.push_operation(self, SUM, &[sum, skip]),
                        });
                        values = graph.push_operation(self, Operation::Slice(0..size), &[values]);
                    }
                }
            }
            if let Some(activation) = layer.activation {
                values = graph.push_operation(self, Operation::Activate(activation), &[values]);
            }
            for (combination, operand) in layer.combined_layers() {
                let operand_value = *layers
                    .get(operand)
                    .ok_or_else(|| self.later_input_error(layer_index, operand))?;
                let [width, expected] = [operand_value, values].map(|it| graph.value_width(it));
                if width != expected {
                    return refuse_head(format!(
                        "{} has {expected} values, and {}, which it {}, has {width}",
                        self.name_of_layer(layer_index),
                        self.name_of_layer(operand),
                        combination.verb()
                    ));
                }
                let operation = Operation::Combine(combination);
                values = graph.push_operation(self, operation, &[values, operand_value]);
            }
            layers.push(values);
        }
        let output = *layers.last().expect("there is an output");
        let last_map = graph.affine_shapes().last().map_or(1, |[_, outputs]| *outputs);
        if let Some(width) = [graph.value_width(output), last_map].into_iter().find(|it| *it != 1) {
            return refuse_head(format!(
                "the last layer is the output with one neuron, found {}; make `{{ size = 1 }}` the \
                 last layer",
                width
            ));
        }
        if let Some(sum) = skip_sum {
            graph.push_operation(self, SUM, &[output, sum]);
        }
        graph.mark_last_uses();
        match layers.iter().position(|value| *value != output && !graph.takes_value(*value)) {
            Some(unused) => {
                refuse_head(format!("nothing takes the values of {}", self.name_of_layer(unused)))
            }
            None => Ok(Graph { layers, ..graph }),
        }
    }

    /// Appends the inputs of a layer and returns their value.
    fn append_inputs(
        &self,
        graph: &mut Graph,
        layer: &Layer,
        layer_index: usize,
        layers: &[usize],
        features: usize,
    ) -> Result<usize, ImpossibleNet> {
        let inputs = layer.inputs.iter().map(|input| {
            layers.get(*input).copied().ok_or_else(|| self.later_input_error(layer_index, *input))
        });
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        if let Some(repeated) = (1..inputs.len()).find(|it| inputs[..*it].contains(&inputs[*it])) {
            let [name, repeated] =
                [layer_index, layer.inputs[repeated]].map(|it| self.name_of_layer(it));
            return refuse_head(format!("{name} takes {repeated} twice"));
        }
        Ok(match inputs[..] {
            [] => layers.last().copied().unwrap_or(features),
            [input] => input,
            _ => graph.push_operation(self, Operation::Concatenate, &inputs),
        })
    }

    fn later_input_error(&self, layer: usize, input: usize) -> ImpossibleNet {
        let [layer, input] = [layer, input].map(|it| self.name_of_layer(it));
        head_error(format!("{layer} takes values of earlier layers only, found {input}"))
    }
}

impl Graph {
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes that kernels walk: the first map, the piece-square values, and all that follow. The
    /// first map has no inputs here.
    pub fn head_nodes(&self) -> Vec<HeadNode> {
        let is_first = |node: &Node| node.operation == Operation::Affine(0);
        let first = self.nodes.iter().position(is_first).expect("a net has an output");
        let nodes = self.nodes.iter().enumerate();
        let is_psqt = |(_, node): &(usize, &Node)| node.operation == Operation::PieceSquares;
        let (psqt, others) = (nodes.clone().filter(is_psqt), nodes.skip(first));
        let nodes: Vec<(usize, &Node)> =
            others.clone().take(1).chain(psqt).chain(others.skip(1)).collect();
        let head_node = |&(_, node): &(usize, &Node)| {
            let index_of = |input: usize| nodes.iter().position(|(number, _)| *number == input);
            let inputs = match node.operation {
                Operation::PieceSquares | Operation::Affine(0) => Vec::new(),
                _ => node.input_nodes().filter_map(index_of).collect(),
            };
            HeadNode { operation: node.operation.clone(), inputs, width: node.width }
        };
        nodes.iter().map(head_node).collect()
    }

    pub fn layer_width(&self, layer: usize) -> usize {
        self.value_width(self.layers[layer])
    }

    /// The numbers of inputs and outputs of each affine map.
    pub fn affine_shapes(&self) -> Vec<[usize; 2]> {
        let is_map = |node: &&Node| matches!(node.operation, Operation::Affine(_));
        let maps = self.nodes.iter().filter(is_map);
        maps.map(|map| [self.value_width(map.inputs[0].value), map.width]).collect()
    }

    /// Appends an operation other than an affine map and returns the index of its value.
    fn push_operation(
        &mut self,
        net: &Architecture,
        operation: Operation,
        inputs: &[usize],
    ) -> usize {
        let width = |value: &usize| match value {
            0 => net.perspective_count() * net.hidden,
            value => self.value_width(*value),
        };
        let widths: Vec<usize> = inputs.iter().map(width).collect();
        let width = operation.output_width(net, &widths);
        self.push_node(operation, inputs, width)
    }

    fn push_node(&mut self, operation: Operation, inputs: &[usize], width: usize) -> usize {
        let inputs =
            inputs.iter().map(|value| NodeInput { value: *value, is_last: false }).collect();
        self.nodes.push(Node { operation, inputs, width });
        self.nodes.len()
    }

    fn value_width(&self, value: usize) -> usize {
        self.nodes[value - 1].width
    }

    /// The layer of an affine map whose outputs, or a slice of them, are the values.
    fn linear_layer(&self, mut value: usize, layers: &[usize]) -> Option<usize> {
        let mut layer = None;
        while let Some(node) = value.checked_sub(1).map(|index| &self.nodes[index]) {
            layer = layer.or_else(|| layers.iter().position(|it| *it == value));
            match node.operation {
                Operation::Affine(_) => return layer,
                Operation::Slice(_) => value = node.inputs[0].value,
                _ => return None,
            }
        }
        None
    }

    fn takes_value(&self, value: usize) -> bool {
        self.nodes.iter().any(|node| node.inputs.iter().any(|input| input.value == value))
    }

    fn mark_last_uses(&mut self) {
        let mut is_used = vec![false; self.nodes.len() + 1];
        for node in self.nodes.iter_mut().rev() {
            for input in node.inputs.iter_mut().rev() {
                input.is_last = !std::mem::replace(&mut is_used[input.value], true);
            }
        }
    }

    /// Computes the output from the accumulators; `observe` receives each operation and its inputs.
    #[inline(always)]
    pub fn evaluate<A: GraphArithmetic>(
        &self,
        arithmetic: &A,
        accumulators: A::Values,
        mut observe: impl FnMut(&Operation, &A::Values),
    ) -> A::Values {
        let mut values = Vec::with_capacity(self.nodes.len() + 1);
        values.push(Some(accumulators));
        for Node { operation, inputs, .. } in &self.nodes {
            let mut inputs = inputs.iter().map(|&NodeInput { value, is_last }| {
                let taken = if is_last { values[value].take() } else { values[value].clone() };
                taken.expect("a value is there until its last use")
            });
            let x = inputs.next().expect("an operation has an input");
            observe(operation, &x);
            let value = operation.evaluate(arithmetic, x, inputs);
            values.push(Some(value));
        }
        values.pop().flatten().expect("a net has an output")
    }
}
