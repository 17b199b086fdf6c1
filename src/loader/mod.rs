//! Files to a stream of batches: `source` reads parts of files and filters positions, `pass`
//! shuffles streamed positions and `shuffle` those in memory, `encode` writes the inputs of a
//! model, and `stream` yields batches without end. `scan` reads a sample before training, or
//! all that is kept: it holds games out (`split`), counts, and finds errors. The order of
//! positions depends on the data and the seed alone, and a stream begins anywhere. Handcrafted
//! terms, which take longer to find than to learn from, are found once and kept in a [`Store`],
//! where memory allows it.

mod encode;
mod filter;
mod packed;
mod pass;
mod prepared;
mod scan;
mod shuffle;
mod source;
mod split;
mod store;
mod stream;

use std::path::PathBuf;
use std::sync::Arc;

pub use crate::batch::{MOST_IN_CHUNK, most_pairs};
use crate::batch::{Pairs, RankShare};
pub use encode::{Base, BaseEvaluation, Encoder, PLANS, TERMS_PIECE, TermsEncoder, pairs_of};
pub use filter::{CustomFilter, CustomWeight, Filter, PositionWeights, RejectCounts};
pub use pass::Passes;
pub use prepared::{Preparation, Prepare, PreparedRows};
pub use scan::{KeptRecords, Scan, ValidationFacts, collect, scan};
pub use shuffle::BatchOrder;
pub use source::{DataSource, ReadCounts, ReadOptions, contradict_view};
pub use split::{HeldOut, Split, TestShare, TrainingShare};
pub use store::{Store, push, read_traces};
pub use stream::Stream;

use crate::format::ReadError;

#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub files: Vec<PathBuf>,
    /// Options for files without a source.
    pub reading: ReadOptions,
    /// Sources, if there are several: each file belongs to one of them.
    pub sources: Vec<DataSource>,
    /// Files of validation positions; without any, games that are held out of `files` validate.
    /// With them, all games held out of `files` are the test. Read as `files` are.
    pub validation: Vec<PathBuf>,
    /// Bad records that are skipped in each file.
    pub bad_records: u64,
    /// Whether the point of view is checked against material.
    pub check_view: bool,
    pub weighing: PositionWeights,
    pub split: Split,
    /// Share of the held-out games that is kept for the test.
    pub test: TestShare,
    /// Share of the other games that training uses.
    pub share: TrainingShare,
    /// Whether the model needs colours, and so cannot use boards flipped to the side to move.
    pub colours: bool,
    /// Positions that are shuffled together.
    pub window: usize,
    pub shuffle: bool,
    /// Positions that stay together in all passes over data in memory, to be planned once; 0: none.
    pub chunk: usize,
    /// Most bytes of such plans; 0: no plans.
    pub plans: usize,
    /// Most pairs of inputs that such plans use.
    pub pairs: usize,
    /// Pairs that the plans of streamed data use; none: streamed data are not planned.
    pub passing: Option<Arc<Pairs>>,
    pub seed: u64,
    pub batch: usize,
    /// The slice of each batch that is encoded.
    pub of_rank: RankShare,
    /// Positions of an epoch, once they are counted.
    pub expected: Option<u64>,
    /// Bytes of each file, once they are known: other lengths are errors.
    pub lengths: Vec<u64>,
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

impl Plan {
    /// A plan that reads all positions of some files.
    pub fn reading(files: Vec<PathBuf>) -> Self {
        let (check_view, shuffle) = (true, true);
        Self { files, check_view, shuffle, window: 1 << 20, batch: 16_384, ..Self::default() }
    }

    pub fn limited(mut self, limit: u64) -> Self {
        self.reading.limit = Some(limit);
        self
    }

    /// Whether the training positions are read once and stay in memory, once they are counted.
    pub fn is_kept(&self) -> bool {
        self.expected.is_some_and(|all| all <= self.window as u64)
    }

    pub fn has_fixed_chunks(&self) -> bool {
        self.is_kept() && self.shuffle && self.chunk > 0
    }

    pub fn plans_once(&self) -> bool {
        self.has_fixed_chunks() && self.plans > 0
    }

    /// Whether there are validation positions: of files of their own, or of held-out games.
    pub fn validates(&self) -> bool {
        !self.validation.is_empty() || self.split.share > 0.0 && self.test.0 < 1.0
    }

    pub fn validating(&self) -> Option<Self> {
        (!self.validation.is_empty()).then(|| Self {
            files: self.validation.clone(),
            validation: Vec::new(),
            lengths: Vec::new(),
            split: Split { share: 1.0, seed: 0 },
            test: TestShare(0.0),
            ..self.clone()
        })
    }

    /// Purpose of a game of `files`, by its [hash](Sample::group).
    pub fn subset(&self, group: u64) -> Subset {
        match self.split.holds_out(group) {
            true if !self.validation.is_empty() || self.test.takes(group) => Subset::Test,
            true => Subset::Validation,
            false if self.share.takes(group) => Subset::Train,
            false => Subset::Unused,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot read {path}: {error}")]
    Hash { path: PathBuf, error: std::io::Error },
    #[error(
        "{path}: `{key}` needs {fact}, which {format} does not store; remove `{key}`, or use a \
         format that stores it (pgn does)"
    )]
    Unknown { path: PathBuf, key: &'static str, fact: &'static str, format: &'static str },
    #[error(
        "{path}: no position has a score, which targets with wdl below 1 and the evaluation \
         `score` need; train on results alone with `target.wdl = 1.0`, or label the positions{comments}"
    )]
    NoScore { path: PathBuf, comments: String },
    #[error(
        "{path}: bulletformat does not store which side is White, which this model needs; use \
         `perspective` or `side-to-move` inputs, or data in another format"
    )]
    NoColours { path: PathBuf },
    #[error("{path}: {reason}; or set data.check_view = false to skip this check")]
    View { path: PathBuf, reason: String },
    #[error(
        "{path}: the weight `{name}` of {fen} is {weight}, expected 0 to 1; change the function"
    )]
    Weight { path: PathBuf, name: &'static str, fen: String, weight: f64 },
    #[error("no positions are left {0}")]
    Empty(String),
    #[error("`target.weights`: all positions to train on have a weight of 0")]
    NothingCounts,
    #[error(
        "the data has changed since training began: {found} positions to train on, {expected} \
         before; restore it and resume"
    )]
    Changed { found: u64, expected: u64 },
    #[error(
        "{path} has changed since training began: {found} bytes, {expected} before; restore it and \
         resume"
    )]
    Length { path: PathBuf, found: u64, expected: u64 },
    #[error("the checkpoint's place in the data is impossible; restore it, or begin a new run")]
    Place,
}
