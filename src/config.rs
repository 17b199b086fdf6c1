//! A run's config: a TOML file, read and checked once. Everything else reads the [`Config`] that comes
//! of it, which is complete and fits together.

mod read;
mod resolve;
mod sections;

pub use read::ConfigError;
pub(crate) use resolve::{LEAST_SCALE, MOST_SCALE};
pub use sections::{
    BatchSize, ConfigFile, Data, Earlier, Learn, Net, Optimizer, Schedule, Source, StartSize,
    Target, Terms, Traces, WholeData,
};

use crate::architecture::Architecture;
use crate::format::Format;
use crate::loader::{DataSource, Test, most_pairs};
use crate::loss::Loss;
use crate::model::Precision;
use crate::scales::Scales;
use crate::train::optimizer::Settings;
use crate::train::schedule::{Span, Stages};
use crate::train::target::{Promise, Worth};

/// The version of the config language that this program reads.
pub const VERSION: u32 = 3;

/// How the text of a complete config begins.
pub const RUN_HEADER: &str =
    "# A run of nnuance, complete; resume it with: nnuance train --resume FOLDER\n";

/// The longest run, in positions: up to here floats count exactly.
pub const MOST_POSITIONS: u64 = 1 << 53;

/// Passes of a method that ends by itself, where the config has no number of them.
const MOST_SWEEPS: f64 = 1000.0;

/// The same where moves are learnt: each pass searches all of them, and forces never rest.
const MOST_ROUNDS: f64 = 15.0;

/// Neurons from which on pairs are worth the search for them, and 16 bits are worth their rounding.
const WIDE: usize = 128;

/// Passes over the data from which on pairs are worth the search for them.
const PASSES: u64 = 2;

/// A config, checked and complete but for what depends on the number of positions.
#[derive(Clone, Debug)]
pub struct Config {
    text: String,
    pub seed: u64,
    pub data: Data,
    pub model: Model,
    pub target: Target,
    pub schedule: Schedule,
    pub optimizer: Settings,
    /// The learning rate; without a meaning for methods that have none.
    pub learning_rate: Stages,
    /// Positions of a step; none where a step takes all of the data.
    pub batch: Option<usize>,
    /// Positions that stay together from pass to pass; 0: none do.
    pub chunk: usize,
    /// The share of the held-out games that is kept for the test.
    pub test: Test,
    /// Centipawns that make one logit of the model.
    pub scale: f64,
    /// The win-rate model of the data's scores.
    pub promise: Promise,
    pub loss: Loss,
    /// The format of all files; none where the content of each tells.
    pub format: Option<&'static Format>,
    pub sources: Vec<DataSource>,
}

/// The model of a config.
#[derive(Clone, Debug)]
pub enum Model {
    Net(Box<NetModel>),
    Terms(Terms),
    Traces(Traces),
}

/// A net of a config; see [`Net`] for the fields.
#[derive(Clone, Debug)]
pub struct NetModel {
    pub architecture: Architecture,
    pub start: Option<String>,
    /// Factors of the random starting weights of each feature set.
    pub start_sizes: Vec<f64>,
    pub base: Option<String>,
    pub tune_base: bool,
    pub precision: Precision,
    /// The scales of the net that the run leaves.
    pub scales: Scales,
    /// Whether the config gives QA.
    pub has_qa: bool,
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Config {
    /// The text of the complete config, after [`RUN_HEADER`]; it starts the same run again.
    pub fn to_toml(&self) -> String {
        RUN_HEADER.to_string() + &self.text
    }

    /// The complete config as files have it.
    pub fn file(&self) -> ConfigFile {
        toml::from_str(&self.text).expect("a complete config reads back")
    }

    /// The config with some values changed, checked again.
    pub fn with(&self, change: impl FnOnce(&mut ConfigFile)) -> Result<Self, ConfigError> {
        let mut file = self.file();
        change(&mut file);
        Self::resolve(file)
    }

    /// The net; none for handcrafted terms.
    pub fn net(&self) -> Option<&NetModel> {
        match &self.model {
            Model::Net(net) => Some(net),
            Model::Terms(_) | Model::Traces(_) => None,
        }
    }

    pub fn architecture(&self) -> Option<&Architecture> {
        self.net().map(|net| &net.architecture)
    }

    pub fn is_net(&self) -> bool {
        self.net().is_some()
    }

    /// The weights to start from, where the config names some.
    pub fn start(&self) -> Option<&str> {
        match &self.model {
            Model::Net(net) => net.start.as_deref(),
            Model::Terms(terms) => terms.start.as_deref(),
            Model::Traces(_) => None,
        }
    }

    /// Whether terms learn together with a net.
    pub fn tunes_base(&self) -> bool {
        self.net().is_some_and(|net| net.tune_base)
    }

    /// The scales of the run's net.
    pub fn scales(&self) -> Scales {
        let usual = Scales { scale: self.scale as i32, ..Scales::default() };
        self.net().map_or(usual, |net| net.scales)
    }

    /// The precision of fused operations on the processor.
    pub fn precision(&self) -> Precision {
        self.net().map_or(Precision::F32, |net| net.precision)
    }

    /// The weight of results at the end of the run, which its losses are measured with.
    pub fn final_wdl(&self) -> f64 {
        self.target.wdl.end().unwrap_or_default()
    }

    /// The targets of positions: those of no source first, then those of each.
    pub fn worths(&self) -> Vec<Worth> {
        let promise = self.promise;
        let own = |source: &Source| {
            let scale = source.score_scale.unwrap_or(promise.scale);
            Worth::new(Promise { scale, ..promise }, source.wdl)
        };
        [promise.into()].into_iter().chain(self.data.source.iter().map(own)).collect()
    }

    /// Whether positions validate: else there is no validation loss.
    pub fn validates(&self) -> bool {
        !self.data.validation.is_empty() || self.data.held_out > 0.0 && self.test.0 < 1.0
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

    /// Pairs of inputs that share a row, for data of this many positions.
    pub fn pairs(&self, positions: u64) -> usize {
        // A run that is made longer goes on as it began.
        let began = self.earlier_spans(positions).into_iter().next().map(|(span, _)| span);
        let Span { steps, batch, .. } = began.unwrap_or(self.span(positions));
        let comes_again = steps.saturating_mul(batch) >= PASSES * positions;
        let is_worth = |net: &&Architecture| net.hidden >= WIDE || !net.inputs.is_pieces();
        self.architecture().filter(|net| comes_again && is_worth(net)).map_or(0, most_pairs)
    }

    /// The run's length in steps, for this many positions of data.
    pub fn steps(&self, positions: u64) -> u64 {
        self.span(positions).steps
    }

    /// The units of lengths in the run, for this many positions of data.
    pub fn span(&self, positions: u64) -> Span {
        let Schedule { epochs, positions: wanted, superbatches, .. } = self.schedule;
        self.span_of(&Earlier { epochs, positions: wanted, superbatches, until_step: 0 }, positions)
    }

    /// The same of the lengths that the run had before, each with the step up to which it counted.
    pub fn earlier_spans(&self, positions: u64) -> Vec<(Span, u64)> {
        let of = |length: &Earlier| (self.span_of(length, positions), length.until_step);
        self.schedule.extended.iter().map(of).collect()
    }

    /// The same of a length. Epochs that come to more than [`MOST_POSITIONS`] are cut there, which no
    /// run reaches.
    fn span_of(&self, length: &Earlier, positions: u64) -> Span {
        let batch = self.batch.map_or(positions.max(1), |batch| batch as u64);
        let superbatch = self.schedule.batches_per_superbatch;
        let wanted = match *length {
            Earlier { positions: Some(wanted), .. } => wanted as f64,
            Earlier { superbatches: Some(count), .. } => count * superbatch as f64 * batch as f64,
            Earlier { epochs, .. } => {
                let most = if self.learns_moves() { MOST_ROUNDS } else { MOST_SWEEPS };
                epochs.unwrap_or(most) * positions as f64
            }
        };
        let steps = (wanted.min(MOST_POSITIONS as f64) / batch as f64).ceil().max(1.0) as u64;
        Span { steps, batch, superbatch, epoch: positions }
    }
}

impl Data {
    /// The key that names the files.
    pub fn key_of_files(&self) -> &'static str {
        if self.source.is_empty() { "data.files" } else { "data.source.files" }
    }

    /// All files to learn from, in the order of the config.
    pub fn all_files(&self) -> Vec<std::path::PathBuf> {
        let of_sources = self.source.iter().flat_map(|source| &source.files);
        self.files.iter().chain(of_sources).cloned().collect()
    }
}
