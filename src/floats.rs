//! The floats of a net by what they are for, as engines have them.

use std::borrow::Cow;

use crate::architecture::{Architecture, Array, Part};
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
            if let (Part::Accumulator, Some(shared)) = (array.part, net.array(Part::Factoriser)) {
                let shared = weights.get(&shared.name, &shared.shape)?;
                let rows = values.to_mut().chunks_exact_mut(shared.len());
                rows.flat_map(|rows| rows.iter_mut().zip(shared)).for_each(|(to, it)| *to += it);
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
