//! A run's config: TOML, read as [`Config`], checked so that its numbers fit together.

mod batch_size;
mod check;
mod chunks;
mod differ;
pub mod keys;
mod optimizer;
mod read;
mod rounding;
mod schedule;
mod sections;
mod source;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use batch_size::BatchSize;
pub use differ::Difference;
pub use optimizer::Optimizer;
pub use read::{ConfigError, nearest};
pub use schedule::{Earlier, Plan};
pub use sections::{Data, Learn, Model, Target};
pub(crate) use source::ONE_LIST;
pub use source::Source;

use crate::architecture::{Activation, Architecture, Form, Impossible, Views};
use crate::loader::Test;
use crate::loss::Loss;
use crate::model::Precision;
use crate::point_of_view::PointOfView;
use crate::scales::Scales;
use crate::train::optimizer::Settings;
use crate::train::schedule::{Span, Stages};
use crate::train::target::Promise;

/// The version of the config language that this program speaks.
pub const VERSION: u32 = 2;

/// How the text of a complete config begins.
pub const RUN_HEADER: &str =
    "# A run of nnuance, complete; resume it with: nnuance train --resume FOLDER\n";

/// The longest run, in positions: up to here floats count exactly.
pub const MOST_POSITIONS: u64 = 1 << 53;

/// Passes of a method that ends by itself, where the config has no number of them.
const MOST_SWEEPS: f64 = 1000.0;

/// The same where moves are learnt: each pass is a search of all of them, and forces never rest.
const MOST_ROUNDS: f64 = 15.0;

/// Neurons from which on pairs are worth the search for them, and 16 bits are worth their rounding.
const WIDE: usize = 128;

/// What a model sees of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    Net(Views),
    Hce,
    Trace,
}

/// A config says what one run trains, on which data and for how long. It is a TOML file; what a run
/// writes as its `config.toml` is the same config with the defaults filled in, and starts the same
/// run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The version of the config language. 1 still means what it meant: there nets are mirrored only
    /// where `model.mirror` says so, and from 2 on wherever they can be; and nets begin with larger
    /// weights, see `model.start_size`. A program that does not know a version refuses the config
    /// instead of guessing what it means.
    #[schemars(example = VERSION)]
    pub version: u32,
    /// Where chance begins: the starting weights of a net and the order of the positions come from
    /// it, and from nothing else. Any whole number from 0. Which games are held out does not hang
    /// on it: see `data.held_out_seed`.
    #[serde(default = "sections::seed")]
    pub seed: u64,
    #[serde(default)]
    pub data: Data,
    pub model: Model,
    #[serde(default)]
    pub target: Target,
    #[serde(default)]
    pub optimizer: Optimizer,
    #[serde(default)]
    pub schedule: Plan,
}

impl Config {
    /// The config with every default written out that does not hang on the data.
    pub fn resolved(mut self) -> Self {
        let is_net = self.is_net();
        self.optimizer = self.optimizer.resolved(is_net);
        self.data.test = Some(self.test().0);
        self.schedule.batch = Some(self.batch());
        self.model.precision = Some(self.precision());
        if self.is_net() {
            // A base that has not been opened yet has the last word.
            if self.model.base.is_none() {
                self.target.scale = Some(self.scale());
            }
            self.model.activation = Some(self.model.activation());
            if self.model.start.is_none() {
                self.model.start_size = Some(self.start_size());
            }
            self.data.chunk = Some(self.chunk());
            if let (2.., Ok(Inputs::Net(views))) = (self.version, self.inputs()) {
                self.model.mirror = self.model.mirror.or(Some(self.mirrors(views)));
            }
            if self.model.rounded_last.is_some() {
                let Scales { qa, qb, .. } = self.scales();
                (self.model.qa, self.model.qb) = (Some(qa), Some(qb));
            }
        } else {
            self.model.rare = Some(self.rare());
        }
        if self.target.scale.is_some() {
            self.target.score_scale = Some(self.score_scale());
        }
        self
    }

    /// The text of the config with all defaults written out, after [`RUN_HEADER`].
    pub fn to_toml(&self) -> String {
        RUN_HEADER.to_string() + &toml::to_string(self).expect("a config has a TOML form")
    }

    /// What the model is given to see.
    pub fn inputs(&self) -> Result<Inputs, ConfigError> {
        match &self.model.inputs[..] {
            "hce" => Ok(Inputs::Hce),
            "trace" => Ok(Inputs::Trace),
            name => Ok(Inputs::Net(Views::named(name).ok_or_else(|| {
                let mut names: Vec<&str> = Views::ALL.map(Views::name).to_vec();
                names.extend(["hce", "trace"]);
                let reason = format!("no inputs are named {name:?}");
                ConfigError::Value { key: "model.inputs", reason: nearest(reason, name, &names) }
            })?)),
        }
    }

    /// Whether the model is a net, not handcrafted terms.
    pub fn is_net(&self) -> bool {
        !matches!(&self.model.inputs[..], "hce" | "trace")
    }

    /// Whether a net with these views is mirrored where its config does not say.
    fn mirrors(&self, views: Views) -> bool {
        self.version >= 2 && views.point_of_view() == PointOfView::SideToMove
    }

    /// The net's architecture; none for handcrafted terms.
    pub fn architecture(&self) -> Result<Option<Architecture>, ConfigError> {
        let Inputs::Net(views) = self.inputs()? else { return Ok(None) };
        let reason = "a net needs the size of its hidden layer, for example 64".to_string();
        let model = &self.model;
        let form = Form {
            inputs: views.name().to_string(),
            mirror: model.mirror.unwrap_or(self.mirrors(views)),
            king_buckets: model.king_buckets.clone().unwrap_or_default(),
            factorised: model.factorised.unwrap_or(false),
            hidden: model.hidden.ok_or(ConfigError::Value { key: "model.hidden", reason })?,
            activation: model.activation(),
            pairwise: model.pairwise.unwrap_or(false),
            head: model.head.clone().unwrap_or_default(),
            skip: model.skip.unwrap_or(false),
            output_buckets: model.output_buckets.unwrap_or(1),
        };
        let wrong = |Impossible { key, reason }| ConfigError::Value { key: in_model(key), reason };
        Architecture::try_from(form).map(Some).map_err(wrong)
    }

    /// What the starting weights of a net's accumulators are multiplied by.
    pub fn start_size(&self) -> f64 {
        let usual = if self.version >= 2 { 0.3 } else { 1.0 };
        self.model.start_size.unwrap_or(usual)
    }

    /// The optimiser, with defaults that fit the model.
    pub fn optimizer(&self) -> Settings {
        let mut settings = self.optimizer.settings(self.is_net());
        if self.model.tune_base {
            // Centipawns are some hundred times what the weights of nets are, and have no bounds.
            for name in ["tempo", "terms"] {
                let layer = settings.layers.0.entry(name.into()).or_default();
                layer.clip.get_or_insert(0.0);
                layer.rate.get_or_insert(100.0);
            }
        }
        settings
    }

    /// Positions in which a handcrafted term must be seen to be trained.
    pub fn rare(&self) -> u64 {
        const RARE: u64 = 20;
        self.model.rare.unwrap_or(RARE)
    }

    /// Positions a step. What moves weights by looking at all positions takes all of them.
    pub fn batch(&self) -> BatchSize {
        let usual = match self.optimizer().name.is_direct() {
            true => BatchSize::All,
            // A position comes with all that could be played in it.
            false if self.learns_moves() => BatchSize::Positions(1024),
            false => BatchSize::Positions(16_384),
        };
        self.schedule.batch.unwrap_or(usual)
    }

    /// The learning rate; without a meaning where none is given.
    pub fn learning_rate(&self) -> Stages {
        self.schedule.learning_rate.clone().unwrap_or(Stages::constant(1.0))
    }

    /// The weight of results at the end of the run, which its losses are measured with.
    pub fn final_wdl(&self) -> f64 {
        self.target.wdl.end().unwrap_or_default()
    }

    /// Centipawns that make one logit of the model. A net speaks the centipawns of the scores that
    /// it learnt from, in whole numbers.
    pub fn scale(&self) -> f64 {
        let of_scores = self.target.score_scale.filter(|_| self.is_net()).map(f64::round);
        self.target.scale.or(of_scores).unwrap_or(Scales::default().scale.into())
    }

    /// Centipawns of the data's scores that make one logit.
    pub fn score_scale(&self) -> f64 {
        self.target.score_scale.unwrap_or(self.scale())
    }

    /// What the scores of the data promise.
    pub fn promise(&self) -> Promise {
        let offset = self.target.score_offset.unwrap_or(0.0);
        Promise { scale: self.score_scale(), offset }
    }

    /// What an error costs.
    pub fn loss(&self) -> Loss {
        let Target { loss: shape, power, asymmetry, .. } = self.target;
        let asymmetry = asymmetry.unwrap_or(0.0);
        Loss { shape, power: power.unwrap_or(Loss::SQUARED.power), asymmetry }
    }

    /// The share of the held-out games that is kept for the test: all, where files of their own
    /// validate.
    pub fn test(&self) -> Test {
        let default = if self.data.validation.is_empty() { Test::DEFAULT } else { Test(1.0) };
        self.data.test.map_or(default, Test)
    }

    /// Whether positions validate: else there is no validation loss.
    pub fn validates(&self) -> bool {
        !self.data.validation.is_empty() || self.data.held_out > 0.0 && self.test().0 < 1.0
    }

    /// Whether the targets need scores; where there are several sources, those of any.
    pub fn needs_scores(&self) -> bool {
        let usual = self.target.wdl.range().0;
        let sources = &self.data.source;
        let least = sources.iter().map(|source| source.wdl.unwrap_or(usual)).reduce(f64::min);
        !self.learns_moves() && least.unwrap_or(usual) < 1.0
    }

    pub fn learns_moves(&self) -> bool {
        self.target.learn == Learn::Moves
    }

    /// Positions that are shuffled together, for data of this many.
    pub fn window(&self, positions: u64) -> usize {
        let streamed = if self.learns_moves() { 1 << 18 } else { 1 << 22 };
        let is_kept = positions <= self.most_kept();
        self.data.window.unwrap_or(if is_kept { positions as usize } else { streamed })
    }

    /// Positions that are kept at most where the config names no window.
    pub fn most_kept(&self) -> u64 {
        // A position's moves take the room of some thirty.
        if self.learns_moves() { 1 << 20 } else { 1 << 24 }
    }

    /// The precision of fused operations on the processor.
    pub fn precision(&self) -> Precision {
        let is_wide = self.model.hidden.is_some_and(|hidden| hidden >= WIDE);
        let usual = match self.architecture() {
            Ok(Some(net)) if is_wide && !net.is_deep() => Precision::Mixed,
            _ => Precision::F32,
        };
        self.model.precision.unwrap_or(usual)
    }

    /// The run's length in steps, for this many positions of data. Epochs that come to more than
    /// [`MOST_POSITIONS`] are cut there, which no run reaches; all else [`Config::parse`] refuses.
    pub fn steps(&self, positions: u64) -> u64 {
        let Plan { epochs, positions: wanted, superbatches, .. } = self.schedule;
        self.steps_of(
            &Earlier { epochs, positions: wanted, superbatches, until_step: 0 },
            positions,
        )
    }

    /// The same of a length that the run had before.
    fn steps_of(&self, length: &Earlier, positions: u64) -> u64 {
        let batch = self.batch().of(positions) as f64;
        let wanted = match *length {
            Earlier { positions: Some(wanted), .. } => wanted as f64,
            Earlier { superbatches: Some(count), .. } => {
                count * self.schedule.batches_per_superbatch as f64 * batch
            }
            Earlier { epochs, .. } => {
                let most = if self.learns_moves() { MOST_ROUNDS } else { MOST_SWEEPS };
                epochs.unwrap_or(most) * positions as f64
            }
        };
        (wanted.min(MOST_POSITIONS as f64) / batch).ceil().max(1.0) as u64
    }

    /// What the units of lengths come to in the run, for this many positions of data.
    pub fn span(&self, positions: u64) -> Span {
        let (batch, superbatch) =
            (self.batch().of(positions), self.schedule.batches_per_superbatch);
        Span { steps: self.steps(positions), batch, superbatch, epoch: positions }
    }

    /// The same of the lengths that the run had before, each with the step up to which it counted.
    pub fn earlier_spans(&self, positions: u64) -> Vec<(Span, u64)> {
        let span = self.span(positions);
        let of = |length: &Earlier| {
            (Span { steps: self.steps_of(length, positions), ..span }, length.until_step)
        };
        self.schedule.extended.iter().map(of).collect()
    }
}

impl Model {
    /// What a net does to the numbers of its accumulators.
    fn activation(&self) -> Activation {
        let usual = match self.pairwise {
            Some(true) => Activation::CReLU,
            _ => Activation::SCReLU,
        };
        self.activation.unwrap_or(usual)
    }

    /// What is wrong with the size of the start, if anything is.
    fn wrong_start_size(&self) -> Option<&'static str> {
        match self.start_size? {
            _ if self.start.is_some() => {
                Some("is for nets that begin from chance, and `model.start` has the weights")
            }
            size if size > 0.0 && size <= 10.0 => None,
            _ => Some("is a number above 0, and at most 10"),
        }
    }
}

/// The key of an architecture as a config has it.
fn in_model(key: &str) -> &'static str {
    match key {
        "mirror" => "model.mirror",
        "king_buckets" => "model.king_buckets",
        "factorised" => "model.factorised",
        "hidden" => "model.hidden",
        "activation" => "model.activation",
        "pairwise" => "model.pairwise",
        "head" => "model.head",
        "skip" => "model.skip",
        "output_buckets" => "model.output_buckets",
        "inputs" => "model.inputs",
        other => unreachable!("an architecture has no key {other}"),
    }
}
