//! The config of a run: a TOML file, checked and completed once to a [`Config`] for all other parts.

mod read;
mod resolve;
#[allow(missing_docs, reason = "docs/config.md describes each key")]
mod sections;
mod stages;

pub use read::ConfigError;
pub(crate) use resolve::{MAX_SCALE, MIN_SCALE};
pub use sections::{
    BatchSize, ConfigFile, Data, EarlierLength, Net, Objective, Optimizer, Schedule, Source, Stage,
    StartSize, Target, Terms, Traces,
};

use std::path::PathBuf;

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

/// The maximum length of a run in positions, up to which floats count exactly.
pub const MAX_POSITIONS: u64 = 1 << 53;
/// The default maximum number of epochs of a method that ends by itself.
const DEFAULT_MAX_EPOCHS: f64 = 1000.0;
/// The same maximum where moves are learnt, as each epoch then searches all positions.
const DEFAULT_MAX_MOVE_EPOCHS: f64 = 15.0;
/// The number of neurons from which a search for pairs, and 16-bit rounding, pay off.
const MIN_WIDE_HIDDEN: usize = 128;
/// The number of epochs from which a search for pairs pays off.
const MIN_PAIR_EPOCHS: u64 = 2;

/// A complete config: the sections of its file, and the values that follow from several keys. Values
/// that depend on the number of positions have functions.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Config {
    /// The sections of the file, with all defaults; those of the last stage if there are several.
    pub file: ConfigFile,
    /// The file with its stages. None if it has no stages.
    staged: Option<Box<ConfigFile>>,
    /// None for handcrafted terms.
    architecture: Option<Architecture>,
    pub scales: Scales,
    /// The number format of fused operations on the CPU.
    pub precision: Precision,
    pub optimizer: OptimizerSettings,
    /// The learning rate; unused by methods without one.
    pub learning_rate: Stages,
    /// The number of positions per step. None if a step takes all data.
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
    /// Returns the text of the complete config, [`RUN_HEADER`] first. It reproduces the run.
    pub fn to_toml(&self) -> String {
        let sections = toml::to_string(self.written_file()).expect("a config has a TOML form");
        format!("{RUN_HEADER}{sections}")
    }

    /// Changes keys, and checks and completes the config again.
    ///
    /// # Errors
    ///
    /// Fails if the changed config is wrong.
    pub fn with_changes(&self, change: impl FnOnce(&mut ConfigFile)) -> Result<Self, ConfigError> {
        let mut file = self.written_file().clone();
        change(&mut file);
        Self::resolve_file(file)
    }

    /// Returns the file as it is written, with its stages.
    fn written_file(&self) -> &ConfigFile {
        self.staged.as_deref().unwrap_or(&self.file)
    }

    /// Returns the architecture of the net. None for handcrafted terms.
    pub fn architecture(&self) -> Option<&Architecture> {
        self.architecture.as_ref()
    }

    /// Whether a net is trained, with or without terms.
    pub fn is_net(&self) -> bool {
        self.file.net.is_some()
    }

    /// Whether terms are trained together with a net.
    pub fn tunes_base(&self) -> bool {
        self.file.net.as_ref().is_some_and(|net| net.tune_base)
    }

    /// Whether the objective is to predict moves.
    pub fn learns_moves(&self) -> bool {
        self.file.target.learn == Objective::Moves
    }

    /// Whether the targets of any source need scores.
    pub fn needs_scores(&self) -> bool {
        let default = self.lowest_wdl();
        let sources = &self.file.data.source;
        let lowest = sources.iter().map(|source| source.wdl.unwrap_or(default)).reduce(f64::min);
        !self.learns_moves() && lowest.unwrap_or(default) < 1.0
    }

    /// Returns the lowest weight of results during the run, for sources without their own.
    fn lowest_wdl(&self) -> f64 {
        let (lowest, _) = self.file.target.wdl.value_range();
        lowest
    }

    /// Returns the weight of results at the end of the run, with which losses are measured.
    pub fn final_wdl(&self) -> f64 {
        self.file.target.wdl.final_value().unwrap_or_default()
    }

    /// Returns the targets of positions: those of positions without a source, then those of each
    /// source.
    pub fn source_targets(&self) -> Vec<SourceTarget> {
        let mut targets = vec![SourceTarget::new(self.win_rate, None)];
        for source in &self.file.data.source {
            let scale = source.score_scale.unwrap_or(self.win_rate.scale);
            let win_rate = WinRateModel { scale, ..self.win_rate };
            targets.push(SourceTarget::new(win_rate, source.wdl));
        }
        targets
    }

    /// Returns the options for reading the files of a source. Files without a source have those of
    /// the default source.
    ///
    /// # Panics
    ///
    /// Panics if the source names an unknown format, which no checked config does.
    pub fn read_options(&self, source: &Source) -> ReadOptions {
        let data = &self.file.data;
        let format = source.format.as_ref().or(data.format.as_ref());
        let wdl = source.wdl.unwrap_or(self.lowest_wdl());
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

    /// Returns the rule that splits games into training and held-out games.
    pub fn game_split(&self) -> Split {
        Split { share: self.file.data.held_out, seed: self.file.data.held_out_seed }
    }

    /// Returns the number of positions that are shuffled together, for data of `positions`.
    pub fn window_positions(&self, positions: u64) -> usize {
        match self.file.data.window {
            Some(window) => window,
            None if positions <= self.max_positions_in_memory() => positions as usize,
            None if self.learns_moves() => 1 << 18,
            None => 1 << 22,
        }
    }

    /// Returns the maximum number of positions in memory if the config sets no window.
    pub fn max_positions_in_memory(&self) -> u64 {
        // A position's moves need as much memory as thirty positions.
        if self.learns_moves() { 1 << 20 } else { 1 << 24 }
    }

    /// Returns the number of input pairs that share a row, for data of `positions`.
    pub fn pair_count(&self, positions: u64) -> usize {
        let Some(net) = self.architecture() else { return 0 };
        // An extended run uses the pairs of its first length.
        let earlier = self.earlier_spans(positions);
        let span = earlier.first().map_or_else(|| self.run_span(positions), |(span, _)| *span);
        let is_long = span.steps.saturating_mul(span.batch) >= MIN_PAIR_EPOCHS * positions;
        let is_large = net.hidden >= MIN_WIDE_HIDDEN || !net.inputs.is_pieces();
        if is_long && is_large { most_pairs(net) } else { 0 }
    }

    /// Returns the length of the run in each unit, for data of `positions`.
    pub fn run_span(&self, positions: u64) -> Span {
        self.to_span(&self.file.schedule.total_length(), positions)
    }

    /// Returns earlier lengths of the run, each with the step up to which it was valid.
    pub fn earlier_spans(&self, positions: u64) -> Vec<(Span, u64)> {
        let lengths = self.file.schedule.extended.iter();
        lengths.map(|length| (self.to_span(length, positions), length.until_step)).collect()
    }

    /// Converts a length to each unit. It is capped at [`MAX_POSITIONS`], which no run reaches.
    fn to_span(&self, length: &EarlierLength, positions: u64) -> Span {
        let batch = self.batch_size.map_or(positions.max(1), |batch| batch as u64);
        let superbatch = self.file.schedule.batches_per_superbatch;
        let total = if let Some(total) = length.positions {
            total as f64
        } else if let Some(superbatches) = length.superbatches {
            superbatches * superbatch as f64 * batch as f64
        } else {
            let max_epochs =
                if self.learns_moves() { DEFAULT_MAX_MOVE_EPOCHS } else { DEFAULT_MAX_EPOCHS };
            length.epochs.unwrap_or(max_epochs) * positions as f64
        };
        let steps = (total.min(MAX_POSITIONS as f64) / batch as f64).ceil().max(1.0) as u64;
        Span { steps, batch, superbatch, epoch: positions }
    }
}

impl Schedule {
    /// Returns the current length of the run, to be recorded before it is extended.
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

    /// Lists all files of data, those of sources included.
    pub fn all_files(&self) -> Vec<PathBuf> {
        let source_files = self.source.iter().flat_map(|source| &source.files);
        self.files.iter().chain(source_files).cloned().collect()
    }
}
