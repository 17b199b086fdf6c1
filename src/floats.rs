//! The float arrays of a net by kind, as engines use them, and their evaluation.

use std::borrow::Cow;
use std::ops::Range;

use crate::architecture::{
    self, Architecture, ArrayKind, Combination, Curve, Graph, GraphArithmetic, NetArray, Operation,
};
use crate::features::Rows;
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

/// The definition of a net in f64, from f32 weights with the factoriser merged.
pub struct Float<'a> {
    /// The arrays in the order of [`Architecture::list_arrays`].
    arrays: Vec<(NetArray, Cow<'a, [f32]>)>,
    pub net: Architecture,
    graph: Graph,
}

impl<'a> Float<'a> {
    /// Merges the factoriser. Fails if an array is missing or has another shape.
    pub fn new(weights: &'a Weights, net: &Architecture) -> Result<Self, WeightsError> {
        let mut arrays = Vec::new();
        for array in net.without_factoriser().list_arrays() {
            let mut values = Cow::Borrowed(weights.get(&array.name, &array.shape)?);
            if let ArrayKind::Rows(index) = array.kind
                && let Some(shared) = net.find_array(ArrayKind::Factor(index))
            {
                let set = &net.inputs.sets()[index];
                let hidden = net.hidden;
                let shared = weights.get(&shared.name, &shared.shape)?;
                for (row, values) in values.to_mut().chunks_exact_mut(hidden).enumerate() {
                    let Some(factor) = set.factor_row(row as u32) else { continue };
                    let shared = &shared[factor as usize * hidden..][..hidden];
                    values.iter_mut().zip(shared).for_each(|(value, shared)| *value += shared);
                }
            }
            arrays.push((array, values));
        }
        Ok(Self { arrays, graph: net.graph(), net: net.without_factoriser() })
    }

    /// The numbers of an array; empty if the net does not have it.
    pub fn get_array(&self, kind: ArrayKind) -> &[f32] {
        let array = self.arrays.iter().find(|(array, _)| array.kind == kind);
        array.map_or(&[], |(_, values)| values)
    }

    /// Converts to weights, without the arrays that only training needs.
    pub fn into_weights(self) -> Weights {
        let mut weights = Weights::default();
        for (NetArray { name, shape, .. }, values) in self.arrays {
            weights.insert(&name, &shape, values.into_owned());
        }
        weights
    }

    /// The weights of one row of the accumulator, `[hidden]`.
    pub fn row_weights(&self, row: usize) -> &[f32] {
        let (set, row) = self.net.inputs.set_of(row);
        &self.get_array(ArrayKind::Rows(set))[row * self.net.hidden..][..self.net.hidden]
    }

    /// Adds a row, `times` over, to an accumulator that ends with its piece-square values.
    pub fn add(&self, row: usize, times: f64, accumulator: &mut [f64]) {
        let (neurons, values) = accumulator.split_at_mut(self.net.hidden);
        let (set, row) = self.net.inputs.set_of(row);
        for (kind, sums) in [(ArrayKind::Rows(set), neurons), (ArrayKind::Psqt(set), values)] {
            if !sums.is_empty() {
                let row = &self.get_array(kind)[row * sums.len()..];
                sums.iter_mut().zip(row).for_each(|(sum, &term)| *sum += times * f64::from(term));
            }
        }
    }

    /// The logit for the side to move; times SCALE it is centipawns.
    pub fn logit(&self, position: &Position) -> f64 {
        let bucket = self.net.bucket_of(position);
        let output = self.evaluate_output(&self.accumulators(position), bucket, |_, _| ());
        output * f64::from(self.net.inputs.sign_of_output(position))
    }

    /// The accumulator of each perspective, before the activation, then its piece-square values.
    pub fn accumulators(&self, position: &Position) -> Vec<Vec<f64>> {
        self.sum_rows(&self.net.inputs.active_rows(position))
    }

    /// Sums the active rows of each perspective to its accumulator.
    pub fn sum_rows(&self, lists: &[Rows]) -> Vec<Vec<f64>> {
        let sum_list = |rows: &Rows| {
            let biases = self.get_array(ArrayKind::AccumulatorBias);
            let mut accumulator: Vec<f64> = biases.iter().map(|&bias| bias.into()).collect();
            accumulator.resize(biases.len() + self.net.psqt_columns(), 0.0);
            for row in rows.entries() {
                self.add(row.number as usize, row.times.into(), &mut accumulator);
            }
            accumulator
        };
        lists.iter().map(sum_list).collect()
    }

    /// Computes the output from the accumulators; `see` receives each operation and its inputs.
    pub fn evaluate_output(
        &self,
        accumulators: &[Vec<f64>],
        bucket: usize,
        mut see: impl FnMut(&Operation, &[f64]),
    ) -> f64 {
        let doubles = Doubles { float: self, bucket };
        let see = |operation: &Operation, x: &Vec<f64>| see(operation, x);
        self.graph.evaluate(&doubles, accumulators.concat(), see)[0]
    }

    /// The inputs of the first map, all perspectives concatenated, `[features]`.
    pub fn first_inputs(&self, accumulators: &[Vec<f64>]) -> Vec<f64> {
        let mut inputs = Vec::new();
        self.evaluate_output(accumulators, 0, |operation, x| {
            if *operation == Operation::Affine(0) {
                inputs = x.to_vec();
            }
        });
        inputs
    }
}

struct Doubles<'a> {
    float: &'a Float<'a>,
    bucket: usize,
}

impl GraphArithmetic for Doubles<'_> {
    type Values = Vec<f64>;

    fn activate(&self, x: Vec<f64>, curves: &[Curve]) -> Vec<f64> {
        let mut values = Vec::with_capacity(curves.len() * x.len());
        curves.iter().for_each(|curve| values.extend(x.iter().map(|&x| curve.value(x))));
        values
    }

    fn select_columns(&self, x: Vec<f64>, columns: Range<usize>) -> Vec<f64> {
        x[columns].to_vec()
    }

    fn multiply_halves(&self, x: Vec<f64>) -> Vec<f64> {
        architecture::multiply_halves(&self.float.net, &x, |x, y| x * y)
    }

    fn combine(&self, x: Vec<f64>, y: Vec<f64>, combination: Combination) -> Vec<f64> {
        x.into_iter().zip(y).map(|(x, y)| combination.apply(x, y)).collect()
    }

    fn concatenate(&self, parts: Vec<Vec<f64>>) -> Vec<f64> {
        parts.concat()
    }

    fn select_neurons(&self, x: Vec<f64>) -> Vec<f64> {
        let accumulators = x.chunks_exact(x.len() / 2);
        accumulators.flat_map(|it| &it[..self.float.net.hidden]).copied().collect()
    }

    fn piece_squares(&self, x: Vec<f64>) -> Vec<f64> {
        let (own, other) = x.split_at(x.len() / 2);
        let column = self.float.net.hidden + self.bucket;
        vec![(own[column] - other[column]) / 2.0]
    }

    fn apply_map(&self, map: usize, x: Vec<f64>) -> Vec<f64> {
        let Self { float, bucket } = *self;
        let [weights, biases] = float.net.parts_of_map(map).map(|kind| float.get_array(kind));
        let outputs = biases.len() / float.net.buckets;
        let rows = weights.chunks_exact(x.len()).skip(bucket * outputs);
        let apply_row = |(row, bias): (&[f32], &f32)| {
            let terms = row.iter().zip(&x).map(|(&w, x)| f64::from(w) * x);
            f64::from(*bias) + terms.sum::<f64>()
        };
        rows.zip(&biases[bucket * outputs..][..outputs]).map(apply_row).collect()
    }
}
