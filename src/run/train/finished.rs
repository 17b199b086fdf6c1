//! What a run leaves.

use std::path::PathBuf;

use anyhow::Result;

use crate::report::Found;
use crate::report::before_after::TermResult;
use crate::run::export::Written;
use crate::run::judgement::Judgement;

/// What a run leaves in its folder.
pub struct Finished {
    pub folder: PathBuf,
    /// Which weights are the best, in words.
    pub what: String,
    /// The validation loss of these weights by source; empty where there are none.
    pub sources: Vec<(String, Option<f64>)>,
    /// The checkpoints that are kept for good.
    pub kept: Vec<PathBuf>,
    pub judgement: Judgement,
    pub moves: TestMoves,
    pub made: Made,
    /// The page about the run; none where none was asked for.
    pub page: Option<Result<PathBuf>>,
}

/// How many of the moves of test games a run finds.
pub enum TestMoves {
    /// It learns from positions.
    NotLearnt,
    /// No test games tell moves.
    Untold,
    Found(Box<Found>),
}

/// What an engine loads.
pub enum Made {
    Net(Box<Written>),
    /// A net, and the file with the terms that learnt with it.
    Sum(Box<Written>, PathBuf),
    /// Terms, before and after.
    Terms(Vec<TermResult>),
}
