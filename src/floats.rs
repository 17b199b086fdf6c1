//! The floats of a net by what they are for, as engines have them, and the evaluation by them.

use std::borrow::Cow;

use crate::architecture::{Architecture, Array, Part};
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

/// The floats of a net, its factoriser merged, in the order of [`Architecture::arrays`].
pub struct Floats<'a> {
    /// Each with its numbers.
    pub arrays: Vec<(Array, Cow<'a, [f32]>)>,
}

impl<'a> Floats<'a> {
    /// # Errors
    /// If an array is missing or has another shape.
    pub fn of(weights: &'a Weights, net: &Architecture) -> Result<Self, WeightsError> {
        let mut arrays = Vec::new();
        for array in net.merged().arrays() {
            let mut values = Cow::Borrowed(weights.get(&array.name, &array.shape)?);
            if let Part::Rows(place) = array.part
                && let Some(shared) = net.array(Part::Factor(place))
            {
                let (set, hidden) = (&net.inputs.sets()[place], net.hidden);
                let shared = weights.get(&shared.name, &shared.shape)?;
                for (row, values) in values.to_mut().chunks_exact_mut(hidden).enumerate() {
                    let Some(factor) = set.factor(row as u32) else { continue };
                    let shared = &shared[factor as usize * hidden..][..hidden];
                    values.iter_mut().zip(shared).for_each(|(to, it)| *to += it);
                }
            }
            arrays.push((array, values));
        }
        Ok(Self { arrays })
    }

    /// The numbers of one array; none where the net has no such array.
    pub fn get(&self, part: Part) -> &[f32] {
        let found = self.arrays.iter().find(|(array, _)| array.part == part);
        found.map_or(&[], |(_, values)| values)
    }

    /// As weights, without what only training needs.
    pub fn into_weights(self) -> Weights {
        let mut weights = Weights::default();
        for (Array { name, shape, .. }, values) in self.arrays {
            weights.insert(&name, &shape, values.into_owned());
        }
        weights
    }
}

/// A net's definition in f64, from f32 weights.
pub struct Float<'a> {
    floats: Floats<'a>,
    /// The net as engines have it.
    pub net: Architecture,
}

impl<'a> Float<'a> {
    pub fn new(weights: &'a Weights, net: &Architecture) -> Result<Self, WeightsError> {
        Ok(Self { floats: Floats::of(weights, net)?, net: net.merged() })
    }

    pub fn get(&self, part: Part) -> &[f32] {
        self.floats.get(part)
    }

    /// The weights of one row of the accumulator, `[hidden]`.
    pub fn row(&self, row: usize) -> &[f32] {
        let (set, row) = self.net.inputs.set_of(row);
        &self.get(Part::Rows(set))[row * self.net.hidden..][..self.net.hidden]
    }

    /// The logit for the side to move; times SCALE it is centipawns.
    pub fn logit(&self, position: &Position) -> f64 {
        let x = self.activations(&self.accumulators(position));
        let bucket = self.net.bucket_of(position);
        self.output(x, bucket, &mut |_, _| ()) * f64::from(self.net.inputs.sign(position))
    }

    /// The accumulators of each view, before the activation.
    pub fn accumulators(&self, position: &Position) -> Vec<Vec<f64>> {
        let of_view = |view| {
            let biases = self.get(Part::AccumulatorBias);
            let mut accumulator: Vec<f64> = biases.iter().map(|&bias| bias.into()).collect();
            self.net.inputs.active(position, view, &mut |row| {
                for (a, &w) in accumulator.iter_mut().zip(self.row(row)) {
                    *a += f64::from(w);
                }
            });
            accumulator
        };
        (0..self.net.views()).map(of_view).collect()
    }

    /// The inputs of the first map, all views side by side, `[features]`.
    pub fn activations(&self, accumulators: &[Vec<f64>]) -> Vec<f64> {
        let mut x = Vec::with_capacity(self.net.features());
        for accumulator in accumulators {
            let h: Vec<f64> = accumulator.iter().map(|&a| self.net.activation.apply(a)).collect();
            let (first, second) = h.split_at(self.net.outputs_of_view());
            match self.net.pairwise {
                false => x.extend(first),
                true => x.extend(first.iter().zip(second).map(|(one, other)| one * other)),
            }
        }
        x
    }

    /// The output from the inputs of the first map; `each_layer` takes the values of each layer of
    /// the head before its activation, without the skip neuron.
    pub fn output(
        &self,
        mut x: Vec<f64>,
        bucket: usize,
        each_layer: &mut dyn FnMut(usize, &[f64]),
    ) -> f64 {
        let mut skipped = 0.0;
        for (i, layer) in self.net.head.iter().enumerate() {
            let mut z = self.map([Part::Layer(i), Part::LayerBias(i)], bucket, &x);
            if self.net.skip && i == 0 {
                skipped = z.pop().unwrap_or_default();
            }
            each_layer(i, &z);
            let curves = layer.activation.curves().iter();
            x = curves.flat_map(|curve| z.iter().map(|&z| curve.value(z))).collect();
        }
        self.map([Part::Output, Part::OutputBias], bucket, &x)[0] + skipped
    }

    fn map(&self, [weights, biases]: [Part; 2], bucket: usize, x: &[f64]) -> Vec<f64> {
        let biases = self.get(biases);
        let outputs = biases.len() / self.net.buckets;
        let rows = self.get(weights).chunks_exact(x.len()).skip(bucket * outputs);
        let of = |(row, bias): (&[f32], &f32)| {
            let terms = row.iter().zip(x).map(|(&w, x)| f64::from(w) * x);
            f64::from(*bias) + terms.sum::<f64>()
        };
        rows.zip(&biases[bucket * outputs..][..outputs]).map(of).collect()
    }
}
