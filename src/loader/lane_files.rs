//! Which lane reads which files.

use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number of lanes, or the files of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub enum LaneFiles {
    /// The files are dealt to so many lanes.
    Dealt(usize),
    /// Each lane has these.
    Listed(Vec<Vec<PathBuf>>),
}

impl Default for LaneFiles {
    fn default() -> Self {
        Self::Dealt(1)
    }
}

impl LaneFiles {
    /// How many lanes there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Dealt(count) => *count,
            Self::Listed(lists) => lists.len(),
        }
    }

    /// The files that are listed, lane by lane; none where they are dealt.
    pub fn listed(&self) -> impl Iterator<Item = &PathBuf> {
        match self {
            Self::Dealt(_) => &[][..],
            Self::Listed(lists) => lists,
        }
        .iter()
        .flatten()
    }
}

impl TryFrom<toml::Value> for LaneFiles {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        const EXPECTED: &str = "expected a number of lanes, or a list of files for each lane";
        match value {
            toml::Value::Integer(count) => usize::try_from(count)
                .map(Self::Dealt)
                .map_err(|_| format!("there is 1 lane or more, found {count}")),
            lists @ toml::Value::Array(_) => lists
                .try_into()
                .map(Self::Listed)
                .map_err(|error| format!("{EXPECTED}: {}", error.message())),
            other => Err(format!("{EXPECTED}, found {other}")),
        }
    }
}

impl From<LaneFiles> for toml::Value {
    fn from(lanes: LaneFiles) -> Self {
        match lanes {
            LaneFiles::Dealt(count) => Self::Integer(count as i64),
            LaneFiles::Listed(lists) => Self::Array(lists.into_iter().map(list).collect()),
        }
    }
}

fn list(files: Vec<PathBuf>) -> toml::Value {
    // It was read from text.
    let text = |path: PathBuf| path.to_string_lossy().into_owned().into();
    toml::Value::Array(files.into_iter().map(text).collect())
}

impl JsonSchema for LaneFiles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LaneFiles".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "array", "items": { "type": "array", "items": { "type": "string" } } },
        ] })
    }
}
