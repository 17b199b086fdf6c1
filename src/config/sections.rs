//! The sections of a config as written in files. `docs/config.md` is their reference.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::architecture::{
    Activation, Buckets, Integer, LayerForm, Perspectives, are_default_sets, default_sets,
};
use crate::loader::{Filter, PositionWeights};
use crate::loss::LossShape;
use crate::model::Precision;
use crate::point_of_view::PointOfView;
use crate::scales::{HeadFormat, Scales};
use crate::train::optimizer::{LayerSettings, OptimizerName};
use crate::train::schedule::{Length, Stages};

/// A config as written in a file; exactly one of `net`, `terms` and `traces` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    pub version: u32,
    /// The random seed of the initial weights and the order of positions.
    #[serde(default = "default_seed")]
    pub seed: u64,
    #[serde(default)]
    pub data: Data,
    pub net: Option<Net>,
    pub terms: Option<Terms>,
    pub traces: Option<Traces>,
    #[serde(default)]
    pub target: Target,
    #[serde(default)]
    pub optimizer: Optimizer,
    #[serde(default)]
    pub schedule: Schedule,
    /// The successive trainings; empty: a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stage: Vec<Stage>,
}

/// One of several trainings of a net: keys that replace keys in the same sections of the config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub data: Table,
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub target: Table,
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub schedule: Table,
    /// The share of the stage after which weights are rounded; none: the value of `[net]`.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub net: Table,
}

/// The positions of a run, and their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Data {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<PathBuf>,
    /// The format of all files; none: each is detected.
    pub format: Option<String>,
    /// The share of the games that training never uses.
    pub held_out: f64,
    /// The share of the held-out games that is reserved for the test.
    pub test: Option<f64>,
    pub held_out_seed: u64,
    /// The share of the remaining games that training uses.
    pub share: f64,
    /// The maximum number of bad records of each file that are skipped.
    pub bad_records: u64,
    pub score_view: Option<PointOfView>,
    pub result_view: Option<PointOfView>,
    /// Whether the points of view are measured against material before training.
    pub check_view: bool,
    /// The maximum number of positions of each file.
    pub limit: Option<u64>,
    /// The number of positions that are shuffled together.
    pub window: Option<usize>,
    /// The number of positions to train on, in streamed data.
    pub positions: Option<u64>,
    pub shuffle: bool,
    /// The number of positions that stay together in all passes.
    pub chunk: Option<usize>,
    pub filter: Filter,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<Source>,
}

/// One of several sources of positions; missing keys are taken from `[data]` and `[target]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub files: Vec<PathBuf>,
    pub format: Option<String>,
    pub score_view: Option<PointOfView>,
    pub result_view: Option<PointOfView>,
    pub limit: Option<u64>,
    pub wdl: Option<f64>,
    pub score_scale: Option<f64>,
    /// The filter that replaces all of `data.filter`.
    pub filter: Option<Filter>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Net {
    /// The engine whose file the net fits; its keys are the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    pub inputs: Perspectives,
    /// The names of the feature sets.
    #[serde(default = "default_sets", skip_serializing_if = "are_default_sets")]
    pub sets: Vec<String>,
    /// The integers of the rows of sets in the net's file, if they are not the default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub integers: BTreeMap<String, Integer>,
    /// Whether a perspective is mirrored left to right if its own king is on files e to h.
    pub mirror: Option<bool>,
    /// The king bucket by square of the own king; empty for one bucket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub king_buckets: Vec<u8>,
    /// Whether training adds rows that are shared by all king buckets.
    #[serde(default)]
    pub factorised: bool,
    /// The number of neurons of the hidden layer.
    pub hidden: usize,
    pub activation: Option<Activation>,
    /// Whether the two halves of the hidden layer are multiplied elementwise.
    #[serde(default)]
    pub pairwise: bool,
    /// The layers after the hidden layer, the output last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<LayerForm>,
    /// Whether the first layer of the head has one more neuron, added to the output.
    #[serde(default)]
    pub skip: bool,
    /// Whether each row has a piece-square value per output bucket, added to the output.
    #[serde(default)]
    pub psqt: bool,
    /// The output buckets: their number, or the name of the function that chooses a bucket.
    #[serde(default)]
    pub output_buckets: Buckets,
    /// The initial weights; none: random.
    pub start: Option<String>,
    /// Whether the optimiser continues with the state of the run of the initial weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_optimizer: bool,
    /// The factor of the random initial weights of the accumulators.
    #[serde(default)]
    pub start_size: StartSize,
    /// The base evaluation to which the net is added.
    pub base: Option<String>,
    /// Whether the terms of `base` are trained with the net.
    #[serde(default)]
    pub tune_base: bool,
    /// The number format of fused operations on the CPU.
    pub precision: Option<Precision>,
    /// The factor of accumulators; none: 255, or a smaller safe factor.
    pub qa: Option<i32>,
    /// The share of the run after which weights are rounded in the forward pass.
    pub qat: Option<f64>,
    #[serde(default = "default_qb")]
    pub qb: i32,
    /// The number format after the accumulators.
    #[serde(default)]
    pub head_format: HeadFormat,
    pub head_shift: Option<u32>,
    #[serde(default)]
    pub head_round: bool,
}

/// A factor of initial weights, or one for each of several feature sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a table of numbers by feature set")]
pub enum StartSize {
    Number(f64),
    Sets(BTreeMap<String, f64>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The terms of the evaluation, by name; none: all.
    #[serde(rename = "use")]
    pub used: Option<Vec<String>>,
    /// The terms that are trained; none: all.
    pub tune: Option<Vec<String>>,
    /// The initial weights: a JSON file, `material` or `zero`; none: the built-in weights.
    pub start: Option<String>,
    /// The minimum number of positions with a term that is trained.
    #[serde(default = "default_rare_count")]
    pub rare: u64,
}

/// The terms of another engine, counted in the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// The file with the names, kinds and initial weights of the terms.
    pub list: PathBuf,
    #[serde(rename = "use")]
    pub used: Option<Vec<String>>,
    pub tune: Option<Vec<String>>,
    #[serde(default = "default_rare_count")]
    pub rare: u64,
}

/// The targets of positions, and the loss.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// The number of centipawns per unit of the model's output.
    pub scale: Option<f64>,
    /// The number of centipawns per logit of the data's scores.
    pub score_scale: Option<f64>,
    /// The weight of the game's result against the score.
    pub wdl: Stages,
    /// The score in centipawns at which a win has probability one half.
    pub score_offset: Option<f64>,
    /// The score in centipawns to which larger scores are clamped.
    pub clamp_score: Option<f64>,
    pub loss: LossShape,
    /// The exponent of the loss `power`.
    pub power: Option<f64>,
    /// The additional factor of the loss where the model expects more than the target.
    pub asymmetry: Option<f64>,
    /// The weight of the mean of the activations that enter the first layer of a head.
    pub sparsity: Option<f64>,
    #[serde(skip_serializing_if = "PositionWeights::is_level")]
    pub weights: PositionWeights,
    pub learn: Objective,
    /// The force of least squares in centipawns, for moves; none: softmax.
    pub force: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The result of the game, and the score of the position.
    #[default]
    Values,
    /// The same values at the end of the quiescence search, as in Texel's method.
    Quiescence,
    /// The move that the winner played, as in Deep Thought's method.
    Moves,
}

/// The optimiser; see [`OptimizerSettings`](crate::train::optimizer::OptimizerSettings).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Optimizer {
    pub name: Option<OptimizerName>,
    pub beta1: Option<f64>,
    pub beta2: Option<f64>,
    pub epsilon: Option<f64>,
    pub weight_decay: Option<f64>,
    pub bias_correction: Option<bool>,
    pub clip: Option<f64>,
    pub average_decay: Option<f64>,
    pub prior: Option<f64>,
    pub step: Option<u32>,
    #[serde(skip_serializing_if = "LayerSettings::is_empty")]
    pub layers: LayerSettings,
}

/// The length of a run, given once as `epochs`, `positions` or `superbatches`, and its steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    pub epochs: Option<f64>,
    pub positions: Option<u64>,
    pub superbatches: Option<f64>,
    /// The number of positions per step.
    pub batch: Option<BatchSize>,
    pub batches_per_superbatch: u64,
    pub learning_rate: Option<Stages>,
    pub validations: u64,
    pub checkpoints: u64,
    /// The distance between checkpoints that are never deleted.
    pub keep_every: Option<Length>,
    /// The number of validations without a lower loss after which the run ends.
    pub patience: Option<u64>,
    /// The lengths of the run before its extensions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<EarlierLength>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "expected a number of positions, or \"all\"")]
pub enum BatchSize {
    /// All positions: a step is an epoch.
    #[serde(rename = "all")]
    All,
    #[serde(untagged)]
    Positions(usize),
}

impl BatchSize {
    /// The number of positions; none: all data.
    pub fn fixed_positions(self) -> Option<usize> {
        match self {
            Self::Positions(positions) => Some(positions),
            Self::All => None,
        }
    }
}

/// An earlier length of a run, as in `[schedule]`, and the step up to which it was valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierLength {
    pub epochs: Option<f64>,
    pub positions: Option<u64>,
    pub superbatches: Option<f64>,
    pub until_step: u64,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            validation: Vec::new(),
            format: None,
            held_out: 0.1,
            test: None,
            held_out_seed: 0,
            share: 1.0,
            bad_records: 0,
            score_view: None,
            result_view: None,
            check_view: true,
            limit: None,
            window: None,
            positions: None,
            shuffle: true,
            chunk: None,
            filter: Filter::default(),
            source: Vec::new(),
        }
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            epochs: None,
            positions: None,
            superbatches: None,
            batch: None,
            // About 100 million positions with the default batch.
            batches_per_superbatch: 6_104,
            learning_rate: None,
            validations: 20,
            checkpoints: 20,
            keep_every: None,
            patience: None,
            extended: Vec::new(),
        }
    }
}

fn default_seed() -> u64 {
    1
}

impl Default for StartSize {
    fn default() -> Self {
        Self::Number(Self::USUAL)
    }
}

impl StartSize {
    /// The factor of sets for which the config has none.
    const USUAL: f64 = 0.3;

    pub fn size_of_set(&self, set: &str) -> f64 {
        match self {
            Self::Number(size) => *size,
            Self::Sets(sets) => sets.get(set).copied().unwrap_or(Self::USUAL),
        }
    }
}

fn default_rare_count() -> u64 {
    20
}

fn default_qb() -> i32 {
    Scales::default().qb
}
