//! Evaluations on positions that they may be measured on: what `compare` and `report` share.

use std::path::PathBuf;

use anyhow::Result;
use rayon::prelude::*;

use super::evaluator::Evaluator;
use super::honest::{Measured, Placed, measured};
use super::recipe::collect;
use crate::hce::{self, HceWeights};
use crate::loader::{Part, Plan};
use crate::report::deep::{Deep, Depth, deep};
use crate::report::slices::Facts;
use crate::report::{Comparison, Evaluation, Options, Truth, Values, compare};
use crate::sample::Sample;
use crate::train::target::sigmoid;

/// What each evaluation says of each position, and what is known of the positions.
pub struct Measurement {
    pub samples: Vec<Sample>,
    pub evaluations: Vec<Evaluation>,
    /// What was measured, and what could not be told.
    pub notes: Vec<String>,
    results: Vec<f64>,
    groups: Vec<u64>,
    targets: Option<Vec<f64>>,
    /// The first of them that was trained.
    trained: Option<usize>,
    /// By position, the number of its file.
    places: Vec<u16>,
    sources: Vec<String>,
    noun: &'static str,
}

/// Reads all positions of the files, one after the other.
pub fn read(plan: &Plan) -> Result<Vec<Placed>> {
    let mut all = Vec::new();
    for (number, file) in plan.files.iter().enumerate() {
        let alone = Plan { files: vec![file.clone()], ..plan.clone() };
        let place = number.min(u16::MAX.into()) as u16;
        all.extend(collect(&alone, Part::All)?.into_iter().map(|sample| (sample, place)));
    }
    Ok(all)
}

/// Leaves out what an evaluation has seen in training, unless `all` are wanted.
pub fn honest(evaluators: &[Evaluator], samples: Vec<Placed>, all: bool) -> Result<Measured> {
    if all {
        return Ok(Measured::all(samples));
    }
    let origins: Vec<_> =
        evaluators.iter().filter(|it| it.is_trained()).map(Evaluator::origin).collect();
    measured(&origins, samples)
}

impl Measurement {
    /// Evaluates positions of these files. The evaluations are called as they name themselves;
    /// those whose names are the same, as they were `given`.
    pub fn of(
        evaluators: &[Evaluator],
        given: &[String],
        measured: Measured,
        files: &[PathBuf],
    ) -> Result<Self> {
        let Measured { samples, part, mut notes, .. } = measured;
        let (samples, places): (Vec<Sample>, Vec<u16>) = samples.into_iter().unzip();
        let mut evaluations = evaluators
            .iter()
            .map(|it| it.evaluate(&samples, files))
            .collect::<Result<Vec<Evaluation>>>()?;
        for (evaluation, given) in evaluations.iter_mut().zip(given) {
            // Two files of one name in different folders need their folders.
            let twins = evaluators.iter().filter(|other| other.name == evaluation.name).count();
            if twins > 1 {
                evaluation.name.clone_from(given);
            }
        }
        let targets = targets(&samples, evaluators).map(|(targets, note)| {
            notes.push(note);
            targets
        });
        let games = samples.iter().all(|sample| sample.game.is_some());
        if !games {
            notes.push(
                "games are unknown: each position counts as one, so intervals are too narrow \
                 where several come from one game"
                    .to_string(),
            );
        }
        let name = |file: &PathBuf| {
            file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
        };
        Ok(Self {
            evaluations,
            notes,
            results: samples.iter().map(|sample| sample.result.into()).collect(),
            groups: samples.iter().map(Sample::group).collect(),
            targets,
            trained: evaluators.iter().position(Evaluator::is_trained),
            places,
            sources: files.iter().map(name).collect(),
            noun: match (games, part) {
                (true, Part::All) => "games",
                (true, _) => "test games",
                (false, Part::All) => "positions",
                (false, _) => "test positions",
            },
            samples,
        })
    }

    fn truth(&self) -> Truth<'_> {
        Truth {
            results: &self.results,
            targets: self.targets.as_deref(),
            groups: &self.groups,
            noun: self.noun,
        }
    }

    /// Which evaluation is better, and how sure that is.
    pub fn compare(&self, options: &Options) -> Result<Comparison> {
        Ok(compare(&self.evaluations, &self.truth(), options)?)
    }

    /// The same with slices, calibration and the positions where evaluations part. `gaps` are
    /// floats and integers of one net, by their places. Everything is held against the first
    /// evaluation that was trained.
    pub fn deep(&self, options: &Options, gaps: &[[usize; 2]], most: usize) -> Result<Deep> {
        let pairs = self.trained.map(|first| self.against(first, gaps));
        let depth = Depth {
            facts: &self.facts(),
            sources: &self.sources,
            fen: &|i| self.samples[i].position.fen(),
            reference: self.trained,
            disagreements: pairs.as_deref(),
            most,
            gaps,
            bins: Depth::BINS,
        };
        Ok(deep(&self.evaluations, &self.truth(), options, &depth)?)
    }

    /// The pairs of one evaluation with the others: those that are not constant, nor integers of
    /// floats that are there.
    fn against(&self, first: usize, gaps: &[[usize; 2]]) -> Vec<[usize; 2]> {
        let others = (0..self.evaluations.len()).filter(|other| {
            let integers = gaps.iter().any(|[_, integers]| integers == other);
            let constant = self.evaluations[*other].values == Values::Constant;
            *other != first && !integers && !constant
        });
        others.map(|other| [first, other]).collect()
    }

    fn facts(&self) -> Vec<Facts> {
        let material = hce::Evaluator::new(&HceWeights::material());
        let facts = |(sample, source): (&Sample, &u16)| Facts {
            phase: hce::Phase::pieces(&sample.position),
            balance: material.evaluate(&sample.position) as i32,
            in_check: sample.position.in_check(),
            score: sample.score.map(i32::from),
            source: *source,
        };
        self.samples.par_iter().zip(&self.places).map(facts).collect()
    }
}

/// What the first run that uses scores aims at, and the formula in words, if all positions have a
/// score.
fn targets(samples: &[Sample], evaluators: &[Evaluator]) -> Option<(Vec<f64>, String)> {
    let configs = evaluators.iter().filter_map(|it| Some(&it.recipe.as_ref()?.config));
    let config = configs.into_iter().find(|config| config.needs_scores())?;
    let (wdl, scale) = (config.target.wdl.at(1.0), config.score_scale());
    let target = |sample: &Sample| {
        let expected = sigmoid(f64::from(sample.score?) / scale);
        Some(wdl * f64::from(sample.result) + (1.0 - wdl) * expected)
    };
    let targets = samples.iter().map(target).collect::<Option<_>>()?;
    let rest = ((1.0 - wdl) * 1e6).round() / 1e6;
    Some((targets, format!("the target is {wdl} * result + {rest} * sigmoid(score / {scale})")))
}
