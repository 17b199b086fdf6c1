//! Evaluations opened by name: built in, or from a file of weights, a net or terms.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow, ensure};

use super::Host;
use super::base::{open_base, replace_base_terms};
use super::evaluation_names::short_name;
use super::evaluator::{Evaluator, EvaluatorKind, FloatEvaluation};
use super::folder::{BEST, NET};
use super::path::{FileKind, evaluated_file, kind_of, weights_file};
use super::recipe::{self, Recipe};
use super::terms::{RunTerms, of_json};
use crate::digest::sha256_prefix;
use crate::evaluation::Evaluation;
use crate::export;
use crate::hce::{self, HceWeights};
use crate::input;
use crate::loader::Encoder;
use crate::model::{Model, ModelKind};
use crate::progress::Progress;
use crate::train::checkpoint::Checkpoint;
use crate::weights::{Weights, WeightsFile};

/// Built-in names with their meaning.
pub const BUILT_IN: &str = "constant (the mean result), material (100, 320, 330, 500, 900), \
                            score (the data's own)";

impl Evaluator {
    /// Opens a built-in reference, a checkpoint, a quantised net or handcrafted weights (JSON).
    ///
    /// # Errors
    ///
    /// Fails if the name is not built in and the file cannot be read, if a folder has no
    /// checkpoint, and if the contents are not those of a net, a checkpoint or terms.
    pub fn open_evaluation(name: &str, host: &Host) -> Result<Self> {
        let built_in = |kind| Ok(Self::from_kind(name.to_string(), kind));
        match name {
            "constant" => return built_in(EvaluatorKind::Constant),
            "material" => return built_in(EvaluatorKind::from_terms(HceWeights::material_only())),
            "score" => return built_in(EvaluatorKind::Score),
            _ => {}
        }
        let path = weights_file(Path::new(name));
        ensure!(
            !Path::new(name).is_dir() || path.exists(),
            "{name} holds no {BEST}: it is no folder of a run, or its run has not come to its first \
             checkpoint"
        );
        let shown = || path.display().to_string();
        let bytes = input::read_bytes(&path, input::WEIGHTS)
            .with_context(|| format!("cannot read {} (built in are {BUILT_IN})", shown()))?;
        let evaluator = match kind_of(&bytes) {
            FileKind::Weights => open_weights(&bytes, &path, host).with_context(shown)?,
            FileKind::Json => {
                let weights = of_json(&bytes).with_context(shown)?;
                let fitted_scale = Some(weights.scale);
                let kind = EvaluatorKind::from_terms(weights);
                Self { fitted_scale, ..Self::from_kind(short_name(&path), kind) }
            }
            FileKind::Other => open_net(&path, host.listener)?,
        };
        let (name_or_path, digest) = (name.to_string(), Some(sha256_prefix(&bytes)));
        Ok(Self { name_or_path, digest, ..evaluator })
    }

    /// Opens the terms of a checkpoint as they were before training; None for a net.
    ///
    /// # Errors
    ///
    /// Fails if the file is no checkpoint of this program, and if its weights are not those of its
    /// terms.
    pub fn before_training(path: &Path) -> Result<Option<Self>> {
        let (Checkpoint { weights, .. }, recipe) = recipe::open_checkpoint(path)?;
        let Some(terms) = recipe.run_terms()? else { return Ok(None) };
        let kind = kind_of_terms(&terms, terms.read_weights(&weights, recipe.config.scale, false)?);
        Ok(Some(Self::from_kind("start weights".to_string(), kind)))
    }

    /// Opens an evaluation as engines have it, in centipawns.
    ///
    /// # Errors
    ///
    /// Fails as [`Evaluator::open_evaluation`] does, if the evaluation needs more than positions,
    /// and if a checkpoint's net cannot be exported.
    pub fn open_static(name: &str, host: &Host) -> Result<Evaluation> {
        let evaluator = Self::open_in_centipawns(name, host)?;
        evaluator.ensure_needs_only_position()?;
        let evaluation = evaluator.engine_evaluation().map_err(|why| anyhow!("{name}: {why}"))?;
        Ok(evaluation.context("it evaluates positions alone")?.clone())
    }

    /// Opens an evaluation, of a run its net, whose values are centipawns: internal units of engines
    /// are converted.
    ///
    /// # Errors
    ///
    /// Fails as [`Evaluator::open_evaluation`] does.
    pub fn open_in_centipawns(name: &str, host: &Host) -> Result<Self> {
        let name = evaluated_file(name);
        let mut opened = Self::open_evaluation(&name, host)?;
        if let EvaluatorKind::QuantisedNet(Evaluation::Net(net)) = &mut opened.kind
            && let Some(pawn) = Arc::make_mut(net).use_centipawns()
        {
            opened.fitted_scale = opened.fitted_scale.map(|units| 100.0 * units / f64::from(pawn));
            let remark = format!("{name}: {pawn} of these are 100 centipawns here");
            host.listener.report_remark(&remark);
        }
        Ok(opened)
    }

    /// Creates an evaluation of unknown origin.
    fn from_kind(name: String, kind: EvaluatorKind) -> Self {
        let name_or_path = name.clone();
        let (recipe, digest, fitted_scale, caution) = Default::default();
        Self { name, name_or_path, recipe, digest, fitted_scale, caution, kind }
    }
}

fn open_weights(bytes: &[u8], path: &Path, host: &Host) -> Result<Evaluator> {
    let opened = |recipe, kind, fitted_scale| Evaluator {
        recipe,
        fitted_scale,
        ..Evaluator::from_kind(short_name(path), kind)
    };
    let WeightsFile { weights, mut facts, .. } = Weights::from_bytes(bytes)?;
    replace_base_terms(&mut facts, &weights)?;
    let recipe = Recipe::read_header(&facts)?;
    if facts.get("kind").is_some_and(|kind| matches!(&kind[..], "hce" | "trace")) {
        let scale = facts.get("scale").and_then(|scale| scale.parse().ok());
        let scale = scale.context("its header has no `scale`")?;
        let terms = recipe.as_ref().map(Recipe::run_terms).transpose()?.flatten();
        let kind = match &terms {
            Some(terms) => kind_of_terms(terms, terms.read_weights(&weights, scale, true)?),
            None => {
                let list = hce::terms::built_in_list();
                EvaluatorKind::from_terms(HceWeights::from_weights(&weights, list, scale, true)?)
            }
        };
        return Ok(opened(recipe, kind, Some(scale)));
    }
    let source = export::import_weights(bytes, &Default::default())?;
    let base = open_base(recipe.as_ref().and_then(|recipe| recipe.base.as_ref()))?;
    let encoder = Encoder::for_net_on_base(&source.architecture, base);
    let kind = ModelKind::Net(source.architecture.clone());
    let model = Model::new(&kind, &source.weights, &host.device, host.compute)?;
    let fitted = fitted_to_floats(path, source.scales.scale.into());
    let floats = FloatEvaluation { model, encoder, source, integers: OnceLock::new() };
    Ok(opened(recipe, EvaluatorKind::FloatNet(Box::new(floats)), fitted))
}

/// Returns the scale fitted to the exported net of floats, in the centipawns of the floats.
fn fitted_to_floats(path: &Path, scale: f64) -> Option<f64> {
    let net = match path.file_name() {
        Some(name) if name == BEST => path.with_file_name(NET),
        _ => path.with_extension("bin"),
    };
    let manifest = export::load_net(&net).ok()?.manifest?;
    let fitted = manifest.fitted_scale.as_ref()?.centipawns;
    Some(fitted * scale / f64::from(manifest.scales.scale))
}

fn open_net(path: &Path, listener: &dyn Progress) -> Result<Evaluator> {
    let loaded = export::load_net(path)?;
    let caution = (!loaded.described).then(|| {
        let description = export::description_path(path).display().to_string();
        format!(
            "{} was read as {}, which its size fits; if it is mirrored, write `mirror = true` to \
             {description}",
            path.display(),
            loaded.net.architecture()
        )
    });
    if let Some(caution) = &caution {
        listener.report_remark(&format!("{caution} ({})", loaded.net.scales()));
    }
    if let Some(engine) = loaded.net.engine_name() {
        let path = path.display();
        listener.report_remark(&format!(
            "{path} has the layout of {engine}'s nets; values are in its internal units"
        ));
    }
    let manifest = loaded.manifest.as_ref();
    let base = open_base(manifest.and_then(|manifest| manifest.provenance.base.as_ref()))?;
    let evaluation = Evaluation::from_net(loaded.net, base.map(|base| base.evaluation));
    Ok(Evaluator {
        recipe: manifest.and_then(|manifest| Recipe::of_manifest(&manifest.provenance)),
        fitted_scale: manifest.and_then(|it| Some(it.fitted_scale.as_ref()?.centipawns)),
        caution,
        ..Evaluator::from_kind(short_name(path), EvaluatorKind::QuantisedNet(evaluation))
    })
}

/// Makes the terms that a run tuned, with these weights.
fn kind_of_terms(terms: &RunTerms, weights: HceWeights) -> EvaluatorKind {
    match &terms.engine {
        Some(engine) => EvaluatorKind::Traced(Box::new(engine.clone()), Box::new(weights)),
        None => EvaluatorKind::from_terms(weights),
    }
}
