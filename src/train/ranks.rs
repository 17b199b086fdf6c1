//! Several processes that train one run together. Each is a rank, counted from 0. All of them have
//! the same weights, compute the gradients of their share of each batch, and add them up.

use crate::batch::RankShare;

/// Ranks of a run, from the point of view of one of them. All ranks make the same calls in the same
/// order. A rank that exits or hangs ends the process with an error, so that no call fails.
pub trait Ranks: Sync {
    /// Returns the number of this rank, below [`Ranks::count`]. Rank 0 writes files and prints.
    fn rank(&self) -> usize;
    /// Returns the number of ranks, 1 or more.
    fn count(&self) -> usize;
    /// Replaces each number by its sum over all ranks, with the same bits on each of them.
    fn sum_over_ranks(&self, values: &mut [f32], numbers: &mut [f64]);
    /// Replaces the bytes by the bytes of rank 0.
    fn broadcast_bytes(&self, bytes: &mut Vec<u8>);
}

/// Only rank of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleRank;

impl Ranks for SingleRank {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn sum_over_ranks(&self, _: &mut [f32], _: &mut [f64]) {}

    fn broadcast_bytes(&self, _: &mut Vec<u8>) {}
}

impl dyn Ranks + '_ {
    /// Returns the share of each batch of this rank.
    pub fn own_share(&self) -> RankShare {
        RankShare { rank: self.rank(), size: self.count() }
    }

    /// Whether the run has no other rank.
    pub fn is_alone(&self) -> bool {
        self.count() == 1
    }

    /// Whether this is the rank that writes files and prints.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Returns the first rank whose number differs from rank 0's; all ranks get the same result.
    pub fn first_different(&self, number: u64) -> Option<usize> {
        let bytes = number.to_le_bytes().to_vec();
        let mut first = bytes.clone();
        self.broadcast_bytes(&mut first);
        let mut differs = vec![0.0; self.count()];
        differs[self.rank()] = if bytes == first { 0.0 } else { 1.0 };
        self.sum_over_ranks(&mut [], &mut differs);
        differs.iter().position(|it| *it > 0.0)
    }
}
