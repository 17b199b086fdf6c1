//! Data of a run, read, described and encoded, and its starting weights.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;

use super::net_data::open_net_data;
use super::term_data::{TermData, open_term_data, open_trace_data};
use crate::batch::{Batch, MoveChoices, RankShare};
use crate::config::Config;
use crate::hce::HceWeights;
use crate::loader::{
    Encoder, KeptRecords, LoadError, PassOrder, Preparation, Prepare, ReadPlan, Scan, Store,
    Stream, StreamPlan, Subset, scan,
};
use crate::progress::Progress;
use crate::run::recipe::Recipe;
use crate::run::{Host, data_plan, objective};
use crate::sample::{Sample, mix_hash};
use crate::train::checkpoint::Checkpoint;
use crate::weights::Weights;

/// Data of a run: batches for training and for validation.
pub struct TrainingData {
    /// Facts about the files, and the held-out positions.
    pub scan: Scan,
    pub validation: Vec<Batch>,
    /// Encoder of batches of positions; None for another engine's traces.
    pub(super) encoder: Option<Encoder>,
    pub source: BatchSource,
    /// Handcrafted terms; None for nets.
    pub terms: Option<TermData>,
}

#[allow(clippy::large_enum_variant, reason = "a run has one source")]
pub enum BatchSource {
    /// Data read from the files in each pass, or from records in memory.
    Files {
        plan: Box<StreamPlan>,
        records: Option<KeptRecords>,
    },
    Store(Arc<Store>),
    /// Rows that are prepared again in each round.
    Prepared {
        samples: Arc<Vec<Sample>>,
        by: Option<Preparation>,
    },
}

/// Approximate number of positions on which the spread of values is measured.
const SPREAD: usize = 1 << 14;
/// Approximate number of validation positions whose moves are searched.
const MAX_SEARCHED: usize = 100_000;
const VALIDATION_BATCH: usize = 4096;

/// Reads the data, or a sample of it if there are more than `keep` positions to train on.
pub(super) fn scan_data(
    plan: &ReadPlan,
    keep: u64,
    config: &Config,
    listener: &dyn Progress,
) -> Result<Scan, LoadError> {
    let mut scan = scan(plan, keep, &*listener.count(None, "reading"))?;
    if !scan.is_whole {
        scan.counts.train = config.file.data.positions.unwrap_or(scan.counts.train);
    }
    let weights = plan.weighing.batch_weights(&scan.some);
    if !weights.is_empty() && weights.iter().all(|weight| *weight == 0.0) {
        return Err(LoadError::NothingCounts);
    }
    Ok(scan)
}

/// Draws whole games with about `count` positions, by the hash of their content.
pub fn draw_games(samples: &[Sample], count: usize) -> Vec<Sample> {
    let last = u64::MAX / (samples.len().max(count) as u64) * count as u64;
    let is_drawn = |sample: &&Sample| mix_hash(sample.split_group(), count as u64) <= last;
    samples.iter().filter(is_drawn).copied().collect()
}

/// Reads the positions of a run whose rows are prepared again in each round.
pub(super) fn to_prepare(
    plan: &ReadPlan,
    config: &Config,
    listener: &dyn Progress,
) -> Result<Arc<Vec<Sample>>> {
    let samples = data_plan::collect_samples(plan, Some(Subset::Train), listener)?;
    Ok(Arc::new(if config.learns_moves() { objective::select_samples(samples)? } else { samples }))
}

/// Encodes batches of the validation positions, with the config's weights.
pub(super) fn validation_batches(
    config: &Config,
    encoder: &Encoder,
    samples: &[Sample],
) -> Vec<Batch> {
    let weights = config.file.target.weights.batch_weights(samples);
    let batch = |(samples, weights): (&[Sample], &[f32])| Batch {
        weights: weights.into(),
        ..encoder.encode_samples(samples)
    };
    let weights = weights.chunks(VALIDATION_BATCH).chain(std::iter::repeat(&[][..]));
    samples.chunks(VALIDATION_BATCH).zip(weights).map(batch).collect()
}

impl TrainingData {
    /// Returns the window for the run's complete config.
    pub fn shuffle_window(&self, config: &Config) -> Option<usize> {
        let has_window = match &self.source {
            BatchSource::Files { .. } => true,
            BatchSource::Store(_) => false,
            BatchSource::Prepared { .. } => config.batch_size.is_some(),
        };
        has_window.then(|| config.window_positions(self.scan.counts.train))
    }

    /// Prepares rows with the weights of a round, including the validation games. Returns the spread
    /// of the values of moves. `spread` is the spread of the first round.
    pub fn prepare_round(
        &mut self,
        by: Arc<dyn Prepare>,
        spread: Option<f64>,
        config: &Config,
        listener: &dyn Progress,
    ) -> Result<Option<f64>> {
        let (Some(encoder), BatchSource::Prepared { samples, by: last }) =
            (self.encoder.clone(), &mut self.source)
        else {
            bail!("rows are prepared from positions");
        };
        let window = config
            .batch_size
            .map_or(samples.len(), |_| config.window_positions(samples.len() as u64));
        let is_whole = samples.len() <= window;
        let step = match (is_whole, by.move_choices()) {
            (true, _) => 1,
            (false, Some(_)) => (samples.len() / SPREAD).max(1),
            // Training searches the windows one by one.
            (false, None) => samples.len(),
        };
        let validating = match by.move_choices() {
            Some(_) => draw_games(&self.scan.validation.samples, MAX_SEARCHED),
            None => self.scan.validation.samples.clone(),
        };
        // Frees the memory of the last round before the next one is prepared.
        *last = None;
        let (samples, weighing) = (samples.clone(), config.file.target.weights.clone());
        let total = samples.len().div_ceil(step) + validating.len();
        let (variance_factor, whole) = (1.0, None);
        let mut by = Preparation { samples, weighing, encoder, by, variance_factor, whole, window };
        let counter = listener.count(Some(total as u64), "searching quiet ends");
        let mut prepared = by.prepare_samples(by.samples.par_iter().step_by(step), &*counter);
        self.validation = by.prepare_samples(validating.par_iter(), &*counter).encode_batches(&by);
        drop(counter);
        let now = prepared.choices.as_ref().and_then(MoveChoices::value_spread);
        by.variance_factor = spread.zip(now).map_or(1.0, |(then, now)| (then / now).max(1.0));
        if let Some(choices) = &mut prepared.choices {
            choices.variance_factor = by.variance_factor;
        }
        by.whole = is_whole.then(|| Arc::new(prepared));
        *last = Some(by);
        Ok(now)
    }

    /// Streams the batches after a checkpoint, or a share of each.
    pub fn stream_batches(
        &mut self,
        config: &Config,
        start: &Checkpoint,
        of_rank: RankShare,
    ) -> Result<Stream> {
        let from = start.state.positions;
        let in_memory = PassOrder { of_rank, ..data_plan::pass_order(config, None) };
        Ok(match &mut self.source {
            BatchSource::Files { plan, records } => {
                let order = PassOrder { of_rank, ..plan.order };
                let plan = StreamPlan { order, ..StreamPlan::clone(plan) };
                let encoder = self.encoder.clone().context("files hold positions")?;
                let resume_point = start.state.resume_point.clone();
                Stream::resume_stream(plan, encoder, from, records.take(), resume_point)
            }
            BatchSource::Store(store) => {
                ensure!(
                    config.batch_size.is_some() || store.pieces.len() >= of_rank.size,
                    "{} positions are too few for {} ranks; start fewer",
                    store.len(),
                    of_rank.size
                );
                Stream::from_store(store.clone(), in_memory, from)
            }
            BatchSource::Prepared { by, .. } => {
                let by = by.clone().context("rows are prepared before they are learnt")?;
                Stream::from_preparation(by, in_memory, from)
            }
        })
    }
}

/// Opens the data of a run and its weights: starting ones, or `resumed`. Sets a missing scale.
pub fn open_data(
    recipe: &mut Recipe,
    resumed: Option<&Weights>,
    host: &Host,
) -> Result<(TrainingData, Weights)> {
    let Some(terms) = recipe.run_terms()? else {
        return open_net_data(&recipe.config, recipe.base.as_ref(), resumed, host);
    };
    let config = &mut recipe.config;
    let start = match resumed {
        Some(weights) => {
            HceWeights::from_weights(weights, terms.list.clone(), config.scale, false)?
        }
        None => {
            terms.start_weights(config.file.terms.as_ref().and_then(|it| it.start.as_deref()))?
        }
    };
    match terms.engine {
        Some(_) => open_trace_data(config, terms, start, host),
        None => open_term_data(config, terms, start, host),
    }
}
