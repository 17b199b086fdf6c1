//! A file of positions as it was when it was read: part of a checkpoint.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Whether so many games, and positions of unknown games, are too few for a net to learn what the
/// pieces are worth. With 330 games of self-play a knight is less than a pawn, with 700 two.
pub fn few_for_nets(games: u64, gameless: u64) -> bool {
    games < 1000 && gameless < 100_000
}

/// The same of the files of a run, where their positions are counted.
pub fn are_few_for_nets(files: &[DataFile]) -> bool {
    let positions: Option<u64> = files.iter().map(|file| file.positions).sum();
    let sum = |of: fn(&DataFile) -> u64| files.iter().map(of).sum();
    positions.is_some()
        && few_for_nets(sum(|file| file.games), sum(DataFile::positions_of_unknown_games))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    pub path: PathBuf,
    /// None if only a manifest describes the file; its positions and bad records are unknown then.
    pub format: Option<String>,
    pub bytes: u64,
    pub sha256: String,
    /// Whether the digest covers a sample of the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sampled: bool,
    pub positions: Option<u64>,
    /// Games in it; 0 where they are unknown.
    pub games: u64,
    /// Positions of unknown games beside these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gameless: u64,
    pub bad_records: Option<u64>,
}

impl DataFile {
    /// Positions of unknown games: all where none is known.
    pub fn positions_of_unknown_games(&self) -> u64 {
        if self.games > 0 { self.gameless } else { self.positions.unwrap_or(0) }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
