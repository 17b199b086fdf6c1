//! How many positions make a step.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number, or the text "all".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub enum BatchSize {
    Positions(usize),
    /// The whole of the data: a step is an epoch.
    All,
}

impl BatchSize {
    /// The number, for so many positions of data.
    pub fn of(self, positions: u64) -> u64 {
        match self {
            BatchSize::Positions(count) => count as u64,
            BatchSize::All => positions.max(1),
        }
    }
}

impl TryFrom<toml::Value> for BatchSize {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::Integer(count) => usize::try_from(count)
                .map(BatchSize::Positions)
                .map_err(|_| format!("a batch has 1 position or more, found {count}")),
            toml::Value::String(text) if text == "all" => Ok(BatchSize::All),
            other => Err(format!("expected a number of positions or \"all\", found {other}")),
        }
    }
}

impl From<BatchSize> for toml::Value {
    fn from(size: BatchSize) -> Self {
        match size {
            BatchSize::Positions(count) => toml::Value::Integer(count as i64),
            BatchSize::All => toml::Value::String("all".into()),
        }
    }
}

impl JsonSchema for BatchSize {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BatchSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "all" }] })
    }
}
