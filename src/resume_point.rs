//! The point of a data stream from which a run resumes, and the facts about the data before it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digits::{group_digits, positions_of_games};
use crate::sketch::Sketch;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResumePoint {
    /// The number of the pass, from 0.
    pub pass: u64,
    /// The bin of the pass, and the number of its positions that were trained on.
    pub bin: u64,
    pub taken: usize,
    /// The first deal with positions of the bin, where reading resumes, and the positions before it.
    pub deal: u64,
    pub turns: TurnState,
    pub dealt: usize,
    /// Facts about the data that the first pass has read so far.
    pub read: Arc<ReadFacts>,
}

/// The state of interleaved reading of the parts of files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnState {
    pub rounds: u64,
    pub next: usize,
    /// The open parts, each with the number of its blocks that were read.
    pub open: Vec<(usize, u64)>,
}

/// Facts that need all of the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadFacts {
    /// The number of rounds that were counted.
    pub rounds: u64,
    pub is_complete: bool,
    pub train: u64,
    /// Positions, games and bad records of each file.
    pub files: Vec<[u64; 3]>,
    /// Positions of unknown games of each file.
    #[serde(default)]
    pub gameless: Vec<u64>,
    /// The smallest hashes of the games, by which they are recognised.
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
