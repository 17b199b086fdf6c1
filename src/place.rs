//! A place in data that stream by, behind which a run goes on, and what was found on the way there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digits::grouped;
use crate::sketch::Sketch;

/// A place in the stream of positions to train on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// From 0.
    pub pass: u64,
    /// The bin of the pass, and the positions of it that were trained on.
    pub bin: u64,
    pub taken: usize,
    /// The first deal that has positions in the bin, where its reading began, and the positions that
    /// were read there and dealt before.
    pub deal: u64,
    pub turns: Turns,
    pub dealt: usize,
    /// Facts about the data, as far as the first pass has read them.
    pub read: Arc<Read>,
}

/// The parts of files that are read in turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// Rounds that were read.
    pub rounds: u64,
    /// The next part to be opened.
    pub next: usize,
    /// The parts that are open, and how many blocks of each were read.
    pub open: Vec<(usize, u64)>,
}

/// Facts that only all of the data tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// Rounds that were counted.
    pub rounds: u64,
    pub is_complete: bool,
    /// Positions to train on.
    pub train: u64,
    /// Positions, games and bad records of each file.
    pub files: Vec<[u64; 3]>,
    /// By which the games are known again.
    pub sketch: Sketch,
}

impl Read {
    /// The counts in a line.
    pub fn summary(&self) -> String {
        let [read, games, bad] = [0, 1, 2].map(|i| self.files.iter().map(|it| it[i]).sum::<u64>());
        let games = if games > 0 { format!(" of {} games", grouped(games)) } else { String::new() };
        let bad = if bad > 0 {
            format!(", {} bad records left out", grouped(bad))
        } else {
            String::new()
        };
        format!(
            "all files were read once: {} positions{games}, {} to train on{bad}",
            grouped(read),
            grouped(self.train)
        )
    }
}
