//! How long something lasts, in the units that people count in.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A share of a whole, or a number of units.
///
/// In a config: a number is a share, text is a number with its unit, such as `"8 superbatches"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub enum Length {
    Share(f64),
    Of(f64, Unit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Superbatches,
    Epochs,
    Positions,
    Steps,
}

/// How long a run is, and what the units come to in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub steps: u64,
    /// Positions a step.
    pub batch: u64,
    /// Steps a superbatch.
    pub superbatch: u64,
    /// Positions an epoch.
    pub epoch: u64,
}

/// What can be written for a length, for messages.
const WRITTEN: &str =
    "\"8 superbatches\", \"2 epochs\", \"10M positions\" or \"500 steps\", or a share such as 0.1";

impl Unit {
    const ALL: [Self; 4] = [Self::Superbatches, Self::Epochs, Self::Positions, Self::Steps];

    /// As configs write it, for a number other than 1.
    fn text(self) -> &'static str {
        match self {
            Unit::Superbatches => "superbatches",
            Unit::Epochs => "epochs",
            Unit::Positions => "positions",
            Unit::Steps => "steps",
        }
    }

    /// For the number 1.
    fn singular(self) -> &'static str {
        match self {
            Unit::Superbatches => "superbatch",
            Unit::Epochs => "epoch",
            Unit::Positions => "position",
            Unit::Steps => "step",
        }
    }
}

impl Length {
    /// In steps, with fractions; a share is one of so many steps.
    pub fn steps(self, whole: f64, span: &Span) -> f64 {
        match self {
            Length::Share(share) => share * whole,
            Length::Of(count, Unit::Superbatches) => count * span.superbatch as f64,
            Length::Of(count, Unit::Epochs) => count * span.epoch as f64 / span.batch as f64,
            Length::Of(count, Unit::Positions) => count / span.batch as f64,
            Length::Of(count, Unit::Steps) => count,
        }
    }

    pub fn is_share(self) -> bool {
        matches!(self, Length::Share(_))
    }

    /// Reads `8 superbatches`, `1 epoch`, `10M positions`.
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(char::is_whitespace)?;
        let unit = unit.trim();
        let unit = Unit::ALL.into_iter().find(|it| it.text() == unit || it.singular() == unit)?;
        let (digits, factor) = match number.char_indices().next_back()? {
            (end, 'k' | 'K') => (&number[..end], 1e3),
            (end, 'M') => (&number[..end], 1e6),
            (end, 'G' | 'B') => (&number[..end], 1e9),
            _ => (number, 1.0),
        };
        let digits = digits.replace('_', "");
        if !digits.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let count = digits.parse::<f64>().ok()? * factor;
        (count.is_finite() && count > 0.0).then_some(Self::Of(count, unit))
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Length::Share(share) => write!(f, "{share}"),
            Length::Of(1.0, unit) => write!(f, "1 {}", unit.singular()),
            Length::Of(count, unit) => {
                let whole = |factor: f64| count >= factor && count % factor == 0.0;
                let unit = unit.text();
                if whole(1e6) {
                    write!(f, "{}M {unit}", count / 1e6)
                } else {
                    write!(f, "{count} {unit}")
                }
            }
        }
    }
}

impl TryFrom<toml::Value> for Length {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let wrong = |found: String| format!("expected {WRITTEN}, found {found}");
        let share = |share: f64| match share.is_finite() && share > 0.0 {
            true => Ok(Self::Share(share)),
            false => Err(format!("must be greater than 0, found {share}")),
        };
        match value {
            toml::Value::Float(number) => share(number),
            toml::Value::Integer(number) => share(number as f64),
            toml::Value::String(text) => {
                Self::parse(&text).ok_or_else(|| wrong(format!("{text:?}")))
            }
            other => Err(wrong(format!("a {}", other.type_str()))),
        }
    }
}

impl From<Length> for toml::Value {
    fn from(length: Length) -> Self {
        match length {
            Length::Share(share) => toml::Value::Float(share),
            length => toml::Value::String(length.to_string()),
        }
    }
}

impl JsonSchema for Length {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "number", "exclusiveMinimum": 0 },
            { "type": "string",
              "pattern": "^[0-9][0-9_.]*[kKMGB]? +(superbatch(es)?|epochs?|positions?|steps?)$" },
        ] })
    }
}
