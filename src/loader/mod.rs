//! Files to an endless stream of batches. `source` reads parts of files and filters positions,
//! `pass` shuffles streamed positions, and `shuffle` those in memory. `encode` writes the inputs of
//! a model in its `layout` (`lists`, `chunk_plans`), and `stream` yields batches. `plan` has the
//! settings of all. Before training `scan` reads a sample, or all data that stay in memory: it
//! holds games out (`split`), counts, and detects errors. The order of positions depends on the
//! data and the seed alone, and a stream begins anywhere. Handcrafted terms take longer to compute
//! than to train, so they are cached in a [`Store`] if memory allows it.

mod chunk_plans;
mod encode;
mod filter;
mod label;
mod layout;
mod lists;
mod packed;
mod pass;
mod plan;
mod prepared;
mod scan;
mod shuffle;
mod source;
mod split;
mod store;
mod stream;

use std::path::PathBuf;

pub use crate::batch::{MAX_IN_CHUNK, most_pairs};
pub use encode::{Base, Encoder, TERMS_PIECE, TermsEncoder};
pub use filter::{CustomFilter, CustomWeight, Filter, PositionWeights, RejectCounts};
pub use layout::{InputLayout, MAX_PLAN_BYTES, select_pairs};
pub use pass::Passes;
pub use plan::{PassOrder, ReadPlan, ScanFacts, StreamPlan, Subset};
pub use prepared::{Preparation, Prepare, PreparedRows};
pub use scan::{KeptRecords, Scan, ValidationFacts, collect_samples, scan};
pub use source::{DataSource, ReadCounts, ReadOptions, contradict_view};
pub use split::{HeldOut, Split, TestShare, TrainingShare};
pub use store::{Store, push, read_traces};
pub use stream::Stream;

use crate::format::ReadError;

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
