//! The way through all positions, epoch after epoch, each in an order of its own.

use std::ops::Range;
use std::sync::Arc;

use rand::seq::SliceRandom;

use super::order::random;
use super::stream::Cursor;
use crate::batch::OfRank;

/// How positions in memory are cut into batches.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Positions a batch; None: all of them, in the order of the files.
    pub batch: Option<usize>,
    pub shuffle: bool,
    pub seed: u64,
    /// Which share of each batch is wanted.
    pub of_rank: OfRank,
}

/// Where somebody stands on the way.
pub(super) struct Walk {
    cut: Cut,
    /// Of an epoch.
    positions: usize,
    cursor: Cursor,
    /// The epoch that `order` is of; none before the first step.
    epoch: Option<u64>,
    order: Vec<u32>,
}

impl Walk {
    pub fn new(positions: usize, cut: Cut, from: Cursor) -> Self {
        Self { cut, positions, cursor: from, epoch: None, order: Vec::new() }
    }

    /// Goes on by so many positions at most, not beyond the end of the epoch, nor of a window of so
    /// many: the epoch, and the places in its [order](Walk::order) that were passed.
    ///
    /// # Panics
    /// If there are no positions.
    pub fn on(&mut self, most: usize, window: usize) -> (u64, Range<usize>) {
        assert!(self.positions > 0, "a way through positions");
        let Cursor { epoch, offset, .. } = self.cursor;
        if self.epoch != Some(epoch) {
            self.order = (0..self.positions as u32).collect();
            if self.cut.shuffle {
                self.order.shuffle(&mut random(self.cut.seed, epoch, 1));
            }
            self.epoch = Some(epoch);
        }
        let begin = offset.min(self.positions);
        let border = (begin / window + 1).saturating_mul(window);
        let end = self.positions.min(border).min(begin + most);
        self.cursor.offset = end;
        if end == self.positions {
            self.skip();
        }
        (epoch, begin..end)
    }

    /// Goes on to the next epoch.
    pub fn skip(&mut self) {
        self.cursor = Cursor { epoch: self.cursor.epoch + 1, ..Cursor::default() };
    }

    /// The positions in the order of the epoch in which it went on last.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where it stands, as [`Batch::cursor`](crate::batch::Batch::cursor) says it.
    pub fn text(&self) -> Arc<str> {
        serde_json::to_string(&self.cursor).expect("numbers have a JSON form").into()
    }
}
