//! A number that changes over a run, as a config says it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::length::{Length, Span};
use super::schedule::{Part, Schedule};

/// Stages, one after the other.
///
/// In a config: a number (constant), one stage, or a list of stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub struct Stages(Vec<Stage>);

/// A stage of `schedule.learning_rate` or `target.wdl`, for example `{ shape = "cosine", from =
/// 0.001, to = 0.00001 }`, or `{ shape = "step", from = 0.001, factor = 0.3, every = "8
/// superbatches" }`. In a list the stages follow one another; a warm-up is a short linear stage
/// before the others.
///
/// What a stage or step lasts is text with a unit, such as `"8 superbatches"`, `"2 epochs"`, `"10M
/// positions"` or `"500 steps"`; a plain number is a share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// How the value goes on from `from`.
    pub shape: Shape,
    /// The value at the beginning of the stage.
    pub from: f64,
    /// The value at the end of the stage; `linear`, `cosine` and `exponential` need it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// What a step multiplies the value by, above 0; `step` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// The distance from step to step, with its unit; a plain number is a share of the stage, above
    /// 0 and below 1. `step` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "8 superbatches")]
    pub every: Option<Length>,
    /// The stage's share of the run, 0 to 1. Stages without one, and without `length`, divide
    /// evenly what the others leave; all together they make 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The same with a unit: how long the stage lasts. At least one stage should go without, and
    /// take what the others leave; a run that becomes longer then still has its stages right.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "2 superbatches")]
    pub length: Option<Length>,
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
    /// To `to` by the same factor with each step; both ends are above 0.
    Exponential,
    /// `from`, times `factor` after each `every` of the stage but at its end.
    Step,
}

impl Stages {
    pub fn constant(value: f64) -> Self {
        Self(vec![Stage::constant(value)])
    }

    /// Stages that fit each other, as far as can be told before the run's length is known.
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
        let shares = stages.iter().filter_map(|stage| match stage.lasts() {
            Some(Length::Share(share)) => Some(share),
            _ => None,
        });
        let given: f64 = shares.sum();
        let open = stages.iter().filter(|stage| stage.lasts().is_none()).count();
        let in_shares = in_shares(&stages);
        if given > 1.0 + 1e-9 || in_shares && open == 0 && given < 1.0 - 1e-9 {
            return Err(format!("the shares of the stages add up to {given}, not to 1"));
        }
        if stages.len() > 1 && in_shares {
            for stage in stages.iter_mut().filter(|stage| stage.lasts().is_none()) {
                stage.share = Some((1.0 - given).max(0.0) / open as f64);
            }
        }
        Ok(Self(stages))
    }

    /// An error where a number can be read, but not be meant: a plain number is a share, and a step
    /// after the whole stage or more never comes.
    pub fn meant(&self) -> Result<(), String> {
        let share = |length: Option<Length>| match length {
            Some(Length::Share(share)) => Some(share),
            _ => None,
        };
        match self.0.iter().find_map(|stage| share(stage.every).filter(|every| *every >= 1.0)) {
            Some(every) => Err(not_a_share("every", every, "stage")),
            None => Ok(()),
        }
    }

    /// What the stages come to in a run.
    ///
    /// # Errors
    /// If they do not fit into the run, or steps grow without bounds.
    pub fn over(&self, span: &Span) -> Result<Schedule, String> {
        let parts = match in_shares(&self.0) {
            true => self.by_shares(span),
            false => self.by_steps(span)?,
        };
        for (part, stage) in parts.iter().zip(&self.0) {
            if let Some(every) = stage.every.filter(|every| !every.is_share()) {
                let steps = every.steps(0.0, span);
                if steps < 1.0 {
                    return Err(format!(
                        "`every = \"{every}\"` is less than a step, which has {} positions",
                        span.batch
                    ));
                }
            }
            // Every shape lies between its ends, so that finite ends are enough.
            if !(part.at(0.0).is_finite() && part.at(1.0).is_finite()) {
                return Err(stage.boundless());
            }
        }
        Ok(Schedule::of(parts))
    }

    /// Stages that follow each other by their shares of the run.
    fn by_shares(&self, span: &Span) -> Vec<Part> {
        let mut start = 0.0;
        let part = |stage: &Stage| {
            let Some(Length::Share(share)) = stage.lasts().or(Some(Length::Share(1.0))) else {
                unreachable!("all stages have shares");
            };
            let part = stage.part(start, start + share, share, share * span.steps as f64, span);
            start += share;
            part
        };
        self.0.iter().map(part).collect()
    }

    /// Stages of which some have a length in another unit: counted in steps, so that they begin
    /// with the very step.
    fn by_steps(&self, span: &Span) -> Result<Vec<Part>, String> {
        let whole = span.steps as f64;
        let steps = |stage: &Stage| stage.lasts().map(|length| length.steps(whole, span));
        let given: f64 = self.0.iter().filter_map(steps).sum();
        let open = self.0.iter().filter(|stage| stage.lasts().is_none()).count();
        // The run's last step may be a part of one, which was rounded up.
        if given > whole + 1.0 {
            return Err(format!(
                "the stages last {given:.0} steps, and the run has {whole}: shorten them, or \
                 lengthen the run"
            ));
        }
        if open == 0 && given < whole - 1.0 {
            return Err(format!(
                "the stages end after {given:.0} of the run's {whole} steps: leave out the length \
                 of one, which then takes the rest"
            ));
        }
        let rest = (whole - given).max(0.0) / open.max(1) as f64;
        let mut behind = 0.0;
        let part = |stage: &Stage| {
            let start = behind;
            let lasts = steps(stage).unwrap_or(rest);
            behind += lasts;
            stage.part(start / whole, behind / whole, lasts / whole, lasts, span)
        };
        Ok(self.0.iter().map(part).collect())
    }

    /// The value at the end of the run; none where it hangs on the length of the run.
    pub fn end(&self) -> Option<f64> {
        let unknown = Span { steps: 1, batch: 1, superbatch: 1, epoch: 1 };
        if in_shares(&self.0) && self.0.iter().all(|stage| stage.every.is_none_or(Length::is_share))
        {
            return Some(Schedule::of(self.by_shares(&unknown)).at(1.0));
        }
        let last = self.0.last()?;
        match last.every.is_none_or(Length::is_share) {
            true => Some(last.part(0.0, 1.0, 1.0, 1.0, &unknown).at(1.0)),
            false => None,
        }
    }

    /// The smallest and the largest value that the stages take, as far as can be told before the
    /// run's length is known.
    pub fn range(&self) -> (f64, f64) {
        let ends = self.0.iter().flat_map(Stage::ends);
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }
}

/// Whether all stages are shares of the run.
fn in_shares(stages: &[Stage]) -> bool {
    stages.iter().all(|stage| stage.lasts().is_none_or(Length::is_share))
}

/// What to say of a plain number that is no share.
pub fn not_a_share(key: &str, value: f64, whole: &str) -> String {
    format!(
        "`{key} = {value}` is a share of the {whole}, which must be below 1: write {key} = \
         \"{value} superbatches\", or with epochs, positions or steps"
    )
}

impl Stage {
    fn constant(from: f64) -> Self {
        let (to, factor, every, share, length) = (None, None, None, None, None);
        Self { shape: Shape::Constant, from, to, factor, every, share, length }
    }

    fn lasts(&self) -> Option<Length> {
        self.length.or(self.share.map(Length::Share))
    }

    /// The stage in a run: where it starts and ends and what it takes, as shares of the run, and
    /// how many steps that are.
    fn part(&self, start: f64, end: f64, share: f64, steps: f64, span: &Span) -> Part {
        let every = match self.every {
            None => 1.0,
            Some(Length::Share(share)) => share,
            Some(every) => every.steps(steps, span) / steps,
        };
        let Stage { shape, from, to, factor, .. } = *self;
        let (to, factor) = (to.unwrap_or(from), factor.unwrap_or(1.0));
        Part { shape, from, to, factor, every, start, end, share }
    }

    /// The values at both ends; of a step in other units than shares that at the beginning.
    fn ends(&self) -> Vec<f64> {
        let known = self.every.is_none_or(Length::is_share);
        let unknown = Span { steps: 1, batch: 1, superbatch: 1, epoch: 1 };
        let part = self.part(0.0, 1.0, 1.0, 1.0, &unknown);
        if known { vec![part.at(0.0), part.at(1.0)] } else { vec![self.from] }
    }

    fn name(&self) -> String {
        format!("{:?}", self.shape).to_lowercase()
    }

    fn boundless(&self) -> String {
        format!("the numbers of the {} stage grow without bounds", self.name())
    }

    fn check(&self) -> Result<(), String> {
        let shape = self.name();
        let wants = |name: &str, given: bool, wanted: bool| match (given, wanted) {
            (false, true) => Err(format!("a {shape} stage needs `{name}`")),
            (true, false) => Err(format!("a {shape} stage takes no `{name}`")),
            _ => Ok(()),
        };
        // A constant is mostly written as a bare number, without the word `from`.
        let from = if self.shape == Shape::Constant { "" } else { "`from` " };
        finite(from, Some(self.from))?;
        let to = matches!(self.shape, Shape::Linear | Shape::Cosine | Shape::Exponential);
        wants("to", self.to.is_some(), to)?;
        wants("factor", self.factor.is_some(), self.shape == Shape::Step)?;
        wants("every", self.every.is_some(), self.shape == Shape::Step)?;
        finite("`to` ", self.to)?;
        finite("`factor` ", self.factor)?;
        if let Some(factor) = self.factor.filter(|factor| *factor <= 0.0) {
            return Err(format!("`factor` must be greater than 0, found {factor}"));
        }
        if let (Shape::Exponential, Some(to)) = (self.shape, self.to)
            && (self.from <= 0.0 || to <= 0.0)
        {
            let (from, zero) = (self.from, "an exponential stage never reaches 0");
            return Err(format!("`from` and `to` must be above 0, found {from} and {to}: {zero}"));
        }
        if self.share.is_some() && self.length.is_some() {
            return Err("`share` and `length` say the same: give one of them".into());
        }
        if let Some(share) = self.share.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(format!(
                "`share` must lie between 0 and 1, found {share}; a length in other units is \
                 written length = \"{share} superbatches\", for example"
            ));
        }
        if let Some(Length::Share(share)) = self.length
            && share > 1.0
        {
            return Err(not_a_share("length", share, "run"));
        }
        // Every shape lies between its ends, so that finite ends are enough.
        if !self.ends().iter().all(|end| end.is_finite()) {
            return Err(self.boundless());
        }
        Ok(())
    }
}

fn finite(name: &str, value: Option<f64>) -> Result<(), String> {
    match value.filter(|value| !value.is_finite()) {
        Some(value) => Err(format!("{name}must be a finite number, found {value}")),
        None => Ok(()),
    }
}

impl TryFrom<toml::Value> for Stages {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        // Serde would take a list for a stage, its values in the order of the keys.
        let stage = |value: toml::Value| match value.is_table() {
            true => Stage::deserialize(value).map_err(|error| key_and_reason(&error)),
            false => Err(format!("expected a stage, found a {}", value.type_str())),
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

/// What is wrong with a stage, after the key that it is about.
fn key_and_reason(error: &toml::de::Error) -> String {
    // Only the error's own form tells the key, in a last line: in `every`
    let form = error.to_string();
    match form.trim_end().rsplit_once("\nin ") {
        Some((_, key)) => format!("{key}: {}", error.message()),
        None => error.message().to_string(),
    }
}

impl From<Stages> for toml::Value {
    fn from(stages: Stages) -> Self {
        match &stages.0[..] {
            [Stage { shape: Shape::Constant, from, length: None, .. }] => toml::Value::Float(*from),
            stages => toml::Value::try_from(stages).expect("stages are plain numbers and words"),
        }
    }
}

impl JsonSchema for Stages {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stages".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let stage = generator.subschema_for::<Stage>();
        let stages = json_schema!({ "type": "array", "items": stage });
        json_schema!({ "anyOf": [{ "type": "number" }, stage, stages] })
    }
}
