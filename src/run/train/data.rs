//! Data of a run: read, described and encoded; and its starting weights.

use std::sync::Arc;

use anyhow::{Context, Error, Result, bail, ensure};
use rayon::prelude::*;

use crate::architecture::ArrayKind;
use crate::batch::{Batch, Choices, RankShare};
use crate::config::{Config, LEAST_SCALE, MOST_SCALE, Objective};
use crate::export;
use crate::hce::{HceWeights, TermCounts};
use crate::loader::{
    BatchOrder, Encoder, KeptRecords, LoadError, Plan, Preparation, Prepare, Scan, Store, Stream,
    Subset, TERMS_PIECE, read_traces, scan,
};
use crate::model::{Compute, HceShape, Kind, Model, initial_of_size, try_to_host};
use crate::progress::Progress;
use crate::report::fit::fit;
use crate::run::recipe::{self, Recipe};
use crate::run::terms::RunTerms;
use crate::run::{Host, objective};
use crate::sample::{Sample, mix};
use crate::train::checkpoint::Checkpoint;
use crate::weights::Weights;

/// Data of a run: batches for training and for validation.
pub struct Data {
    /// Facts about the files, and the held-out positions.
    pub scan: Scan,
    pub validation: Vec<Batch>,
    /// Encodes batches of positions; none for another engine's traces.
    encoder: Option<Encoder>,
    pub source: BatchSource,
    /// The handcrafted terms; none for nets.
    pub terms: Option<TermData>,
}

#[allow(clippy::large_enum_variant, reason = "a run has one source")]
pub enum BatchSource {
    /// From the files, again and again, or from records in memory.
    Files {
        plan: Box<Plan>,
        kept: Option<KeptRecords>,
    },
    Store(Arc<Store>),
    /// Rows that are prepared again in each round.
    Prepared {
        samples: Arc<Vec<Sample>>,
        by: Option<Preparation>,
    },
}

pub struct TermData {
    pub terms: RunTerms,
    pub start: HceWeights,
    /// Number of positions with each term; none for streamed data.
    pub counts: Option<Vec<u64>>,
    /// Number of occurrences of each term in some of the positions.
    pub term_counts: TermCounts,
}

/// Most positions in memory as handcrafted terms, of some 250 bytes each.
const KEPT: u64 = 8 << 20;
/// Approximate number of positions on which the spread of values is measured.
const SPREAD: usize = 1 << 14;
/// Approximate number of validation positions whose moves are searched.
const MOST_SEARCHED: usize = 100_000;
/// Approximate number of positions on which feature sets are checked.
const CHECKED: usize = 4096;
/// One in this many of these is used to check bounds, which takes longer.
const BOUNDED: usize = 64;
const VALIDATION_BATCH: usize = 4096;

/// Reads the data, or a sample of it if there are more than `keep` positions to train on.
fn read(
    plan: &Plan,
    keep: u64,
    config: &Config,
    listener: &dyn Progress,
) -> Result<Scan, LoadError> {
    let mut scan = scan(plan, keep, &*listener.count(None, "reading"))?;
    if !scan.is_whole {
        scan.counts.train = config.file.data.positions.unwrap_or(scan.counts.train);
    }
    let weights = plan.weighing.weights(&scan.some);
    if !weights.is_empty() && weights.iter().all(|weight| *weight == 0.0) {
        return Err(LoadError::NothingCounts);
    }
    Ok(scan)
}

/// The positions of some games, about `most`, chosen by the hash of their content.
pub fn draw_games(samples: &[Sample], most: usize) -> Vec<Sample> {
    let behind = u64::MAX / (samples.len().max(most) as u64) * most as u64;
    let is_drawn = |sample: &&Sample| mix(sample.group(), most as u64) <= behind;
    samples.iter().filter(is_drawn).copied().collect()
}

/// Positions of a run whose rows are prepared again in each round.
fn to_prepare(plan: &Plan, config: &Config, listener: &dyn Progress) -> Result<Arc<Vec<Sample>>> {
    let samples = recipe::collect(plan, Some(Subset::Train), listener)?;
    Ok(Arc::new(if config.learns_moves() { objective::select(samples)? } else { samples }))
}

/// Batches of the validation positions, with the config's weights.
fn validation(config: &Config, encoder: &Encoder, samples: &[Sample]) -> Vec<Batch> {
    let weights = config.file.target.weights.weights(samples);
    let batch = |(samples, weights): (&[Sample], &[f32])| Batch {
        weights: weights.into(),
        ..encoder.encode(samples)
    };
    let weights = weights.chunks(VALIDATION_BATCH).chain(std::iter::repeat(&[][..]));
    samples.chunks(VALIDATION_BATCH).zip(weights).map(batch).collect()
}

impl Data {
    /// The window for the run's complete config.
    pub fn window(&self, config: &Config) -> Option<usize> {
        let has_window = match &self.source {
            BatchSource::Files { .. } => true,
            BatchSource::Store(_) => false,
            BatchSource::Prepared { .. } => config.batch_size.is_some(),
        };
        has_window.then(|| config.window(self.scan.counts.train))
    }

    /// Prepares rows with the weights of a round, including the validation games; returns the
    /// spread of the values of moves. `spread` is that of the first round.
    pub fn prepare(
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
        let window =
            config.batch_size.map_or(samples.len(), |_| config.window(samples.len() as u64));
        let is_whole = samples.len() <= window;
        let step = match (is_whole, by.choices()) {
            (true, _) => 1,
            (false, Some(_)) => (samples.len() / SPREAD).max(1),
            // The windows are searched one by one during training.
            (false, None) => samples.len(),
        };
        let validating = match by.choices() {
            Some(_) => draw_games(&self.scan.validation.samples, MOST_SEARCHED),
            None => self.scan.validation.samples.clone(),
        };
        // Frees the memory of the last round first.
        *last = None;
        let (samples, weighing) = (samples.clone(), config.file.target.weights.clone());
        let total = samples.len().div_ceil(step) + validating.len();
        let (variance_factor, whole) = (1.0, None);
        let mut by = Preparation { samples, weighing, encoder, by, variance_factor, whole, window };
        let counter = listener.count(Some(total as u64), "searching quiet ends");
        let mut prepared = by.of(by.samples.par_iter().step_by(step), &*counter);
        self.validation = by.of(validating.par_iter(), &*counter).batches(&by);
        drop(counter);
        let now = prepared.choices.as_ref().and_then(Choices::spread);
        by.variance_factor = spread.zip(now).map_or(1.0, |(then, now)| (then / now).max(1.0));
        if let Some(choices) = &mut prepared.choices {
            choices.variance_factor = by.variance_factor;
        }
        by.whole = is_whole.then(|| Arc::new(prepared));
        *last = Some(by);
        Ok(now)
    }

    /// Batches from a checkpoint on, or a share of each.
    pub fn batches(
        &mut self,
        config: &Config,
        start: &Checkpoint,
        of_rank: RankShare,
    ) -> Result<Stream> {
        let from = start.state.positions;
        let (batch, shuffle) = (config.batch_size, config.file.data.shuffle);
        let cut = BatchOrder { batch, shuffle, seed: config.file.seed, of_rank };
        Ok(match &mut self.source {
            BatchSource::Files { plan, kept } => {
                let plan = Plan { of_rank, ..Plan::clone(plan) };
                let encoder = self.encoder.clone().context("files hold positions")?;
                Stream::of(plan, encoder, from, kept.take(), start.state.place.clone())
            }
            BatchSource::Store(store) => {
                ensure!(
                    batch.is_some() || store.pieces.len() >= of_rank.size,
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

/// Opens the data of a run and its starting weights, or those `begun`. Sets a missing scale.
pub fn open(recipe: &mut Recipe, begun: Option<&Weights>, host: &Host) -> Result<(Data, Weights)> {
    let Some(terms) = recipe.terms()? else {
        return net(&recipe.config, recipe.base.as_ref(), begun, host);
    };
    let config = &mut recipe.config;
    let start = match begun {
        Some(weights) => {
            HceWeights::from_weights(weights, terms.list.clone(), config.scale, false)?
        }
        None => terms.start(config.file.terms.as_ref().and_then(|it| it.start.as_deref()))?,
    };
    match terms.own {
        Some(_) => traces(config, terms, start, host),
        None => positions(config, terms, start, host),
    }
}

fn net(
    config: &Config,
    base: Option<&export::Base>,
    begun: Option<&Weights>,
    host: &Host,
) -> Result<(Data, Weights)> {
    let (section, net) =
        config.file.net.as_ref().zip(config.architecture()).context("no terms, so a net")?;
    let joins = base.filter(|_| section.tune_base);
    let terms = joins.map(|base| terms_of_net(base, begun)).transpose()?;
    let encoder = match (&terms, base) {
        (Some(terms), _) => Encoder::sum(net, RunTerms::of_base(terms).encoder(terms)),
        (None, base) => Encoder::net(net).on(base.map(recipe::open_base).transpose()?),
    };
    let mut plan = Plan { colours: encoder.needs_colours(), ..recipe::plan(config) };
    let rounds = config.file.target.learn != Objective::Values;
    // Positions whose quiet ends are searched are read again.
    let keep = match config.file.data.window {
        _ if rounds => 0,
        Some(window) => window as u64,
        None => config.most_kept(),
    };
    let mut scan = read(&plan, keep, config, host.listener)?;
    if !net.inputs.is_pieces() {
        let some = scan.some.par_iter().step_by((scan.some.len() / CHECKED).max(1)).enumerate();
        let check = |(i, it): (usize, &Sample)| net.inputs.check(&it.position, i % BOUNDED == 0);
        // The first alone: a panic of a set of the user's own is printed once.
        scan.some.first().map_or(Ok(()), |it| check((0, it))).map_err(Error::msg)?;
        some.find_map_first(|it| check(it).err()).map_or(Ok(()), |it| Err(Error::msg(it)))?;
    }
    let samples = rounds.then(|| to_prepare(&plan, config, host.listener)).transpose()?;
    plan.expected = scan.is_whole.then_some(scan.counts.train);
    plan.lengths = scan.files.iter().map(|file| file.bytes).collect();
    plan.window = config.window(scan.counts.train);
    recipe::plan_chunks(&mut plan, config, host.device.1, scan.counts.train, &scan.some);
    let sizes: Vec<f64> = section.sets.iter().map(|set| section.start_size.of(set)).collect();
    let mut weights = initial_of_size(net, config.file.seed, &sizes);
    if base.is_some() {
        // So the sum starts as its base.
        for part in [ArrayKind::Output, ArrayKind::OutputBias] {
            let name = net.array(part).expect("every net has it").name;
            weights.0.get_mut(&name).expect("a net has its arrays").values.fill(0.0);
        }
    }
    weights.0.extend(terms.into_iter().flat_map(|terms| terms.to_weights().0));
    let source = match samples {
        Some(samples) => {
            scan.counts.train = samples.len() as u64;
            BatchSource::Prepared { samples, by: None }
        }
        None => {
            let fits = scan.counts.train <= plan.window as u64;
            let kept = scan.kept.take().filter(|_| fits);
            BatchSource::Files { plan: Box::new(plan), kept }
        }
    };
    let validation = validation(config, &encoder, &scan.validation.samples);
    Ok((Data { scan, validation, encoder: Some(encoder), source, terms: None }, weights))
}

/// Terms that are trained with a net, as they were at its start.
fn terms_of_net(base: &export::Base, begun: Option<&Weights>) -> Result<HceWeights> {
    let terms = recipe::terms_of(base)?;
    let Some(begun) = begun else { return Ok(terms) };
    let HceWeights { scale_factor, source, .. } = terms;
    let began = HceWeights::from_weights(begun, terms.list, terms.scale, false)?;
    Ok(HceWeights { scale_factor, source, ..began })
}

const FIT_ON: usize = 200_000;

/// Data for the built-in terms, from positions.
fn positions(
    config: &mut Config,
    mut terms: RunTerms,
    start: HceWeights,
    host: &Host,
) -> Result<(Data, Weights)> {
    let mut plan = recipe::plan(config);
    let rounds = config.file.target.learn != Objective::Values;
    let keep = match (config.batch_size, config.file.data.window) {
        _ if rounds => 0,
        (None, _) => u64::MAX,
        (_, Some(_)) => 0,
        (_, None) => KEPT,
    };
    let mut scan = read(&plan, keep, config, host.listener)?;
    plan.expected = scan.is_whole.then_some(scan.counts.train);
    plan.window = config.window(scan.counts.train);
    let encoder = |terms: &RunTerms| Encoder::Hce(Arc::new(terms.encoder(&start)));
    let (source, counts, fitted);
    match scan.kept.take() {
        _ if rounds => {
            let samples = to_prepare(&plan, config, host.listener)?;
            let seen = terms.encoder(&start).counts(&samples);
            freeze_rare(&mut terms, &seen);
            let every = (samples.len() / FIT_ON).max(1);
            let some = match config.learns_moves() {
                true => scan.some.clone(),
                false => samples.chunks(TERMS_PIECE).step_by(every).flatten().copied().collect(),
            };
            (fitted, counts) = (encoder(&terms).encode(&some), Some(seen));
            scan.counts.train = samples.len() as u64;
            source = BatchSource::Prepared { samples, by: None };
        }
        Some(records) => {
            let mut store = Store::encode(records, &terms.encoder(&start));
            freeze_rare_of(&mut store, &mut terms, &start);
            (fitted, counts) = (store.subsample(FIT_ON), Some(store.counts.clone()));
            source = stored(store, config, host.device.1);
        }
        None => {
            (fitted, counts) = (encoder(&terms).encode(&scan.some), None);
            source = BatchSource::Files { plan: Box::new(plan), kept: None };
        }
    }
    let encoder = encoder(&terms);
    let weights = begin(config, &terms, &start, &fitted, host)?;
    let term_counts = TermCounts::of(&scan.some);
    let validation = validation(config, &encoder, &scan.validation.samples);
    let terms = Some(TermData { terms, start, counts, term_counts });
    Ok((Data { scan, validation, encoder: Some(encoder), source, terms }, weights))
}

/// Data for another engine's terms, from its traces.
fn traces(
    config: &mut Config,
    mut terms: RunTerms,
    start: HceWeights,
    host: &Host,
) -> Result<(Data, Weights)> {
    let own = terms.own.clone().context("an engine's terms")?;
    let plan = recipe::plan(config);
    let mut scan = read(&plan, u64::MAX, config, host.listener)?;
    let ([mut store, mut validation], term_counts) =
        read_traces(&plan, &own, &terms.encoder(&start))?;
    freeze_rare_of(&mut store, &mut terms, &start);
    validation.freeze(&terms.encoder(&start));
    let weights = begin(config, &terms, &start, &store.subsample(FIT_ON), host)?;
    scan.counts.train = store.len() as u64;
    let validation = if validation.is_empty() { Vec::new() } else { vec![validation.all()] };
    let terms = Some(TermData { terms, start, counts: Some(store.counts.clone()), term_counts });
    let source = stored(store, config, host.device.1);
    Ok((Data { scan, validation, encoder: None, source, terms }, weights))
}

/// Terms in memory, grouped by term if the CPU takes gradients over all of them again and again.
fn stored(mut store: Store, config: &Config, compute: Compute) -> BatchSource {
    let is_whole = config.batch_size.is_none() && !config.optimizer.name.is_direct();
    if is_whole && matches!(compute, Compute::Fused { .. }) {
        store.by_term();
    }
    BatchSource::Store(Arc::new(store))
}

/// Freezes the terms that too few positions have, in their store as well.
fn freeze_rare_of(store: &mut Store, terms: &mut RunTerms, start: &HceWeights) {
    if freeze_rare(terms, &store.counts) {
        store.freeze(&terms.encoder(start));
    }
}

/// Freezes the terms that too few positions have; returns whether there are any.
fn freeze_rare(terms: &mut RunTerms, seen: &[u64]) -> bool {
    let (mut has_rare, rare) = (false, terms.rare);
    for (chosen, seen) in terms.chosen.terms.iter_mut().zip(seen) {
        has_rare |= *chosen && *seen < rare;
        *chosen &= *seen >= rare;
    }
    has_rare
}

/// The starting weights. A config without a scale gets the one that fits the start best.
fn begin(
    config: &mut Config,
    terms: &RunTerms,
    start: &HceWeights,
    batch: &Batch,
    Host { device: (device, compute), .. }: &Host,
) -> Result<Weights> {
    let weights = start.to_weights();
    if config.file.target.scale.is_none() {
        // With one centipawn per logit, logits are centipawns.
        let shape = HceShape { scale: 1.0, ..terms.shape(config) };
        let model = Model::new(&Kind::Hce(shape), &weights, device, *compute)?;
        let exact = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let cp = exact(&try_to_host(model.logits(&batch.inputs))?);
        let scale = fit(&cp, &exact(&batch.results)).scale.unwrap_or(config.scale);
        // Three digits are far finer than the data resolve.
        let scale = ((scale * 10.0).round() / 10.0).clamp(LEAST_SCALE, MOST_SCALE);
        *config = config.with(|file| file.target.scale = Some(scale))?;
    }
    Ok(weights)
}
