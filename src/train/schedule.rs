//! A number that changes over a run: the learning rate, or the weight of results in the target.

use serde::{Deserialize, Serialize};

/// Stages, one after the other.
///
/// In a config: a number (constant), one stage, or a list of stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub struct Schedule(Vec<Stage>);

/// One stage of a [`Schedule`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub shape: Shape,
    pub from: f64,
    /// Where a linear or cosine stage ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// What a step multiplies by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// The distance of steps as a share of the stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<f64>,
    /// The stage's share of the run; stages without one divide what the others leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// `from`
    Constant,
    /// A straight line to `to`.
    Linear,
    /// Half a cosine wave to `to`.
    Cosine,
    /// `from`, times `factor` after each `every` of the stage.
    Step,
}

impl Schedule {
    pub fn constant(value: f64) -> Self {
        let (to, factor, every, share) = (None, None, None, None);
        Self(vec![Stage { shape: Shape::Constant, from: value, to, factor, every, share }])
    }

    /// Stages that fit each other.
    ///
    /// # Errors
    /// A sentence for the user where a stage lacks a number or the shares do not add up.
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
    fn at(&self, within: f64) -> f64 {
        let to = self.to.unwrap_or(self.from);
        match self.shape {
            Shape::Constant => self.from,
            Shape::Linear => self.from + (to - self.from) * within,
            Shape::Cosine => {
                to + (self.from - to) * 0.5 * (1.0 + (std::f64::consts::PI * within).cos())
            }
            Shape::Step => {
                let steps = (within / self.every.unwrap_or(1.0)).floor();
                self.from * self.factor.unwrap_or(1.0).powf(steps)
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let shape = format!("{:?}", self.shape).to_lowercase();
        let wants = |name: &str, value: Option<f64>, wanted: bool| match (value, wanted) {
            (None, true) => Err(format!("a {shape} stage needs `{name}`")),
            (Some(_), false) => Err(format!("a {shape} stage takes no `{name}`")),
            (Some(value), true) if !value.is_finite() => Err(format!("`{name}` is {value}")),
            _ => Ok(()),
        };
        let to = matches!(self.shape, Shape::Linear | Shape::Cosine);
        wants("to", self.to, to)?;
        wants("factor", self.factor, self.shape == Shape::Step)?;
        wants("every", self.every, self.shape == Shape::Step)?;
        if self.every.is_some_and(|every| every <= 0.0) {
            return Err("`every` must be greater than 0".into());
        }
        if self.share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err("`share` must lie between 0 and 1".into());
        }
        if !self.from.is_finite() {
            return Err(format!("`from` is {}", self.from));
        }
        Ok(())
    }
}

impl TryFrom<toml::Value> for Schedule {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let stage = |value: toml::Value| {
            Stage::deserialize(value).map_err(|error| error.message().to_string())
        };
        match value {
            toml::Value::Float(value) => Ok(Self::constant(value)),
            toml::Value::Integer(value) => Ok(Self::constant(value as f64)),
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
