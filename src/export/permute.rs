//! The order of neurons. Engines skip inputs of the first layer that are zero, four at a time: the
//! more of these blocks are zero as a whole, the faster is the layer. Neurons may stand in any
//! order, as long as the two of a pairwise product keep their distance, and both perspectives share
//! the order. Here neurons that are active in the same positions become neighbours.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::architecture::{Architecture, ArrayKind};
use crate::digits::group_digits;
use crate::net::{Net, PositionEvaluator, has_bytes};
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

/// Inputs of the first layer that engines skip together.
const BLOCK: usize = 4;

/// Shares of the blocks of four inputs of the first layer that are zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZeroBlocks {
    /// On which they were counted, with all perspectives of each.
    pub positions: u64,
    /// In the order of training.
    pub before: f64,
    /// In the order of the file.
    pub after: f64,
}

impl fmt::Display for ZeroBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = [self.before, self.after].map(|share| 100.0 * share);
        match before == after {
            true => write!(f, "{after:.1} % of four inputs of the first layer")?,
            false => write!(f, "{before:.1} % before, {after:.1} % after")?,
        }
        write!(f, ", {} positions", group_digits(self.positions))
    }
}

impl ZeroBlocks {
    /// The share in the order of a deep net itself; none without positions.
    pub fn measure_blocks(net: &Net, positions: &[Position]) -> Option<Self> {
        if !net.architecture().is_deep() || positions.is_empty() {
            return None;
        }
        let activity = Activity::measure_activity(net, positions);
        let order: Vec<usize> = (0..activity.0.len()).collect();
        let share = activity.zero_share(&order, positions.len() * net.architecture().views());
        Some(Self { positions: positions.len() as u64, before: share, after: share })
    }
}

/// An order of the inputs that a perspective gives to the first layer: old places by new ones.
pub struct NeuronOrder {
    inputs: Vec<usize>,
    /// What the order gains.
    pub zero_blocks: ZeroBlocks,
}

/// By input of a perspective: the perspectives of positions where it is not zero, as bits.
struct Activity(Vec<Vec<u64>>);

impl Activity {
    fn measure_activity(net: &Net, positions: &[Position]) -> Self {
        let width = net.architecture().outputs_of_view();
        let bytes = has_bytes(net.architecture(), net.scales());
        let is_active = |value: i32| match bytes {
            true => net.first_input(value.into()) != 0,
            false => value != 0,
        };
        // The positions of a block of bits, whose perspectives are 64.
        let positions_of_word = 64 / net.architecture().views();
        let word = |evaluator: &mut PositionEvaluator, positions: &[Position]| {
            let mut words = vec![0_u64; width];
            let mut bit = 0;
            for position in positions {
                for values in evaluator.first_inputs(position).chunks_exact(width) {
                    for (word, value) in words.iter_mut().zip(values) {
                        *word |= u64::from(is_active(*value)) << bit;
                    }
                    bit += 1;
                }
            }
            words
        };
        let blocks = positions.par_chunks(positions_of_word);
        let words: Vec<Vec<u64>> = blocks.map_init(|| PositionEvaluator::new(net), word).collect();
        Self((0..width).map(|input| words.iter().map(|words| words[input]).collect()).collect())
    }

    fn count_bits(bits: &[u64]) -> u64 {
        bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The share of the blocks that are zero, of so many perspectives.
    fn zero_share(&self, order: &[usize], perspectives: usize) -> f64 {
        let active = |block: &[usize]| {
            let words = 0..self.0[0].len();
            let union = words.map(|word| block.iter().fold(0, |all, it| all | self.0[*it][word]));
            union.map(|word| u64::from(word.count_ones())).sum::<u64>()
        };
        let active: u64 = order.par_chunks(BLOCK).map(active).sum();
        1.0 - active as f64 / (order.len().div_ceil(BLOCK) * perspectives) as f64
    }

    /// All inputs, the least active first.
    fn by_activity(&self) -> Vec<usize> {
        let mut inputs: Vec<usize> = (0..self.0.len()).collect();
        inputs.sort_by_key(|input| (Self::count_bits(&self.0[*input]), *input));
        inputs
    }

    /// Forms one block after the other: the last input that is left, and those that add the fewest
    /// perspectives to the ones where the block is active.
    fn group_neurons(&self, mut left: Vec<usize>) -> Vec<usize> {
        let mut order = Vec::with_capacity(left.len());
        while let Some(first) = left.pop() {
            let mut union = self.0[first].clone();
            order.push(first);
            for _ in 1..BLOCK.min(left.len() + 1) {
                let added = |input: &usize| -> u64 {
                    let words = self.0[*input].iter().zip(&union);
                    words.map(|(word, union)| u64::from((word & !union).count_ones())).sum()
                };
                let costs: Vec<u64> = left.par_iter().map(added).collect();
                // Of equal ones the last.
                let best = (0..left.len()).rev().min_by_key(|place| costs[*place]);
                let next = left.remove(best.expect("an input is left"));
                union.iter_mut().zip(&self.0[next]).for_each(|(union, word)| *union |= word);
                order.push(next);
            }
        }
        order
    }
}

impl NeuronOrder {
    /// The order for a net, by positions such as it evaluates.
    pub fn choose_order(net: &Net, positions: &[Position]) -> Self {
        let activity = Activity::measure_activity(net, positions);
        let perspectives = positions.len() * net.architecture().views();
        let trained: Vec<usize> = (0..activity.0.len()).collect();
        let before = activity.zero_share(&trained, perspectives);
        let sorted = activity.by_activity();
        let reversed = sorted.iter().rev().copied().collect();
        let (rising, falling) =
            (activity.group_neurons(reversed), activity.group_neurons(sorted.clone()));
        let (mut inputs, mut after) = (trained, before);
        for order in [sorted, rising, falling] {
            let share = activity.zero_share(&order, perspectives);
            if share > after {
                (inputs, after) = (order, share);
            }
        }
        let zero_blocks = ZeroBlocks { positions: positions.len() as u64, before, after };
        Self { inputs, zero_blocks }
    }

    /// Brings all arrays of a net into this order.
    pub fn apply_order(
        &self,
        weights: &Weights,
        net: &Architecture,
    ) -> Result<Weights, WeightsError> {
        let half = self.inputs.len();
        // The same order within each half of a product, and each perspective.
        let repeated = |count: usize| -> Vec<usize> {
            (0..count).map(|it| self.inputs[it % half] + it / half * half).collect()
        };
        let (neurons, columns) = (repeated(net.hidden), repeated(net.feature_count()));
        let mut permuted = weights.clone();
        let first = net.parts_of_map(0)[0];
        for array in net.list_arrays() {
            let order = match array.kind {
                ArrayKind::Rows(_) | ArrayKind::Factor(_) | ArrayKind::AccumulatorBias => &neurons,
                part if part == first => &columns,
                _ => continue,
            };
            let values = weights.get(&array.name, &array.shape)?.chunks_exact(order.len());
            let values = values.flat_map(|row| order.iter().map(|old| row[*old])).collect();
            permuted.insert(&array.name, &array.shape, values);
        }
        Ok(permuted)
    }
}
