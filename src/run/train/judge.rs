//! What a run makes of itself: whether the data carry its model, whether it has overfitted, and
//! whether tuned terms are sane.

use std::borrow::Cow;

use anyhow::{Context, Result};

use super::data::{BatchSource, Data, Tuned, validation};
use super::open;
use crate::architecture::Array;
use crate::batch::Batch;
use crate::config::Config;
use crate::data::doctor::size::Amount;
use crate::hce::{HceEvaluator, HceWeights};
use crate::loader::Weighing;
use crate::loss::Loss;
use crate::model::{Compute, Device, Kind, Model, outputs};
use crate::output;
use crate::report::before_after::TermResult;
use crate::report::fit;
use crate::report::overfit::{Losses, Overfitting};
use crate::report::sanity::{Counted, Rank, Sanity, gathered};
use crate::run::folder::{self, RunFolder};
use crate::run::judgement::{Judgement, Weighed};
use crate::run::recipe::Recipe;
use crate::run::rounding;
use crate::sample::{Sample, games_known};
use crate::terms::Kind as TermKind;
use crate::train::checkpoint::{Best, Checkpoint};
use crate::train::direct::Certainty;
use crate::train::log;
use crate::train::target::{Worth, targets};
use crate::weights::Weights;

/// Positions in memory, about, on which the training loss is measured once more.
const SAMPLE: usize = 1_000_000;

/// One line where the model is large for its data; nothing where it is not.
pub fn caution(recipe: &Recipe, data: &Data) -> Result<Option<String>> {
    // What a move is worth to a weight nobody has measured.
    if recipe.config.moves().is_some() {
        return Ok(None);
    }
    let Weighed { weights, wdl, amount } = weighed(recipe, data)?;
    Ok(amount.caution(weights, wdl))
}

/// One line where a share of the target says the same of all positions, some of which are given:
/// nothing is learnt from it, and the loss looks good. Nothing where neither does.
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

fn weighed(recipe: &Recipe, data: &Data) -> Result<Weighed> {
    let config = &recipe.config;
    let weights = match (recipe.architecture()?, &data.terms) {
        (Some(net), _) => net.arrays().iter().map(Array::len).sum(),
        (None, tuned) => tuned.as_ref().map_or(0, moving),
    };
    let files = &data.summary.files;
    let known = files.iter().all(|file| file.games > 0);
    let taken = (1.0 - config.data.held_out) * config.data.share;
    let games = files.iter().map(|file| file.games).sum::<u64>() as f64 * taken;
    let positions = data.summary.train;
    let amount =
        Amount { games: known.then_some(games.round() as u64), positions, scored: positions };
    Ok(Weighed { weights: weights as u64, wdl: config.final_wdl(), amount })
}

/// The weights that training moves.
fn moving(tuned: &Tuned) -> usize {
    let terms = &tuned.terms;
    let of = |(chosen, term): (&bool, &crate::terms::TermEntry)| match (chosen, term.kind) {
        (false, _) => 0,
        (true, TermKind::Complexity) => 1,
        (true, _) => 2,
    };
    let weights: usize = terms.chosen.terms.iter().zip(&terms.list.terms).map(of).sum();
    weights + usize::from(terms.chosen.tempo)
}

/// Judges the best weights of a run, and keeps that in its folder.
pub fn judge(
    recipe: &Recipe,
    data: &Data,
    best: &Checkpoint,
    terms: Option<Sanity>,
    folder: &RunFolder,
    place: &(Device, Compute),
) -> Result<Judgement> {
    let overfitting = overfitting(recipe, data, best, folder, place)?;
    let data = match recipe.config.moves() {
        Some(_) => None,
        None => Some(weighed(recipe, data)?),
    };
    let judgement = Judgement { overfitting, terms, data };
    let json = serde_json::to_string_pretty(&judgement)?;
    output::write(&folder.file(folder::JUDGEMENT), json.as_bytes())?;
    Ok(judgement)
}

fn overfitting(
    recipe: &Recipe,
    data: &Data,
    best: &Checkpoint,
    folder: &RunFolder,
    (device, compute): &(Device, Compute),
) -> Result<Option<Overfitting>> {
    let config = &recipe.config;
    // Moves have a measure of their own: see `found`.
    if config.moves().is_some() {
        return Ok(None);
    }
    let kind = recipe.kind()?;
    let rounding = rounding::of_run(config)?;
    let weights = match (&rounding, &kind) {
        (Some(rounding), Kind::Net(net) | Kind::Sum(net, _)) => {
            Cow::Owned(rounding.weights(&best.weights, net)?)
        }
        _ => Cow::Borrowed(&best.weights),
    };
    let measure = Measure {
        loss: config.loss(),
        kind,
        wdl: config.final_wdl(),
        worths: config.worths(),
        device,
        compute: *compute,
    };
    let training = training(data, &config.weighing());
    let shares = [&training[..], &data.validation[..]];
    let trained = shares.map(|batches| measure.losses(&weights, batches));
    let [trained, validated] = trained;
    let (trained, validated) = (trained?, validated?);
    let (reference, [one, other]) = match &data.terms {
        Some(tuned) => {
            let start = tuned.start.to_weights();
            let [one, other] = shares.map(|batches| measure.losses(&start, batches));
            ("the weights it began with", [one?, other?])
        }
        None if config.model.tune_base => {
            let mut start = best.weights.clone();
            HceWeights::forget(&mut start);
            open::zero(&mut start, &recipe.architecture()?.context("what learns is a net")?);
            let [one, other] = shares.map(|batches| measure.losses(&start, batches));
            ("what it was added to", [one?, other?])
        }
        None if recipe.base.is_some() => {
            ("what it is added to", shares.map(|batches| measure.of_base(batches)))
        }
        None => ("material", material(recipe, data, shares, &measure)?),
    };
    let games = |samples: &[Sample]| -> Vec<u64> {
        if games_known(samples) { samples.iter().map(Sample::group).collect() } else { Vec::new() }
    };
    let rows = log::read(&folder.file(folder::LOG))?;
    let last = rows.last().and_then(|row| row.held_out_loss);
    let rose = match (last, best.state.best) {
        (Some(last), Some(Best { loss, .. })) => last - loss,
        _ => 0.0,
    };
    let scores = if measure.wdl > 0.0 { " or a higher share of scores" } else { "" };
    // What still got better has not had too many.
    let epochs = if rose > 0.0 { ", fewer epochs" } else { "" };
    let cure = match measure.kind {
        Kind::Net(_) | Kind::Sum(..) => format!("fewer neurons{epochs}{scores}"),
        Kind::Hce(_) => format!("fewer terms, a smaller optimizer.prior{scores}"),
    };
    let some = match &data.source {
        // Nobody knows any more whose games these are.
        BatchSource::Store { .. } | BatchSource::Moves { .. } => Vec::new(),
        BatchSource::Files { .. } => games(&data.some),
    };
    let held = games(&data.validating);
    let train = kept(&trained, &one, &some);
    let validation = kept(&validated, &other, &held);
    Ok(Overfitting::of(train.losses(), validation.losses(), reference, rose, &cure))
}

/// Batches of positions that were trained on.
fn training(data: &Data, weighing: &Weighing) -> Vec<Batch> {
    if let BatchSource::Store { store, .. } = &data.source {
        return vec![store.some(SAMPLE)];
    }
    let Some(encoder) = &data.encoder else { return Vec::new() };
    validation(encoder, &data.judged(&data.some), &weighing.weights(&data.some))
}

/// Losses of positions that count alike, whose mean is that of losses that count as batches say.
fn levelled(losses: Vec<f64>, batches: &[Batch]) -> Vec<f64> {
    if batches.iter().all(|batch| batch.weights.is_empty()) {
        return losses;
    }
    let weights = batches.iter().flat_map(|batch| batch.weights.iter()).map(|it| f64::from(*it));
    let mean = weights.clone().sum::<f64>() / losses.len().max(1) as f64;
    losses.into_iter().zip(weights).map(|(loss, weight)| loss * weight / mean).collect()
}

/// How losses are measured.
struct Measure<'a> {
    kind: Kind,
    loss: Loss,
    wdl: f64,
    worths: Vec<Worth>,
    device: &'a Device,
    compute: Compute,
}

impl Measure<'_> {
    /// The loss of each position; not finite where it has no target.
    fn losses(&self, weights: &Weights, batches: &[Batch]) -> Result<Vec<f64>> {
        let model = Model::new(&self.kind, weights, self.device, self.compute)?;
        let mut losses = Vec::new();
        for batch in batches {
            losses.extend(self.of(&outputs(&model, batch)?, batch));
        }
        Ok(levelled(losses, batches))
    }

    /// The same of what the net is added to.
    fn of_base(&self, batches: &[Batch]) -> Vec<f64> {
        let losses = batches.iter().flat_map(|batch| self.of(&batch.base, batch)).collect();
        levelled(losses, batches)
    }

    /// The same of logits.
    fn of(&self, logits: &[f32], batch: &Batch) -> Vec<f64> {
        let wanted = targets(batch, self.wdl, &self.worths);
        let loss = |(logit, wanted): (&f32, &f32)| self.loss.of((*logit).into(), (*wanted).into());
        logits.iter().zip(&wanted[..]).map(loss).collect()
    }
}

/// The losses of material, with the scale that fits it best to all of these positions.
fn material(
    recipe: &Recipe,
    data: &Data,
    shares: [&[Batch]; 2],
    measure: &Measure,
) -> Result<[Vec<f64>; 2]> {
    let Some(net) = recipe.architecture()? else { return Ok([Vec::new(), Vec::new()]) };
    let evaluator = HceEvaluator::new(&HceWeights::material());
    let seen = |samples: &[Sample]| -> Vec<f64> {
        let value = |it: &Sample| {
            f64::from(net.inputs.sign(&it.position)) * evaluator.evaluate(&it.position)
        };
        samples.iter().map(value).collect()
    };
    let wanted = shares.map(|batches| -> Vec<f64> {
        let of = |batch: &Batch| targets(batch, measure.wdl, &measure.worths).into_owned();
        batches.iter().flat_map(of).map(f64::from).collect()
    });
    let values = [&data.some, &data.validating].map(|samples| seen(&data.judged(samples)));
    let fitted: (Vec<f64>, Vec<f64>) = (values.iter().flatten().copied())
        .zip(wanted.iter().flatten().copied())
        .filter(|(_, wanted)| wanted.is_finite())
        .unzip();
    let scale = fit::fit(&fitted.0, &fitted.1).scale.unwrap_or(recipe.config.scale());
    let losses = |share: usize| -> Vec<f64> {
        let pairs = values[share].iter().zip(&wanted[share]);
        let losses = pairs.map(|(cp, wanted)| measure.loss.of(cp / scale, *wanted)).collect();
        levelled(losses, shares[share])
    };
    Ok([losses(0), losses(1)])
}

/// Positions with a target.
struct Kept {
    trained: Vec<f64>,
    reference: Vec<f64>,
    games: Vec<u64>,
}

impl Kept {
    fn losses(&self) -> Losses<'_> {
        Losses { trained: &self.trained, reference: &self.reference, games: &self.games }
    }
}

fn kept(trained: &[f64], reference: &[f64], games: &[u64]) -> Kept {
    let mut kept = Kept { trained: Vec::new(), reference: Vec::new(), games: Vec::new() };
    for (place, (trained, reference)) in trained.iter().zip(reference).enumerate() {
        if trained.is_finite() && reference.is_finite() {
            kept.trained.push(*trained);
            kept.reference.push(*reference);
            kept.games.extend(games.get(place));
        }
    }
    kept
}

/// Whether tuned terms are sane.
pub fn sanity(tuned: &Tuned, results: &[TermResult], certainty: &Certainty) -> Result<Sanity> {
    let terms = &tuned.terms.list.terms;
    let number = |name: &str| terms.iter().position(|term| term.name == name);
    let counted = results.iter().map(|result| {
        let term = number(&result.name).context("a term of the list")?;
        Ok(Counted { result, times: tuned.tally.times.get(term).copied().unwrap_or(0) as f64 })
    });
    let counted = counted.collect::<Result<Vec<_>>>()?;
    let rank = (certainty.weights > 0).then(|| Rank {
        weights: certainty.weights as u64,
        determined: certainty.determined,
        collinear: groups(tuned, certainty),
    });
    Ok(Sanity::of(&counted, tuned.tally.phase(), rank))
}

/// Collinear weights as names, those of middlegame and endgame together.
fn groups(tuned: &Tuned, certainty: &Certainty) -> Vec<(Vec<String>, u64)> {
    let terms = &tuned.terms.list.terms;
    let name = |weight: &usize| {
        terms.get(weight / 2).map_or(crate::terms::TEMPO.to_string(), |term| term.name.clone())
    };
    let mut groups: Vec<(Vec<String>, u64)> = Vec::new();
    for group in &certainty.collinear {
        let mut names: Vec<String> = group.weights.iter().map(name).collect();
        names.dedup();
        let names = gathered(&names);
        let missing = group.undetermined as u64;
        match groups.iter_mut().find(|(others, _)| *others == names) {
            Some((_, sum)) => *sum += missing,
            None => groups.push((names, missing)),
        }
    }
    groups
}
