//! Recipes of new runs: starting weights and base evaluations of nets.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::grow::grow_weights;
use crate::config::Config;
use crate::digest::sha256_prefix;
use crate::evaluation::Evaluation;
use crate::export::{self, EmbeddedNet, Sidecar, StartNet, StoredEvaluation};
use crate::input;
use crate::net::Hints;
use crate::progress::Progress;
use crate::run::Host;
use crate::run::evaluator::{Evaluator, EvaluatorKind};
use crate::run::folder::{BEST, LAST};
use crate::run::path::{FileKind, in_folder, kind_of};
use crate::run::recipe::{self, Recipe};
use crate::sketch::Sketch;
use crate::train::checkpoint::Checkpoint;

/// Prepares the recipe of a new run before its data are read, and opens the start of its net: the
/// weights, and the state of the optimiser, which is empty for a new one.
pub fn prepare_recipe(config: Config, host: &Host) -> Result<(Recipe, Checkpoint)> {
    let mut recipe = Recipe {
        term_list: recipe::term_list(&config)?,
        config,
        data: Vec::new(),
        sketch: Sketch::default(),
        validation: Vec::new(),
        validation_sketch: Sketch::default(),
        start: None,
        base: None,
    };
    recipe.run_terms()?;
    let mut start = Checkpoint::default();
    let Some(net) = recipe.config.file.net.clone() else { return Ok((recipe, start)) };
    if let Some(name) = &net.start {
        let opened = open_start(Path::new(name), &recipe.config, host.listener);
        let (opened, start_net, origin) = opened.context("`net.start`")?;
        recipe.start = Some(start_net);
        start = opened;
        join_sketches(&mut recipe, origin);
    }
    if let Some(name) = &net.base {
        let opened = open_base(name, &recipe.config, host);
        let (base, origin) = opened.context("`net.base`")?;
        recipe.config = recipe.config.with_changes(|file| file.target.scale = Some(base.scale))?;
        recipe.base = Some(base);
        join_sketches(&mut recipe, origin);
    }
    Ok((recipe, start))
}

/// Adds the games of a run's start to the recipe.
fn join_sketches(recipe: &mut Recipe, origin: Option<Recipe>) {
    if let Some(origin) = origin {
        recipe.sketch.join_sketch(&origin.sketch);
        recipe.validation_sketch.join_sketch(&origin.validation_sketch);
    }
}

/// Opens the start of a net, of its shape or a smaller one, with its recipe.
fn open_start(
    given: &Path,
    config: &Config,
    listener: &dyn Progress,
) -> Result<(Checkpoint, StartNet, Option<Recipe>)> {
    let wanted = config.architecture().context("only nets have a start")?;
    let goes_on = config.file.net.as_ref().is_some_and(|net| net.start_optimizer);
    let path = in_folder(given, if goes_on { LAST } else { BEST })?;
    let name = path.display();
    let bytes =
        input::read_bytes(&path, input::WEIGHTS).with_context(|| format!("cannot read {name}"))?;
    let sidecar = match kind_of(&bytes) {
        FileKind::Weights => Sidecar::default(),
        _ => export::sidecar_of(&path, &bytes)?,
    };
    // A file without a description of its net is read as the net of the config.
    let config_hints = || Hints { net: wanted.clone(), ..Hints::default() };
    let hints = sidecar.hints.unwrap_or_else(config_hints);
    let mut source = export::import_weights(&bytes, &hints).with_context(|| name.to_string())?;
    export::check_agreement(&path, sidecar.hidden, &source.architecture)?;
    if source.architecture.inputs.has_merged_kings() {
        (source.weights, source.architecture) =
            export::with_kings(&source.weights, &source.architecture, false)
                .with_context(|| name.to_string())?;
    }
    let shape = &source.architecture;
    let merged = shape.without_factoriser();
    let larger = wanted.without_factoriser();
    let weights = if merged == larger {
        export::factorised_as(&source.weights, shape, wanted)
    } else {
        let small = export::factorised_as(&source.weights, shape, &merged);
        let small = small.with_context(|| name.to_string())?;
        let grown = grow_weights(&small, &merged, &larger, config.file.seed);
        let grown = grown.with_context(|| {
            format!(
                "{name} is a net of shape {shape}, which cannot grow into {wanted}: a net may get \
                 more hidden neurons, more feature sets behind its own, finer king buckets and finer \
                 output buckets than its start"
            )
        });
        export::factorised_as(&grown?, &larger, wanted)
    };
    let weights = weights.with_context(|| name.to_string())?;
    let (start, origin) = if goes_on {
        let (end, recipe) = open_end(&path, config)?;
        (end, Some(recipe))
    } else {
        let origin = match &sidecar.manifest {
            Some(manifest) => Recipe::of_manifest(&manifest.provenance),
            None => Recipe::read_header(&source.facts).with_context(|| name.to_string())?,
        };
        (Checkpoint { weights, ..Checkpoint::default() }, origin)
    };
    listener.report_remark(&format!("starts from {name}: {shape}, {}", source.format.name));
    let doubt = report_doubt(&path, origin.as_ref(), config, listener);
    let start_net = StartNet {
        file: name.to_string(),
        sha256: sha256_prefix(&bytes),
        doubt,
        recipe: origin.as_ref().map(|it| it.config.to_toml()),
        data: origin.as_ref().map(|it| it.data.clone()).unwrap_or_default(),
        start: origin.as_ref().and_then(|it| it.start.clone()).map(Box::new),
    };
    Ok((start, start_net, origin))
}

/// Opens the end of a run of the same kind: all weights and the state of the optimiser.
fn open_end(path: &Path, config: &Config) -> Result<(Checkpoint, Recipe)> {
    let name = path.display();
    let without = || {
        format!(
            "{name} has no state of an optimiser; name the folder of a run, or remove \
             `start_optimizer`"
        )
    };
    let (end, origin) = recipe::open_checkpoint(path).with_context(without)?;
    ensure!(!end.optimizer.is_empty(), without());
    let kind = |config: &Config| {
        let averages = config.optimizer.average_decay.is_some();
        (config.architecture().cloned(), config.tunes_base(), config.optimizer.name, averages)
    };
    ensure!(
        kind(&origin.config) == kind(config),
        "the state of the optimiser in {name} is that of another net or method; train with its \
         `[net]` and `[optimizer]`, or remove `start_optimizer`"
    );
    Ok((end, origin))
}

/// Returns and reports why a start may have been trained on games that this run holds out.
fn report_doubt(
    path: &Path,
    origin: Option<&Recipe>,
    config: &Config,
    listener: &dyn Progress,
) -> Option<String> {
    let name = path.display();
    let split = config.game_split();
    let doubt = match origin.map(|it| (it.config.game_split(), it.config.test_share.0)) {
        None => Some(format!("the training data of {name} are unknown")),
        // A smaller share of the same seed is a part of a larger one.
        Some((then, _)) if then.seed != split.seed || then.share < split.share => Some(format!(
            "{name} held out other games (held_out {}, held_out_seed {}) than this run ({}, {})",
            then.share, then.seed, split.share, split.seed
        )),
        Some((_, test)) if test < config.test_share.0 => Some(format!(
            "{name} kept a smaller share of its held-out games for the test ({test}) than this run \
             ({})",
            config.test_share.0
        )),
        Some(_) => origin.and_then(|recipe| recipe.doubts().into_iter().flatten().next().cloned()),
    };
    if let Some(doubt) = &doubt {
        listener
            .report_remark(&format!("caution: {doubt}: it may know games that are held out here"));
    }
    doubt
}

/// Opens the base evaluation of a net, with its recipe.
fn open_base(
    name: &str,
    config: &Config,
    host: &Host,
) -> Result<(export::StoredBase, Option<Recipe>)> {
    let path = Path::new(name);
    ensure!(
        name == "material" || path.exists(),
        "there is no file or folder {name}; name the folder of a run, a checkpoint, a net, handcrafted \
         terms (JSON), or \"material\""
    );
    let evaluator = Evaluator::open_evaluation(name, host)?;
    let (below, usual) = evaluate_base(name, &evaluator)?;
    let origin = evaluator.recipe.as_ref();
    let doubt =
        evaluator.is_trained().then(|| report_doubt(path, origin, config, host.listener)).flatten();
    // The centipawns of both are added, so they need one scale.
    let scale = config.file.target.scale.unwrap_or(usual.round().max(1.0));
    let (name, sha256) = (name.to_string(), evaluator.digest);
    Ok((export::StoredBase { name, sha256, doubt, scale, below }, evaluator.recipe))
}

/// Returns the terms or integers of an evaluation, and its centipawns per logit.
fn evaluate_base(name: &str, evaluator: &Evaluator) -> Result<(StoredEvaluation, f64)> {
    if let EvaluatorKind::Terms(_, terms) = &evaluator.kind {
        return Ok((StoredEvaluation::Terms(terms.to_json()), terms.scale));
    }
    let evaluation = evaluator.engine_evaluation();
    let evaluation = evaluation.map_err(|why| anyhow!("{name} has no integers: {why}"))?;
    let net = match evaluation {
        Some(Evaluation::Net(net)) => net,
        Some(Evaluation::Sum(..)) => bail!(
            "{name} is a part of a sum itself, and a sum has two parts; to train it on, give its \
             base as net.base, and net.start = \"{name}\""
        ),
        _ => {
            bail!("{name} are terms of another engine; name a net, built-in terms, or \"material\"")
        }
    };
    let bytes = net.to_bytes().len();
    ensure!(
        bytes <= EmbeddedNet::MAX_BYTES,
        "{name} has {} MiB, and a base, which every checkpoint contains, has at most {} MiB",
        bytes.div_ceil(1 << 20),
        EmbeddedNet::MAX_BYTES >> 20
    );
    Ok((StoredEvaluation::Net(Box::new(EmbeddedNet::new(net))), net.scales().scale.into()))
}
