//! Files to a stream of batches.
//!
//! [`scan`] reads everything once: it counts, holds out games, and finds what is wrong before
//! training begins. [`Stream`] then yields batches without end, in an order that depends on the
//! data and the seed alone, from any [`Cursor`] on. Handcrafted terms, which take longer to find
//! than to learn from, are found once and kept in a [`Store`], where memory allows it.

mod base;
mod collect;
mod distinct;
mod encode;
mod feed;
mod filter;
mod held;
mod kept;
mod lane;
mod order;
mod packed;
mod plans;
mod prepared;
mod read;
mod scan;
mod sketch;
mod split;
mod store;
mod stored;
mod stream;
mod traces;
mod walk;
mod weighing;

use std::path::PathBuf;
use std::sync::Arc;

pub use crate::batch::{MOST_IN_CHUNK, PAIRS};
use crate::batch::{OfRank, Pairs};
pub use base::{Base, Below};
pub use collect::{Part, collect};
pub use encode::{Encoder, TERMS_PIECE, TermsEncoder};
pub use feed::{Feed, apportion};
pub use filter::{Filter, Rejected, Rejection};
pub use held::Held;
pub use kept::Kept;
pub use plans::{PLANS, pairs_of};
pub use prepared::{Preparation, Prepare, Prepared, PreparedStream};
pub use scan::{Scan, Validating, scan, scan_terms};
pub use sketch::Sketch;
pub use split::{Share, Split, Test};
pub use store::Store;
pub use stored::Stored;
pub use stream::{Cursor, Cursors, Stream};
pub use traces::{push, read_traces};
pub use walk::Cut;
pub use weighing::Weighing;

use crate::format::{Format, ReadError};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

/// Which positions to read, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    pub files: Vec<PathBuf>,
    /// Where they come from, if from several sources: each file is of one of them.
    pub feeds: Vec<Feed>,
    /// Files whose positions validate, all of them: then none of the games that are held out of
    /// `files` does, and all of those are the test. Read as `files` are.
    pub validation: Vec<PathBuf>,
    /// None: each file's content tells.
    pub format: Option<&'static Format>,
    /// Bad records to bear with, a file.
    pub bad_records: u64,
    /// From whose point of view scores and results are; None: those that are usual for the format.
    pub view: Option<PointOfView>,
    /// Whether material must bear out the point of view.
    pub check_view: bool,
    pub filter: Filter,
    pub weighing: Weighing,
    pub split: Split,
    /// Of the games that are held out, how many are kept for the test.
    pub test: Test,
    /// Of the games that are not held out, how many training takes.
    pub share: Share,
    /// Whether positions without a score are skipped.
    pub scores: bool,
    /// Whether boards that were turned to the side to move will not do.
    pub colours: bool,
    /// Positions to take of each file at most, the first that pass the filter.
    pub limit: Option<u64>,
    /// Positions that are shuffled together.
    pub window: usize,
    pub shuffle: bool,
    /// Positions that stay together from pass to pass where the data are kept, so that their work
    /// can be planned once; 0: none do.
    pub chunk: usize,
    /// Bytes that such plans may take; 0 where nobody has use for them.
    pub plans: usize,
    /// Pairs of inputs, at most, that such plans name in the place of two.
    pub pairs: usize,
    /// Pairs that chunks of data name which stream by, and are planned as they come; none where no
    /// one has use for them.
    pub passing: Option<Arc<Pairs>>,
    /// Whether positions are shown turned left to right as well, in every other pass.
    pub mirrored_copies: bool,
    pub seed: u64,
    /// Positions a batch.
    pub batch: usize,
    /// The slice of each batch that is encoded.
    pub of_rank: OfRank,
    /// Positions an epoch must have, if they were counted.
    pub expected: Option<u64>,
}

/// What the games of a plan are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    Train,
    /// Held out; whatever is chosen in training is chosen by its loss on these.
    Validation,
    /// Held out, and left alone until evaluations are measured.
    Test,
    /// Of none of them.
    Unused,
}

impl Plan {
    /// Whether the positions to train on are read once and kept, once they were counted.
    pub fn keeps(&self) -> bool {
        self.expected.is_some_and(|all| all <= self.window as u64)
    }

    /// Whether positions stay together from pass to pass. Sources with a share of each batch have
    /// passes of their own, and a batch may take less than a chunk of one.
    pub fn keeps_chunks(&self) -> bool {
        self.keeps() && self.shuffle && self.chunk > 0 && self.shares().is_none()
    }

    /// Whether their chunks are planned once for all passes.
    pub fn plans_once(&self) -> bool {
        self.keeps_chunks() && self.plans > 0
    }

    /// Whether positions validate: those of files of their own, or of games that are held out.
    pub fn validates(&self) -> bool {
        !self.validation.is_empty() || self.split.share > 0.0 && self.test.0 < 1.0
    }

    /// How the files are read that only validate, where there are some.
    pub fn validating(&self) -> Option<Self> {
        (!self.validation.is_empty()).then(|| Self {
            files: self.validation.clone(),
            validation: Vec::new(),
            split: Split { share: 1.0, seed: 0 },
            test: Test(0.0),
            ..self.clone()
        })
    }

    /// What the game of a position of `files` is for.
    pub fn subset(&self, sample: &Sample) -> Subset {
        self.subset_of(sample.group())
    }

    fn subset_of(&self, group: u64) -> Subset {
        match self.split.holds_out_group(group) {
            true if !self.validation.is_empty() || self.test.takes_group(group) => Subset::Test,
            true => Subset::Validation,
            false if self.share.takes_group(group) => Subset::Train,
            false => Subset::Unused,
        }
    }

    /// All positions of some files, as they are.
    pub fn reading(files: Vec<PathBuf>) -> Self {
        Self {
            files,
            feeds: Vec::new(),
            validation: Vec::new(),
            format: None,
            bad_records: 0,
            view: None,
            check_view: true,
            filter: Filter::default(),
            weighing: Weighing::default(),
            split: Split { share: 0.0, seed: 0 },
            test: Test(0.0),
            share: Share::ALL,
            scores: false,
            colours: false,
            limit: None,
            window: 1 << 20,
            shuffle: true,
            chunk: 0,
            plans: 0,
            pairs: 0,
            passing: None,
            mirrored_copies: false,
            seed: 0,
            batch: 16_384,
            of_rank: OfRank::ALL,
            expected: None,
        }
    }
}

/// Why the data cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot read {path}: {error}")]
    Hash { path: PathBuf, error: std::io::Error },
    #[error(
        "{path}: `{key}` needs to know {fact}, which {format} does not tell; \
         leave `{key}` out or use a format that tells it (viriformat does)"
    )]
    Unknown { path: PathBuf, key: &'static str, fact: &'static str, format: &'static str },
    #[error(
        "{path}: no position has a score, and targets with wdl below 1 need one, as does the \
         evaluation `score`; learn from results alone with `target.wdl = 1.0`, or label the \
         positions"
    )]
    NoScore { path: PathBuf },
    #[error(
        "{path}: bulletformat does not tell which side is White, and this model has White's \
         point of view; use `perspective` or `side-to-move` inputs, or data in another format"
    )]
    NoColours { path: PathBuf },
    #[error("{path}: {reason}; or set data.check_view = false if you know better")]
    View { path: PathBuf, reason: String },
    #[error("no position is left: {0}")]
    Empty(String),
    #[error(
        "no position of the source {0} is left to train on (of all sources: {1}); take it out of \
         [[data.source]], or look at its filter"
    )]
    EmptySource(String, String),
    #[error(
        "`target.weights`: no position to train on counts anything; look at the lines, beyond whose \
         ends all is as at the end"
    )]
    NothingCounts,
    #[error("no position of `data.validation` is left to validate with: {0}")]
    EmptyValidation(String),
    #[error(
        "no position was held out ({share} of {groups} games or positions is less than one); raise \
         `data.held_out`, add games, or set it to 0 to hold none out"
    )]
    NoHeldOut { share: f64, groups: u64 },
    #[error(
        "all {held_out} games or positions that were held out fell to the test (data.test = \
         {test}), and none is left to validate; raise `data.held_out`, add games, lower \
         `data.test`, name files in `data.validation`, or set `data.test` to 1 to train without a \
         validation loss"
    )]
    NoValidation { test: f64, held_out: usize },
    #[error("{path}: its reader died; this is a bug of nnuance, please report it")]
    Died { path: PathBuf },
    #[error(
        "the data has changed since training began: {found} positions to train on, {expected} \
         before; restore it and resume"
    )]
    Changed { found: u64, expected: u64 },
    #[error("the checkpoint's place in the data, {0:?}, cannot be read")]
    Cursor(String),
}
