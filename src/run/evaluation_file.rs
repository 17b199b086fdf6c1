//! Evaluations opened by name: built in, or from a file of weights, a net or terms.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, ensure};

use super::base::{open_base, replace_base_terms};
use super::evaluation_names::short_name;
use super::evaluator::{Evaluator, EvaluatorKind, FloatEvaluation};
use super::folder::{BEST, NET};
use super::path::{FileKind, kind_of, weights_file};
use super::recipe::{self, Recipe};
use super::terms::{RunTerms, of_json};
use crate::digest::sha256_prefix;
use crate::evaluation::Evaluation;
use crate::export::{self, Manifest};
use crate::hce::{self, HceWeights};
use crate::input;
use crate::loader::Encoder;
use crate::model::{Compute, Device, Model, ModelKind};
use crate::progress::Progress;
use crate::train::checkpoint::Checkpoint;
use crate::weights::{Weights, WeightsFile};

/// Built-in names with their meaning.
pub const BUILT_IN: &str = "constant (the mean result), material (100, 320, 330, 500, 900), \
                            score (the data's own)";

impl Evaluator {
    /// Opens a built-in reference, a checkpoint, a quantised net or handcrafted weights (JSON).
    pub fn open_evaluation(
        name: &str,
        device: &(Device, Compute),
        listener: &dyn Progress,
    ) -> Result<Self> {
        let name_or_path = name.to_string();
        let built_in = |kind| Ok(Self::without_file(name_or_path.clone(), kind));
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
        let opened = match kind_of(&bytes) {
            FileKind::Weights => open_weights(&bytes, &path, device).with_context(shown),
            FileKind::Json => of_json(&bytes).with_context(shown).map(|weights| {
                let scale = weights.scale;
                (None, EvaluatorKind::from_terms(weights), Some(scale), None)
            }),
            FileKind::Other => open_net(&path, listener),
        };
        let (recipe, kind, fitted_scale, caution) = opened?;
        let (name, digest) = (short_name(&path), Some(sha256_prefix(&bytes)));
        let cautions = caution.into_iter().collect();
        Ok(Self { name, name_or_path, recipe, digest, fitted_scale, cautions, kind })
    }

    /// Opens the terms of a checkpoint as they were before training; None for a net.
    pub fn before_training(path: &Path) -> Result<Option<Self>> {
        let (Checkpoint { weights, .. }, recipe) = recipe::open_checkpoint(path)?;
        let Some(terms) = recipe.run_terms()? else { return Ok(None) };
        let kind = kind_of_terms(&terms, terms.read_weights(&weights, recipe.config.scale, false)?);
        Ok(Some(Self::without_file("start weights".to_string(), kind)))
    }

    /// Opens an evaluation whose values are centipawns: internal units of engines are converted.
    pub fn open_in_centipawns(
        name: &str,
        device: &(Device, Compute),
        listener: &dyn Progress,
    ) -> Result<Self> {
        let mut opened = Self::open_evaluation(name, device, listener)?;
        if let EvaluatorKind::QuantisedNet(Evaluation::Net(net)) = &mut opened.kind
            && let Some(pawn) = Arc::make_mut(net).use_centipawns()
        {
            opened.fitted_scale = opened.fitted_scale.map(|units| 100.0 * units / f64::from(pawn));
            listener.report_remark(&format!("{name}: {pawn} of these are 100 centipawns here"));
        }
        Ok(opened)
    }

    /// Creates an evaluation without a file.
    fn without_file(name: String, kind: EvaluatorKind) -> Self {
        let (name_or_path, cautions) = (name.clone(), Vec::new());
        Self { name, name_or_path, recipe: None, digest: None, fitted_scale: None, cautions, kind }
    }
}

/// Origin, evaluation, fitted scale, and a caution about how a file was read.
type Opened = (Option<Recipe>, EvaluatorKind, Option<f64>, Option<String>);

fn open_weights(
    bytes: &[u8],
    path: &Path,
    (device, compute): &(Device, Compute),
) -> Result<Opened> {
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
        return Ok((recipe, kind, Some(scale), None));
    }
    let source = export::import_weights(bytes, &Default::default())?;
    let base = recipe.as_ref().map(Recipe::open_base).transpose()?.flatten();
    let encoder = Encoder::for_net_on_base(&source.architecture, base);
    let kind = ModelKind::Net(source.architecture.clone());
    let model = Model::new(&kind, &source.weights, device, *compute)?;
    let fitted = fitted_to_floats(path, source.scales.scale.into());
    let floats = FloatEvaluation { model, encoder, source, integers: OnceLock::new() };
    Ok((recipe, EvaluatorKind::FloatNet(Box::new(floats)), fitted, None))
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

fn open_net(path: &Path, listener: &dyn Progress) -> Result<Opened> {
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
        listener
            .report_remark(&format!("{path} is a net of {engine}; values are its internal units"));
    }
    let (mut recipe, mut base, mut fitted) = (None, None, None);
    if let Some(Manifest { provenance, fitted_scale, .. }) = &loaded.manifest {
        fitted = fitted_scale.as_ref().map(|scale| scale.centipawns);
        base = provenance.base.as_ref().map(open_base).transpose()?.map(|base| base.evaluation);
        recipe = Recipe::of_manifest(provenance);
    }
    let kind = EvaluatorKind::QuantisedNet(Evaluation::from_net(loaded.net, base));
    Ok((recipe, kind, fitted, caution))
}

/// Makes the terms that a run tuned, with these weights.
fn kind_of_terms(terms: &RunTerms, weights: HceWeights) -> EvaluatorKind {
    match &terms.engine {
        Some(engine) => EvaluatorKind::Traced(Box::new((engine.clone(), weights))),
        None => EvaluatorKind::from_terms(weights),
    }
}
