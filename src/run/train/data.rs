//! The data of a run: read, described, encoded.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use rayon::prelude::*;

use crate::batch::{Batch, Choices, OfRank};
use crate::config::{BatchSize, Config, Learn};
use crate::data_file::DataFile;
use crate::hce::{HceWeights, Tally};
use crate::loader::{
    BatchOrder, Encoder, KeptRecords, LoadError, Part, Plan, Preparation, Prepare, Scan, Sketch,
    Store, Stream, TermsEncoder, Validating, Weighing, scan_terms,
};
use crate::progress::Progress;
use crate::run::objective;
use crate::run::recipe::{self, Recipe};
use crate::run::summary;
use crate::run::terms::RunTerms;
use crate::sample::{Sample, mix};
use crate::train::checkpoint::Checkpoint;

/// Where the batches of a run come from, and those that validate.
pub struct Data {
    pub summary: Summary,
    pub validation: Vec<Batch>,
    /// What makes batches of positions; none of another engine's traces.
    pub encoder: Option<Encoder>,
    /// The positions of the games that validate; none of another engine's traces.
    pub validating: Vec<Sample>,
    /// Those of the test games, for the report alone.
    pub test: Vec<Sample>,
    /// Some of the positions to train on; none of another engine's traces.
    pub some: Vec<Sample>,
    pub source: BatchSource,
    /// The handcrafted terms; none for nets.
    pub terms: Option<Tuned>,
}

/// What is known of the files.
pub struct Summary {
    pub files: Vec<DataFile>,
    pub validating: Validating,
    pub sketch: Sketch,
    /// Positions to train on.
    pub train: u64,
}

#[allow(clippy::large_enum_variant, reason = "a run has one source")]
pub enum BatchSource {
    /// From the files, again and again, or from what of them was kept.
    Files { plan: Box<Plan>, encoder: Encoder, kept: Option<KeptRecords> },
    /// From memory.
    Store(Arc<Store>),
    /// Rows that are prepared again in each round.
    Prepared { samples: Arc<Vec<Sample>>, weighing: Weighing, by: Option<Preparation> },
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

/// Positions that are kept in memory from the first look at the data: some 250 bytes each as
/// handcrafted terms, 32 as records.
const KEPT: u64 = 8 << 20;

/// Positions, about, on which the spread of values is measured where not all are searched at once.
const SPREAD: usize = 1 << 14;

/// Positions that validate, about, whose moves are searched.
const MOST_SEARCHED: usize = 100_000;

/// Positions a batch of those that validate.
const VALIDATION_BATCH: usize = 4096;

/// Reads all data once; up to `keep` positions to train on are kept, and their
/// terms found on the way where an encoder says which.
pub fn read(
    plan: &Plan,
    keep: u64,
    terms: Option<&TermsEncoder>,
    listener: &dyn Progress,
) -> Result<Scan, LoadError> {
    let counter = listener.count(None, "reading");
    let scan = scan_terms(plan, keep, terms, &*counter);
    drop(counter);
    let scan = scan?;
    counts(plan, &scan)?;
    listener.remark(&summary::data(plan, &scan));
    Ok(scan)
}

/// An error if none of the positions that were looked at counts.
fn counts(plan: &Plan, scan: &Scan) -> Result<(), LoadError> {
    let weights = plan.weighing.weights(&scan.some);
    match !weights.is_empty() && weights.iter().all(|weight| *weight == 0.0) {
        true => Err(LoadError::NothingCounts),
        false => Ok(()),
    }
}

/// The positions of some games: all of them, or about so many positions, chosen by the hash of what
/// is in a game.
pub fn some_games(held: &[Sample], most: usize) -> Vec<Sample> {
    let behind = u64::MAX / (held.len().max(most) as u64) * most as u64;
    held.iter().filter(|sample| mix(sample.group(), most as u64) <= behind).copied().collect()
}

/// The positions of a run whose rows are prepared again in each round.
pub fn to_prepare(
    plan: &Plan,
    config: &Config,
    listener: &dyn Progress,
) -> Result<Arc<Vec<Sample>>> {
    let samples = recipe::collect(plan, Part::Train, listener)?;
    Ok(Arc::new(match config.learns_moves() {
        true => objective::select(samples, listener)?,
        false => samples,
    }))
}

/// Batches of the positions that validate. `weights` is what their losses count; empty where all
/// count alike.
pub fn validation(encoder: &Encoder, samples: &[Sample], weights: &[f32]) -> Vec<Batch> {
    let batch = |(samples, weights): (&[Sample], &[f32])| Batch {
        weights: weights.into(),
        ..encoder.encode(samples)
    };
    let weights = weights.chunks(VALIDATION_BATCH).chain(std::iter::repeat(&[][..]));
    samples.chunks(VALIDATION_BATCH).zip(weights).map(batch).collect()
}

/// How many positions to keep for a net that will want all of them at once: more are read again, and
/// so are those whose quiet ends are looked for, round after round.
pub fn keep_records(config: &Config) -> u64 {
    let most = config.data.window.map_or(config.most_kept(), |window| window as u64);
    if config.target.learn != Learn::Values { 0 } else { most.min(KEPT) }
}

/// How many positions to keep in memory as terms.
pub fn keep(config: &Config) -> u64 {
    match (config.batch, config.data.window) {
        (BatchSize::All, _) => u64::MAX,
        (_, Some(_)) => 0,
        (_, None) => KEPT,
    }
}

/// A caution where the scores, or the results, of these positions are all the same: their share of
/// the target teaches nothing, and the loss looks good.
pub fn sameness(config: &Config, some: &[Sample]) -> Option<String> {
    let (first, others) = some.split_first().filter(|(_, others)| !others.is_empty())?;
    let wdl = config.final_wdl();
    match first.score {
        Some(score) if wdl < 1.0 && others.iter().all(|it| it.score == first.score) => {
            return Some(format!(
                "every score is {score} cp, and teaches nothing: train on results \
                 (target.wdl = 1), or label the positions with an engine"
            ));
        }
        _ => {}
    }
    let result = first.result;
    let same = wdl > 0.0 && others.iter().all(|it| it.result == result);
    same.then(|| {
        format!(
            "every result is {result}, and teaches nothing: train on scores (target.wdl = 0), or \
             take games that end otherwise as well"
        )
    })
}

impl Summary {
    pub fn of(scan: Scan) -> Self {
        let Scan { files, validating, sketch, train, .. } = scan;
        Self { files, validating, sketch, train }
    }
}

impl Data {
    /// The window to write into the config of the run.
    pub fn window(&self, config: &Config) -> Option<usize> {
        match &self.source {
            BatchSource::Files { .. } => Some(config.window(self.summary.train)),
            BatchSource::Store(_) => None,
            BatchSource::Prepared { .. } if config.batch == BatchSize::All => None,
            BatchSource::Prepared { .. } => Some(config.window(self.summary.train)),
        }
    }

    /// Positions whose chunks come again in each pass, as they were planned.
    pub fn come_again(&self) -> u64 {
        match &self.source {
            BatchSource::Files { plan, .. } if plan.plans_once() => self.summary.train,
            _ => 0,
        }
    }

    /// What is planned once for all passes, in words; nothing where nothing is.
    pub fn planned(&self) -> String {
        let BatchSource::Files { plan, encoder: Encoder::Net(net, _), .. } = &self.source else {
            return String::new();
        };
        let place = if net.inputs.kings.count() > 1 { " in each king bucket" } else { "" };
        if let Some(pairs) = &plan.passing {
            let pairs = pairs.parents().len();
            return format!(
                ", chunks planned as they stream by, {pairs} pairs of inputs share rows"
            );
        }
        match (plan.plans_once(), plan.pairs) {
            (false, pairs) if pairs > 0 && plan.chunk > 0 && !plan.keeps() => {
                ", no pairs of inputs share rows, as the data stream by".to_string()
            }
            (false, _) => String::new(),
            (true, 0) => format!(", chunks of {} planned once", plan.chunk),
            (true, pairs) => {
                format!(
                    ", chunks of {} planned once, up to {pairs} pairs of inputs{place} share rows",
                    plan.chunk
                )
            }
        }
    }

    /// Prepares rows with the weights of a round, those of the games that validate too; how far the
    /// values of moves are spread. `spread` is that of the first round.
    pub fn prepare(
        &mut self,
        by: Arc<dyn Prepare>,
        spread: Option<f64>,
        config: &Config,
        listener: &dyn Progress,
    ) -> Result<Option<f64>> {
        let encoder = self.encoder.clone().context("positions are at hand")?;
        let BatchSource::Prepared { samples, weighing, by: last } = &mut self.source else {
            bail!("rows are prepared from positions");
        };
        let window = match config.batch {
            BatchSize::All => samples.len(),
            BatchSize::Positions(_) => config.window(samples.len() as u64),
        };
        let is_whole = samples.len() <= window;
        let step = match (is_whole, by.choices()) {
            (true, _) => 1,
            (false, Some(_)) => (samples.len() / SPREAD).max(1),
            // The windows are searched when their turn comes.
            (false, None) => samples.len(),
        };
        let validating = match by.choices() {
            Some(_) => some_games(&self.validating, MOST_SEARCHED),
            None => self.validating.clone(),
        };
        // Frees the memory of the last round before this one needs it.
        *last = None;
        let (samples, weighing) = (samples.clone(), weighing.clone());
        let (stretch, whole) = (1.0, None);
        let mut by = Preparation { samples, weighing, encoder, by, stretch, whole, window };
        let total = by.samples.len().div_ceil(step) + validating.len();
        let counter = listener.count(Some(total as u64), "searching quiet ends");
        let mut prepared = by.of(by.samples.par_iter().step_by(step), &*counter);
        let held = by.of(validating.par_iter(), &*counter);
        drop(counter);
        self.validation = held.batches(&by);
        let now = prepared.choices.as_ref().and_then(Choices::spread);
        by.stretch = spread.zip(now).map_or(1.0, |(then, now)| (then / now).max(1.0));
        if let Some(choices) = &mut prepared.choices {
            choices.stretch = by.stretch;
        }
        by.whole = is_whole.then(|| Arc::new(prepared));
        *last = Some(by);
        Ok(now)
    }

    /// The batches from a checkpoint on, or a share of each.
    pub fn batches(
        &mut self,
        recipe: &Recipe,
        start: &Checkpoint,
        of_rank: OfRank,
    ) -> Result<Stream> {
        let from = start.state.positions;
        let cut = cut(&recipe.config, of_rank);
        Ok(match &mut self.source {
            BatchSource::Files { plan, encoder, kept } => {
                let plan = Plan { of_rank, ..Plan::clone(plan) };
                Stream::of(plan, encoder.clone(), from, kept.take())
            }
            BatchSource::Store(store) => {
                ensure!(
                    recipe.config.batch != BatchSize::All || store.pieces.len() >= of_rank.size,
                    "{} positions are too few for {} ranks; start fewer",
                    store.len(),
                    of_rank.size
                );
                Stream::stored(store.clone(), cut, from)
            }
            BatchSource::Prepared { by, .. } => {
                let by = by.clone().context("rows are prepared before they are learnt")?;
                Stream::prepared(by, cut, from)
            }
        })
    }
}

fn cut(config: &Config, of_rank: OfRank) -> BatchOrder {
    let batch = match config.batch {
        BatchSize::Positions(count) => Some(count),
        BatchSize::All => None,
    };
    BatchOrder { batch, shuffle: config.data.shuffle, seed: config.seed, of_rank }
}
