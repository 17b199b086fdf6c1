//! The numbers that a net starts from.

use rand_distr::{Distribution, Normal};
use rand_xoshiro::{Xoroshiro128Plus, rand_core::SeedableRng};

use crate::architecture::Architecture;
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
