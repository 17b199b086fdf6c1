//! The facts about a file of positions when it was read; checkpoints store them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Whether the games, and the positions of unknown games, are too few for a net to learn piece
/// values. After 330 games of self-play a knight is worth less than a pawn, after 700 two pawns.
pub fn few_for_nets(games: u64, gameless: u64) -> bool {
    games < 1000 && gameless < 100_000
}

/// Applies [`few_for_nets`] to the files of a run; false unless their positions are counted.
pub fn are_few_for_nets(files: &[DataFile]) -> bool {
    let positions: Option<u64> = files.iter().map(|file| file.positions).sum();
    let sum = |count: fn(&DataFile) -> u64| files.iter().map(count).sum();
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
    /// The number of games; 0 if unknown.
    pub games: u64,
    /// The number of positions of unknown games, if other games are known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gameless: u64,
    pub bad_records: Option<u64>,
}

impl DataFile {
    /// The number of positions of unknown games: all if no game is known.
    pub fn positions_of_unknown_games(&self) -> u64 {
        if self.games > 0 { self.gameless } else { self.positions.unwrap_or(0) }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
