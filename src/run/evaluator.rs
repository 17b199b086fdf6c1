//! Evaluations of positions: terms, nets, and the references that they are compared with.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use rayon::prelude::*;

use super::recipe::Recipe;
use crate::data_file::{DataFile, are_few_for_nets};
use crate::evaluation::Evaluation;
use crate::export::{ImportedWeights, prove, quantise};
use crate::format::trace::{self, FORMAT};
use crate::format::{GivenViews, SampleSource};
use crate::hce::HceWeights;
use crate::inspect::{describe_unsound, ordinary_values};
use crate::loader::Encoder;
use crate::model::{DeviceError, Model, host_outputs};
use crate::report::Predictions;
use crate::sample::{Position, Sample};
use crate::search::{self, Evaluate};
use crate::terms::EngineTerms;

pub struct Evaluator {
    pub name: String,
    /// Name or path by which it was opened.
    pub name_or_path: String,
    /// Recipe of its training; None if the training, and so its games, are unknown.
    pub recipe: Option<Recipe>,
    /// SHA-256 of its file; None if it is built in.
    pub digest: Option<String>,
    /// Scale of its centipawns for expected results, if known.
    pub(super) fitted_scale: Option<f64>,
    /// Reason why the net may not be what it was read as, with the cure.
    pub caution: Option<String>,
    pub(super) kind: EvaluatorKind,
}

pub(super) enum EvaluatorKind {
    Constant,
    Score,
    Terms(Evaluation, Box<HceWeights>),
    /// Terms of another engine, which are known from its traces only.
    Traced(Box<EngineTerms>, Box<HceWeights>),
    FloatNet(Box<FloatEvaluation>),
    /// A net in integers, with its base evaluation if it has one.
    QuantisedNet(Evaluation),
}

/// A net in floats.
pub(super) struct FloatEvaluation {
    pub model: Model,
    pub encoder: Encoder,
    pub source: ImportedWeights,
    /// The quantised net with its base, computed when a search needs it.
    pub integers: OnceLock<Result<Evaluation, String>>,
}

/// Returns why a net trained on `data`, with these values of pieces, is worthless, and the cure.
pub fn explain_untrained_net(values: &[f64; 5], data: &[DataFile]) -> Option<String> {
    let values = describe_unsound(values)?;
    let cure = if are_few_for_nets(data) {
        "Its games are too few: play more, or tune handcrafted terms on them"
    } else {
        "Train it longer, or at another rate"
    };
    Some(format!("this net does not know the pieces ({values}). {cure}."))
}

impl EvaluatorKind {
    pub fn from_terms(weights: HceWeights) -> Self {
        Self::Terms(Evaluation::from_terms(&weights), Box::new(weights))
    }
}

impl Evaluator {
    pub fn describe_kind(&self) -> &'static str {
        match &self.kind {
            EvaluatorKind::Constant => "the mean result for every position",
            EvaluatorKind::Score => "the score in the data, from a search: a bound, and no rival",
            EvaluatorKind::Terms(..) if !self.is_trained() => {
                "piece values of 100, 320, 330, 500 and 900 centipawns"
            }
            EvaluatorKind::Terms(..) | EvaluatorKind::Traced(..) => "handcrafted terms",
            EvaluatorKind::QuantisedNet(_) => "a net in integers",
            EvaluatorKind::FloatNet(_) => "a net in floats",
        }
    }

    /// Returns whether it needs boards that are not flipped to the side to move.
    pub fn needs_colours(&self) -> bool {
        match &self.kind {
            EvaluatorKind::FloatNet(floats) => floats.encoder.needs_colours(),
            EvaluatorKind::QuantisedNet(evaluation) => evaluation.needs_colours(),
            _ => false,
        }
    }

    /// Returns whether it was trained, here or elsewhere.
    pub fn is_trained(&self) -> bool {
        self.digest.is_some()
    }

    pub fn needs_scores(&self) -> bool {
        matches!(self.kind, EvaluatorKind::Score)
    }

    /// Returns the scale for the margins of a search: the fitted one, or a usual one.
    pub fn search_scale(&self) -> f64 {
        const USUAL: f64 = 200.0;
        self.fitted_scale.unwrap_or(USUAL)
    }

    /// Checks that a position alone can be evaluated.
    ///
    /// # Errors
    ///
    /// Fails for the mean result, for the data's scores, and for the terms of another engine.
    pub fn ensure_needs_only_position(&self) -> Result<()> {
        let why = match &self.kind {
            EvaluatorKind::Score => "a position alone has no score",
            EvaluatorKind::Constant => "it is the mean result of many positions",
            EvaluatorKind::Traced(..) => {
                "its terms are code of the engine; `nnuance compare` reads its traces"
            }
            _ => return Ok(()),
        };
        bail!("cannot evaluate positions with {}: {why}", self.name)
    }

    /// Returns the evaluation for a search. A checkpoint's net is quantised first.
    ///
    /// # Errors
    ///
    /// Fails as [`Evaluator::ensure_needs_only_position`] does, and if a checkpoint's net cannot be
    /// exported.
    pub fn search_evaluation(&self) -> Result<Box<dyn Evaluate + Send + '_>> {
        self.ensure_needs_only_position()?;
        let evaluation = self.engine_evaluation().map_err(|why| {
            anyhow!("{} cannot play, since what plays are integers: {why}", self.name)
        })?;
        Ok(search::follow_moves(evaluation.expect("it evaluates positions alone")))
    }

    /// Returns the evaluation that engines have: terms, or the integers of the net, which for a
    /// checkpoint are exported. None for an evaluation that needs more than positions.
    ///
    /// # Errors
    ///
    /// Fails with the reason why a checkpoint's net cannot be exported.
    pub fn engine_evaluation(&self) -> Result<Option<&Evaluation>, &String> {
        Ok(match &self.kind {
            EvaluatorKind::Terms(evaluation, _) | EvaluatorKind::QuantisedNet(evaluation) => {
                Some(evaluation)
            }
            EvaluatorKind::FloatNet(floats) => Some(floats.exported_integers()?),
            EvaluatorKind::Constant | EvaluatorKind::Score | EvaluatorKind::Traced(..) => None,
        })
    }

    /// Returns the values of the [roles](crate::inspect::ROLES) in ordinary positions. None if it
    /// needs more than positions.
    pub fn piece_values(&self) -> Option<[f64; 5]> {
        self.ensure_needs_only_position().ok()?;
        let value = |position: &Position| match self
            .predict_samples(&[Sample::from_position(*position)], &[])
        {
            Ok(Predictions { cp: Some(cp), .. }) => cp[0],
            _ => f64::NAN,
        };
        Some(ordinary_values(value))
    }

    /// Returns why the net of a run is worthless, if it has not learnt the pieces.
    pub fn explain_untrained(&self) -> Option<String> {
        let recipe = self.recipe.as_ref().filter(|recipe| recipe.config.is_net())?;
        explain_untrained_net(&self.piece_values()?, &recipe.data)
    }

    /// Evaluates samples from these files to centipawns for the side to move.
    ///
    /// # Errors
    ///
    /// Fails if a sample has no score for the evaluation `score`, if no trace has the terms of a
    /// sample, if the device fails, and if a value is NaN or infinite.
    pub fn predict_samples(&self, samples: &[Sample], files: &[PathBuf]) -> Result<Predictions> {
        let cp = match &self.kind {
            EvaluatorKind::Constant => None,
            EvaluatorKind::Score => {
                let scores = samples.iter().map(|sample| sample.score.map(f64::from));
                Some(scores.collect::<Option<_>>().context("a position has no score")?)
            }
            EvaluatorKind::Terms(evaluation, _) => {
                let samples = samples.par_iter();
                Some(samples.map(|it| evaluation.evaluate_exactly(&it.position)).collect())
            }
            EvaluatorKind::QuantisedNet(evaluation) => {
                let positions: Vec<Position> = samples.iter().map(|it| it.position).collect();
                Some(evaluation.evaluate_all(&positions).into_iter().map(f64::from).collect())
            }
            EvaluatorKind::Traced(terms, weights) => {
                let values = evaluate_traces(terms, weights, samples, files);
                Some(values.with_context(|| self.name.clone())?)
            }
            EvaluatorKind::FloatNet(floats) => Some(floats.evaluate_samples(samples)?),
        };
        if let Some(cp) = &cp
            && let Some(sample_index) = cp.iter().position(|cp| !cp.is_finite())
        {
            bail!(
                "{} evaluates {} to {}: its weights are too large or NaN; train it again \
                 with a lower learning rate",
                self.name,
                samples[sample_index].position.to_fen(),
                cp[sample_index]
            );
        }
        let bound = self.needs_scores();
        Ok(Predictions { cp, bound, ..Predictions::new(&self.name, Vec::new()) })
    }
}

impl FloatEvaluation {
    /// Returns the net that an export with the scales of the file produces.
    fn exported_integers(&self) -> Result<&Evaluation, &String> {
        let ImportedWeights { weights, architecture, scales, .. } = &self.source;
        let make = || -> Result<Evaluation> {
            let net = quantise(weights, architecture, *scales)?;
            prove(&net).map_err(Error::msg)?;
            let base = self.encoder.base().map(|base| base.evaluation.clone());
            Ok(Evaluation::from_net(net, base))
        };
        self.integers.get_or_init(|| make().map_err(|error| error.to_string())).as_ref()
    }

    /// Evaluates samples to centipawns for the side to move.
    fn evaluate_samples(&self, samples: &[Sample]) -> Result<Vec<f64>, DeviceError> {
        let scale = f64::from(self.source.scales.scale);
        let mut values = Vec::new();
        for samples in samples.chunks(4096) {
            let logits = host_outputs(&self.model, &self.encoder.encode_samples(samples))?;
            values.extend(samples.iter().zip(logits).map(|(sample, logit)| {
                f64::from(logit) * scale * f64::from(self.encoder.sign_of_target(&sample.position))
            }));
        }
        Ok(values)
    }
}

/// Evaluates an engine's terms to centipawns for the side to move, from traces of the same boards.
fn evaluate_traces(
    terms: &EngineTerms,
    weights: &HceWeights,
    samples: &[Sample],
    files: &[PathBuf],
) -> Result<Vec<f64>> {
    let mut values: HashMap<Position, f64> = HashMap::new();
    for path in files {
        if SampleSource::open_file(path, None, u64::MAX)?.format().name == FORMAT.name {
            trace::read_traces(path, terms, u64::MAX, GivenViews::default(), |traced| {
                let white = traced.evaluate_white(terms, &weights.values, weights.tempo);
                let position = traced.sample.position;
                values.insert(position, position.turn().fold_wb(white, -white));
            })?;
        }
    }
    ensure!(!values.is_empty(), "its terms are code of the engine; compare on its traces");
    let value = |sample: &Sample| {
        let value = values.get(&sample.position).copied();
        value.with_context(|| format!("no trace has the terms of {}", sample.position.to_fen()))
    };
    samples.iter().map(value).collect()
}
