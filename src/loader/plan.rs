//! Files of a run, the order of their positions, and facts about them. A config gives the files and
//! the split, a scan the facts, and all of them the layout.

use std::path::PathBuf;

use super::{
    DataSource, InputLayout, PositionWeights, ReadOptions, Split, TestShare, TrainingShare,
};
use crate::batch::RankShare;

/// Files of positions, how they are read, and the subset of each game.
#[derive(Clone, Debug, Default)]
pub struct ReadPlan {
    pub files: Vec<PathBuf>,
    /// Options for files without a source.
    pub reading: ReadOptions,
    /// Sources, if there are several: each file belongs to one of them.
    pub sources: Vec<DataSource>,
    /// Files of validation positions, read like `files`. Without any, games held out of `files`
    /// validate; with them, all games held out of `files` are the test.
    pub validation: Vec<PathBuf>,
    /// Maximum number of bad records that are skipped in each file.
    pub bad_records: u64,
    /// Whether the point of view is checked against material.
    pub check_view: bool,
    pub weighing: PositionWeights,
    pub split: Split,
    /// Share of the held-out games that are the test.
    pub test: TestShare,
    /// Share of the other games that training uses.
    pub share: TrainingShare,
    /// Whether the model needs colours, so that it cannot use boards flipped to the side to move.
    pub needs_colours: bool,
}

/// The order of training positions, and their division into batches.
#[derive(Clone, Copy, Debug)]
pub struct PassOrder {
    /// Positions that are shuffled together.
    pub window: usize,
    pub shuffle: bool,
    /// Positions that stay together in all passes over data in memory; 0: none.
    pub chunk: usize,
    pub seed: u64,
    /// Positions per batch; `usize::MAX`: all of them, in the order of the files.
    pub batch: usize,
    /// The slice of each batch that is encoded.
    pub of_rank: RankShare,
}

/// Results of a scan on which a stream depends.
#[derive(Clone, Debug, Default)]
pub struct ScanFacts {
    /// Training positions, if they were counted.
    pub positions: Option<u64>,
    /// Bytes of each file, if they are known: other lengths are errors.
    pub lengths: Vec<u64>,
}

/// Settings and facts of a [`Stream`](super::Stream) of files.
#[derive(Clone, Debug, Default)]
pub struct StreamPlan {
    pub read: ReadPlan,
    pub order: PassOrder,
    pub facts: ScanFacts,
    pub layout: InputLayout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    Train,
    /// Held out; checkpoints and schedules depend on the loss on these.
    Validation,
    /// Held out, and only used to measure evaluations.
    Test,
    Unused,
}

impl ReadPlan {
    /// Makes a plan that reads all positions of files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Self { files, check_view: true, ..Self::default() }
    }

    /// Whether there are validation positions: from separate files, or from held-out games.
    pub fn has_validation(&self) -> bool {
        !self.validation.is_empty() || self.split.share > 0.0 && self.test.0 < 1.0
    }

    /// Returns the plan that reads the files of validation positions, if there are any.
    pub fn validation_plan(&self) -> Option<Self> {
        (!self.validation.is_empty()).then(|| Self {
            files: self.validation.clone(),
            validation: Vec::new(),
            split: Split { share: 1.0, seed: 0 },
            test: TestShare(0.0),
            ..self.clone()
        })
    }

    /// Returns the subset of a game of `files`, by its [hash](crate::sample::Sample::split_group).
    pub fn subset_of_game(&self, game: u64) -> Subset {
        match self.split.holds_out(game) {
            true if !self.validation.is_empty() || self.test.takes_group(game) => Subset::Test,
            true => Subset::Validation,
            false if self.share.takes_group(game) => Subset::Train,
            false => Subset::Unused,
        }
    }
}

impl Default for PassOrder {
    fn default() -> Self {
        let (shuffle, of_rank) = (true, RankShare::ALL);
        Self { window: 1 << 20, shuffle, chunk: 0, seed: 0, batch: 16_384, of_rank }
    }
}

impl PassOrder {
    /// Whether the training positions are read once and stay in memory.
    pub fn keeps_in_memory(&self, facts: &ScanFacts) -> bool {
        facts.positions.is_some_and(|positions| positions <= self.window as u64)
    }

    /// Whether positions stay together in chunks for all passes.
    pub fn has_fixed_chunks(&self, facts: &ScanFacts) -> bool {
        self.keeps_in_memory(facts) && self.shuffle && self.chunk > 0
    }

    /// Returns the positions per batch; None: all of them.
    pub fn batch_size(&self) -> Option<usize> {
        Some(self.batch).filter(|batch| *batch < usize::MAX)
    }

    /// Whether batches consist of several chunks.
    pub fn has_several_chunks(&self) -> bool {
        self.chunk > 0 && self.batch >= 2 * self.chunk
    }
}

impl StreamPlan {
    /// Makes a plan of files in a given order.
    pub fn new(read: ReadPlan, order: PassOrder) -> Self {
        Self { read, order, ..Self::default() }
    }
}
