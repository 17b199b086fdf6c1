//! How long a run is, and how large its steps are. The comments are what `nnuance keys` says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BatchSize;
use crate::train::schedule::{Length, Stages};

/// How long the run is, how large its steps are, and how often it looks up from its work. One of
/// `epochs`, `positions` and `superbatches` gives the length; `gauss-newton` and `local-search` end
/// by themselves and need none; given one, they stop there at the latest. Where moves are learnt,
/// `gauss-newton` ends after 15 epochs unless a length is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
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
    #[serde(default = "batches_per_superbatch")]
    pub batches_per_superbatch: u64,
    /// How far a step goes; 0 or more. Every method needs it but `gauss-newton` and `local-search`,
    /// which have none. For nets about 0.001, for terms in centipawns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0.001)]
    pub learning_rate: Option<Stages>,
    /// How often to measure the validation loss, over the run. `gauss-newton` and `local-search` do
    /// it after every step.
    #[serde(default = "validations", alias = "looks")]
    pub validations: u64,
    /// How often to write a checkpoint to resume from, over the run. `gauss-newton` and
    /// `local-search` do it after every step.
    #[serde(default = "validations")]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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

impl Default for Plan {
    fn default() -> Self {
        Self {
            epochs: None,
            positions: None,
            superbatches: None,
            batch: None,
            batches_per_superbatch: batches_per_superbatch(),
            learning_rate: None,
            validations: validations(),
            checkpoints: validations(),
            keep_every: None,
            patience: None,
            extended: Vec::new(),
        }
    }
}

fn batches_per_superbatch() -> u64 {
    6_104
}

fn validations() -> u64 {
    20
}
