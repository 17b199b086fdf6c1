//! A position from scratch, fast.

use super::Net;
use crate::features::MAX_ACTIVE;
use crate::sample::Position;

/// Neurons that are summed at a time: few enough to stay in registers and the first cache.
const BLOCK: usize = 64;
/// No feature set has more views.
const MAX_VIEWS: usize = 2;

impl Net {
    /// Centipawns for the side to move; saturates at the ends of i32. See
    /// [`definition`](super::definition).
    pub fn evaluate(&self, position: &Position) -> i32 {
        let mut lists = [0; MAX_VIEWS * MAX_ACTIVE];
        let lists = &mut lists[..self.architecture.views() * MAX_ACTIVE];
        self.architecture.inputs.write(position, lists);
        let (hidden, bucket) = (self.architecture.hidden, self.architecture.bucket_of(position));
        let lists = lists.chunks_exact(MAX_ACTIVE);
        let value = if !self.architecture.is_deep() {
            let mut sum = 0;
            for (list, weights) in lists.zip(self.output_weights(bucket).chunks_exact(hidden)) {
                self.in_blocks(list, |first, accumulators| {
                    sum += self.terms(accumulators, &weights[first..]);
                });
            }
            self.centipawns_of_sum(sum, self.output_bias(bucket))
        } else {
            let mut accumulators = vec![0; self.architecture.views() * hidden];
            for (list, view) in lists.zip(accumulators.chunks_exact_mut(hidden)) {
                self.in_blocks(list, |first, block| {
                    view[first..][..block.len()].copy_from_slice(block);
                });
            }
            let mut views = [&accumulators[..0]; MAX_VIEWS];
            let count = self.architecture.views();
            views.iter_mut().zip(accumulators.chunks_exact(hidden)).for_each(|(to, it)| *to = it);
            self.value(&views[..count], bucket)
        };
        self.seen_by_mover(value, position)
    }

    /// The accumulators of a view, some at a time, each time with the number of the first.
    #[inline(always)]
    fn in_blocks(&self, list: &[u16], mut each: impl FnMut(usize, &[i32])) {
        let (hidden, rows) = (self.architecture.hidden, self.architecture.rows());
        let weights = self.accumulator_weights();
        for (block, bias) in self.accumulator_bias().chunks(BLOCK).enumerate() {
            let mut accumulator = [0_i32; BLOCK];
            let accumulator = &mut accumulator[..bias.len()];
            for (a, &b) in accumulator.iter_mut().zip(bias) {
                *a = b.into();
            }
            for &row in list.iter().take_while(|&&row| usize::from(row) < rows) {
                let row = &weights[usize::from(row) * hidden..][..hidden];
                for (a, &w) in accumulator.iter_mut().zip(&row[block * BLOCK..]) {
                    *a += i32::from(w);
                }
            }
            each(block * BLOCK, accumulator);
        }
    }
}
