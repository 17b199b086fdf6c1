//! The numbers that a net starts from.

use rand_distr::{Distribution, Normal};
use rand_xoshiro::{Xoroshiro128Plus, rand_core::SeedableRng};

use crate::architecture::{Architecture, Part};
use crate::weights::Weights;

/// The starting weights of a net: normal with standard deviation `sqrt(2 / fan-in)`; biases, and
/// what king buckets share, zero.
///
/// Draws run through the arrays in their order, row by row, so that the seed of a net trained
/// elsewhere by the same rule gives the same start.
pub fn initial(net: &Architecture, seed: u64) -> Weights {
    let mut random = Xoroshiro128Plus::seed_from_u64(seed);
    let mut weights = Weights::default();
    for array in net.arrays() {
        let values = match array.part.starts_at_zero() {
            true => vec![0.0; array.len()],
            false => {
                let normal = Normal::new(0.0, (2.0 / array.fan_in as f32).sqrt())
                    .expect("the deviation is finite and not negative");
                (0..array.len()).map(|_| normal.sample(&mut random)).collect()
            }
        };
        weights.insert(&array.name, &array.shape, values);
    }
    weights
}

/// The same with the weights of the accumulators `size` times as large.
pub fn initial_of_size(net: &Architecture, seed: u64, size: f64) -> Weights {
    let mut weights = initial(net, seed);
    for array in net.arrays().iter().filter(|array| array.part == Part::Accumulator) {
        let values = &mut weights.0.get_mut(&array.name).expect("it has all arrays").values;
        values.iter_mut().for_each(|value| *value *= size as f32);
    }
    weights
}
