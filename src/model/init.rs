//! The numbers that a net starts from.

use rand_distr::{Distribution, Normal};
use rand_xoshiro::{Xoroshiro128Plus, rand_core::SeedableRng};

use crate::weights::Weights;

/// The starting weights of a net: normal with standard deviation `sqrt(2 / fan-in)`, biases zero.
///
/// Draws run through `accumulator.weight` and then `output.weight`, row by row, so that the seed
/// of a net trained elsewhere by the same rule gives the same start.
pub fn initial(inputs: usize, views: usize, hidden: usize, seed: u64) -> Weights {
    let mut random = Xoroshiro128Plus::seed_from_u64(seed);
    let mut draw = |count: usize, fan_in: usize| -> Vec<f32> {
        let normal = Normal::new(0.0, (2.0 / fan_in as f32).sqrt())
            .expect("the deviation is finite and not negative");
        (0..count).map(|_| normal.sample(&mut random)).collect()
    };
    let mut weights = Weights::default();
    weights.insert("accumulator.weight", &[inputs, hidden], draw(inputs * hidden, inputs));
    weights.insert("accumulator.bias", &[hidden], vec![0.0; hidden]);
    weights.insert("output.weight", &[views * hidden], draw(views * hidden, views * hidden));
    weights.insert("output.bias", &[1], vec![0.0]);
    weights
}
