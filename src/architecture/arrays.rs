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
    /// Whether its numbers start at zero.
    pub fn starts_at_zero(self) -> bool {
        !matches!(self, Part::Accumulator | Part::Layer(_) | Part::Output)
    }

    /// Whether only training has it.
    pub fn is_for_training(self) -> bool {
        self == Part::Factoriser
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
        let array = |part, name: String, shape: Vec<usize>, fan_in, factor| Array {
            part,
            name,
            shape,
            fan_in,
            factor,
        };
        let of_bucket = |rest: &[usize]| -> Vec<usize> {
            let buckets = (self.buckets > 1 || rest.is_empty()).then_some(self.buckets);
            buckets.into_iter().chain(rest.iter().copied()).collect()
        };
        let (rows, hidden) = (self.rows(), self.hidden);
        let mut arrays = vec![array(
            Part::Accumulator,
            "accumulator.weight".into(),
            vec![rows, hidden],
            PIECES,
            Factor::Qa,
        )];
        if self.inputs.factorised {
            arrays.push(array(
                Part::Factoriser,
                "factoriser.weight".into(),
                vec![PIECES, hidden],
                PIECES,
                Factor::Qa,
            ));
        }
        arrays.push(array(
            Part::AccumulatorBias,
            "accumulator.bias".into(),
            vec![hidden],
            PIECES,
            Factor::Qa,
        ));
        let maps = self.maps();
        let (output, layers) = maps.split_last().expect("a net has an output");
        for (i, &[inputs, outputs]) in layers.iter().enumerate() {
            arrays.push(array(
                Part::Layer(i),
                format!("head.{i}.weight"),
                of_bucket(&[outputs, inputs]),
                inputs,
                Factor::Qb,
            ));
            arrays.push(array(
                Part::LayerBias(i),
                format!("head.{i}.bias"),
                of_bucket(&[outputs]),
                inputs,
                Factor::QaQb,
            ));
        }
        let width = output[0];
        arrays.push(array(
            Part::Output,
            "output.weight".into(),
            of_bucket(&[width]),
            width,
            Factor::Qb,
        ));
        arrays.push(array(
            Part::OutputBias,
            "output.bias".into(),
            of_bucket(&[]),
            width,
            Factor::QaQb,
        ));
        arrays
    }

    /// One of the arrays.
    pub fn array(&self, part: Part) -> Option<Array> {
        self.arrays().into_iter().find(|array| array.part == part)
    }
}
