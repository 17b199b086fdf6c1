//! The sections of a config. Their comments are what `nnuance keys` and `docs/config.md` say.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Source;
use super::keys::{formats, inputs};
use crate::architecture::{Activation, LayerForm};
use crate::loader::{Filter, Weighing};
use crate::loss::LossShape;
use crate::model::Precision;
use crate::scales::HeadFormat;
use crate::train::schedule::{Length, Stages};

/// Where the positions come from, which of them are used and in which order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The files of positions, relative to the folder in which the program runs. They may have
    /// different formats, and may be packed with gzip, zstd, xz or zip. They must be given, except
    /// where `[[data.source]]` names several sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = ["games.vf"])]
    pub files: Vec<PathBuf>,
    /// Files that only validate: the validation loss is that of their positions, and all games that
    /// are held out of `data.files` are the test. They are read as `data.files` are, with the same
    /// filter. Without any, some of the held-out games validate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
    #[serde(default = "held_out")]
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
    #[serde(default)]
    pub held_out_seed: u64,
    /// The share of the other games that training takes, above 0 and up to 1: how much would less
    /// data have done? A smaller share is a part of every larger one, and the held-out games stay
    /// the same.
    #[serde(default = "share")]
    pub share: f64,
    /// How many bad records of each file to skip, with a report of what was skipped. One more ends
    /// the run and names the file, the record and the reason.
    #[serde(default)]
    pub bad_records: u64,
    /// Who sees the scores and results, for formats that leave it open. Without it, what is
    /// usual in the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"white", extend("enum" = ["white", "side-to-move"]))]
    pub point_of_view: Option<String>,
    /// Whether the point of view is measured against material before training, and the run refused
    /// where the two contradict each other.
    #[serde(default = "yes")]
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
    #[serde(default = "yes")]
    pub shuffle: bool,
    /// How many positions stay together from pass to pass over data that are kept, 0 to 512. The
    /// first pass shuffles all positions; each later one shuffles the chunks of the first, so that
    /// what the processor sorts for a chunk is sorted once, and kept: some 200 bytes a position, up
    /// to 1 GiB. With several king buckets a chunk has positions of the same ones, and each batch its
    /// share of all. Without it 512, or 256 where a batch has fewer than 8,192. With 0, where a batch
    /// does not mix four chunks, and where sources have a share of each batch, each pass shuffles
    /// all positions. For nets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 256)]
    pub chunk: Option<usize>,
    /// Whether each position is shown turned left to right as well: in every other pass over the
    /// data, half of the positions at a time. What is learnt on one wing then counts for the other.
    /// For nets that are not mirrored, such as those of `inputs = "plain"`, and stand on no base.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(example = true)]
    pub mirrored_copies: bool,
    #[serde(default)]
    pub filter: Filter,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<Source>,
}

/// What is trained: a net, or handcrafted terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What the model sees of a position: one of the feature sets of nets, the handcrafted terms
    /// that are built in, or the terms that another engine has printed.
    #[schemars(example = &"perspective", extend("oneOf" = inputs()))]
    pub inputs: String,
    /// The file with the names, kinds and start weights of the other engine's terms; `inputs =
    /// "trace"` needs it and nothing else takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "terms.txt")]
    pub term_list: Option<PathBuf>,
    /// The terms that the evaluation has, by name. A name stands for everything below it, `*` for
    /// anything, and `!` takes away: `["*", "!king.safety"]`. Without it all terms. Not for nets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = ["*", "!king.safety"])]
    pub terms: Option<Vec<String>>,
    /// Those of the terms that training moves; the others keep the weights that they start with.
    /// Without it all of them. Not for nets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = ["psqt"])]
    pub tune: Option<Vec<String>>,
    /// The weights to start from. For terms a JSON file as runs write it, `"material"` or `"zero"`;
    /// without it the start values that are built in; a term list has its own. For nets a run
    /// folder (its best checkpoint), a checkpoint, a quantised net, or weights.bin and raw.bin of
    /// bullet; without it chance. The start may be a smaller net: with fewer neurons, and with king
    /// and output buckets that those of this net are parts of. Then this net says what its start says
    /// until it learns more. The games that the start has seen count as seen by this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"material")]
    pub start: Option<String>,
    /// What the starting weights of the accumulators are multiplied by where a net begins from
    /// chance, above 0 to 10. They are normal numbers of standard deviation `sqrt(2 / 768)`, and 1
    /// leaves them so. Small ones hide less of what is learnt: without this key it is 0.3, but 1 in
    /// configs of version 1. Nets of 64 neurons and more that learn from few games may
    /// like 0.1. Not for terms, nor beside `start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.1)]
    pub start_size: Option<f64>,
    /// What a net is added to: handcrafted terms or another net, as the folder of a run, a
    /// checkpoint, a quantised net, a JSON file, or `"material"`. It stays as it is unless
    /// `tune_base` is set, of a net what its integers say, and this net learns what is missing;
    /// without `target.scale` it has the scale of its base. The games of the base count as seen by
    /// this run. For nets only.
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
    /// A term that fewer positions than this have keeps its start weight, and is listed. Not for
    /// nets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare: Option<u64>,
    /// Whether both wings are one. For `inputs = "hce"`: tables of squares are the same on both
    /// wings, and what is learnt on files e to h counts for d to a as well. For nets: a view is turned
    /// left to right where its own king stands on files e to h, which halves what there is to learn;
    /// without this key they are, unless the config is of version 1. Not for terms of another engine,
    /// nor for `inputs = "plain"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub mirror: Option<bool>,
    /// The neurons of the hidden layer, 1 to 65,536. A net needs it, terms have none. Engines like
    /// multiples of 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 64)]
    pub hidden: Option<usize>,
    /// The bucket by the square of a view's own king: each has 768 rows of its own, so that a piece
    /// weighs otherwise where the king stands elsewhere. 64 numbers as the view sees the board, a1 to
    /// h1 first and a8 to h8 last, or 32 for mirrored nets, a to d of each rank: `0, 0, 1, 1` for a1
    /// to d1, and for h1 to e1 likewise, then the four of the second rank, and so on to the eighth.
    /// Numbers from 0 without gaps, at most 64 buckets. Without it one bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = [0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3])]
    pub king_buckets: Option<Vec<u8>>,
    /// Whether training has 768 rows more that count in every king bucket, so that each bucket also
    /// learns from the others. An export adds them to the rows of each. For several king buckets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub factorised: Option<bool>,
    /// Whether the values of the first half of the hidden layer are multiplied by those of the
    /// second, neuron by neuron: half as many numbers go on. With `activation = "crelu"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub pairwise: Option<bool>,
    /// The layers behind the hidden one, the output last: `[{ size = 16, activation = "screlu" },
    /// { size = 32, activation = "screlu" }, { size = 1 }]`. Without it the output follows at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = [LayerForm { size: 16, activation: Some(crate::architecture::LayerActivation::SCReLU) }, LayerForm { size: 1, activation: None }])]
    pub head: Option<Vec<LayerForm>>,
    /// Whether the first layer of the head has one more neuron, which takes no activation and is
    /// added to the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub skip: Option<bool>,
    /// Sets of all layers behind the hidden one, of which the number of pieces on the board chooses:
    /// with 8 a set for each four pieces. 1 to 32; without it 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 8)]
    pub output_buckets: Option<usize>,
    /// What the hidden layer does to the value a of an accumulator. Not for terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// The last part of the run, in which a net learns with its weights as the export will round
    /// them: a share of the run, above 0, to 1 for all of it, or a length such as `"2
    /// superbatches"`. Gradients are followed by the unrounded weights, which checkpoints hold.
    /// Validation then measures rounded weights, from the first to the last. Without it only the
    /// export rounds. For nets only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.2)]
    pub rounded_last: Option<Length>,
    /// What the accumulators of the net are multiplied by to become integers, 1 to 32767; without it
    /// 255. The net that the run leaves has this QA, and so have its exports unless `--qa` says
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 255)]
    pub qa: Option<i32>,
    /// The same of the weights behind the accumulators, where these become integers; without it 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 64)]
    pub qb: Option<i32>,
    /// The numbers behind the accumulators of a net with more layers or with pairwise products;
    /// without it `"float"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = HeadFormat::Int8)]
    pub head_format: Option<HeadFormat>,
    /// How many bits the fused operations of the CPU move for a net. The floats that come out have
    /// 32 bits either way. Nets of 128 neurons and more are `"mixed"` by themselves where they have no
    /// other layers or products: faster, at no loss that could be shown. GPUs, `ndarray` and plain
    /// operations compute in 32 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = Precision::Mixed)]
    pub precision: Option<Precision>,
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
    /// draw with the rest, so that small leads promise little. `nnuance data doctor` measures the offset
    /// that makes the results most likely, and the scale that goes with it: a smaller one than without. A net
    /// then speaks smaller centipawns than those of the scores, unless `target.scale` says otherwise.
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

impl Default for Data {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            validation: Vec::new(),
            format: None,
            held_out: held_out(),
            test: None,
            held_out_seed: 0,
            share: share(),
            bad_records: 0,
            point_of_view: None,
            check_view: yes(),
            limit: None,
            window: None,
            shuffle: yes(),
            chunk: None,
            mirrored_copies: false,
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

pub(super) fn seed() -> u64 {
    1
}

fn held_out() -> f64 {
    0.1
}

fn share() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}
