//! A file of positions as it was when it was read: part of a checkpoint.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
    pub bad_records: Option<u64>,
}
