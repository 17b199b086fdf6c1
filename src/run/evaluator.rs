//! Evaluations of positions, opened by name or file.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use rayon::prelude::*;

use super::base::{open_base, replace_base_terms};
use super::folder::{BEST, NET};
use super::path::{FileKind, kind_of, weights_file};
use super::recipe::{self, Recipe};
use super::terms::{RunTerms, of_json};
use crate::data_file::{DataFile, are_few_for_nets};
use crate::digest::digest;
use crate::evaluation::Evaluation;
use crate::export::{self, ImportedWeights, Manifest, prove, quantise};
use crate::format::trace::{self, FORMAT};
use crate::format::{GivenViews, Source};
use crate::hce::{self, HceWeights};
use crate::input;
use crate::inspect::{ordinary, unsound};
use crate::loader::Encoder;
use crate::model::{Compute, Device, DeviceError, Kind, Model, outputs};
use crate::progress::Progress;
use crate::report::Predictions;
use crate::sample::{Position, Sample};
use crate::search::{self, Evaluate};
use crate::terms::EngineTerms;
use crate::train::KEPT;
use crate::train::checkpoint::Checkpoint;
use crate::weights::{Weights, WeightsFile};

pub struct Evaluator {
    pub name: String,
    /// The name or path by which it was opened.
    pub given: String,
    /// None if its training, and so its training games, are unknown.
    pub recipe: Option<Recipe>,
    /// SHA-256 of its file; none if it is built in.
    pub digest: Option<String>,
    /// Scale of its centipawns for expected results, if known.
    fitted: Option<f64>,
    /// Reason to doubt that the net was read as what it is, with the cure.
    pub doubt: Option<String>,
    pub(super) form: Form,
}

pub(super) enum Form {
    Constant,
    Score,
    Terms(Evaluation, Box<HceWeights>),
    /// Terms of another engine, known from its traces only.
    Traced(Box<(EngineTerms, HceWeights)>),
    Floats(Box<Floats>),
    /// A net in integers, with its base evaluation if it has one.
    Integers(Evaluation),
}

/// A net in floats.
pub(super) struct Floats {
    model: Model,
    encoder: Encoder,
    source: ImportedWeights,
    /// The quantised net with its base, computed when a search needs it.
    integers: OnceLock<Result<Evaluation, String>>,
}

/// Built-in names with their meaning.
pub const BUILT_IN: &str = "constant (the mean result), material (100, 320, 330, 500, 900), \
                            score (the data's own)";

/// Reason why a net with these values of pieces is worthless, with the cure; `data` trained it.
pub fn unlearnt(values: &[f64; 5], data: &[DataFile]) -> Option<String> {
    let values = unsound(values)?;
    let cure = match are_few_for_nets(data) {
        true => "Its games are too few: play more, or tune handcrafted terms on them",
        false => "Train it longer, or at another rate",
    };
    Some(format!("this net does not know the pieces ({values}). {cure}."))
}

impl Evaluator {
    /// Opens a built-in reference, a checkpoint, a quantised net or handcrafted weights (JSON).
    pub fn open(name: &str, device: &(Device, Compute), listener: &dyn Progress) -> Result<Self> {
        let given = name.to_string();
        let built_in = |form| {
            let (name, given) = (given.clone(), given.clone());
            Ok(Self { name, given, recipe: None, digest: None, fitted: None, doubt: None, form })
        };
        match name {
            "constant" => return built_in(Form::Constant),
            "material" => return built_in(Form::from_terms(HceWeights::material())),
            "score" => return built_in(Form::Score),
            _ => {}
        }
        let (is_folder, path) = (Path::new(name).is_dir(), weights_file(Path::new(name)));
        ensure!(
            !is_folder || path.exists(),
            "{name} holds no {BEST}: it is no folder of a run, or its run has not come to its first \
             checkpoint"
        );
        let shown = || path.display().to_string();
        let bytes = input::read(&path, input::WEIGHTS)
            .with_context(|| format!("cannot read {} (built in are {BUILT_IN})", shown()))?;
        let opened = match kind_of(&bytes) {
            FileKind::Weights => of_weights(&bytes, &path, device).with_context(shown),
            FileKind::Json => of_json(&bytes).with_context(shown).map(|weights| {
                let scale = weights.scale;
                (None, Form::from_terms(weights), Some(scale), None)
            }),
            FileKind::Other => of_net(&path, listener),
        };
        let (recipe, form, fitted, doubt) = opened?;
        let (name, digest) = (short_name(&path), Some(digest(&bytes)));
        Ok(Self { name, given, recipe, digest, fitted, doubt, form })
    }

    /// Opens the terms of a checkpoint as they were before training; None for a net.
    pub fn before_training(path: &Path) -> Result<Option<Self>> {
        let (Checkpoint { weights, .. }, recipe) = recipe::open(path)?;
        let Some(terms) = recipe.terms()? else { return Ok(None) };
        let form = terms_form(&terms, terms.read(&weights, recipe.config.scale, false)?);
        let name = "start weights".to_string();
        let given = name.clone();
        Ok(Some(Self { name, given, recipe: None, digest: None, fitted: None, doubt: None, form }))
    }

    pub fn describe(&self) -> &'static str {
        match &self.form {
            Form::Constant => "the mean result for every position",
            Form::Score => "the score in the data, from a search: a bound, and no rival",
            Form::Terms(..) if !self.is_trained() => {
                "piece values of 100, 320, 330, 500 and 900 centipawns"
            }
            Form::Terms(..) | Form::Traced(_) => "handcrafted terms",
            Form::Integers(_) => "a net in integers",
            Form::Floats(_) => "a net in floats",
        }
    }

    /// Whether it needs boards that are not flipped to the side to move.
    pub fn needs_colours(&self) -> bool {
        match &self.form {
            Form::Floats(floats) => floats.encoder.needs_colours(),
            Form::Integers(evaluation) => evaluation.needs_colours(),
            _ => false,
        }
    }

    /// Whether it was trained, here or elsewhere.
    pub fn is_trained(&self) -> bool {
        self.digest.is_some()
    }

    pub fn needs_scores(&self) -> bool {
        matches!(self.form, Form::Score)
    }

    /// Its handcrafted terms, if they are built in.
    pub fn terms(&self) -> Option<&HceWeights> {
        match &self.form {
            Form::Terms(_, weights) => Some(weights),
            _ => None,
        }
    }

    /// Its handcrafted terms, built in or an engine's own.
    pub fn weights(&self) -> Option<&HceWeights> {
        match &self.form {
            Form::Terms(_, weights) => Some(weights),
            Form::Traced(own) => Some(&own.1),
            _ => None,
        }
    }

    /// Scale for the margins of a search: the fitted one, or a usual one.
    pub fn scale_in_search(&self) -> f64 {
        const USUAL: f64 = 200.0;
        self.fitted.unwrap_or(USUAL)
    }

    /// Fails if a position alone cannot be evaluated.
    pub fn require_bare_positions(&self) -> Result<()> {
        let why = match &self.form {
            Form::Score => "a position alone has no score",
            Form::Constant => "it is the mean result of many positions",
            Form::Traced(_) => {
                "its terms are code of the engine; `nnuance compare` reads its traces"
            }
            _ => return Ok(()),
        };
        bail!("cannot evaluate positions with {}: {why}", self.name)
    }

    /// The evaluation for a search; the integers of a checkpoint's net.
    pub fn in_search(&self) -> Result<Box<dyn Evaluate + Send + '_>> {
        self.require_bare_positions()?;
        let evaluation = self.evaluation().map_err(|why| {
            anyhow!("{} cannot play, since what plays are integers: {why}", self.name)
        })?;
        Ok(search::follow_moves(evaluation.expect("it evaluates positions alone")))
    }

    /// What engines have of it: terms, or the integers of its net; of a checkpoint those of its
    /// export. None for what is no evaluation of positions alone.
    pub fn evaluation(&self) -> Result<Option<&Evaluation>, &String> {
        Ok(match &self.form {
            Form::Terms(evaluation, _) | Form::Integers(evaluation) => Some(evaluation),
            Form::Floats(floats) => Some(floats.integers()?),
            Form::Constant | Form::Score | Form::Traced(_) => None,
        })
    }

    /// Values of the [roles](crate::inspect::ROLES) in ordinary positions, where it has any.
    pub fn piece_values(&self) -> Option<[f64; 5]> {
        self.require_bare_positions().ok()?;
        let value = |position: &Position| match self.evaluate(&[Sample::of(*position)], &[]) {
            Ok(Predictions { cp: Some(cp), .. }) => cp[0],
            _ => f64::NAN,
        };
        Some(ordinary(value))
    }

    /// Reason why the net of a run is worthless, if it has not learnt the pieces.
    pub fn unlearnt(&self) -> Option<String> {
        let recipe = self.recipe.as_ref().filter(|recipe| recipe.config.is_net())?;
        unlearnt(&self.piece_values()?, &recipe.data)
    }

    /// Centipawns for the side to move, of samples from these files.
    pub fn evaluate(&self, samples: &[Sample], files: &[PathBuf]) -> Result<Predictions> {
        let cp = match &self.form {
            Form::Constant => None,
            Form::Score => {
                let scores = samples.iter().map(|sample| sample.score.map(f64::from));
                Some(scores.collect::<Option<_>>().context("a position has no score")?)
            }
            Form::Terms(evaluation, _) => {
                let values = samples.par_iter();
                Some(values.map(|it| evaluation.evaluate_exactly(&it.position)).collect())
            }
            Form::Integers(evaluation) => {
                let positions: Vec<Position> = samples.iter().map(|it| it.position).collect();
                Some(evaluation.evaluate_all(&positions).into_iter().map(f64::from).collect())
            }
            Form::Traced(own) => {
                let values = evaluate_traces(own, samples, files);
                Some(values.with_context(|| self.name.clone())?)
            }
            Form::Floats(floats) => Some(floats.evaluate(samples)?),
        };
        if let Some(cp) = &cp
            && let Some(place) = cp.iter().position(|cp| !cp.is_finite())
        {
            bail!(
                "{} evaluates {} to {}: its weights are too large or NaN; train it again \
                 with a lower learning rate",
                self.name,
                samples[place].position.fen(),
                cp[place]
            );
        }
        let named = Predictions::new(&self.name, Vec::new());
        Ok(Predictions { cp, bound: self.needs_scores(), ..named })
    }
}

impl Floats {
    /// The net that an export with the scales of the file produces.
    fn integers(&self) -> Result<&Evaluation, &String> {
        let ImportedWeights { weights, architecture, scales, .. } = &self.source;
        let make = || -> Result<Evaluation> {
            let net = quantise(weights, architecture, *scales)?;
            prove(&net).map_err(Error::msg)?;
            let base = self.encoder.base().map(|base| base.evaluation.clone());
            Ok(Evaluation::from_net(net, base))
        };
        self.integers.get_or_init(|| make().map_err(|error| error.to_string())).as_ref()
    }

    /// Centipawns for the side to move.
    fn evaluate(&self, samples: &[Sample]) -> Result<Vec<f64>, DeviceError> {
        let (scale, mut values) = (f64::from(self.source.scales.scale), Vec::new());
        for samples in samples.chunks(4096) {
            let logits = outputs(&self.model, &self.encoder.encode(samples))?;
            values.extend(samples.iter().zip(logits).map(|(sample, logit)| {
                f64::from(logit) * scale * f64::from(self.encoder.sign(&sample.position))
            }));
        }
        Ok(values)
    }
}

/// Centipawns of an engine's terms for the side to move, from traces of the same boards.
fn evaluate_traces(
    (own, weights): &(EngineTerms, HceWeights),
    samples: &[Sample],
    files: &[PathBuf],
) -> Result<Vec<f64>> {
    let mut values: HashMap<Position, f64> = HashMap::new();
    for path in files {
        if Source::open(path, None, u64::MAX)?.format().name == FORMAT.name {
            trace::read(path, own, u64::MAX, GivenViews::default(), |traced| {
                let white = traced.value(own, &weights.values, weights.tempo);
                let position = traced.sample.position;
                values.insert(position, position.turn().fold_wb(white, -white));
            })?;
        }
    }
    ensure!(!values.is_empty(), "its terms are code of the engine; compare on its traces");
    let value = |sample: &Sample| {
        let value = values.get(&sample.position).copied();
        value.with_context(|| format!("no trace has the terms of {}", sample.position.fen()))
    };
    samples.iter().map(value).collect()
}

/// Fails if an evaluation is given twice; a run folder means its best checkpoint.
pub fn require_distinct_evaluations(given: &[String]) -> Result<()> {
    let file = |name: &String| {
        let path = weights_file(Path::new(name));
        path.canonicalize().unwrap_or(path)
    };
    for (i, name) in given.iter().enumerate() {
        if let Some(first) = given[..i].iter().find(|it| file(it) == file(name)) {
            bail!("{first} and {name} are the same evaluation; name it once, or another");
        }
    }
    Ok(())
}

/// Gives evaluations the shortest names that differ: that of a run alone, or with its file; those
/// that are still equal are called as they were given.
pub fn name_apart(evaluators: &mut [Evaluator]) {
    let names: Vec<String> = evaluators.iter().map(|it| it.name.clone()).collect();
    for (place, name) in shortened(&names).into_iter().enumerate() {
        let equal = names.iter().filter(|other| **other == names[place]).count() > 1;
        let evaluator = &mut evaluators[place];
        evaluator.name = if equal { evaluator.given.clone() } else { name };
    }
}

/// Names of runs without their file, where they stay different: `first` for `first/net`.
pub fn shortened(names: &[String]) -> Vec<String> {
    let run = |name: &str| {
        let files = ["/net", "/best", "/terms"].iter();
        files.filter_map(|file| name.strip_suffix(file)).next().unwrap_or(name).to_string()
    };
    let runs: Vec<String> = names.iter().map(|name| run(name)).collect();
    let is_alone = |short: &String| runs.iter().filter(|other| *other == short).count() == 1;
    let pairs = names.iter().zip(&runs);
    pairs.map(|(name, short)| if is_alone(short) { short } else { name }.clone()).collect()
}

/// Terms that a run tuned, with these weights.
fn terms_form(terms: &RunTerms, weights: HceWeights) -> Form {
    match &terms.own {
        Some(own) => Form::Traced(Box::new((own.clone(), weights))),
        None => Form::from_terms(weights),
    }
}

/// Origin, evaluation, fitted scale, and a doubt about how a file was read.
type Opened = (Option<Recipe>, Form, Option<f64>, Option<String>);

impl Form {
    fn from_terms(weights: HceWeights) -> Self {
        Self::Terms(Evaluation::from_terms(&weights), Box::new(weights))
    }
}

fn of_weights(bytes: &[u8], path: &Path, (device, compute): &(Device, Compute)) -> Result<Opened> {
    let WeightsFile { weights, mut facts, .. } = Weights::from_bytes(bytes)?;
    replace_base_terms(&mut facts, &weights)?;
    let recipe = Recipe::read(&facts)?;
    if facts.get("kind").is_some_and(|kind| matches!(&kind[..], "hce" | "trace")) {
        let scale = facts.get("scale").and_then(|scale| scale.parse().ok());
        let scale = scale.context("its header has no `scale`")?;
        let terms = recipe.as_ref().map(Recipe::terms).transpose()?.flatten();
        let form = match &terms {
            Some(terms) => terms_form(terms, terms.read(&weights, scale, true)?),
            None => Form::from_terms(HceWeights::from_weights(
                &weights,
                hce::terms::list(),
                scale,
                true,
            )?),
        };
        return Ok((recipe, form, Some(scale), None));
    }
    let source = export::import(bytes, &Default::default())?;
    let base = recipe.as_ref().map(Recipe::open_base).transpose()?.flatten();
    let encoder = Encoder::net(&source.architecture).on(base);
    let kind = Kind::Net(source.architecture.clone());
    let model = Model::new(&kind, &source.weights, device, *compute)?;
    let fitted = fitted_to_floats(path, source.scales.scale.into());
    let floats = Floats { model, encoder, source, integers: OnceLock::new() };
    Ok((recipe, Form::Floats(Box::new(floats)), fitted, None))
}

/// The scale fitted to the exported net of these floats, converted to the centipawns of the floats.
fn fitted_to_floats(path: &Path, scale: f64) -> Option<f64> {
    let net = match path.file_name() {
        Some(name) if name == BEST => path.with_file_name(NET),
        _ => path.with_extension("bin"),
    };
    let manifest = export::load(&net).ok()?.manifest?;
    let fitted = manifest.fitted_scale.as_ref()?.centipawns;
    Some(fitted * scale / f64::from(manifest.scales.scale))
}

fn of_net(path: &Path, listener: &dyn Progress) -> Result<Opened> {
    let loaded = export::load(path)?;
    let doubt = (!loaded.described).then(|| {
        let description = export::description_path(path).display().to_string();
        format!(
            "{} was read as {}, which its size fits; if it is mirrored, write `mirror = true` to \
             {description}",
            path.display(),
            loaded.net.architecture()
        )
    });
    if let Some(doubt) = &doubt {
        listener.remark(&format!("{doubt} ({})", loaded.net.scales()));
    }
    let (mut recipe, mut base, mut fitted) = (None, None, None);
    if let Some(Manifest { provenance, fitted_scale, .. }) = &loaded.manifest {
        fitted = fitted_scale.as_ref().map(|scale| scale.centipawns);
        base = provenance.base.as_ref().map(open_base).transpose()?.map(|base| base.evaluation);
        recipe = Recipe::of_manifest(provenance);
    }
    Ok((recipe, Form::Integers(Evaluation::from_net(loaded.net, base)), fitted, doubt))
}

/// Shortens `runs/first/best.safetensors` to `first/best`, `nets/first.bin` to `first.bin`.
pub fn short_name(path: &Path) -> String {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let stem = text(path.file_stem());
    let run = path.parent().filter(|folder| folder.ends_with(KEPT)).and_then(Path::parent);
    match run.or(path.parent()).and_then(Path::file_name) {
        Some(folder) if run.is_some() || matches!(&stem[..], "best" | "last" | "net" | "terms") => {
            format!("{}/{stem}", folder.to_string_lossy())
        }
        _ => text(path.file_name()),
    }
}
