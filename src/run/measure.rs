//! Measurement of evaluations for `compare` and `report`.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use rayon::prelude::*;

use super::data_plan::{collect_samples, measuring_plan};
use super::evaluator::{Evaluator, EvaluatorKind};
use super::folder::{BEST, NET};
use super::honest::Selection;
use super::played::Match;
use super::recipe::Recipe;
use crate::config::Config;
use crate::digits::group_digits;
use crate::format::{LabelKind, ReadError};
use crate::hce;
use crate::loader::{LoadError, ReadPlan, contradict_view};
use crate::progress::Progress;
use crate::report::deep::{DeepComparison, Quantising, compare_deeply, measure_quantising};
use crate::report::{Comparison, PlayedGames, PositionFacts, Predictions, compare};
use crate::sample::{Sample, games_known};

/// Positions per file whose results are compared with material, as in training.
const PROBE: usize = 50_000;

/// Values of each evaluation for the same positions, and facts about the positions.
pub struct Measurement {
    pub samples: Vec<Sample>,
    pub evaluations: Vec<Predictions>,
    /// Notes on positions and games that are left out.
    pub notes: Vec<String>,
    /// Doubts about evaluations, and facts about the positions.
    details: Vec<String>,
    /// Whether no evaluation was trained or chosen on the positions.
    unseen: bool,
    truth: PositionFacts,
    trained: Vec<bool>,
    /// Floats and integers of one net, as indices of evaluations.
    nets: Vec<[usize; 2]>,
    /// Games between some of the evaluations.
    played: Option<PlayedGames>,
}

/// Collects facts about positions; `noun` names their games.
pub fn position_facts(samples: &[Sample], noun: &'static str) -> PositionFacts {
    PositionFacts {
        results: samples.iter().map(|sample| sample.result.into()).collect(),
        targets: None,
        groups: samples.iter().map(Sample::split_group).collect(),
        noun,
        games_known: games_known(samples),
        cautions: Vec::new(),
    }
}

/// Plans to read all positions of the given files, or else of a run's training files.
pub fn plan_positions(
    given: Option<ReadPlan>,
    run: Option<&Recipe>,
    evaluators: &[Evaluator],
) -> Result<ReadPlan> {
    let plan = match (given, run) {
        (None, None) => bail!("name files of positions with --data"),
        (None, Some(recipe)) => measuring_plan(recipe)?,
        (Some(plan), _) => plan,
    };
    Ok(ReadPlan { needs_colours: evaluators.iter().any(Evaluator::needs_colours), ..plan })
}

/// Reads all positions of the files, one file after the other. If material contradicts the point of
/// view of a file, also returns why its results name no winner.
pub fn read_positions(
    plan: &ReadPlan,
    listener: &dyn Progress,
) -> Result<(Vec<Sample>, Vec<String>)> {
    let (mut all, mut cautions) = (Vec::new(), Vec::new());
    for file in &plan.files {
        let file_plan = ReadPlan { files: vec![file.clone()], ..plan.clone() };
        let samples = collect_samples(&file_plan, None, listener).map_err(|error| match error {
            // Here the remedy is an option, not a key of a config.
            LoadError::Read(ReadError::Bad { path, bad, limit: 0 }) => anyhow!(
                "{path}, {bad} (to leave such out, pass --bad-records N)",
                path = path.display()
            ),
            error => error.into(),
        })?;
        // With inverted results the best predictor is the worst evaluation.
        let probe = &samples[..samples.len().min(PROBE)];
        cautions.extend(contradict_view(plan, file, probe, LabelKind::Result)?);
        all.extend(samples);
    }
    Ok((all, cautions))
}

/// Finds floats and integers of one net, as indices of evaluations.
fn net_pairs(evaluators: &[Evaluator]) -> Vec<[usize; 2]> {
    let find_floats = |integers: &Evaluator| {
        let net = net_of(&integers.name_or_path);
        evaluators.iter().position(|it| {
            matches!(it.kind, EvaluatorKind::FloatNet(_)) && net_of(&it.name_or_path) == net
        })
    };
    let integers = evaluators
        .iter()
        .enumerate()
        .filter(|(_, it)| matches!(it.kind, EvaluatorKind::QuantisedNet(_)));
    integers.filter_map(|(index, it)| Some([find_floats(it)?, index])).collect()
}

/// Returns the common name of floats and integers: a run's folder, or the path up to its extension.
fn net_of(name_or_path: &str) -> String {
    let path = Path::new(name_or_path);
    let is_named = |name: &str| path.file_name().is_some_and(|it| it == name);
    match path.parent() {
        Some(folder) if is_named(BEST) || is_named(NET) => folder.to_string_lossy().into_owned(),
        _ => path.with_extension("").to_string_lossy().into_owned(),
    }
}

impl Measurement {
    /// Evaluates positions of these files. With any `cautions`, the results name no winner.
    pub fn measure_selection(
        evaluators: &[Evaluator],
        mut selection: Selection,
        cautions: Vec<String>,
        files: &[PathBuf],
    ) -> Result<Self> {
        if evaluators.iter().any(Evaluator::needs_scores) {
            selection.skip_unscored("`score`")?;
        }
        let Selection { samples, is_test, notes, mut details, is_shared, .. } = selection;
        let unseen = !is_shared && selection.cautions.iter().all(Vec::is_empty);
        let mut evaluations = Vec::new();
        for (evaluator, cautions) in evaluators.iter().zip(selection.cautions) {
            evaluations
                .push(Predictions { cautions, ..evaluator.predict_samples(&samples, files)? });
        }
        let nets = net_pairs(evaluators);
        for &[floats, integers] in &nets {
            evaluations[floats].net = Some(floats);
            evaluations[integers].net = Some(floats);
        }
        let (targets, note) = score_targets(&samples, evaluators).unzip();
        details.extend(note);
        let noun = match (games_known(&samples), is_test) {
            (true, false) => "games",
            (true, true) => "test games",
            (false, false) => "positions",
            (false, true) => "test positions",
        };
        let truth = PositionFacts { targets, cautions, ..position_facts(&samples, noun) };
        if !truth.games_known {
            let lacking = samples.iter().filter(|sample| sample.game.is_none()).count();
            details.push(format!(
                "games unknown: of {} of {} positions, so intervals are lower bounds",
                group_digits(lacking as u64),
                group_digits(samples.len() as u64)
            ));
        }
        let trained = evaluators.iter().map(Evaluator::is_trained).collect();
        let played = None;
        Ok(Self { samples, evaluations, notes, details, unseen, truth, trained, nets, played })
    }

    /// Adds the games of a match in which some of the evaluations played.
    pub fn add_match(&mut self, games: &Match, evaluators: &[Evaluator]) -> Result<()> {
        let (players, notes) = games.match_players(evaluators)?;
        for (evaluation, player) in self.evaluations.iter_mut().zip(players) {
            evaluation.player = player;
        }
        self.notes.extend(games.notes.iter().cloned().chain(notes));
        self.played = Some(games.played.clone());
        Ok(())
    }

    /// Measures the cost of quantising each net with floats and integers.
    pub fn measure_quantising(&self) -> Result<Vec<Quantising>> {
        let measure = |net: &[usize; 2]| {
            measure_quantising(net.map(|index| &self.evaluations[index]), &self.truth)
        };
        Ok(self.nets.iter().map(measure).collect::<Result<_, _>>()?)
    }

    /// Drops floats beside their integers, which engines use. Returns the indices that remain.
    pub fn drop_floats(&mut self) -> Vec<usize> {
        let mut stay: Vec<usize> = (0..self.evaluations.len()).collect();
        stay.retain(|index| self.nets.iter().all(|[floats, _]| floats != index));
        self.evaluations = stay.iter().map(|index| self.evaluations[*index].clone()).collect();
        self.trained = stay.iter().map(|index| self.trained[*index]).collect();
        self.nets.clear();
        stay
    }

    pub fn compare_all(&self) -> Result<Comparison> {
        Ok(self.add_cautions(compare(&self.evaluations, &self.truth)?))
    }

    /// Compares one of the evaluations with one outside of the ranking.
    pub fn compare_with(
        &self,
        index: usize,
        outside: &Evaluator,
        files: &[PathBuf],
    ) -> Result<Comparison> {
        let outside = outside.predict_samples(&self.samples, files)?;
        let pair = [self.evaluations[index].clone(), outside];
        Ok(Comparison { unseen: self.unseen, ..compare(&pair, &self.truth)? })
    }

    /// Compares the evaluations with phases, calibration and disagreements, against the first trained
    /// one. A disagreement shows at most `shown` positions.
    pub fn compare_deeply(&self, shown: usize) -> Result<DeepComparison> {
        let phases: Vec<u8> =
            self.samples.par_iter().map(|it| hce::count_phase_material(&it.position)).collect();
        let fen = |i: usize| self.samples[i].position.to_fen();
        let reference = self.trained.iter().position(|it| *it);
        let deep = compare_deeply(&self.evaluations, &self.truth, &phases, &fen, reference, shown)?;
        Ok(DeepComparison { comparison: self.add_cautions(deep.comparison), ..deep })
    }

    fn add_cautions(&self, mut comparison: Comparison) -> Comparison {
        comparison.notes = self.notes.iter().chain(&self.details).cloned().collect();
        comparison.unseen = self.unseen;
        if let Some(played) = &self.played {
            comparison.add_games(played);
        }
        comparison
    }
}

/// Returns targets and formula of the first run that uses scores, if all sources share them.
fn score_targets(samples: &[Sample], evaluators: &[Evaluator]) -> Option<(Vec<f64>, String)> {
    let configs = evaluators.iter().filter_map(|it| Some(&it.recipe.as_ref()?.config));
    let config = configs.into_iter().find(|config| config.needs_scores())?;
    let source_targets = config.source_targets();
    let win_rate = source_targets[0].win_rate;
    if source_targets[1..].iter().any(|it| it.win_rate != win_rate || it.wdl.is_some()) {
        return None;
    }
    let (wdl, scale) = (config.final_wdl(), config.win_rate.scale);
    let note =
        format!("to target: {wdl} * result + {} * sigmoid(score / {scale})", score_share(wdl));
    Some((targets_of(samples, config)?, note))
}

/// Returns the share of the score if the result has the share `wdl`, without the noise of floats.
pub fn score_share(wdl: f64) -> f64 {
    ((1.0 - wdl) * 1e6).round() / 1e6
}

/// Computes the targets at the end of a run with this config. None if a score is missing.
pub fn targets_of(samples: &[Sample], config: &Config) -> Option<Vec<f64>> {
    let (wdl, win_rate) = (config.final_wdl(), config.win_rate);
    let target = |sample: &Sample| {
        let expected = win_rate.expected_result(sample.score?.into());
        Some(wdl * f64::from(sample.result) + (1.0 - wdl) * expected)
    };
    samples.iter().map(target).collect()
}
