//! The config of a run: a TOML file, checked and completed once to a [`Config`] for all other parts.

mod read;
mod resolve;
#[allow(missing_docs, reason = "docs/config.md describes each key")]
mod sections;
mod stages;

pub use read::ConfigError;
pub(crate) use resolve::{LEAST_SCALE, MAX_SCALE};
pub use sections::{
    BatchSize, ConfigFile, Data, EarlierLength, Net, Objective, Optimizer, Schedule, Source, Stage,
    StartSize, Target, Terms, Traces,
};

use crate::architecture::Architecture;
use crate::format::{Format, GivenViews};
use crate::loader::{ReadOptions, Split, TestShare, most_pairs};
use crate::loss::Loss;
use crate::model::Precision;
use crate::scales::Scales;
use crate::train::optimizer::OptimizerSettings;
use crate::train::schedule::{Span, Stages};
use crate::train::target::{SourceTarget, WinRateModel};

/// The version of the config language that this program reads.
pub const VERSION: u32 = 3;
/// The first lines of a complete config.
pub const RUN_HEADER: &str =
    "# A run of nnuance, complete; resume it with: nnuance train --resume FOLDER\n";

/// The longest run, in positions: floats count exactly up to here.
pub const MAX_POSITIONS: u64 = 1 << 53;
/// The default maximum of passes of a method that ends by itself.
const MAX_SWEEPS: f64 = 1000.0;
/// The same maximum for a method that learns moves, where each pass searches all positions.
const MAX_ROUNDS: f64 = 15.0;
/// The minimum number of neurons for which a search for pairs, and 16-bit rounding, pay off.
const WIDE: usize = 128;
/// The minimum number of passes over the data for which a search for pairs pays off.
const PASSES: u64 = 2;

/// A complete config: the sections of its file, and the values that follow from several keys. Values
/// that depend on the number of positions have functions.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Config {
    /// The sections of the file, with all defaults; of the last stage if there are several.
    pub file: ConfigFile,
    /// The file with its stages; none if it has no stages.
    staged: Option<Box<ConfigFile>>,
    /// None for handcrafted terms.
    architecture: Option<Architecture>,
    pub scales: Scales,
    /// The number format of fused operations on the CPU.
    pub precision: Precision,
    pub optimizer: OptimizerSettings,
    /// The learning rate; unused by methods without one.
    pub learning_rate: Stages,
    /// The number of positions per step; none if a step takes all data.
    pub batch_size: Option<usize>,
    /// The share of the held-out games that is reserved for the test.
    pub test_share: TestShare,
    /// Centipawns per logit of the model.
    pub scale: f64,
    /// The win-rate model of the data's scores.
    pub win_rate: WinRateModel,
    pub loss: Loss,
}

impl Config {
    /// The text of the complete config after [`RUN_HEADER`]; it reproduces the run.
    pub fn to_toml(&self) -> String {
        RUN_HEADER.to_string()
            + &toml::to_string(self.written_file()).expect("a config has a TOML form")
    }

    /// The file to write, with its stages.
    fn written_file(&self) -> &ConfigFile {
        self.staged.as_deref().unwrap_or(&self.file)
    }

    /// The config with some values changed, checked again.
    pub fn with_changes(&self, change: impl FnOnce(&mut ConfigFile)) -> Result<Self, ConfigError> {
        let mut file = self.written_file().clone();
        change(&mut file);
        Self::resolve_file(file)
    }

    /// The architecture of the net, if there is one.
    pub fn architecture(&self) -> Option<&Architecture> {
        self.architecture.as_ref()
    }

    /// Whether a net is trained, and not terms alone.
    pub fn is_net(&self) -> bool {
        self.file.net.is_some()
    }

    /// Whether terms are trained together with a net.
    pub fn tunes_base(&self) -> bool {
        self.file.net.as_ref().is_some_and(|net| net.tune_base)
    }

    /// The weight of results at the end of the run, with which its losses are measured.
    pub fn final_wdl(&self) -> f64 {
        self.file.target.wdl.final_value().unwrap_or_default()
    }

    /// The targets of positions: first without a source, then of each source.
    pub fn source_targets(&self) -> Vec<SourceTarget> {
        let win_rate = self.win_rate;
        let targets = self.file.data.source.iter().map(|source| {
            let scale = source.score_scale.unwrap_or(win_rate.scale);
            SourceTarget::new(WinRateModel { scale, ..win_rate }, source.wdl)
        });
        [SourceTarget::new(win_rate, None)].into_iter().chain(targets).collect()
    }

    /// The options for reading the files of a source; files without one have the default source.
    pub fn read_options(&self, source: &Source) -> ReadOptions {
        let data = &self.file.data;
        let format = source.format.as_ref().or(data.format.as_ref());
        let wdl = source.wdl.unwrap_or(self.file.target.wdl.value_range().0);
        ReadOptions {
            format: format.map(|name| Format::named(name).expect("the config was checked")),
            views: GivenViews {
                scores: source.score_view.or(data.score_view),
                results: source.result_view.or(data.result_view),
            },
            filter: source.filter.as_ref().unwrap_or(&data.filter).clone(),
            scores: !self.learns_moves() && wdl < 1.0,
            limit: source.limit.or(data.limit),
        }
    }

    /// The split into training and held-out games.
    pub fn game_split(&self) -> Split {
        Split { share: self.file.data.held_out, seed: self.file.data.held_out_seed }
    }

    /// Whether the targets of any source need scores.
    pub fn needs_scores(&self) -> bool {
        let default = self.file.target.wdl.value_range().0;
        let sources = &self.file.data.source;
        let lowest = sources.iter().map(|source| source.wdl.unwrap_or(default)).reduce(f64::min);
        !self.learns_moves() && lowest.unwrap_or(default) < 1.0
    }

    /// Whether the objective is to predict moves.
    pub fn learns_moves(&self) -> bool {
        self.file.target.learn == Objective::Moves
    }

    /// The number of positions that are shuffled together, for data of `positions`.
    pub fn window_positions(&self, positions: u64) -> usize {
        let streamed = if self.learns_moves() { 1 << 18 } else { 1 << 22 };
        let fits = positions <= self.most_kept();
        self.file.data.window.unwrap_or(if fits { positions as usize } else { streamed })
    }

    /// The maximum number of positions in memory if the config sets no window.
    pub fn most_kept(&self) -> u64 {
        // A position's moves need as much memory as thirty positions.
        if self.learns_moves() { 1 << 20 } else { 1 << 24 }
    }

    /// The number of input pairs that share a row, for data of `positions`.
    pub fn pair_count(&self, positions: u64) -> usize {
        // An extended run uses the pairs of its first length.
        let initial = self.earlier_spans(positions).into_iter().next().map(|(span, _)| span);
        let Span { steps, batch, .. } = initial.unwrap_or(self.run_span(positions));
        let repeats = steps.saturating_mul(batch) >= PASSES * positions;
        let is_large = |net: &&Architecture| net.hidden >= WIDE || !net.inputs.is_pieces();
        self.architecture().filter(|net| repeats && is_large(net)).map_or(0, most_pairs)
    }

    /// The length of the run by unit, for data of `positions`.
    pub fn run_span(&self, positions: u64) -> Span {
        self.span_of(&self.file.schedule.total_length(), positions)
    }

    /// Earlier lengths of the run, each with the step up to which it was valid.
    pub fn earlier_spans(&self, positions: u64) -> Vec<(Span, u64)> {
        let lengths = self.file.schedule.extended.iter();
        lengths.map(|length| (self.span_of(length, positions), length.until_step)).collect()
    }

    /// A length by unit, capped at [`MAX_POSITIONS`], which no run reaches.
    fn span_of(&self, length: &EarlierLength, positions: u64) -> Span {
        let batch = self.batch_size.map_or(positions.max(1), |batch| batch as u64);
        let superbatch = self.file.schedule.batches_per_superbatch;
        let superbatches = length.superbatches.map(|it| it * superbatch as f64 * batch as f64);
        let max_epochs = if self.learns_moves() { MAX_ROUNDS } else { MAX_SWEEPS };
        let epochs = length.epochs.unwrap_or(max_epochs) * positions as f64;
        let total = length.positions.map(|it| it as f64).or(superbatches).unwrap_or(epochs);
        let steps = (total.min(MAX_POSITIONS as f64) / batch as f64).ceil().max(1.0) as u64;
        Span { steps, batch, superbatch, epoch: positions }
    }
}

impl Schedule {
    /// The current length of the run, to be recorded before an extension.
    pub fn total_length(&self) -> EarlierLength {
        let &Self { epochs, positions, superbatches, .. } = self;
        EarlierLength { epochs, positions, superbatches, until_step: 0 }
    }
}

impl Data {
    /// Whether there are validation positions, and so a validation loss.
    pub fn has_validation(&self) -> bool {
        !self.validation.is_empty() || self.held_out > 0.0 && self.test != Some(1.0)
    }

    /// All files of data, those of sources included.
    pub fn all_files(&self) -> Vec<std::path::PathBuf> {
        let source_files = self.source.iter().flat_map(|source| &source.files);
        self.files.iter().chain(source_files).cloned().collect()
    }
}
