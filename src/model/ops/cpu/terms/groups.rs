//! Forward and back over entries that are grouped by term.

use super::entries::{Pair, both};
use crate::batch::{COLUMN, Groups};

/// The numbers of all positions of a column; of SAFETY those of two sides.
pub(super) type OfColumn = [Pair; 2 * COLUMN];

/// Places wrap around, so that none lies beyond the array.
const WRAP: usize = 2 * COLUMN - 1;

/// Adds the weights of the terms, times the counts, to the sums.
#[inline(always)]
pub(super) fn forward(groups: &Groups, weights: &[Pair], sums: &mut OfColumn) {
    let mut rest = &groups.places[..];
    for head in &groups.heads {
        let (places, behind) = rest.split_at(head.size.into());
        rest = behind;
        let count = f32::from(head.count);
        let add = weights[usize::from(head.term)].map(|weight| weight * count);
        for place in places {
            let sum = &mut sums[usize::from(*place) & WRAP];
            // As a copy, or the compiler stores its halves one by one.
            let [mg, eg] = *sum;
            *sum = [mg + add[0], eg + add[1]];
        }
    }
}

/// Adds the slopes of each position, times the counts, to the gradients of the terms.
#[inline(always)]
pub(super) fn backward(groups: &Groups, slopes: &OfColumn, gradients: &mut [Pair]) {
    let mut rest = &groups.places[..];
    for head in &groups.heads {
        let (places, behind) = rest.split_at(head.size.into());
        rest = behind;
        // Two pairs a vector, and two vectors that need not wait for each other.
        let mut several = [[0f32; 4]; 2];
        let (fours, places) = places.as_chunks::<4>();
        let slope = |place: u16| &slopes[usize::from(place) & WRAP];
        for &[a, b, c, d] in fours {
            for (sum, pairs) in several.iter_mut().zip([[a, b], [c, d]]) {
                let pairs = both(slope(pairs[0]), slope(pairs[1]));
                for k in 0..4 {
                    sum[k] += pairs[k];
                }
            }
        }
        let [a, b] = several;
        let mut sum = [0, 1].map(|k| (a[k] + a[k + 2]) + (b[k] + b[k + 2]));
        for &place in places {
            let [mg, eg] = *slope(place);
            sum = [sum[0] + mg, sum[1] + eg];
        }
        let count = f32::from(head.count);
        let gradient = &mut gradients[usize::from(head.term)];
        for k in 0..2 {
            gradient[k] += sum[k] * count;
        }
    }
}
