//! The data of a run: read, described, encoded.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use rayon::prelude::*;

use super::found::{Searched, found};
use crate::batch::{Batch, OfRank};
use crate::config::{BatchSize, Config, Judged};
use crate::data_file::DataFile;
use crate::hce::{HceWeights, Tally};
use crate::loader::{
    Asked, Choosing, Chosen, Cursors, Cut, Encoder, Kept, LoadError, Plan, Quieten, Scan, Sketch,
    Store, Stored, Stream, TermsEncoder, Validating, quiet, scan_terms,
};
use crate::run::choices::Choices;
use crate::run::listener::Listener;
use crate::run::quiet_ends::{Counted, QuietEnds};
use crate::run::recipe::Recipe;
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
    /// What the loss of each of them counts; empty where all count alike.
    pub weights: Arc<[f32]>,
    /// Those of the test games, for the report alone.
    pub test: Vec<Sample>,
    /// Some of the positions to train on; none of another engine's traces.
    pub some: Vec<Sample>,
    pub source: BatchSource,
    /// The handcrafted terms; none for nets.
    pub terms: Option<Tuned>,
    /// Who finds the quiet ends that are judged; none where positions are judged as given.
    pub quieten: Option<Arc<dyn Quieten>>,
    /// Batches of validating positions as given, besides those of their moves.
    pub plain: usize,
}

/// What is known of the files.
pub struct Summary {
    pub files: Vec<DataFile>,
    pub validating: Validating,
    pub sketch: Sketch,
    /// Positions to train on.
    pub train: u64,
}

pub enum BatchSource {
    /// From the files, again and again, or from what of them was kept.
    Files { plan: Box<Plan>, encoder: Encoder, kept: Option<Kept> },
    /// From memory.
    Store {
        store: Arc<Store>,
        /// What it was made of, where that is needed again.
        kept: Option<Kept>,
    },
    /// The positions whose moves are learnt, and these once they are searched.
    Moves { samples: Arc<Vec<Sample>>, asked: Option<Asked> },
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
    listener: &dyn Listener,
) -> Result<Scan, LoadError> {
    let counter = listener.count(None, "reading");
    let scan = scan_terms(plan, keep, terms, &*counter);
    drop(counter);
    let scan = scan?;
    counts(plan, &scan)?;
    listener.scanned(plan, &scan);
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
    let again = config.moves().is_some() || config.target.position == Judged::Quiescence;
    if again { 0 } else { most.min(KEPT) }
}

/// How many positions to keep in memory as terms.
pub fn keep(config: &Config) -> u64 {
    match (config.batch(), config.data.window) {
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
            BatchSource::Store { .. } => None,
            BatchSource::Moves { .. } if config.batch() == BatchSize::All => None,
            BatchSource::Moves { .. } => Some(config.window(self.summary.train)),
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

    /// From now on the quiet ends of positions are judged that `by` finds. Counted positions are
    /// those that are searched at once.
    pub fn quieten(&mut self, by: Arc<dyn Quieten>, listener: &dyn Listener) -> Result<()> {
        let kept = match &self.source {
            BatchSource::Store { kept, .. } => kept.as_ref(),
            BatchSource::Files { .. } | BatchSource::Moves { .. } => None,
        };
        let total = self.validating.len() as u64 + kept.map_or(0, |_| self.summary.train);
        let counter = listener.count(Some(total), "searching quiet ends");
        let counted = Counted { ends: &*by, seen: &*counter };
        let encoder = self.encoder.clone().context("positions are at hand")?;
        let ends = quiet(&self.validating, &counted);
        self.validation = validation(&encoder, &ends, &self.weights);
        if let (BatchSource::Store { store, kept: Some(kept) }, Encoder::Hce(terms)) =
            (&mut self.source, &encoder)
        {
            let by_term = store.is_by_term();
            let mut ends = Store::encode(kept.quiet(&counted), terms);
            if by_term {
                ends.by_term();
            }
            *store = Arc::new(ends);
        }
        self.quieten = Some(by);
        Ok(())
    }

    /// From now on moves are learnt as `ends` search them. How the weights of this moment find those
    /// of games that validate, and of all that is trained on, where it is searched at once.
    pub fn choose(
        &mut self,
        ends: &Arc<QuietEnds>,
        config: &Config,
        listener: &dyn Listener,
    ) -> Result<Searched> {
        let moves = config.moves().context("moves are learnt")?;
        let encoder = self.encoder.clone().context("positions are at hand")?;
        let BatchSource::Moves { samples, asked } = &mut self.source else {
            bail!("moves are learnt from positions");
        };
        let by = Choices { ends: ends.clone(), sides: moves.sides, bound: moves.bound };
        let by = Arc::new(by);
        let window = match config.batch() {
            BatchSize::All => samples.len(),
            BatchSize::Positions(_) => config.window(samples.len() as u64),
        };
        let is_whole = samples.len() <= window;
        // Else the others are searched when their turn comes.
        let step = if is_whole { 1 } else { (samples.len() / SPREAD).max(1) };
        let validating = some_games(&self.validating, MOST_SEARCHED);
        let total = samples.len().div_ceil(step) + validating.len();
        // What was searched before makes way for what is found now.
        *asked = None;
        let counter = listener.count(Some(total as u64), "searching moves");
        let some = samples.par_iter().step_by(step);
        let chosen = Chosen::of(some, &encoder, &*by, &*counter);
        let held = Chosen::of(validating.par_iter(), &encoder, &*by, &*counter);
        drop(counter);
        self.validation.truncate(self.plain);
        self.validation.extend(held.batches(&encoder));
        let searched = Searched {
            training: if is_whole { found(samples, &chosen) } else { None },
            validating: found(&validating, &held),
            spread: chosen.spread.deviation(),
        };
        let whole = is_whole.then(|| Arc::new(chosen));
        *asked = Some(Asked { samples: samples.clone(), encoder, by, whole, window });
        Ok(searched)
    }

    /// The batches from a checkpoint on, or a share of each.
    pub fn batches(
        &mut self,
        recipe: &Recipe,
        start: &Checkpoint,
        of_rank: OfRank,
    ) -> Result<Batches> {
        let place = Cursors::parse(&start.state.cursor)?;
        Ok(match &mut self.source {
            BatchSource::Files { plan, encoder, kept } => {
                let plan = Plan { of_rank, ..Plan::clone(plan) };
                let (encoder, by) = (encoder.clone(), self.quieten.clone());
                Batches::Stream(Stream::of(plan, encoder, place, by, kept.take()))
            }
            BatchSource::Store { store, .. } => {
                ensure!(
                    recipe.config.batch() != BatchSize::All || store.pieces.len() >= of_rank.size,
                    "{} positions are too few for {} ranks; start fewer",
                    store.len(),
                    of_rank.size
                );
                let cut = cut(&recipe.config, of_rank);
                Batches::Stored(Stored::new(store.clone(), cut, place.only()?))
            }
            BatchSource::Moves { asked, .. } => {
                let asked = asked.clone().context("moves are searched before they are learnt")?;
                let cut = cut(&recipe.config, of_rank);
                Batches::Choosing(Choosing::new(asked, cut, place.only()?))
            }
        })
    }
}

fn cut(config: &Config, of_rank: OfRank) -> Cut {
    let batch = match config.batch() {
        BatchSize::Positions(count) => Some(count),
        BatchSize::All => None,
    };
    Cut { batch, shuffle: config.data.shuffle, seed: config.seed, of_rank }
}

/// Batches without end.
pub enum Batches {
    Stream(Stream),
    Stored(Stored),
    Choosing(Choosing),
}

impl Iterator for Batches {
    type Item = Result<Batch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Batches::Stream(stream) => stream.next(),
            Batches::Stored(stored) => stored.next(),
            Batches::Choosing(choosing) => choosing.next(),
        }
    }
}
