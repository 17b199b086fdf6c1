//! The sections of a config as files have them. Their comments are what `nnuance keys` and
//! `docs/config.md` say.

use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::keys::formats;
use crate::architecture::{Activation, LayerActivation, LayerForm, Views};
use crate::loader::{Filter, Weighing};
use crate::loss::LossShape;
use crate::model::Precision;
use crate::point_of_view::PointOfView;
use crate::scales::{HeadFormat, Scales};
use crate::train::optimizer::{Layer, Layers, Name};
use crate::train::schedule::{Length, Stages};

/// A config says what one run trains, on which data and for how long. It is a TOML file; what a run
/// writes as its `config.toml` is the same config with the defaults filled in, and starts the same
/// run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// The version of the config language: 3.
    #[schemars(example = super::VERSION)]
    pub version: u32,
    /// The random seed: the starting weights of a net and the order of the positions come from it, and
    /// from nothing else. Any whole number from 0. Which games are held out does not depend on it: see
    /// `data.held_out_seed`.
    #[serde(default = "seed")]
    pub seed: u64,
    #[serde(default)]
    pub data: Data,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net: Option<Net>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms: Option<Terms>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    #[serde(default)]
    pub target: Target,
    #[serde(default)]
    pub optimizer: Optimizer,
    #[serde(default)]
    pub schedule: Schedule,
}

/// Where the positions come from, which of them are used and in which order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Data {
    /// The files of positions, relative to the folder in which the program runs. They may have
    /// different formats, and may be packed with gzip, zstd or zip. They must be given, except
    /// where `[[data.source]]` names several sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["games.vf"])]
    pub files: Vec<PathBuf>,
    /// Files that only validate: the validation loss is that of their positions, and all games that
    /// are held out of `data.files` are the test. They are read as `data.files` are, with the same
    /// filter. Without any, some of the held-out games validate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["validation.vf"])]
    pub validation: Vec<PathBuf>,
    /// The format of all files. Without it the content of each file tells, and a file whose
    /// content leaves several open is refused with their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"viriformat", extend("enum" = formats()))]
    pub format: Option<String>,
    /// The share of the games that training never learns from, from 0 to below 1. Some of them
    /// validate, the others are the test: see `data.test`. Which games they are hangs on what is in
    /// a game, so that a game in two files is on one side; where a format knows no games, positions
    /// stand for them. With 0 nothing is held out: there is no test, and unless `data.validation`
    /// names files, nothing tells when to stop.
    pub held_out: f64,
    /// The share of the held-out games that is kept for the test, 0 to 1. The others validate: the
    /// loss on their positions is the validation loss, by which checkpoints, the end of training and
    /// scales are chosen. Only `compare`, `report` and `sweep` read the test, so that
    /// nothing was chosen on what they measure. A smaller test is a part of every larger one. With 0
    /// all of them validate, with 1 none. With `data.validation` it is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
    /// Another whole number holds out other games. Evaluations that are to be compared should hold
    /// out the same ones, so leave it alone unless that is the point.
    pub held_out_seed: u64,
    /// The share of the other games that training takes, above 0 and up to 1: how much would less
    /// data have done? A smaller share is a part of every larger one, and the held-out games stay
    /// the same.
    pub share: f64,
    /// How many bad records of each file to skip, with a report of what was skipped. One more ends
    /// the run and names the file, the record and the reason.
    pub bad_records: u64,
    /// The point of view of scores and results, for formats that leave it open. Without it, what is
    /// usual in the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = PointOfView::White)]
    pub point_of_view: Option<PointOfView>,
    /// Whether the point of view is measured against material before training, and the run refused
    /// where the two contradict each other.
    pub check_view: bool,
    /// How many positions to take of each file at most: the first that pass the filter. Without it
    /// all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1_000_000)]
    pub limit: Option<u64>,
    /// How many positions are shuffled together, 1 to 2,147,483,648, at 36 bytes of memory each.
    /// Without it all of the data, if that is no more than 16,777,216 positions; it is then read
    /// once and kept. Larger data streams through windows of 4,194,304, three of them in memory at
    /// a time. Where moves are learnt it says how many are searched together, at some 1,100 bytes
    /// with all that could be played: up to 1,048,576, or 262,144 at a time, anew in each pass. Not
    /// for `gauss-newton` and `local-search`, which keep all positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 4_194_304)]
    pub window: Option<usize>,
    /// Whether the positions of a window are shuffled. Turn it off only for data that was shuffled
    /// before (`nnuance data shuffle`): neighbours of one game in one batch are bad for nets.
    pub shuffle: bool,
    /// How many positions stay together from pass to pass over data that are kept, 0 to 512. The
    /// first pass shuffles all positions; each later one shuffles the chunks of the first, so that
    /// what the processor sorts for a chunk is sorted once, and kept: some 200 bytes a position, up
    /// to 1 GiB. With several king buckets a chunk has positions of the same ones, and each batch its
    /// share of all. Without it 512, or 256 where a batch has fewer than 8,192. With 0, where a batch
    /// does not mix four chunks, each pass shuffles all positions. For nets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 256)]
    pub chunk: Option<usize>,
    pub filter: Filter,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<Source>,
}

/// One of several sources of positions, in the place of `data.files`; a config has as many of these
/// sections as it has sources. What a source does not say is as `[data]` and `[target]` have it; a
/// `filter` of its own, with the keys of `[data.filter]`, takes the place of that as a whole. For
/// nets and for terms, but not for terms of another engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its files, each of which is of one source alone.
    #[schemars(example = ["masters.pgn"])]
    pub files: Vec<PathBuf>,
    /// The format of its files; without it that of `data.format`, or what their content tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"pgn", extend("enum" = formats()))]
    pub format: Option<String>,
    /// The point of view of their scores and results; without it `data.point_of_view`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = PointOfView::White)]
    pub point_of_view: Option<PointOfView>,
    /// How many positions to take of each file at most; without it `data.limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1_000_000)]
    pub limit: Option<u64>,
    /// The weight of results against scores, 0 to 1; without it `target.wdl`. With 1 its positions
    /// need no scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1.0)]
    pub wdl: Option<f64>,
    /// The centipawns of its scores that make one logit, above 0; without it `target.score_scale`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 300.0)]
    pub score_scale: Option<f64>,
    /// What is left out of it, in the place of `data.filter` as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
}

/// The model: a net. A config has this section, `[terms]` or `[traces]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Net {
    /// What the net sees of a position.
    #[schemars(example = Views::Perspective)]
    pub inputs: Views,
    /// Whether a view is turned left to right where its own king stands on files e to h, which halves
    /// what there is to learn. Without this key it is, except with `inputs = "plain"`, which cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub mirror: Option<bool>,
    /// The bucket by the square of a view's own king: each has 768 rows of its own, so that a piece
    /// weighs otherwise where the king stands elsewhere. 64 numbers as the view sees the board, a1 to
    /// h1 first and a8 to h8 last, or 32 for mirrored nets, a to d of each rank: `0, 0, 1, 1` for a1
    /// to d1, and for h1 to e1 likewise, then the four of the second rank, and so on to the eighth.
    /// Numbers from 0 without gaps, at most 64 buckets. Without it one bucket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = [0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3])]
    pub king_buckets: Vec<u8>,
    /// Whether training has 768 rows more that count in every king bucket, so that each bucket also
    /// learns from the others. An export adds them to the rows of each. For several king buckets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(example = true)]
    pub factorised: bool,
    /// The neurons of the hidden layer, 1 to 65,536. Engines like multiples of 32.
    #[schemars(example = 64)]
    pub hidden: usize,
    /// What the hidden layer does to the value a of an accumulator. Without it `"screlu"`, and `"crelu"` with `pairwise`.
    #[schemars(example = Activation::SCReLU)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Whether the values of the first half of the hidden layer are multiplied by those of the
    /// second, neuron by neuron: half as many numbers go on. With `activation = "crelu"`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(example = true)]
    pub pairwise: bool,
    /// The layers behind the hidden one, the output last: `[{ size = 16, activation = "screlu" },
    /// { size = 32, activation = "screlu" }, { size = 1 }]`. Without it the output follows at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = [LayerForm { size: 16, activation: Some(LayerActivation::SCReLU) }, LayerForm { size: 1, activation: None }])]
    pub head: Vec<LayerForm>,
    /// Whether the first layer of the head has one more neuron, which takes no activation and is
    /// added to the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(example = true)]
    pub skip: bool,
    /// Sets of all layers behind the hidden one, of which the number of pieces on the board chooses:
    /// with 8 a set for each four pieces. 1 to 32.
    #[serde(default = "one")]
    pub output_buckets: usize,
    /// The weights to start from: a run folder (its best checkpoint), a checkpoint, a quantised net, or
    /// weights.bin and raw.bin of bullet; without it random numbers. The start may be a smaller net: with
    /// fewer neurons, and with king and output buckets that those of this net are parts of. Then this
    /// net evaluates as its start does until it learns more. The games that the start has seen count as
    /// seen by this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"runs/small")]
    pub start: Option<String>,
    /// What the random starting weights of the accumulators are multiplied by, above 0 to 10. They are
    /// normal numbers of standard deviation `sqrt(2 / 768)`, and 1 leaves them so. Small ones hide less of
    /// what is learnt; nets of 64 neurons and more that learn from few games may like 0.1. A net with
    /// `start` has no random weights.
    #[serde(default = "start_size")]
    pub start_size: f64,
    /// What a net is added to: handcrafted terms or another net, as the folder of a run, a
    /// checkpoint, a quantised net, a JSON file, or `"material"`. It stays as it is unless
    /// `tune_base` is set, of a net what its integers say, and this net learns what is missing;
    /// without `target.scale` it has the scale of its base. The games of the base count as seen by
    /// this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"runs/terms")]
    pub base: Option<String>,
    /// Whether the terms of `base` learn together with the net, one model with one loss: those whose
    /// weight is not zero. They are in centipawns and take the learning rate times 100, unless
    /// `optimizer.layers` says something else of `terms` and `tempo`. The run leaves them in
    /// base.json, beside the net.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(example = true)]
    pub tune_base: bool,
    /// How many bits the fused operations of the CPU move for a net. The floats that come out have
    /// 32 bits either way. Nets of 128 neurons and more are `"mixed"` by themselves where they have no
    /// other layers or products: faster, at no loss that could be shown. GPUs, `ndarray` and plain
    /// operations compute in 32 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = Precision::Mixed)]
    pub precision: Option<Precision>,
    /// What the accumulators of the net are multiplied by to become integers, 1 to 32767. The net that the run leaves has this QA, and so have its exports unless `--qa` says
    /// otherwise.
    #[serde(default = "qa")]
    pub qa: i32,
    /// The same of the weights behind the accumulators, where these become integers.
    #[serde(default = "qb")]
    pub qb: i32,
    /// The numbers behind the accumulators of a net with more layers or with pairwise products.
    #[serde(default)]
    pub head_format: HeadFormat,
}

/// The model: the handcrafted terms that are built in. A config has this section, `[net]` or `[traces]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The terms that the evaluation has, by name. A name stands for everything below it, `*` for
    /// anything, and `!` takes away: `["*", "!king.safety"]`. Without it all terms.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    #[schemars(example = ["*", "!king.safety"])]
    pub used: Option<Vec<String>>,
    /// Those of the terms that training moves; the others keep the weights that they start with.
    /// Without it all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = ["psqt"])]
    pub tune: Option<Vec<String>>,
    /// The weights to start from: a JSON file as runs write it, `"material"` or `"zero"`; without it the
    /// start values that are built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"material")]
    pub start: Option<String>,
    /// A term that fewer positions than this have keeps its start weight, and is listed.
    #[serde(default = "rare")]
    pub rare: u64,
    /// Whether both wings are one: tables of squares are the same on both wings, and what is learnt on
    /// files e to h counts for d to a as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(example = true)]
    pub mirror: bool,
}

/// The model: the terms of another engine, counted in the files, its traces. A config has this
/// section, `[net]` or `[terms]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// The file with the names, kinds and start weights of the terms.
    #[schemars(example = "terms.txt")]
    pub list: PathBuf,
    /// The terms that the evaluation has, by name. A name stands for everything below it, `*` for
    /// anything, and `!` takes away: `["*", "!king.safety"]`. Without it all terms.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    #[schemars(example = ["*", "!king.safety"])]
    pub used: Option<Vec<String>>,
    /// Those of the terms that training moves; the others keep the weights that they start with.
    /// Without it all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = ["psqt"])]
    pub tune: Option<Vec<String>>,
    /// A term that fewer positions than this have keeps its start weight, and is listed.
    #[serde(default = "rare")]
    pub rare: u64,
}

/// What the model is to say of a position. With y the output of the model, the target is
/// `wdl * result + (1 - wdl) * sigmoid(score / score_scale)`, the error `sigmoid(y) - target`, and
/// `scale * y` is centipawns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// The centipawns that make one unit of the model's output, above 0. For a net it is a whole
    /// number up to 32,767 that its engine must share; without it `score_scale` counts, rounded, so
    /// that the net's centipawns are those of the scores. For terms it is measured where it is not
    /// given: the scale at which the start weights fit the results best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The same for the scores of the data: `sigmoid(score / score_scale)` is the expected result
    /// of a position with this score. Without it `scale` counts, and without both 400, which fits
    /// few engines' scores; `nnuance data doctor` measures what fits yours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_scale: Option<f64>,
    /// The weight of the game's result against the score, 0 to 1: at 0 the model learns from scores
    /// alone, at 1 from results alone. Anywhere below 1 a position needs a score: those without one
    /// are skipped and counted.
    pub wdl: Stages,
    /// The centipawns at which a win is as likely as not, 0 or more. Above 0 a score promises a win
    /// with the probability `sigmoid((score - score_offset) / score_scale)`, a loss likewise, and a
    /// draw with the rest, so that small leads promise little. An offset goes with a smaller scale
    /// than none. A net then speaks smaller centipawns than those of the scores, unless
    /// `target.scale` says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 80.0)]
    pub score_offset: Option<f64>,
    /// What an error costs.
    pub loss: LossShape,
    /// For `loss = "power"`: the exponent, above 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 2.5)]
    pub power: Option<f64>,
    /// What more an error costs, as a share of it, where the model expects more for the side to move
    /// than the target; above -1. Without it both sides cost the same. For nets that see with the eyes
    /// of the side to move.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.1)]
    pub asymmetry: Option<f64>,
    #[serde(skip_serializing_if = "Weighing::is_level")]
    pub weights: Weighing,
    /// What is learnt from. Quiescence searches use the weights as they are: of each step with
    /// `gauss-newton` and `local-search`, else of each tenth of the run.
    pub learn: Learn,
    /// With `learn = "moves"`: least squares, with a force of so many centipawns on the move that was
    /// played where the best of the others is half a pawn ahead; 0 or more. Without it softmax: a
    /// move is e times as likely that is 60 centipawns better.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 100.0)]
    pub force: Option<f64>,
}

/// What a position teaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Learn {
    /// The result of its game, and its score.
    #[default]
    Values,
    /// The same of the position where its quiescence search ends: captures, promotions and evasions
    /// of checks, as the weights would play them. Texel's method.
    Quiescence,
    /// The move that the winner played in it, by the quiet ends behind all legal moves. Deep
    /// Thought's method. For formats that tell the moves: PGN, viriformat and binpack.
    Moves,
}

/// How steps follow from gradients, or how weights are found without them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Optimizer {
    /// The method.
    pub name: Option<Name>,
    /// The decay of the running mean of gradients, or the momentum (`sgd`); from 0 to below 1.
    pub beta1: Option<f64>,
    /// The decay of the running mean of squared gradients; from 0 to below 1.
    pub beta2: Option<f64>,
    /// What keeps the division by the root of squares away from zero; above 0.
    pub epsilon: Option<f64>,
    /// How strongly weights are drawn towards zero; 0 or more. With `adamw`, `radam` and `ranger` a
    /// step shrinks them by this times the learning rate; with the others it is added to the
    /// gradient, times the weight, and is 0 unless given.
    pub weight_decay: Option<f64>,
    /// Whether the running means are corrected for having started at zero. Only `adamw` can go
    /// without.
    pub bias_correction: Option<bool>,
    /// After each step all weights are held within -clip to clip; 0 leaves them free. The default
    /// for nets is so small that their integers fit with room to spare.
    pub clip: Option<f64>,
    /// What is learnt is a running mean of the weights, which keeps this share of itself at each
    /// step, from 0 to below 1: 0.999 for a mean of about a thousand steps. It is what validates and
    /// what checkpoints hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.999)]
    pub average_decay: Option<f64>,
    /// For `gauss-newton`: the centipawns that a weight is expected to move from its start, above
    /// 0. Smaller holds weights nearer to their start where the data says little about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<f64>,
    /// For `local-search`: the centipawns of its first steps, 1 to 1000. Where none helps any more
    /// they halve, down to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The arrays of a net that have a clip or a learning rate of their own, by name: `accumulator`,
    /// `factoriser`, `head.0` and so on, `output`. Such a name stands for weights and biases; add
    /// `.weight` or `.bias` for one of them, and `head` is all layers of the head. `clip` is as
    /// `optimizer.clip` and comes before it; `rate`, above 0, is what the learning rate is multiplied
    /// by. The longest name counts. Not for terms.
    #[serde(skip_serializing_if = "Layers::is_empty")]
    #[schemars(example = layers())]
    pub layers: Layers,
}

/// How long the run is, how large its steps are, and how often it looks up from its work. One of
/// `epochs`, `positions` and `superbatches` gives the length; `gauss-newton` and `local-search` end
/// by themselves and need none; given one, they stop there at the latest. Where moves are learnt,
/// `gauss-newton` ends after 15 epochs unless a length is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// The length of the run in passes over the data, above 0; may have a fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 8.0)]
    pub epochs: Option<f64>,
    /// The length of the run in positions, repeats counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 100_000_000)]
    pub positions: Option<u64>,
    /// The length of the run in superbatches, above 0; may have a fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 40.0)]
    pub superbatches: Option<f64>,
    /// The positions of a step, 1 to 4,194,304; `"all"` makes a step of the whole data, for terms
    /// only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchSize>,
    /// The steps of a superbatch. With the usual batch the default makes about 100 million
    /// positions, as in the trainer that coined the word.
    pub batches_per_superbatch: u64,
    /// How far a step goes; 0 or more. Every method needs it but `gauss-newton` and `local-search`,
    /// which have none. For nets about 0.001, for terms in centipawns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.001)]
    pub learning_rate: Option<Stages>,
    /// How often to measure the validation loss, over the run. `gauss-newton` and `local-search` do
    /// it after every step.
    pub validations: u64,
    /// How often to write a checkpoint to resume from, over the run. `gauss-newton` and
    /// `local-search` do it after every step.
    pub checkpoints: u64,
    /// How often to keep a checkpoint for good, beside those to resume from: `"10 superbatches"`,
    /// `"1 epoch"`, `"100M positions"`, `"500 steps"`, or a share of the run. They lie in the run's
    /// folder `checkpoints` under names of their own, such as `sb-00010.safetensors`, and can be
    /// compared and exported like any other. Without it none is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "10 superbatches")]
    pub keep_every: Option<Length>,
    /// Stop after this many validations in a row without a lower validation loss. Without it the run
    /// goes to its end. Whether or not, `best.safetensors` is the checkpoint with the lowest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 5)]
    pub patience: Option<u64>,
    /// The lengths that a run had before it was made longer, `nnuance train --resume RUN --set
    /// schedule.epochs=20`, each with the step up to which its schedule counted. Runs write it; with
    /// it the same run can be made again from its config.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = [Earlier { epochs: Some(8.0), until_step: 1578, ..Earlier::default() }])]
    pub extended: Vec<Earlier>,
}

/// A length that a run had, as `[schedule]` gave it, and the step up to which it counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superbatches: Option<f64>,
    pub until_step: u64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            epochs: None,
            positions: None,
            superbatches: None,
            batch: None,
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

/// A number, or the text "all".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub enum BatchSize {
    Positions(usize),
    /// The whole of the data: a step is an epoch.
    All,
}

impl BatchSize {
    /// The number, for so many positions of data.
    pub fn of(self, positions: u64) -> u64 {
        match self {
            BatchSize::Positions(count) => count as u64,
            BatchSize::All => positions.max(1),
        }
    }
}

impl TryFrom<toml::Value> for BatchSize {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::Integer(count) => usize::try_from(count)
                .map(BatchSize::Positions)
                .map_err(|_| format!("a batch has 1 position or more, found {count}")),
            toml::Value::String(text) if text == "all" => Ok(BatchSize::All),
            other => Err(format!("expected a number of positions or \"all\", found {other}")),
        }
    }
}

impl From<BatchSize> for toml::Value {
    fn from(size: BatchSize) -> Self {
        match size {
            BatchSize::Positions(count) => toml::Value::Integer(count as i64),
            BatchSize::All => toml::Value::String("all".into()),
        }
    }
}

impl JsonSchema for BatchSize {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BatchSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "all" }] })
    }
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
            shuffle: true,
            chunk: None,
            filter: Filter::default(),
            source: Vec::new(),
        }
    }
}

impl Default for Target {
    fn default() -> Self {
        Self {
            scale: None,
            score_scale: None,
            wdl: Stages::constant(0.0),
            score_offset: None,
            loss: LossShape::default(),
            power: None,
            asymmetry: None,
            weights: Weighing::default(),
            learn: Learn::default(),
            force: None,
        }
    }
}

fn seed() -> u64 {
    1
}

fn start_size() -> f64 {
    0.3
}

fn one() -> usize {
    1
}

fn rare() -> u64 {
    20
}

fn qa() -> i32 {
    Scales::default().qa
}

fn qb() -> i32 {
    Scales::default().qb
}

fn layers() -> Layers {
    let clipped = Layer { clip: Some(0.99), rate: None };
    Layers([("head.0.weight".to_string(), clipped)].into())
}
