//! The arrays of numbers that a net consists of.

use super::{Architecture, PIECES};

/// One array of a net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    pub part: Part,
    /// As in checkpoints.
    pub name: String,
    /// Row-major. Where there is one output bucket, its dimension is left out.
    pub shape: Vec<usize>,
    /// How many of its numbers a neuron adds up, for the size of the first weights.
    pub fan_in: usize,
    /// What its integers are multiples of.
    pub factor: Factor,
}

/// What an array is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// `[rows, N]`
    Accumulator,
    /// `[768, N]`, for training only: counts in every king bucket.
    Factoriser,
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
}

/// The powers of QA and QB that one unit of an array's integers stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    Qa,
    Qb,
    QaQb,
}

impl Factor {
    pub fn name(self) -> &'static str {
        match self {
            Factor::Qa => "QA",
            Factor::Qb => "QB",
            Factor::QaQb => "QA * QB",
        }
    }
}

impl Part {
    /// As in checkpoints.
    pub fn name(self) -> String {
        match self {
            Part::Accumulator => "accumulator.weight".into(),
            Part::Factoriser => "factoriser.weight".into(),
            Part::AccumulatorBias => "accumulator.bias".into(),
            Part::Layer(i) => format!("head.{i}.weight"),
            Part::LayerBias(i) => format!("head.{i}.bias"),
            Part::Output => "output.weight".into(),
            Part::OutputBias => "output.bias".into(),
        }
    }

    /// Whether its numbers start at zero.
    pub fn starts_at_zero(self) -> bool {
        !matches!(self, Part::Accumulator | Part::Layer(_) | Part::Output)
    }
}

impl Array {
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Architecture {
    /// All arrays, in the order of files and of the first draws.
    pub fn arrays(&self) -> Vec<Array> {
        let array = |part: Part, shape: Vec<usize>, fan_in, factor| Array {
            part,
            name: part.name(),
            shape,
            fan_in,
            factor,
        };
        let of_bucket = |rest: &[usize]| -> Vec<usize> {
            let buckets = (self.buckets > 1 || rest.is_empty()).then_some(self.buckets);
            buckets.into_iter().chain(rest.iter().copied()).collect()
        };
        let (rows, hidden) = (self.rows(), self.hidden);
        let mut arrays = vec![array(Part::Accumulator, vec![rows, hidden], PIECES, Factor::Qa)];
        if self.inputs.factorised {
            arrays.push(array(Part::Factoriser, vec![PIECES, hidden], PIECES, Factor::Qa));
        }
        arrays.push(array(Part::AccumulatorBias, vec![hidden], PIECES, Factor::Qa));
        let maps = self.maps();
        let (output, layers) = maps.split_last().expect("a net has an output");
        for (i, &[inputs, outputs]) in layers.iter().enumerate() {
            let (weights, biases) = (of_bucket(&[outputs, inputs]), of_bucket(&[outputs]));
            arrays.push(array(Part::Layer(i), weights, inputs, Factor::Qb));
            arrays.push(array(Part::LayerBias(i), biases, inputs, Factor::QaQb));
        }
        let width = output[0];
        arrays.push(array(Part::Output, of_bucket(&[width]), width, Factor::Qb));
        arrays.push(array(Part::OutputBias, of_bucket(&[]), width, Factor::QaQb));
        arrays
    }

    /// One of the arrays.
    pub fn array(&self, part: Part) -> Option<Array> {
        self.arrays().into_iter().find(|array| array.part == part)
    }
}
