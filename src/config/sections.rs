//! The sections of a config as files have them. `docs/config.md` is their reference.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::architecture::{Activation, Buckets, LayerForm, Views, is_pieces, pieces};
use crate::loader::{Filter, Weighing};
use crate::loss::LossShape;
use crate::model::Precision;
use crate::point_of_view::PointOfView;
use crate::scales::{HeadFormat, Scales};
use crate::train::optimizer::{Layers, Name};
use crate::train::schedule::{Length, Stages};

/// A config as a file has it; exactly one of `net`, `terms` and `traces` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    pub version: u32,
    /// Random seed of the starting weights and the order of positions.
    #[serde(default = "seed")]
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
}

/// The positions of a run, and their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Data {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// Files that only validate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<PathBuf>,
    /// The format of all files; none where the content of each tells.
    pub format: Option<String>,
    /// The share of the games that training never learns from.
    pub held_out: f64,
    /// The share of the held-out games that is kept for the test.
    pub test: Option<f64>,
    pub held_out_seed: u64,
    /// The share of the other games that training takes.
    pub share: f64,
    /// Bad records of each file that are skipped, at most.
    pub bad_records: u64,
    /// The point of view of scores and results, for formats that leave it open.
    pub point_of_view: Option<PointOfView>,
    /// Whether the point of view is measured against material before training.
    pub check_view: bool,
    /// Positions of each file, at most.
    pub limit: Option<u64>,
    /// Positions that are shuffled together.
    pub window: Option<usize>,
    /// Positions to train on, where they stream by.
    pub positions: Option<u64>,
    pub shuffle: bool,
    /// Positions that stay together from pass to pass.
    pub chunk: Option<usize>,
    pub filter: Filter,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<Source>,
}

/// One of several sources of positions; missing keys are as `[data]` and `[target]` have them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub files: Vec<PathBuf>,
    pub format: Option<String>,
    pub point_of_view: Option<PointOfView>,
    pub limit: Option<u64>,
    pub wdl: Option<f64>,
    pub score_scale: Option<f64>,
    /// In the place of `data.filter` as a whole.
    pub filter: Option<Filter>,
}

/// A net.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Net {
    pub inputs: Views,
    /// The feature sets, by name.
    #[serde(default = "pieces", skip_serializing_if = "is_pieces")]
    pub sets: Vec<String>,
    /// Whether a view is turned left to right where its own king stands on files e to h.
    pub mirror: Option<bool>,
    /// The bucket by the square of a view's own king; empty for one bucket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub king_buckets: Vec<u8>,
    /// Whether training has rows that count in every king bucket.
    #[serde(default)]
    pub factorised: bool,
    /// Neurons of the hidden layer.
    pub hidden: usize,
    pub activation: Option<Activation>,
    /// Whether the two halves of the hidden layer are multiplied, neuron by neuron.
    #[serde(default)]
    pub pairwise: bool,
    /// The layers behind the hidden one, the output last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<LayerForm>,
    /// Whether the first layer of the head has one more neuron, which is added to the output.
    #[serde(default)]
    pub skip: bool,
    /// Whether each row has a piece-square value by output bucket, which is added to the output.
    #[serde(default)]
    pub psqt: bool,
    /// Sets of all layers behind the hidden one: their number, or the name of what chooses them.
    #[serde(default)]
    pub output_buckets: Buckets,
    /// The weights to start from; none for random ones.
    pub start: Option<String>,
    /// Factor of the random starting weights of the accumulators.
    #[serde(default)]
    pub start_size: StartSize,
    /// The evaluation that the net is added to.
    pub base: Option<String>,
    /// Whether the terms of `base` learn together with the net.
    #[serde(default)]
    pub tune_base: bool,
    /// The numbers of fused operations on the CPU.
    pub precision: Option<Precision>,
    /// The factor of accumulators; none for 255, or what is safe below.
    pub qa: Option<i32>,
    #[serde(default = "qb")]
    pub qb: i32,
    /// The numbers behind the accumulators.
    #[serde(default)]
    pub head_format: HeadFormat,
}

/// A factor of starting weights, or one for each of some feature sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or numbers by the names of feature sets")]
pub enum StartSize {
    Number(f64),
    Sets(BTreeMap<String, f64>),
}

/// The handcrafted terms that are built in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The terms of the evaluation, by name; none for all.
    #[serde(rename = "use")]
    pub used: Option<Vec<String>>,
    /// Those of them that training moves; none for all.
    pub tune: Option<Vec<String>>,
    /// A JSON file, `material` or `zero`; none for the weights that are built in.
    pub start: Option<String>,
    /// Positions that a term must occur in to be trained.
    #[serde(default = "rare")]
    pub rare: u64,
}

/// The terms of another engine, counted in the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// The file with the names, kinds and start weights of the terms.
    pub list: PathBuf,
    /// As those of [`Terms`], like `tune` and `rare`.
    #[serde(rename = "use")]
    pub used: Option<Vec<String>>,
    pub tune: Option<Vec<String>>,
    #[serde(default = "rare")]
    pub rare: u64,
}

/// The targets of positions, and the loss.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// Centipawns that make one unit of the model's output.
    pub scale: Option<f64>,
    /// The same for the scores of the data.
    pub score_scale: Option<f64>,
    /// Weight of the game's result against the score.
    pub wdl: Stages,
    /// Centipawns at which a win is as likely as not.
    pub score_offset: Option<f64>,
    pub loss: LossShape,
    /// The exponent of the loss `power`.
    pub power: Option<f64>,
    /// The additional share of the loss where the model expects more than the target.
    pub asymmetry: Option<f64>,
    #[serde(skip_serializing_if = "Weighing::is_level")]
    pub weights: Weighing,
    pub learn: Learn,
    /// With moves: least squares with this force in centipawns; none for softmax.
    pub force: Option<f64>,
}

/// The lesson of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Learn {
    /// The result of its game, and its score.
    #[default]
    Values,
    /// The same, at the end of its quiescence search. Texel's method.
    Quiescence,
    /// The move that the winner played. Deep Thought's method.
    Moves,
}

/// A method that finds weights; see [`Settings`](crate::train::optimizer::Settings).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Optimizer {
    pub name: Option<Name>,
    pub beta1: Option<f64>,
    pub beta2: Option<f64>,
    pub epsilon: Option<f64>,
    pub weight_decay: Option<f64>,
    pub bias_correction: Option<bool>,
    pub clip: Option<f64>,
    pub average_decay: Option<f64>,
    pub prior: Option<f64>,
    pub step: Option<u32>,
    #[serde(skip_serializing_if = "Layers::is_empty")]
    pub layers: Layers,
}

/// The length of a run, given once as `epochs`, `positions` or `superbatches`, and its steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    pub epochs: Option<f64>,
    pub positions: Option<u64>,
    pub superbatches: Option<f64>,
    /// Positions of a step.
    pub batch: Option<BatchSize>,
    pub batches_per_superbatch: u64,
    pub learning_rate: Option<Stages>,
    /// Validations in the run.
    pub validations: u64,
    /// Checkpoints in the run.
    pub checkpoints: u64,
    /// Distance of the checkpoints that are kept for good.
    pub keep_every: Option<Length>,
    /// Validations without a lower loss that end the run.
    pub patience: Option<u64>,
    /// The lengths that the run had before it was made longer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<Earlier>,
}

/// The positions of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of positions, or \"all\"")]
pub enum BatchSize {
    Positions(usize),
    All(WholeData),
}

/// The word for all of the data: a step is an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WholeData {
    #[serde(rename = "all")]
    All,
}

impl BatchSize {
    /// The number of positions; none where a step takes all of the data.
    pub fn positions(self) -> Option<usize> {
        match self {
            Self::Positions(positions) => Some(positions),
            Self::All(_) => None,
        }
    }
}

/// A length that a run had, as `[schedule]` gave it, and the step up to which it counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
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
            point_of_view: None,
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
            // With the usual batch about 100 million positions.
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

fn seed() -> u64 {
    1
}

impl Default for StartSize {
    fn default() -> Self {
        Self::Number(Self::USUAL)
    }
}

impl StartSize {
    /// The factor of sets that a config says nothing of.
    const USUAL: f64 = 0.3;

    /// The factor of a set.
    pub fn of(&self, set: &str) -> f64 {
        match self {
            Self::Number(size) => *size,
            Self::Sets(sets) => sets.get(set).copied().unwrap_or(Self::USUAL),
        }
    }
}

fn rare() -> u64 {
    20
}

fn qb() -> i32 {
    Scales::default().qb
}
