//! A number that changes over a run: the learning rate, or the weight of results in the target.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Stages, one after the other.
///
/// In a config: a number (constant), one stage, or a list of stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub struct Schedule(Vec<Stage>);

/// A stage of `schedule.learning_rate` or `target.wdl`, for example `{ shape = "cosine", from =
/// 0.001, to = 0.00001 }`. In a list the stages follow one another; a warm-up is a linear stage
/// with a small share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// How the value goes on from `from`.
    pub shape: Shape,
    /// The value at the beginning of the stage.
    pub from: f64,
    /// The value at the end of the stage; `linear` and `cosine` need it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// What a step multiplies the value by, above 0; `step` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// The distance from step to step as a share of the stage, above 0; `step` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<f64>,
    /// The stage's share of the run, 0 to 1. Stages without one divide evenly what the others
    /// leave; all together they make 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// `from`, all the time.
    Constant,
    /// A straight line to `to`.
    Linear,
    /// Half a cosine wave to `to`.
    Cosine,
    /// `from`, times `factor` after each `every` of the stage but at its end.
    Step,
}

/// What rounding may take from a quotient that is whole: 0.3 / 0.1 comes out below 3.
const TOLERANCE: f64 = 1e-9;

impl Schedule {
    pub fn constant(value: f64) -> Self {
        Self(vec![Stage::constant(value)])
    }

    /// Stages that fit each other.
    ///
    /// # Errors
    /// A sentence for the user where a stage lacks a number, a number is out of bounds or the
    /// shares do not add up.
    pub fn new(mut stages: Vec<Stage>) -> Result<Self, String> {
        if stages.is_empty() {
            return Err("a schedule needs at least one stage".into());
        }
        for stage in &stages {
            stage.check()?;
        }
        let given: f64 = stages.iter().filter_map(|stage| stage.share).sum();
        let open = stages.iter().filter(|stage| stage.share.is_none()).count();
        if given > 1.0 + 1e-9 || open == 0 && given < 1.0 - 1e-9 {
            return Err(format!("the shares of the stages add up to {given}, not to 1"));
        }
        if stages.len() > 1 {
            for stage in stages.iter_mut().filter(|stage| stage.share.is_none()) {
                stage.share = Some((1.0 - given).max(0.0) / open as f64);
            }
        }
        Ok(Self(stages))
    }

    /// The value when `done`, 0 to 1, of the run is behind.
    pub fn at(&self, done: f64) -> f64 {
        let mut start = 0.0;
        for (i, stage) in self.0.iter().enumerate() {
            let share = stage.share.unwrap_or(1.0);
            if done < start + share || i + 1 == self.0.len() {
                let within = if share > 0.0 { (done - start) / share } else { 1.0 };
                return stage.at(within.clamp(0.0, 1.0));
            }
            start += share;
        }
        unreachable!("the last stage returns")
    }

    /// The smallest and the largest value that the schedule takes.
    pub fn range(&self) -> (f64, f64) {
        let ends = self.0.iter().flat_map(|stage| [stage.at(0.0), stage.at(1.0)]);
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }
}

impl Stage {
    fn constant(from: f64) -> Self {
        let (to, factor, every, share) = (None, None, None, None);
        Self { shape: Shape::Constant, from, to, factor, every, share }
    }

    fn at(&self, within: f64) -> f64 {
        let to = self.to.unwrap_or(self.from);
        match self.shape {
            Shape::Constant => self.from,
            Shape::Linear => self.from + (to - self.from) * within,
            Shape::Cosine => {
                to + (self.from - to) * 0.5 * (1.0 + (std::f64::consts::PI * within).cos())
            }
            Shape::Step => {
                let every = self.every.unwrap_or(1.0);
                let steps = (within / every + TOLERANCE).floor();
                // A step at the very end would be one that no position is trained with.
                let last = (1.0 / every - TOLERANCE).ceil() - 1.0;
                self.from * self.factor.unwrap_or(1.0).powf(steps.min(last).max(0.0))
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let shape = format!("{:?}", self.shape).to_lowercase();
        let wants = |name: &str, value: Option<f64>, wanted: bool| match (value, wanted) {
            (None, true) => Err(format!("a {shape} stage needs `{name}`")),
            (Some(_), false) => Err(format!("a {shape} stage takes no `{name}`")),
            (Some(value), true) => finite(&format!("`{name}` "), value),
            _ => Ok(()),
        };
        // A constant is mostly written as a bare number, without the word `from`.
        let from = if self.shape == Shape::Constant { "" } else { "`from` " };
        finite(from, self.from)?;
        let to = matches!(self.shape, Shape::Linear | Shape::Cosine);
        wants("to", self.to, to)?;
        wants("factor", self.factor, self.shape == Shape::Step)?;
        wants("every", self.every, self.shape == Shape::Step)?;
        for (name, value) in [("factor", self.factor), ("every", self.every)] {
            if let Some(value) = value.filter(|value| *value <= 0.0) {
                return Err(format!("`{name}` must be greater than 0, found {value}"));
            }
        }
        if self.share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err("`share` must lie between 0 and 1".into());
        }
        // Every shape lies between its ends, so that finite ends are enough.
        if !(self.at(0.0).is_finite() && self.at(1.0).is_finite()) {
            return Err(format!("the numbers of the {shape} stage grow without bounds"));
        }
        Ok(())
    }
}

fn finite(name: &str, value: f64) -> Result<(), String> {
    match value.is_finite() {
        true => Ok(()),
        false => Err(format!("{name}must be a finite number, found {value}")),
    }
}

impl TryFrom<toml::Value> for Schedule {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let stage = |value: toml::Value| {
            Stage::deserialize(value).map_err(|error| error.message().to_string())
        };
        match value {
            toml::Value::Float(value) => Self::new(vec![Stage::constant(value)]),
            toml::Value::Integer(value) => Self::new(vec![Stage::constant(value as f64)]),
            toml::Value::Table(_) => Self::new(vec![stage(value)?]),
            toml::Value::Array(stages) => {
                Self::new(stages.into_iter().map(stage).collect::<Result<_, _>>()?)
            }
            other => Err(format!(
                "expected a number, a stage or a list of stages, found a {}",
                other.type_str()
            )),
        }
    }
}

impl From<Schedule> for toml::Value {
    fn from(schedule: Schedule) -> Self {
        match &schedule.0[..] {
            [Stage { shape: Shape::Constant, from, .. }] => toml::Value::Float(*from),
            stages => toml::Value::try_from(stages).expect("stages are plain numbers and words"),
        }
    }
}

impl JsonSchema for Schedule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Schedule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let stage = generator.subschema_for::<Stage>();
        let stages = json_schema!({ "type": "array", "items": stage });
        json_schema!({ "anyOf": [{ "type": "number" }, stage, stages] })
    }
}
