//! The schedule language of configs: lengths with units, stages, and their numbers over a run.

use serde::{Deserialize, Serialize};

/// Reason why a length or a schedule is wrong.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum ScheduleError {
    #[error(
        "expected a share above 0, up to 1, or text such as \"8 superbatches\", \"2 epochs\", \"10M \
         positions\" or \"500 steps\", found {0}"
    )]
    Length(toml::Value),
    #[error("{0} is shorter than a step of {1} positions; raise it")]
    ShortLength(Length, u64),
    #[error("expected a number, a stage or a list of stages, found a {0}")]
    Type(&'static str),
    #[error(transparent)]
    Stage(#[from] toml::de::Error),
    #[error("a schedule needs at least one stage")]
    NoStages,
    #[error(
        "a constant stage takes `from`, a step `from`, `factor` and `every`, any other `from` and \
         `to`"
    )]
    Keys,
    #[error(
        "the numbers of a stage are finite, `factor` and both ends of an exponential stage above 0"
    )]
    Numbers,
    #[error("the stages have {0:.0} steps, but the run has {1}; shorten them, or lengthen the run")]
    LongStages(f64, u64),
}

/// A share of a whole (a number in a config), or a number of units (`"8 superbatches"`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub enum Length {
    Share(f64),
    Of(f64, LengthUnit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    Superbatches,
    Epochs,
    Positions,
    Steps,
}

/// The length of a run, and the size of the units in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub steps: u64,
    /// Positions per step.
    pub batch: u64,
    /// Steps per superbatch.
    pub superbatch: u64,
    /// Positions per epoch.
    pub epoch: u64,
}

impl Span {
    /// Units of one step, for values that do not depend on the length.
    const UNKNOWN: Self = Self { steps: 1, batch: 1, superbatch: 1, epoch: 1 };
}

/// Units with their singular and plural.
const UNITS: [(LengthUnit, &str, &str); 4] = [
    (LengthUnit::Superbatches, "superbatch", "superbatches"),
    (LengthUnit::Epochs, "epoch", "epochs"),
    (LengthUnit::Positions, "position", "positions"),
    (LengthUnit::Steps, "step", "steps"),
];

impl Length {
    /// Converts to steps, with fractions; a share is one of `whole` steps.
    pub fn to_steps(self, whole: f64, span: &Span) -> f64 {
        match self {
            Length::Share(share) => share * whole,
            Length::Of(count, LengthUnit::Superbatches) => count * span.superbatch as f64,
            Length::Of(count, LengthUnit::Epochs) => count * span.epoch as f64 / span.batch as f64,
            Length::Of(count, LengthUnit::Positions) => count / span.batch as f64,
            Length::Of(count, LengthUnit::Steps) => count,
        }
    }

    pub fn is_share(self) -> bool {
        matches!(self, Length::Share(_))
    }

    /// Parses `8 superbatches`, `1 epoch`, `10M positions`.
    fn parse_length(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(char::is_whitespace)?;
        let unit = unit.trim();
        let (unit, ..) =
            *UNITS.iter().find(|(_, singular, plural)| *singular == unit || *plural == unit)?;
        let factors = [("k", 1e3), ("M", 1e6), ("", 1.0)].into_iter();
        let (digits, factor) = factors
            .filter_map(|(suffix, factor)| Some((number.strip_suffix(suffix)?, factor)))
            .next()?;
        let count = digits.replace('_', "").parse::<f64>().ok()? * factor;
        (count.is_finite() && count > 0.0).then_some(Self::Of(count, unit))
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Length::Share(share) => write!(f, "{share}"),
            Length::Of(count, unit) => {
                let (_, singular, plural) = UNITS[unit as usize];
                write!(f, "{count} {}", if count == 1.0 { singular } else { plural })
            }
        }
    }
}

impl TryFrom<toml::Value> for Length {
    type Error = ScheduleError;

    fn try_from(value: toml::Value) -> Result<Self, ScheduleError> {
        let share = |number: f64| (number > 0.0 && number <= 1.0).then_some(Self::Share(number));
        let length = match &value {
            toml::Value::Float(number) => share(*number),
            toml::Value::Integer(number) => share(*number as f64),
            text => text.as_str().and_then(Self::parse_length),
        };
        length.ok_or(ScheduleError::Length(value))
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

/// Consecutive stages; in a config a number (constant), one stage, or a list of stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub struct Stages(Vec<ScheduleStage>);

/// A stage of `schedule.learning_rate` or `target.wdl`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleStage {
    pub shape: CurveShape,
    /// The value at the beginning.
    pub from: f64,
    /// The value at the end, for curves.
    pub to: Option<f64>,
    /// Factor of each step.
    pub factor: Option<f64>,
    /// Distance between steps; a share is one of the stage.
    pub every: Option<Length>,
    /// Share of the run, or number of units; stages without a length share the rest evenly.
    pub length: Option<Length>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CurveShape {
    /// `from` throughout.
    Constant,
    /// Linear to `to`.
    Linear,
    /// Half a cosine wave to `to`.
    Cosine,
    /// Exponential to `to`; both ends are above 0.
    Exponential,
    /// `from`, times `factor` after each `every` of the stage except at its end.
    Step,
}

impl Default for Stages {
    fn default() -> Self {
        Self::constant(0.0)
    }
}

impl Stages {
    pub fn constant(value: f64) -> Self {
        Self(vec![ScheduleStage::constant(value)])
    }

    /// Checks stages as far as possible without the run's length. Fails without stages, or if the
    /// numbers of one do not fit its shape.
    pub fn new(stages: Vec<ScheduleStage>) -> Result<Self, ScheduleError> {
        if stages.is_empty() {
            return Err(ScheduleError::NoStages);
        }
        stages.iter().try_for_each(ScheduleStage::check_shape).map(|()| Self(stages))
    }

    /// Fits the stages to a run. If any length has another unit than shares, all are counted in
    /// steps, so that they begin at exact steps. Fails if they do not fit into the run.
    pub fn fit_to_span(&self, span: &Span) -> Result<RunSchedule, ScheduleError> {
        let steps = span.steps as f64;
        let in_shares = self.0.iter().all(|stage| stage.length.is_none_or(Length::is_share));
        let whole = if in_shares { 1.0 } else { steps };
        let lasts = |stage: &ScheduleStage| stage.length.map(|length| length.to_steps(whole, span));
        let given: f64 = self.0.iter().filter_map(lasts).sum();
        let given_steps = given * (steps / whole);
        // The run's last step may be incomplete and rounded up.
        if given_steps > steps + 1.0 {
            return Err(ScheduleError::LongStages(given_steps, span.steps));
        }
        let open = self.0.iter().filter(|stage| stage.length.is_none()).count();
        let rest = (whole - given).max(0.0) / open.max(1) as f64;
        let mut end = 0.0;
        let fit = |stage: &ScheduleStage| {
            let (start, lasts) = (end, lasts(stage).unwrap_or(rest));
            end += lasts;
            let steps = lasts * (steps / whole);
            stage.stage_in_run(start / whole, end / whole, lasts / whole, steps, span)
        };
        Ok(RunSchedule(self.0.iter().map(fit).collect()))
    }

    /// Returns the value at the end of the run; None if it depends on the length of the run.
    pub fn final_value(&self) -> Option<f64> {
        let last = self.0.last().filter(|last| last.every.is_none_or(Length::is_share));
        last.map(|last| last.stage_alone().value_within(1.0))
    }

    /// Returns the smallest and the largest value that are known without the run's length.
    pub fn value_range(&self) -> (f64, f64) {
        value_range(self.0.iter().flat_map(ScheduleStage::end_values))
    }
}

fn value_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    values.fold(ends, |(low, high), value| (low.min(value), high.max(value)))
}

impl ScheduleStage {
    fn constant(from: f64) -> Self {
        let shape = CurveShape::Constant;
        Self { shape, from, to: None, factor: None, every: None, length: None }
    }

    /// Places a stage in a run: `start`, `end` and `share` are shares of the run, `steps` its
    /// length.
    fn stage_in_run(
        &self,
        start: f64,
        end: f64,
        share: f64,
        steps: f64,
        span: &Span,
    ) -> StageInRun {
        let every = match self.every {
            None => 1.0,
            Some(Length::Share(share)) => share,
            Some(every) => every.to_steps(steps, span) / steps,
        };
        StageInRun { stage: *self, every, start, end, share }
    }

    /// Makes the stage the only one of a run of unknown length.
    fn stage_alone(&self) -> StageInRun {
        self.stage_in_run(0.0, 1.0, 1.0, 1.0, &Span::UNKNOWN)
    }

    /// Returns the values at both ends; for steps in other units than shares only the first.
    fn end_values(&self) -> Vec<f64> {
        match self.every.is_none_or(Length::is_share) {
            true => self.stage_alone().end_values().into(),
            false => vec![self.from],
        }
    }

    fn check_shape(&self) -> Result<(), ScheduleError> {
        let Self { shape, from, to, factor, every, .. } = *self;
        let is_curve =
            matches!(shape, CurveShape::Linear | CurveShape::Cosine | CurveShape::Exponential);
        let is_step = shape == CurveShape::Step;
        if [to.is_some(), factor.is_some(), every.is_some()] != [is_curve, is_step, is_step] {
            return Err(ScheduleError::Keys);
        }
        let is_finite = [Some(from), to, factor].into_iter().flatten().all(f64::is_finite);
        let is_factor = |number: f64| number > 0.0;
        let grows = factor.is_none_or(is_factor)
            && (shape != CurveShape::Exponential || is_factor(from) && to.is_none_or(is_factor));
        if is_finite && grows { Ok(()) } else { Err(ScheduleError::Numbers) }
    }
}

impl TryFrom<toml::Value> for Stages {
    type Error = ScheduleError;

    fn try_from(value: toml::Value) -> Result<Self, ScheduleError> {
        let stage = |value| ScheduleStage::deserialize(value);
        match value {
            toml::Value::Float(value) => Self::new(vec![ScheduleStage::constant(value)]),
            toml::Value::Integer(value) => Self::new(vec![ScheduleStage::constant(value as f64)]),
            toml::Value::Table(_) => Self::new(vec![stage(value)?]),
            toml::Value::Array(stages) => {
                Self::new(stages.into_iter().map(stage).collect::<Result<_, _>>()?)
            }
            value => Err(ScheduleError::Type(value.type_str())),
        }
    }
}

impl From<Stages> for toml::Value {
    fn from(stages: Stages) -> Self {
        match &stages.0[..] {
            [ScheduleStage { shape: CurveShape::Constant, from, length: None, .. }] => {
                toml::Value::Float(*from)
            }
            stages => toml::Value::try_from(stages).expect("stages are plain numbers and words"),
        }
    }
}

/// Value over a run of known length: the learning rate, or the weight of results in the target.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSchedule(Vec<StageInRun>);

/// Stage in a run; start, end and length are shares of the run, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StageInRun {
    stage: ScheduleStage,
    /// Distance between steps, as a share of the stage.
    every: f64,
    start: f64,
    end: f64,
    share: f64,
}

/// Tolerance for quotients that are integers up to rounding: 0.3 / 0.1 is below 3.
pub(super) const TOLERANCE: f64 = 1e-9;

impl RunSchedule {
    /// Returns the value at training progress `done` in 0..=1.
    pub fn value_at(&self, done: f64) -> f64 {
        let last = self.0.len() - 1;
        let now = self.0[..last].iter().find(|stage| done < stage.end).unwrap_or(&self.0[last]);
        let within = if now.share > 0.0 { (done - now.start) / now.share } else { 1.0 };
        now.value_within(within.clamp(0.0, 1.0))
    }

    pub fn value_range(&self) -> (f64, f64) {
        value_range(self.0.iter().flat_map(StageInRun::end_values))
    }
}

impl StageInRun {
    /// Returns the value at progress `within` of the stage, 0 to 1.
    fn value_within(&self, within: f64) -> f64 {
        let StageInRun { stage: ScheduleStage { shape, from, to, factor, .. }, every, .. } = *self;
        let to = to.unwrap_or(from);
        match shape {
            CurveShape::Constant => from,
            CurveShape::Linear => from + (to - from) * within,
            CurveShape::Cosine => {
                to + (from - to) * 0.5 * (1.0 + (std::f64::consts::PI * within).cos())
            }
            CurveShape::Exponential if within >= 1.0 => to,
            CurveShape::Exponential => from * (to / from).powf(within),
            CurveShape::Step => {
                let steps = (within / every + TOLERANCE).floor();
                // A step at the very end would affect no position.
                let last = (1.0 / every - TOLERANCE).ceil() - 1.0;
                from * factor.unwrap_or(1.0).powf(steps.min(last).max(0.0))
            }
        }
    }

    /// Returns the values at both ends, between which every shape lies.
    fn end_values(&self) -> [f64; 2] {
        [self.value_within(0.0), self.value_within(1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fits a schedule of steps to a run of ten.
    fn fit_steps(from: f64, factor: f64, every: f64) -> RunSchedule {
        let (factor, every) = (Some(factor), Some(Length::Share(every)));
        let stage =
            ScheduleStage { shape: CurveShape::Step, from, to: None, factor, every, length: None };
        let span = Span { steps: 10, batch: 1, superbatch: 1, epoch: 10 };
        Stages::new(vec![stage]).and_then(|stages| stages.fit_to_span(&span)).expect("a schedule")
    }

    #[test]
    fn steps_are_taken_at_their_share_of_a_run() {
        let schedule = fit_steps(1.0, 2.0, 0.1);
        for (done, value) in [(0.0, 1.0), (0.29, 4.0), (0.3, 8.0), (0.95, 512.0), (1.0, 512.0)] {
            assert_eq!(schedule.value_at(done), value, "at {done}");
        }
        assert_eq!(schedule.value_range(), (1.0, 512.0));
        assert_eq!(fit_steps(0.5, 2.0, 0.5).value_range(), (0.5, 1.0));
        assert_eq!(fit_steps(1.0, 0.5, 0.3).value_range(), (0.125, 1.0));
    }
}
