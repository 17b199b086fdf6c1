//! Point of a stream of data behind which a run resumes, and the facts found up to there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digits::{group_digits, positions_of_games};
use crate::sketch::Sketch;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResumePoint {
    /// From 0.
    pub pass: u64,
    /// The bin of the pass, and the number of its positions that were trained on.
    pub bin: u64,
    pub taken: usize,
    /// The first deal with positions of the bin, where reading resumes, and those dealt before.
    pub deal: u64,
    pub turns: TurnState,
    pub dealt: usize,
    /// Facts about the data, as far as the first pass has read.
    pub read: Arc<ReadFacts>,
}

/// State of reading the parts of files in turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnState {
    pub rounds: u64,
    pub next: usize,
    /// The open parts, and how many blocks of each were read.
    pub open: Vec<(usize, u64)>,
}

/// Facts that need all of the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadFacts {
    /// Rounds that were counted.
    pub rounds: u64,
    pub is_complete: bool,
    pub train: u64,
    /// Positions, games and bad records of each file.
    pub files: Vec<[u64; 3]>,
    /// Positions of unknown games of each file.
    #[serde(default)]
    pub gameless: Vec<u64>,
    /// Smallest hashes of the games, by which they are recognised.
    pub sketch: Sketch,
}

impl ReadFacts {
    pub fn to_summary(&self) -> String {
        let [read, games, bad] = [0, 1, 2].map(|i| self.files.iter().map(|it| it[i]).sum::<u64>());
        let gameless = self.gameless.iter().sum();
        let amounts = positions_of_games(read, games, gameless);
        let bad = if bad > 0 {
            format!(", {} bad records left out", group_digits(bad))
        } else {
            String::new()
        };
        format!(
            "all files were read once: {amounts}, {} to train on{bad}",
            group_digits(self.train)
        )
    }
}
