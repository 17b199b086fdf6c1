//! The order of neurons. Engines skip blocks of four zero inputs of the first layer, so the layer is
//! faster the more of these blocks are zero. Neurons may have any order if the two neurons of a
//! pairwise product keep their distance, and both perspectives share the order. This module makes
//! neurons that are active in the same positions neighbours.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::architecture::{Architecture, ArrayKind};
use crate::digits::group_digits;
use crate::net::{Net, PositionEvaluator, has_bytes};
use crate::sample::Position;
use crate::weights::{Weights, WeightsError};

/// The number of inputs of the first layer that engines skip together.
const BLOCK: usize = 4;

/// The shares of the blocks of four inputs of the first layer that are zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZeroBlocks {
    /// The number of counted positions, with all perspectives.
    pub positions: u64,
    /// The share in the order of training.
    pub before: f64,
    /// The share in the order of the file.
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
    /// Measures the share in the order of a deep net; none without positions.
    pub fn measure_blocks(net: &Net, positions: &[Position]) -> Option<Self> {
        if !net.architecture().is_deep() || positions.is_empty() {
            return None;
        }
        let activity = Activity::measure_activity(net, positions);
        let order: Vec<usize> = (0..activity.0.len()).collect();
        let share =
            activity.zero_share(&order, positions.len() * net.architecture().perspective_count());
        Some(Self { positions: positions.len() as u64, before: share, after: share })
    }
}

/// An order of a perspective's inputs of the first layer: old indices by new ones.
pub struct NeuronOrder {
    inputs: Vec<usize>,
    /// The shares of zero blocks before and after.
    pub zero_blocks: ZeroBlocks,
}

/// The perspectives of positions where an input is not zero, as bits, by input of a perspective.
struct Activity(Vec<Vec<u64>>);

impl Activity {
    fn measure_activity(net: &Net, positions: &[Position]) -> Self {
        let width = net.architecture().outputs_of_perspective();
        let bytes = has_bytes(net.architecture(), net.scales());
        let is_active = |value: i32| match bytes {
            true => net.first_input(value.into()) != 0,
            false => value != 0,
        };
        // A word has a bit for each of 64 perspectives.
        let positions_per_word = 64 / net.architecture().perspective_count();
        let measure = |evaluator: &mut PositionEvaluator, positions: &[Position]| {
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
        let blocks = positions.par_chunks(positions_per_word);
        let words = blocks.map_init(|| PositionEvaluator::new(net), measure);
        let words: Vec<Vec<u64>> = words.collect();
        Self((0..width).map(|input| words.iter().map(|words| words[input]).collect()).collect())
    }

    /// The share of the blocks that are zero, for the given number of perspectives.
    fn zero_share(&self, order: &[usize], perspectives: usize) -> f64 {
        let active = |block: &[usize]| {
            let words = 0..self.0[0].len();
            let union = words.map(|word| block.iter().fold(0, |bits, it| bits | self.0[*it][word]));
            union.map(|word| u64::from(word.count_ones())).sum::<u64>()
        };
        let active: u64 = order.par_chunks(BLOCK).map(active).sum();
        1.0 - active as f64 / (order.len().div_ceil(BLOCK) * perspectives) as f64
    }

    /// Sorts the inputs, the least active first.
    fn by_activity(&self) -> Vec<usize> {
        let mut inputs: Vec<usize> = (0..self.0.len()).collect();
        inputs
            .sort_by_key(|input| self.0[*input].iter().map(|word| word.count_ones()).sum::<u32>());
        inputs
    }

    /// Forms successive blocks. A block begins with the last remaining input; then inputs are added
    /// with which it becomes active in the fewest additional perspectives.
    fn group_neurons(&self, mut remaining: Vec<usize>) -> Vec<usize> {
        let mut order = Vec::with_capacity(remaining.len());
        while let Some(first) = remaining.pop() {
            let mut union = self.0[first].clone();
            order.push(first);
            for _ in 1..BLOCK.min(remaining.len() + 1) {
                let added = |input: &usize| -> u64 {
                    let words = self.0[*input].iter().zip(&union);
                    words.map(|(word, union)| u64::from((word & !union).count_ones())).sum()
                };
                let costs: Vec<u64> = remaining.par_iter().map(added).collect();
                // The last one is chosen if several are equal.
                let best = (0..remaining.len()).rev().min_by_key(|index| costs[*index]);
                let next = remaining.remove(best.expect("an input is left"));
                union.iter_mut().zip(&self.0[next]).for_each(|(union, word)| *union |= word);
                order.push(next);
            }
        }
        order
    }
}

impl NeuronOrder {
    /// Chooses the order for a net, from positions like those that it evaluates.
    pub fn choose_order(net: &Net, positions: &[Position]) -> Self {
        let activity = Activity::measure_activity(net, positions);
        let perspectives = positions.len() * net.architecture().perspective_count();
        let trained: Vec<usize> = (0..activity.0.len()).collect();
        let before = activity.zero_share(&trained, perspectives);
        let sorted = activity.by_activity();
        let reversed = sorted.iter().rev().copied().collect();
        let [rising, falling] = [reversed, sorted.clone()].map(|it| activity.group_neurons(it));
        let mut inputs = trained;
        let mut after = before;
        for order in [sorted, rising, falling] {
            let share = activity.zero_share(&order, perspectives);
            if share > after {
                (inputs, after) = (order, share);
            }
        }
        let zero_blocks = ZeroBlocks { positions: positions.len() as u64, before, after };
        Self { inputs, zero_blocks }
    }

    /// Reorders all arrays of a net.
    ///
    /// # Errors
    ///
    /// Fails with [`WeightsError::Missing`] or [`WeightsError::Shape`] if the weights are not those
    /// of the net.
    pub fn apply_order(
        &self,
        weights: &Weights,
        net: &Architecture,
    ) -> Result<Weights, WeightsError> {
        let half = self.inputs.len();
        // The order is repeated for each half of a product and for each perspective.
        let repeated = |count: usize| -> Vec<usize> {
            (0..count).map(|it| self.inputs[it % half] + it / half * half).collect()
        };
        let [neurons, columns] = [net.hidden, net.feature_count()].map(repeated);
        let mut permuted = weights.clone();
        let first = net.parts_of_map(0)[0];
        for array in net.list_arrays() {
            let order = match array.kind {
                ArrayKind::Rows(_) | ArrayKind::Factor(_) | ArrayKind::AccumulatorBias => &neurons,
                kind if kind == first => &columns,
                _ => continue,
            };
            let values = weights.get(&array.name, &array.shape)?.chunks_exact(order.len());
            let values = values.flat_map(|row| order.iter().map(|old| row[*old])).collect();
            permuted.insert(&array.name, &array.shape, values);
        }
        Ok(permuted)
    }
}
