//! The description of a net, from which its arrays, rows, integers and files follow.

mod activation;
mod buckets;
mod fixed_point;
mod form;
mod graph;
mod operation;

pub use activation::{Activation, Curve};
pub use buckets::{BucketChoice, BucketTable, Buckets, CustomBuckets};
pub use fixed_point::{FixedMap, FixedPoint, FixedValue, LayerIntegers, convert_unit};
pub use form::{LayerForm, NetForm, are_default_sets, default_sets};
pub use graph::{Graph, HeadNode, Node};
pub use operation::{
    CodeContext, CodeValue, Combination, GraphArithmetic, Operation, ValueRows, ValueRowsMut,
    multiply_halves,
};

pub use crate::features::{
    FirstView, Inputs, Integer, Kings, MAX_ACTIVE, MIRRORED, NUMBERS, PIECES, Perspectives, Row,
    Set, flip_row, is_mirrored,
};

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "NetForm", into = "NetForm")]
pub struct Architecture {
    pub inputs: Inputs,
    /// The number of neurons of an accumulator, N.
    pub hidden: usize,
    pub activation: Activation,
    /// Whether the first half of the neurons is multiplied elementwise by the second.
    pub pairwise: bool,
    /// The layers between accumulators and output; often none.
    pub head: Vec<Layer>,
    pub output: Layer,
    /// Whether the first layer has one more neuron, which is added unchanged to the output.
    pub skip: bool,
    /// Whether each row also has a piece-square value per output bucket. The output then includes
    /// half of the difference between the two sides' sums.
    pub psqt: bool,
    /// Output buckets (sets of layers), 1 to 32.
    pub buckets: usize,
    /// The rule that chooses the output bucket.
    pub bucket_choice: BucketChoice,
}

/// A layer of a head; its fields apply in their order. It refers to other layers by their numbers, in
/// its written form by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer<Reference = usize> {
    /// The name, if it is not the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The earlier layers whose values are concatenated; empty: the previous layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Reference>,
    /// The range of the input columns, if not all are used: the first, and the one after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<[usize; 2]>,
    /// The number of neurons of an affine map, 1 to 1,024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Earlier layers by which the values are multiplied, or which are added or subtracted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiply: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtract: Option<Reference>,
    /// The integers of the map in a file, and of the activations of its outputs; none: f32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integers: Option<LayerIntegers>,
}

impl Layer {
    pub fn new(size: usize, activation: Activation) -> Self {
        Self { size: Some(size), activation: Some(activation), ..Self::default() }
    }
    pub fn output() -> Self {
        Self { size: Some(1), ..Self::default() }
    }

    fn combined_layers(&self) -> impl Iterator<Item = (Combination, usize)> {
        let all = [
            (Combination::Product, self.multiply),
            (Combination::Sum, self.add),
            (Combination::Difference, self.subtract),
        ];
        all.into_iter().filter_map(|(combination, layer)| Some((combination, layer?)))
    }

    /// Whether the layer takes the values of the layer before alone, so that the shorthand of a net
    /// leaves its inputs out.
    fn follows_previous(&self) -> bool {
        self.inputs.is_empty() && self.columns.is_none() && self.combined_layers().next().is_none()
    }
}

/// The maximum number of pieces on a board; output buckets divide this range.
pub const MAX_PIECES: usize = 32;

impl Architecture {
    /// A net with one output layer directly after its accumulators.
    pub fn simple(perspectives: Perspectives, hidden: usize, activation: Activation) -> Self {
        Self {
            inputs: Inputs::of_pieces(perspectives, Kings::NONE, false),
            hidden,
            activation,
            pairwise: false,
            head: Vec::new(),
            output: Layer::output(),
            skip: false,
            psqt: false,
            buckets: 1,
            bucket_choice: BucketChoice::Pieces,
        }
    }

    pub fn with_hidden(&self, hidden: usize) -> Self {
        Self { hidden, ..self.clone() }
    }

    /// The net as engines use it, without the arrays that only training needs.
    pub fn without_factoriser(&self) -> Self {
        Self { inputs: self.inputs.without_factoriser(), ..self.clone() }
    }
    pub fn perspective_count(&self) -> usize {
        self.inputs.perspectives.count()
    }

    pub fn row_count(&self) -> usize {
        self.inputs.row_count()
    }

    /// The number of values that one perspective passes to the layers after it.
    pub fn outputs_of_perspective(&self) -> usize {
        if self.pairwise { self.hidden / 2 } else { self.hidden }
    }

    /// The number of concatenated values of all perspectives; the side to move's come first.
    pub fn feature_count(&self) -> usize {
        self.perspective_count() * self.outputs_of_perspective()
    }

    /// The number of piece-square columns behind an accumulator's neurons: one per output bucket.
    pub fn psqt_columns(&self) -> usize {
        if self.psqt { self.buckets } else { 0 }
    }

    /// The number of columns of an accumulator: its neurons and the piece-square values.
    pub fn column_count(&self) -> usize {
        self.hidden + self.psqt_columns()
    }

    /// Inputs and outputs of each affine map; the skip neuron is the last output of the first map.
    pub fn maps(&self) -> Vec<[usize; 2]> {
        self.graph().affine_shapes()
    }

    /// The layers after the accumulators, the output last.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.head.iter().chain([&self.output])
    }

    /// The input layers of a layer; none if its inputs are the accumulators.
    pub fn inputs_of_layer(&self, number: usize) -> Vec<usize> {
        match self.layers().nth(number) {
            Some(layer) if !layer.inputs.is_empty() => layer.inputs.clone(),
            _ => number.checked_sub(1).into_iter().collect(),
        }
    }
    pub fn layer_width(&self, layer: usize) -> usize {
        self.graph().layer_width(layer)
    }

    pub fn name_of_layer(&self, number: usize) -> String {
        match self.layers().nth(number).and_then(|layer| layer.name.as_ref()) {
            Some(name) => name.clone(),
            None if number == self.head.len() => "the output".into(),
            None => format!("head.{number}"),
        }
    }

    pub fn parts_of_map(&self, map: usize) -> [ArrayKind; 2] {
        let maps = self.layers().filter(|layer| layer.size.is_some()).count();
        match map + 1 < maps {
            true => [ArrayKind::Layer(map), ArrayKind::LayerBias(map)],
            false => [ArrayKind::Output, ArrayKind::OutputBias],
        }
    }

    /// The output bucket of a position with `pieces` pieces, unless a function chooses it.
    pub fn bucket_by_pieces(&self, pieces: usize) -> usize {
        match &self.bucket_choice {
            BucketChoice::Table(table) => table.0[pieces.min(MAX_PIECES)].into(),
            _ => pieces.saturating_sub(2).min(MAX_PIECES - 2) / self.pieces_per_bucket(),
        }
    }

    /// The number of piece counts that share an output bucket.
    pub fn pieces_per_bucket(&self) -> usize {
        MAX_PIECES.div_ceil(self.buckets)
    }

    pub fn has_layers(&self) -> bool {
        !self.head.is_empty()
    }

    /// Whether a product or layers follow the accumulators; if not, all integers are i16.
    pub fn is_deep(&self) -> bool {
        self.pairwise || self.has_layers()
    }

    /// Whether kernels walk the graph after the accumulators; if not, one output map follows them.
    pub fn walks_graph(&self) -> bool {
        self.is_deep() || self.psqt
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetArray {
    pub kind: ArrayKind,
    pub name: String,
    /// The row-major shape. A single output bucket has no dimension.
    pub shape: Vec<usize>,
    /// The number of inputs that a neuron sums, which scales the initial weights.
    pub fan_in: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArrayKind {
    /// `[rows, N]` of a feature set, by its index in the net's list.
    Rows(usize),
    /// `[factor rows, N]`, for training only: each is added to all rows of the set that share it.
    Factor(usize),
    /// `[N]`
    AccumulatorBias,
    /// `[buckets, outputs, inputs]` of a layer of the head, from 0.
    Layer(usize),
    /// `[buckets, outputs]`
    LayerBias(usize),
    /// `[buckets, inputs]`
    Output,
    /// `[buckets]`
    OutputBias,
    /// `[rows, buckets]` of a feature set: piece-square values.
    Psqt(usize),
}

impl ArrayKind {
    /// The name of the array in a net of these sets; the first set has `accumulator.weight`.
    pub fn array_name(self, sets: &[Set]) -> String {
        match self {
            ArrayKind::Rows(0) => "accumulator.weight".into(),
            ArrayKind::Factor(0) => "factoriser.weight".into(),
            ArrayKind::Rows(set) => format!("{}.weight", sets[set].name()),
            ArrayKind::Factor(set) => format!("{}.factor.weight", sets[set].name()),
            ArrayKind::AccumulatorBias => "accumulator.bias".into(),
            ArrayKind::Layer(i) => format!("head.{i}.weight"),
            ArrayKind::LayerBias(i) => format!("head.{i}.bias"),
            ArrayKind::Output => "output.weight".into(),
            ArrayKind::OutputBias => "output.bias".into(),
            ArrayKind::Psqt(0) => "psqt.weight".into(),
            ArrayKind::Psqt(set) => format!("psqt.{}.weight", sets[set].name()),
        }
    }

    /// The index of the affine map that has this array, in a net of `maps` maps.
    pub fn map_index(self, maps: usize) -> Option<usize> {
        match self {
            ArrayKind::Layer(map) | ArrayKind::LayerBias(map) => Some(map),
            ArrayKind::Output | ArrayKind::OutputBias => Some(maps - 1),
            _ => None,
        }
    }
}

impl NetArray {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Architecture {
    /// All arrays, in the order of files and of the initial random draws.
    pub fn list_arrays(&self) -> Vec<NetArray> {
        let describe = |kind: ArrayKind, shape: Vec<usize>, fan_in| NetArray {
            kind,
            name: kind.array_name(self.inputs.sets()),
            shape,
            fan_in,
        };
        let shape_of_buckets = |rest: &[usize]| -> Vec<usize> {
            let buckets = (self.buckets > 1 || rest.is_empty()).then_some(self.buckets);
            buckets.into_iter().chain(rest.iter().copied()).collect()
        };
        let hidden = self.hidden;
        let mut arrays = Vec::new();
        for (index, set) in self.inputs.sets().iter().enumerate() {
            arrays.push(describe(ArrayKind::Rows(index), vec![set.row_count(), hidden], PIECES));
            let factor_rows = self.inputs.factor_rows(index);
            if factor_rows > 0 {
                arrays.push(describe(ArrayKind::Factor(index), vec![factor_rows, hidden], PIECES));
            }
        }
        arrays.push(describe(ArrayKind::AccumulatorBias, vec![hidden], PIECES));
        let maps = self.maps();
        for (map, [inputs, neurons]) in maps.iter().enumerate() {
            let [weights, biases] = self.parts_of_map(map);
            // The single neuron of the output has no dimension.
            let neurons = if map + 1 < maps.len() { vec![*neurons] } else { Vec::new() };
            let shape = shape_of_buckets(&[&neurons[..], &[*inputs]].concat());
            arrays.push(describe(weights, shape, *inputs));
            arrays.push(describe(biases, shape_of_buckets(&neurons), *inputs));
        }
        for (index, set) in self.inputs.sets().iter().enumerate().filter(|_| self.psqt) {
            let shape = vec![set.row_count(), self.buckets];
            arrays.push(describe(ArrayKind::Psqt(index), shape, PIECES));
        }
        arrays
    }

    pub fn find_array(&self, kind: ArrayKind) -> Option<NetArray> {
        self.list_arrays().into_iter().find(|array| array.kind == kind)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {reason}")]
pub struct ImpossibleNet {
    /// The wrong key of the description.
    pub key: &'static str,
    pub reason: String,
}

fn refuse_head<T>(reason: impl Into<String>) -> Result<T, ImpossibleNet> {
    Err(head_error(reason))
}

fn head_error(reason: impl Into<String>) -> ImpossibleNet {
    ImpossibleNet { key: "head", reason: reason.into() }
}

/// The maximum number of neurons of an accumulator.
pub(crate) const MAX_HIDDEN: usize = 65_536;
/// The maximum number of neurons of a layer of the head.
const MAX_SIZE: usize = 1024;
const MAX_LAYERS: usize = 8;
/// The maximum number of weights: a checkpoint has three numbers for each, and 4 GiB at most.
const MAX_WEIGHTS: usize = 350_000_000;

impl Architecture {
    fn first_repeated_name(&self) -> Option<String> {
        let mut names: Vec<String> =
            self.list_arrays().into_iter().map(|array| array.name).collect();
        names.sort_unstable();
        names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
    }

    /// Checks that inputs, layers and output buckets fit each other and their limits.
    ///
    /// # Errors
    ///
    /// Fails with the first key whose value is out of range or contradicts another key.
    pub fn check_layers(&self) -> Result<(), ImpossibleNet> {
        let Self { inputs, hidden, head, buckets, .. } = self;
        let kings = inputs.kings();
        let sets = inputs.sets();
        let repeated = (1..sets.len()).find(|index| sets[..*index].contains(&sets[*index]));
        let no_factor = (0..sets.len()).all(|set| inputs.factor_rows(set) == 0);
        let activation = self.activation.name();
        let size = head.iter().filter_map(|it| it.size).find(|it| !(1..=MAX_SIZE).contains(it));
        let (key, reason) = if !(1..=MAX_HIDDEN).contains(hidden) {
            ("hidden", format!("an accumulator has 1 to {MAX_HIDDEN} neurons, found {hidden}"))
        } else if let Some(repeated) = repeated {
            ("sets", format!("{:?} is listed twice", sets[repeated].name()))
        } else if inputs.perspectives == Perspectives::Plain && kings.has_effect() {
            let key = if kings.mirror { "mirror" } else { "king_buckets" };
            let reason = "`inputs = \"plain\"` has no king buckets or mirroring; use \
                 \"perspective\" or \"side-to-move\"";
            (key, reason.into())
        } else if inputs.factorised && no_factor {
            let reason = "no feature set of this net has a factor; give several `king_buckets`, \
                 or remove the key";
            ("factorised", reason.into())
        } else if self.pairwise && hidden % 2 == 1 {
            (
                "hidden",
                format!("a pairwise product needs an even number of neurons, found {hidden}"),
            )
        } else if !self.activation.is_for_accumulators() {
            let reason = "is for layers of the head only; choose another activation";
            ("activation", format!("`{activation}` {reason}"))
        } else if self.pairwise && self.activation != Activation::CReLU {
            let reason = "a pairwise product needs `activation = \"crelu\"`, found";
            ("activation", format!("{reason} `{activation}`"))
        } else if !(1..=MAX_PIECES).contains(buckets) {
            let reason = format!("expected 1 to {MAX_PIECES} output buckets, found {buckets}");
            ("output_buckets", reason)
        } else if head.len() > MAX_LAYERS {
            ("head", format!("expected at most {MAX_LAYERS} layers, found {}", head.len()))
        } else if let Some(size) = size {
            ("head", format!("a layer has 1 to {MAX_SIZE} neurons, found {size}"))
        } else if let Err(ImpossibleNet { key, reason }) = self.connect_layers() {
            (key, reason)
        } else if self.psqt && self.inputs.perspectives != Perspectives::Perspective {
            let reason = "piece-square values need both perspectives; use `inputs = \
                 \"perspective\"`";
            ("psqt", reason.into())
        } else if self.skip && head.is_empty() {
            let reason = "the skip neuron belongs to the first layer of `head`, which is empty; \
                 add a layer, or remove the key";
            ("skip", reason.into())
        } else if let Some(name) = self.first_repeated_name() {
            ("sets", format!("two arrays are named {name:?}; rename a feature set"))
        } else {
            let weights: usize = self.list_arrays().iter().map(NetArray::len).sum();
            if weights <= MAX_WEIGHTS {
                return Ok(());
            }
            ("hidden", format!("the net has {weights} weights, expected at most {MAX_WEIGHTS}"))
        };
        Err(ImpossibleNet { key, reason })
    }
}
