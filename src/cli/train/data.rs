//! The data of a run: read, described, encoded.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::look::look;
use super::tuning;
use crate::batch::Batch;
use crate::cli::recipe::{self, Recipe};
use crate::cli::terms::RunTerms;
use crate::config::{BatchSize, Config};
use crate::hce::{HceWeights, Tally};
use crate::loader::{
    Cursor, Cut, DataFile, Encoder, LoadError, Plan, Scan, Sketch, Store, Stored, Stream,
    Validating,
};
use crate::model::{Compute, Device, initial};
use crate::sample::Sample;
use crate::train::checkpoint::Checkpoint;
use crate::weights::Weights;

/// Where the batches of a run come from, and those that validate.
pub struct Data {
    pub facts: Facts,
    pub validation: Vec<Batch>,
    /// The positions of the games that validate; none of another engine's traces.
    pub validating: Vec<Sample>,
    /// Those of the test games, for the report alone.
    pub test: Vec<Sample>,
    /// Some of the positions to train on; none of another engine's traces.
    pub some: Vec<Sample>,
    pub source: Source,
    /// The handcrafted terms; none for nets.
    pub terms: Option<Tuned>,
}

/// What is known of the files.
pub struct Facts {
    pub files: Vec<DataFile>,
    pub validating: Validating,
    pub sketch: Sketch,
    /// Positions to train on.
    pub train: u64,
}

pub enum Source {
    /// From the files, again and again.
    Files { plan: Box<Plan>, encoder: Encoder },
    /// From memory.
    Store(Arc<Store>),
}

/// The handcrafted terms of a run.
pub struct Tuned {
    pub terms: RunTerms,
    pub start: HceWeights,
    /// In how many positions each term has an entry; none where the data streams by.
    pub counts: Option<Vec<u64>>,
    /// How often each term was counted, in some of the positions.
    pub tally: Tally,
}

/// Positions of handcrafted terms that are kept in memory, some 250 bytes each.
const KEPT: u64 = 8 << 20;

/// Positions a batch of those that validate.
const VALIDATION_BATCH: usize = 4096;

/// Opens the data of a run, and gives the weights that training starts with. `begun` are the
/// weights of a run that goes on. The config gets its scale, where it has none.
pub fn open(
    config: &mut Config,
    term_list: Option<&str>,
    begun: Option<&Weights>,
    place: &(Device, Compute),
) -> Result<(Data, Weights)> {
    let Some(terms) = RunTerms::of(config, term_list)? else { return net(config) };
    let start = match begun {
        Some(weights) => HceWeights::started_from(weights, terms.list.clone(), config.scale())?,
        None => terms.start(config.model.start.as_deref())?,
    };
    match terms.own {
        Some(_) => tuning::traces(config, terms, start, place),
        None => tuning::positions(config, terms, start, place),
    }
}

fn net(config: &Config) -> Result<(Data, Weights)> {
    let net = config.architecture()?.context("a net has an architecture")?;
    let mut plan = recipe::plan(config)?;
    let mut scan = look(&plan, 0)?;
    plan.expected = Some(scan.train);
    plan.window = config.window(scan.train);
    let encoder = Encoder::net(&net);
    let weights = initial(&net, config.seed);
    let data = Data {
        validation: validation(&encoder, &scan.validation.samples),
        validating: std::mem::take(&mut scan.validation.samples),
        test: std::mem::take(&mut scan.test.samples),
        some: std::mem::take(&mut scan.some),
        source: Source::Files { plan: Box::new(plan), encoder },
        facts: Facts::of(scan),
        terms: None,
    };
    Ok((data, weights))
}

/// Batches of the positions that validate.
pub fn validation(encoder: &Encoder, samples: &[Sample]) -> Vec<Batch> {
    samples.chunks(VALIDATION_BATCH).map(|samples| encoder.encode(samples)).collect()
}

/// How many positions to keep in memory as terms.
pub fn keep(config: &Config) -> u64 {
    match (config.batch(), config.data.window) {
        (BatchSize::All, _) => u64::MAX,
        (_, Some(_)) => 0,
        (_, None) => KEPT,
    }
}

impl Facts {
    pub fn of(scan: Scan) -> Self {
        let Scan { files, validating, sketch, train, .. } = scan;
        Self { files, validating, sketch, train }
    }
}

impl Data {
    /// The window to write into the config of the run.
    pub fn window(&self, config: &Config) -> Option<usize> {
        match &self.source {
            Source::Files { .. } => Some(config.window(self.facts.train)),
            Source::Store(_) => None,
        }
    }

    /// The batches from a checkpoint on.
    pub fn batches(&self, recipe: &Recipe, start: &Checkpoint) -> Result<Batches> {
        let cursor = Cursor::parse(&start.state.cursor)?;
        Ok(match &self.source {
            Source::Files { plan, encoder } => {
                Batches::Stream(Stream::new(Plan::clone(plan), encoder.clone(), cursor))
            }
            Source::Store(store) => {
                let batch = match recipe.config.batch() {
                    BatchSize::Positions(count) => Some(count),
                    BatchSize::All => None,
                };
                let Config { seed, ref data, .. } = recipe.config;
                let cut = Cut { batch, shuffle: data.shuffle, seed };
                Batches::Stored(Stored::new(store.clone(), cut, cursor))
            }
        })
    }
}

/// Batches without end.
pub enum Batches {
    Stream(Stream),
    Stored(Stored),
}

impl Iterator for Batches {
    type Item = Result<Batch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Batches::Stream(stream) => stream.next(),
            Batches::Stored(stored) => stored.next(),
        }
    }
}
