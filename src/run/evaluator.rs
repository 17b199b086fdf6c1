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
    pub given: String,
    /// Recipe of its training; None if the training, and so its games, are unknown.
    pub recipe: Option<Recipe>,
    /// SHA-256 of its file; None if it is built in.
    pub digest: Option<String>,
    /// Scale of its centipawns for expected results, if known.
    pub(super) fitted: Option<f64>,
    /// Reasons why the net may not be what it was read as, with the cure.
    pub cautions: Vec<String>,
    pub(super) form: EvaluationForm,
}

pub(super) enum EvaluationForm {
    Constant,
    Score,
    Terms(Evaluation, Box<HceWeights>),
    /// Terms of another engine, which are known from its traces only.
    Traced(Box<(EngineTerms, HceWeights)>),
    Floats(Box<FloatEvaluation>),
    /// A net in integers, with its base evaluation if it has one.
    Integers(Evaluation),
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
pub fn reason_unlearnt(values: &[f64; 5], data: &[DataFile]) -> Option<String> {
    let values = describe_unsound(values)?;
    let cure = match are_few_for_nets(data) {
        true => "Its games are too few: play more, or tune handcrafted terms on them",
        false => "Train it longer, or at another rate",
    };
    Some(format!("this net does not know the pieces ({values}). {cure}."))
}

impl EvaluationForm {
    pub fn from_terms(weights: HceWeights) -> Self {
        Self::Terms(Evaluation::from_terms(&weights), Box::new(weights))
    }
}

impl Evaluator {
    pub fn describe_kind(&self) -> &'static str {
        match &self.form {
            EvaluationForm::Constant => "the mean result for every position",
            EvaluationForm::Score => "the score in the data, from a search: a bound, and no rival",
            EvaluationForm::Terms(..) if !self.is_trained() => {
                "piece values of 100, 320, 330, 500 and 900 centipawns"
            }
            EvaluationForm::Terms(..) | EvaluationForm::Traced(_) => "handcrafted terms",
            EvaluationForm::Integers(_) => "a net in integers",
            EvaluationForm::Floats(_) => "a net in floats",
        }
    }

    /// Returns whether it needs boards that are not flipped to the side to move.
    pub fn needs_colours(&self) -> bool {
        match &self.form {
            EvaluationForm::Floats(floats) => floats.encoder.needs_colours(),
            EvaluationForm::Integers(evaluation) => evaluation.needs_colours(),
            _ => false,
        }
    }

    /// Returns whether it was trained, here or elsewhere.
    pub fn is_trained(&self) -> bool {
        self.digest.is_some()
    }

    pub fn needs_scores(&self) -> bool {
        matches!(self.form, EvaluationForm::Score)
    }

    /// Returns its handcrafted terms, if they are built in.
    pub fn built_in_terms(&self) -> Option<&HceWeights> {
        match &self.form {
            EvaluationForm::Terms(_, weights) => Some(weights),
            _ => None,
        }
    }

    /// Returns its handcrafted terms, built in or of an engine.
    pub fn any_terms(&self) -> Option<&HceWeights> {
        match &self.form {
            EvaluationForm::Terms(_, weights) => Some(weights),
            EvaluationForm::Traced(traced) => Some(&traced.1),
            _ => None,
        }
    }

    /// Returns the scale for the margins of a search: the fitted one, or a usual one.
    pub fn scale_in_search(&self) -> f64 {
        const USUAL: f64 = 200.0;
        self.fitted.unwrap_or(USUAL)
    }

    /// Fails if a position alone cannot be evaluated.
    pub fn require_bare_positions(&self) -> Result<()> {
        let why = match &self.form {
            EvaluationForm::Score => "a position alone has no score",
            EvaluationForm::Constant => "it is the mean result of many positions",
            EvaluationForm::Traced(_) => {
                "its terms are code of the engine; `nnuance compare` reads its traces"
            }
            _ => return Ok(()),
        };
        bail!("cannot evaluate positions with {}: {why}", self.name)
    }

    /// Returns the evaluation for a search; of a checkpoint's net the integers.
    pub fn in_search(&self) -> Result<Box<dyn Evaluate + Send + '_>> {
        self.require_bare_positions()?;
        let evaluation = self.engine_evaluation().map_err(|why| {
            anyhow!("{} cannot play, since what plays are integers: {why}", self.name)
        })?;
        Ok(search::follow_moves(evaluation.expect("it evaluates positions alone")))
    }

    /// Returns the evaluation that engines have: terms, or the integers of the net, which for a
    /// checkpoint are exported. None for an evaluation that needs more than positions.
    pub fn engine_evaluation(&self) -> Result<Option<&Evaluation>, &String> {
        Ok(match &self.form {
            EvaluationForm::Terms(evaluation, _) | EvaluationForm::Integers(evaluation) => {
                Some(evaluation)
            }
            EvaluationForm::Floats(floats) => Some(floats.exported_integers()?),
            EvaluationForm::Constant | EvaluationForm::Score | EvaluationForm::Traced(_) => None,
        })
    }

    /// Returns the values of the [roles](crate::inspect::ROLES) in ordinary positions. None if it
    /// needs more than positions.
    pub fn piece_values(&self) -> Option<[f64; 5]> {
        self.require_bare_positions().ok()?;
        let value = |position: &Position| match self
            .predict_samples(&[Sample::from_position(*position)], &[])
        {
            Ok(Predictions { cp: Some(cp), .. }) => cp[0],
            _ => f64::NAN,
        };
        Some(ordinary_values(value))
    }

    /// Returns why the net of a run is worthless, if it has not learnt the pieces.
    pub fn reason_unlearnt(&self) -> Option<String> {
        let recipe = self.recipe.as_ref().filter(|recipe| recipe.config.is_net())?;
        reason_unlearnt(&self.piece_values()?, &recipe.data)
    }

    /// Evaluates samples from these files to centipawns for the side to move.
    pub fn predict_samples(&self, samples: &[Sample], files: &[PathBuf]) -> Result<Predictions> {
        let cp = match &self.form {
            EvaluationForm::Constant => None,
            EvaluationForm::Score => {
                let scores = samples.iter().map(|sample| sample.score.map(f64::from));
                Some(scores.collect::<Option<_>>().context("a position has no score")?)
            }
            EvaluationForm::Terms(evaluation, _) => {
                let values = samples.par_iter();
                Some(values.map(|it| evaluation.evaluate_exactly(&it.position)).collect())
            }
            EvaluationForm::Integers(evaluation) => {
                let positions: Vec<Position> = samples.iter().map(|it| it.position).collect();
                Some(evaluation.evaluate_all(&positions).into_iter().map(f64::from).collect())
            }
            EvaluationForm::Traced(traced) => {
                let values = evaluate_traces(traced, samples, files);
                Some(values.with_context(|| self.name.clone())?)
            }
            EvaluationForm::Floats(floats) => Some(floats.evaluate_samples(samples)?),
        };
        if let Some(cp) = &cp
            && let Some(i) = cp.iter().position(|cp| !cp.is_finite())
        {
            bail!(
                "{} evaluates {} to {}: its weights are too large or NaN; train it again \
                 with a lower learning rate",
                self.name,
                samples[i].position.to_fen(),
                cp[i]
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
    (terms, weights): &(EngineTerms, HceWeights),
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
