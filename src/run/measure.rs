//! Evaluations on positions that they may be measured on: what `compare` and `report` share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use rayon::prelude::*;

use super::evaluator::Evaluator;
use super::folder::{BEST, NET};
use super::honest::{Placed, Selection, everything, measured};
use super::listener::Listener;
use super::played::Match;
use super::recipe::{Recipe, collect};
use crate::digits::grouped;
use crate::format::{ReadError, view};
use crate::hce::{self, HceWeights};
use crate::loader::{LoadError, Part, Plan};
use crate::report::deep::{Deep, Depth, deep};
use crate::report::gap::{Gap, gap};
use crate::report::slices::Attributes;
use crate::report::{Comparison, Options, Played, Predictions, Truth, Values, compare};
use crate::sample::{Sample, games_known};
use crate::train::target::Promise;

/// Positions of a file on which its results are held against material, as in training.
const PROBE: usize = 50_000;

/// What each evaluation says of each position, and what is known of the positions.
pub struct Measurement {
    pub samples: Vec<Sample>,
    pub evaluations: Vec<Predictions>,
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
    games_known: bool,
    /// Why no winner may be named from these results.
    doubt: Option<String>,
    /// How many positions were left out, since they have no score, in words.
    unscored: Option<String>,
    /// Games between some of them.
    played: Option<Played>,
}

/// All positions of the files that a user names, or else of those that a run was trained on; none
/// without either.
pub fn plan(
    files: &[PathBuf],
    run: Option<&Recipe>,
    evaluators: &[Evaluator],
) -> Result<Option<Plan>> {
    let plan = match (files, run) {
        ([], None) => return Ok(None),
        ([], Some(recipe)) => recipe.measured_again()?,
        (files, _) => Plan::reading(files.to_vec()),
    };
    Ok(Some(Plan { colours: evaluators.iter().any(Evaluator::needs_colours), ..plan }))
}

/// Reads all positions of the files, one after the other.
pub fn read(plan: &Plan, listener: &dyn Listener) -> Result<Vec<Placed>> {
    let mut all = Vec::new();
    for (number, file) in plan.files.iter().enumerate() {
        let alone = Plan { files: vec![file.clone()], ..plan.clone() };
        let place = number.min(u16::MAX.into()) as u16;
        let found = collect(&alone, Part::All, listener).map_err(worded)?;
        all.extend(found.into_iter().map(|sample| (sample, place)));
    }
    Ok(all)
}

/// The cure is a command here, not a key of a config.
fn worded(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Read(ReadError::Bad { path, bad, limit: 0 }) => anyhow!(
            "{path}, {bad} (to measure on the others, write them into a file of their own: \
             nnuance data convert {path} --bad-records N -o FILE)",
            path = path.display()
        ),
        other => other.into(),
    }
}

/// Leaves out what an evaluation has seen in training, unless `all` are wanted. `chosen` is whether
/// the user has chosen positions by a filter.
pub fn honest(
    evaluators: &[Evaluator],
    samples: Vec<Placed>,
    all: bool,
    chosen: bool,
) -> Result<Selection> {
    let trained = || evaluators.iter().filter(|it| it.is_trained());
    let origins: Vec<_> = trained().map(Evaluator::origin).collect();
    let measured = match all {
        true => everything(&origins, samples),
        false => measured(&origins, samples, chosen)?,
    };
    // By evaluation, those that never saw training among them.
    let mut of_trained = measured.doubts.into_iter();
    let doubts =
        evaluators.iter().map(|it| it.is_trained().then(|| of_trained.next()).flatten().flatten());
    Ok(Selection { doubts: doubts.collect(), ..measured })
}

/// Floats and integers of one net, as places among the evaluations.
pub fn gaps(given: &[String], evaluators: &[Evaluator]) -> Vec<[usize; 2]> {
    let of = |wanted: &dyn Fn(&Evaluator) -> bool, net: &str| {
        let mut places = given.iter().zip(evaluators).enumerate();
        places.find(|(_, (given, it))| wanted(it) && net_of(given) == net).map(|(place, _)| place)
    };
    let nets = given.iter().zip(evaluators).enumerate().filter(|(_, (_, it))| it.is_quantised());
    nets.filter_map(|(place, (given, _))| Some([of(&Evaluator::is_float, &net_of(given))?, place]))
        .collect()
}

/// What floats and integers of one net have in common: the folder of a run, or the name that only
/// differs in its ending.
fn net_of(given: &str) -> String {
    let path = Path::new(given);
    let named = |name: &str| path.file_name().is_some_and(|it| it == name);
    match path.parent() {
        Some(folder) if named(BEST) || named(NET) => folder.to_string_lossy().into_owned(),
        _ => path.with_extension("").to_string_lossy().into_owned(),
    }
}

impl Measurement {
    /// Evaluates positions of these files, or the ends of their quiescence searches. The evaluations
    /// are called as they name themselves; those whose names are the same, as they were `given`.
    pub fn of(
        evaluators: &[Evaluator],
        given: &[String],
        measured: Selection,
        files: &[PathBuf],
        quiescence: bool,
    ) -> Result<Self> {
        let mut measured = measured;
        if evaluators.iter().any(Evaluator::needs_scores) {
            measured.skip_unscored("`score`")?;
        }
        let unscored = measured.unscored();
        let Selection { samples, part, mut notes, doubts, .. } = measured;
        let (samples, places): (Vec<Sample>, Vec<u16>) = samples.into_iter().unzip();
        let mut evaluations = evaluators
            .iter()
            .map(|it| match quiescence {
                true => it.evaluate_quiet(&samples),
                false => it.evaluate(&samples, files),
            })
            .collect::<Result<Vec<Predictions>>>()?;
        for (evaluation, given) in evaluations.iter_mut().zip(given) {
            // Two files of one name in different folders need their folders.
            let twins = evaluators.iter().filter(|other| other.name == evaluation.name).count();
            if twins > 1 {
                evaluation.name.clone_from(given);
            }
        }
        for (evaluation, doubt) in evaluations.iter_mut().zip(doubts) {
            evaluation.doubt = doubt;
        }
        let targets = targets(&samples, evaluators).map(|(targets, note)| {
            notes.push(note);
            targets
        });
        if quiescence {
            notes.push("measured are the scores of quiescence searches".into());
        }
        let games = games_known(&samples);
        if !games {
            notes.push(unknown(&samples));
        }
        let name = |file: &PathBuf| {
            file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
        };
        Ok(Self {
            evaluations,
            games_known: games,
            doubt: turned(&samples, &places),
            unscored,
            played: None,
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
            games_known: self.games_known,
            doubt: self.doubt.as_deref(),
        }
    }

    /// Adds the games of a match, in which some of the evaluations played; before any of them is
    /// left out.
    pub fn play(
        &mut self,
        games: &Match,
        given: &[String],
        evaluators: &[Evaluator],
    ) -> Result<()> {
        let (players, notes) = games.find(given, evaluators)?;
        for (evaluation, player) in self.evaluations.iter_mut().zip(players) {
            evaluation.player = player;
        }
        self.notes.extend(games.notes.iter().cloned().chain(notes));
        self.played = Some(games.played.clone());
        Ok(())
    }

    /// What the numbers do not tell by themselves.
    fn add_to(&self, comparison: &mut Comparison) -> Result<()> {
        comparison.notes.clone_from(&self.notes);
        comparison.sentences.splice(0..0, self.unscored.clone());
        if let Some(played) = &self.played {
            comparison.add_games(played);
        }
        Ok(())
    }

    /// Between floats and integers of one net, by their places, is rounding and no contest.
    pub fn no_rivals(&mut self, gaps: &[[usize; 2]]) {
        for [floats, integers] in gaps {
            for place in [floats, integers] {
                self.evaluations[*place].net = Some(*floats);
            }
        }
    }

    /// Leaves out the floats of nets whose integers have the same loss, or nearly so, or of `all`;
    /// `gaps` are floats and integers of one net by their places. What is left of them, by the new
    /// places, and all of them measured.
    pub fn fold(
        &mut self,
        gaps: &[[usize; 2]],
        all: bool,
        options: &Options,
    ) -> Result<(Vec<[usize; 2]>, Vec<Gap>)> {
        self.no_rivals(gaps);
        let truth = self.truth();
        let measured = gaps
            .iter()
            .map(|pair| gap(pair.map(|place| &self.evaluations[place]), &truth, options))
            .collect::<Result<Vec<_>, _>>()?;
        let (mut left, mut gone) = (Vec::new(), Vec::new());
        for (pair, gap) in gaps.iter().zip(&measured) {
            match all || gap.is_nothing() {
                // The integers are what engines compute with.
                true => gone.push(*pair),
                false => left.push(*pair),
            }
        }
        let integers = |place: usize| {
            gone.iter()
                .find(|[floats, _]| *floats == place)
                .map_or(place, |[_, integers]| *integers)
        };
        let shifted =
            |place: usize| place - gone.iter().filter(|[floats, _]| *floats < place).count();
        self.trained = self.trained.map(|first| shifted(integers(first)));
        let mut place = 0..;
        self.evaluations.retain(|_| {
            let place = place.next();
            !gone.iter().any(|[floats, _]| Some(*floats) == place)
        });
        Ok((left.into_iter().map(|pair| pair.map(shifted)).collect(), measured))
    }

    /// Which evaluation is better, and how sure that is.
    pub fn compare(&self, options: &Options) -> Result<Comparison> {
        let mut comparison = compare(&self.evaluations, &self.truth(), options)?;
        self.add_to(&mut comparison)?;
        Ok(comparison)
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
            ends: self.ends(),
            bins: Depth::BINS,
        };
        let mut deep = deep(&self.evaluations, &self.truth(), options, &depth)?;
        self.add_to(&mut deep.comparison)?;
        Ok(deep)
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

    /// The places of material and score.
    fn ends(&self) -> Option<[usize; 2]> {
        let place = |name: &str| self.evaluations.iter().position(|it| it.name == name);
        Some([place("material")?, place("score")?])
    }

    fn facts(&self) -> Vec<Attributes> {
        let material = hce::HceEvaluator::new(&HceWeights::material());
        let facts = |(sample, source): (&Sample, &u16)| Attributes {
            phase: hce::Phase::pieces(&sample.position),
            balance: material.evaluate(&sample.position) as i32,
            in_check: sample.position.in_check(),
            score: sample.score.map(i32::from),
            source: *source,
        };
        self.samples.par_iter().zip(&self.places).map(facts).collect()
    }
}

/// How many positions lack their game, and what follows.
fn unknown(samples: &[Sample]) -> String {
    let lacking = samples.iter().filter(|sample| sample.game.is_none()).count();
    let what = match samples.len() {
        all if all == lacking => "games are unknown: positions stand for them".to_string(),
        all => {
            let [lacking, all] = [lacking, all].map(|count| grouped(count as u64));
            format!("the game of {lacking} of {all} positions is unknown: they stand for games")
        }
    };
    format!("{what}, so that intervals are lower bounds and no winner is named")
}

/// Why the results cannot be those of these positions, if material contradicts them as training
/// would find: then whatever predicts them best is worst.
fn turned(samples: &[Sample], places: &[u16]) -> Option<String> {
    let files: BTreeSet<u16> = places.iter().copied().collect();
    files.into_iter().find_map(|file| {
        let of_file = samples.iter().zip(places).filter(|(_, place)| **place == file);
        let probe: Vec<Sample> = of_file.map(|(sample, _)| *sample).take(PROBE).collect();
        match view::measure(&probe, view::Of::Result, false) {
            view::Verdict::Holds(_) | view::Verdict::Unsure => None,
            view::Verdict::OtherView(evidence) => {
                Some(format!("the results seem to be seen by the other side ({evidence})"))
            }
            view::Verdict::Turned(evidence) => {
                Some(format!("the results seem to be turned, a win written as a loss ({evidence})"))
            }
        }
    })
}

/// What the first run that uses scores aims at, and the formula in words, if all positions have a
/// score.
fn targets(samples: &[Sample], evaluators: &[Evaluator]) -> Option<(Vec<f64>, String)> {
    let configs = evaluators.iter().filter_map(|it| Some(&it.recipe.as_ref()?.config));
    let config = configs.into_iter().find(|config| config.needs_scores())?;
    let worths = config.worths();
    if worths[1..].iter().any(|own| own.promise != worths[0].promise || own.wdl.is_some()) {
        // Nobody knows which of its sources these positions are like.
        return None;
    }
    let (wdl, promise) = (config.final_wdl(), config.promise());
    let target = |sample: &Sample| {
        let expected = promise.of(sample.score?.into());
        Some(wdl * f64::from(sample.result) + (1.0 - wdl) * expected)
    };
    let targets = samples.iter().map(target).collect::<Option<_>>()?;
    let rest = ((1.0 - wdl) * 1e6).round() / 1e6;
    let expected = match promise {
        Promise { scale, offset: 0.0 } => format!("sigmoid(score / {scale})"),
        Promise { scale, offset } => {
            format!("what a score promises with scale {scale} and offset {offset}")
        }
    };
    Some((targets, format!("the target is {wdl} * result + {rest} * {expected}")))
}
