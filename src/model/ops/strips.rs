//! Lists of a batch in strips, which a GPU processes one by one. The gradient of an input's weights
//! is a sum over the lists that contain it. Strip by strip, the addends stay in a cache while all
//! inputs read them, and a strip's lists of an input are a few words of bits. The processor assigns
//! lists to strips, so this code is tested without a GPU.

use crate::model::grouped::Grouped;

/// Lists of each strip. They share a king bucket, so that a strip has bits for 768 inputs.
#[derive(Debug, PartialEq)]
pub struct Strips {
    /// Slots per strip, a multiple of [`ROUND`].
    pub length: usize,
    /// List of each slot, strip by strip, or `NONE`; empty for one king bucket: lists are in order.
    pub order: Vec<u32>,
    /// First strip of each king bucket, then the number of strips.
    pub starts: Vec<u32>,
}

/// Lists whose bits a cube finds before it adds them up.
pub const ROUND: usize = 1024;
/// Maximum strips of a king bucket. Each has a sum for each input.
const MAX_LISTS: usize = 64;
const NONE: u32 = u32::MAX;

impl Strips {
    pub fn new(lists: usize, king_buckets: &[u8], kings: usize) -> Self {
        let length = lists.div_ceil(MAX_LISTS).next_multiple_of(ROUND).max(ROUND);
        if kings == 1 {
            let starts = vec![0, lists.div_ceil(length) as u32];
            return Self { length, order: Vec::new(), starts };
        }
        let kings_of_lists = king_buckets.iter().map(|king| usize::from(*king));
        let lists_of_kings = Grouped::new(kings, kings_of_lists.zip(0..));
        let (mut order, mut starts) = (Vec::new(), vec![0]);
        for king in 0..kings {
            order.extend(lists_of_kings.members_of(king));
            order.resize(order.len().next_multiple_of(length), NONE);
            starts.push((order.len() / length) as u32);
        }
        Self { length, order, starts }
    }

    pub fn strip_count(&self) -> usize {
        self.starts.last().map_or(0, |end| *end as usize)
    }
}
