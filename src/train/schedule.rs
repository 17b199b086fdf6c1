//! The schedule language of configs: lengths with units, stages, and the numbers that they give
//! over a run.

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

/// The length of a run, and the size of the units in it.
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

impl Span {
    /// Stands for a run whose length is not known yet.
    const UNKNOWN: Self = Self { steps: 1, batch: 1, superbatch: 1, epoch: 1 };
}

/// Units with their singular and plural.
const UNITS: [(Unit, &str, &str); 4] = [
    (Unit::Superbatches, "superbatch", "superbatches"),
    (Unit::Epochs, "epoch", "epochs"),
    (Unit::Positions, "position", "positions"),
    (Unit::Steps, "step", "steps"),
];

impl Length {
    /// Converts to steps, with fractions; a share is one of `whole` steps.
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
        let (unit, ..) = *UNITS.iter().find(|(_, one, many)| *one == unit || *many == unit)?;
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
        let Length::Of(count, unit) = *self else {
            let Length::Share(share) = self else { unreachable!() };
            return write!(f, "{share}");
        };
        let (_, one, many) = UNITS[unit as usize];
        match count {
            1.0 => write!(f, "1 {one}"),
            _ if count >= 1e6 && count % 1e6 == 0.0 => write!(f, "{}M {many}", count / 1e6),
            _ => write!(f, "{count} {many}"),
        }
    }
}

impl TryFrom<toml::Value> for Length {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let share = match value {
            toml::Value::Float(number) => number,
            toml::Value::Integer(number) => number as f64,
            other => {
                let length = other.as_str().and_then(Self::parse);
                return length.ok_or_else(|| {
                    format!(
                        "expected \"8 superbatches\", \"2 epochs\", \"10M positions\" or \"500 \
                         steps\", or a share such as 0.1, found {other}"
                    )
                });
            }
        };
        match share.is_finite() && share > 0.0 {
            true => Ok(Self::Share(share)),
            false => Err(format!("must be greater than 0, found {share}")),
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

    /// Checks stages as far as is possible before the run's length is known.
    ///
    /// # Errors
    /// A stage that lacks a number, a number out of bounds, or shares that do not add up.
    pub fn new(mut stages: Vec<Stage>) -> Result<Self, String> {
        if stages.is_empty() {
            return Err("a schedule needs at least one stage".into());
        }
        stages.iter().try_for_each(Stage::check)?;
        let share = |stage: &Stage| stage.lasts().filter(|it| it.is_share());
        let given: f64 =
            stages.iter().filter_map(share).map(|it| it.steps(1.0, &Span::UNKNOWN)).sum();
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

    /// Fits the stages to a run.
    ///
    /// # Errors
    /// If they do not fit into the run, or steps grow without bounds.
    pub fn over(&self, span: &Span) -> Result<Schedule, String> {
        let (schedule, given) = self.fit(span);
        let whole = span.steps as f64;
        // The run's last step may be a part of one, which was rounded up.
        if !in_shares(&self.0) && given > whole + 1.0 {
            return Err(format!(
                "the stages last {given:.0} steps, and the run has {whole}: shorten them, or \
                 lengthen the run"
            ));
        }
        let all_given = self.0.iter().all(|stage| stage.lasts().is_some());
        if !in_shares(&self.0) && all_given && given < whole - 1.0 {
            return Err(format!(
                "the stages end after {given:.0} of the run's {whole} steps: leave out the length \
                 of one, which then takes the rest"
            ));
        }
        let steps = |every: &Length| !every.is_share() && every.steps(0.0, span) < 1.0;
        if let Some(every) = self.0.iter().filter_map(|stage| stage.every).find(steps) {
            return Err(format!(
                "`every = \"{every}\"` is less than a step, which has {} positions",
                span.batch
            ));
        }
        schedule.0.iter().try_for_each(Part::check_finite).map(|()| schedule)
    }

    /// The stages one after the other, and the sum of the given lengths. Where some have a length in
    /// another unit than shares all are counted in steps, so that they begin with the very step.
    fn fit(&self, span: &Span) -> (Schedule, f64) {
        let steps = span.steps as f64;
        let whole = if in_shares(&self.0) { 1.0 } else { steps };
        let lasts = |stage: &Stage| stage.lasts().map(|length| length.steps(whole, span));
        let given: f64 = self.0.iter().filter_map(lasts).sum();
        let open = self.0.iter().filter(|stage| stage.lasts().is_none()).count();
        let rest = (whole - given).max(0.0) / open.max(1) as f64;
        let mut behind = 0.0;
        let part = |stage: &Stage| {
            let (start, lasts) = (behind, lasts(stage).unwrap_or(rest));
            behind += lasts;
            let steps = lasts * (steps / whole);
            stage.part(start / whole, behind / whole, lasts / whole, steps, span)
        };
        (Schedule(self.0.iter().map(part).collect()), given)
    }

    /// The value at the end of the run; none where it depends on the length of the run.
    pub fn end(&self) -> Option<f64> {
        let steps_by_share = |stage: &Stage| stage.every.is_none_or(Length::is_share);
        if in_shares(&self.0) && self.0.iter().all(steps_by_share) {
            return Some(self.fit(&Span::UNKNOWN).0.at(1.0));
        }
        self.0.last().filter(|last| steps_by_share(last)).map(|last| last.alone().at(1.0))
    }

    /// The smallest and the largest value, as far as they are known before the run's length is.
    pub fn range(&self) -> (f64, f64) {
        range(self.0.iter().flat_map(Stage::ends))
    }
}

/// Whether all stages are shares of the run.
fn in_shares(stages: &[Stage]) -> bool {
    stages.iter().all(|stage| stage.lasts().is_none_or(Length::is_share))
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    values.fold(ends, |(low, high), value| (low.min(value), high.max(value)))
}

/// The error for a plain number that is no share.
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
    /// its length in steps.
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

    /// The stage as the only one of a run of unknown length.
    fn alone(&self) -> Part {
        self.part(0.0, 1.0, 1.0, 1.0, &Span::UNKNOWN)
    }

    /// The values at both ends; with steps in other units than shares that at the beginning.
    fn ends(&self) -> Vec<f64> {
        match self.every.is_none_or(Length::is_share) {
            true => self.alone().ends().into(),
            false => vec![self.from],
        }
    }

    fn check(&self) -> Result<(), String> {
        let shape = self.shape.name();
        let is_curve = matches!(self.shape, Shape::Linear | Shape::Cosine | Shape::Exponential);
        let is_step = self.shape == Shape::Step;
        for (name, given, wanted) in [
            ("to", self.to.is_some(), is_curve),
            ("factor", self.factor.is_some(), is_step),
            ("every", self.every.is_some(), is_step),
        ] {
            if given != wanted {
                let verb = if wanted { "needs" } else { "takes no" };
                return Err(format!("a {shape} stage {verb} `{name}`"));
            }
        }
        // A constant is mostly written as a bare number, without the word `from`.
        let from = if self.shape == Shape::Constant { "" } else { "`from` " };
        for (name, value) in
            [(from, Some(self.from)), ("`to` ", self.to), ("`factor` ", self.factor)]
        {
            if let Some(value) = value.filter(|value| !value.is_finite()) {
                return Err(format!("{name}must be a finite number, found {value}"));
            }
        }
        if let Some(factor) = self.factor.filter(|factor| *factor <= 0.0) {
            return Err(format!("`factor` must be greater than 0, found {factor}"));
        }
        if let (Shape::Exponential, from, Some(to)) = (self.shape, self.from, self.to)
            && (from <= 0.0 || to <= 0.0)
        {
            return Err(format!(
                "`from` and `to` must be above 0, found {from} and {to}: an exponential stage never \
                 reaches 0"
            ));
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
        match (self.length, self.every) {
            (Some(Length::Share(share)), _) if share > 1.0 => {
                Err(not_a_share("length", share, "run"))
            }
            (_, Some(Length::Share(every))) if every >= 1.0 => {
                Err(not_a_share("every", every, "stage"))
            }
            _ if self.every.is_none_or(Length::is_share) => self.alone().check_finite(),
            _ => Ok(()),
        }
    }
}

impl Shape {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
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

/// The message of an error in a table, after the key that it is about.
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

/// A number over a run of known length: the learning rate, or the weight of results in the target.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(Vec<Part>);

/// A stage in the run; places and lengths are shares of the run, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    shape: Shape,
    from: f64,
    to: f64,
    factor: f64,
    /// The distance of two steps, as a share of the stage.
    every: f64,
    start: f64,
    end: f64,
    share: f64,
}

/// Tolerance for quotients that are whole but for rounding: 0.3 / 0.1 comes out below 3.
pub(super) const TOLERANCE: f64 = 1e-9;

impl Schedule {
    pub fn constant(value: f64) -> Self {
        Self(vec![Stage::constant(value).alone()])
    }

    /// The value at progress `done` of the run, 0 to 1.
    pub fn at(&self, done: f64) -> f64 {
        let last = self.0.len() - 1;
        let now = self.0[..last].iter().find(|part| done < part.end).unwrap_or(&self.0[last]);
        let within = if now.share > 0.0 { (done - now.start) / now.share } else { 1.0 };
        now.at(within.clamp(0.0, 1.0))
    }

    /// The smallest and the largest value.
    pub fn range(&self) -> (f64, f64) {
        range(self.0.iter().flat_map(Part::ends))
    }
}

impl Part {
    /// The value at progress `within` of the stage, 0 to 1.
    fn at(&self, within: f64) -> f64 {
        let Part { from, to, factor, every, .. } = *self;
        match self.shape {
            Shape::Constant => from,
            Shape::Linear => from + (to - from) * within,
            Shape::Cosine => to + (from - to) * 0.5 * (1.0 + (std::f64::consts::PI * within).cos()),
            Shape::Exponential if within >= 1.0 => to,
            Shape::Exponential => from * (to / from).powf(within),
            Shape::Step => {
                let steps = (within / every + TOLERANCE).floor();
                // A step at the very end would be one that no position is trained with.
                let last = (1.0 / every - TOLERANCE).ceil() - 1.0;
                from * factor.powf(steps.min(last).max(0.0))
            }
        }
    }

    /// Every shape lies between its ends.
    fn ends(&self) -> [f64; 2] {
        [self.at(0.0), self.at(1.0)]
    }

    fn check_finite(&self) -> Result<(), String> {
        match self.ends().iter().all(|end| end.is_finite()) {
            true => Ok(()),
            false => {
                Err(format!("the numbers of the {} stage grow without bounds", self.shape.name()))
            }
        }
    }
}
