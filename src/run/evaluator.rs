//! Anything that can say what a position is worth, by its name or its file.

mod nets;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rayon::prelude::*;

use super::folder::{BEST, LAST, NET};
use super::listener::Listener;
use super::own_engine::OwnEngine;
use super::path::{FileKind, kind_of};
use super::recipe::{self, Recipe};
use crate::digest::digest;
use crate::export::{self, Given, LoadError};
use crate::hce::{self, HceWeights};
use crate::input;
use crate::loader::{Base, Encoder};
use crate::model::{Compute, Device, Kind, Model};
use crate::net::Net;
use crate::report::{Predictions, Values};
use crate::sample::Sample;
use crate::search::{self, Quiescence};
use crate::train::KEPT;
use crate::weights::{Weights, WeightsFile};
use nets::{Floats, Quantised};

pub use nets::{in_search, sum};

/// An evaluation and where it comes from.
pub struct Evaluator {
    pub name: String,
    /// None where nothing is known of it: then nobody can say which games it has seen.
    pub recipe: Option<Recipe>,
    /// The SHA-256 of its file, if it has one.
    pub digest: Option<String>,
    built_in: bool,
    /// The scale that fits results best, or why it is unknown.
    fitted: Result<f64, &'static str>,
    what: What,
}

enum What {
    Constant,
    Score,
    Hce(Box<Terms>),
    /// Terms of another engine, which only its traces tell.
    Traced(Box<OwnEngine>),
    Floats(Box<Floats>),
    Net(Box<Quantised>),
}

/// Handcrafted weights, and what evaluates with them.
struct Terms {
    evaluator: hce::HceEvaluator,
    weights: HceWeights,
}

impl Terms {
    fn new(weights: HceWeights) -> Box<Self> {
        Box::new(Self { evaluator: hce::HceEvaluator::new(&weights), weights })
    }
}

/// The names that are no files, and what they are.
pub const BUILT_IN: &str = "constant (the mean result), material (100, 320, 330, 500, 900), \
                            score (the data's own)";

impl Evaluator {
    /// Opens a built-in reference, a checkpoint, a quantised net or handcrafted weights (JSON).
    /// What a net's file does not say may be given.
    pub fn open(
        name: &str,
        given: &Given,
        place: &(Device, Compute),
        listener: &dyn Listener,
    ) -> Result<Self> {
        let built_in = |what| {
            let name = name.to_string();
            let fitted = Err("a built-in evaluation has no scale that was fitted to results");
            Ok(Self { name, recipe: None, digest: None, built_in: true, fitted, what })
        };
        match name {
            "constant" => return built_in(What::Constant),
            "material" => return built_in(What::Hce(Terms::new(HceWeights::material()))),
            "score" => return built_in(What::Score),
            _ => {}
        }
        let path = Path::new(name);
        if path.is_dir() {
            let best = path.join(BEST);
            ensure!(
                best.exists(),
                "{name} holds no {BEST}: it is no folder of a run, or its run has not come to its \
                 first checkpoint"
            );
            return Self::open(&best.to_string_lossy(), given, place, listener);
        }
        let bytes = input::read(path, input::WEIGHTS).with_context(|| {
            format!("cannot read {name} (and it is none of the built-in {BUILT_IN})")
        })?;
        let opened = match kind_of(&bytes) {
            FileKind::Weights => of_weights(&bytes, path, place),
            FileKind::Json => of_json(&bytes),
            FileKind::Other => of_net(path, given, listener),
        };
        let Opened { recipe, what, fitted } = opened.with_context(|| name.to_string())?;
        let digest = Some(digest(&bytes));
        Ok(Self { name: short_name(path), recipe, digest, built_in: false, fitted, what })
    }

    /// Whether boards that were turned to the side to move will not do.
    pub fn needs_colours(&self) -> bool {
        match &self.what {
            What::Floats(floats) => floats.needs_colours(),
            What::Net(it) => {
                Encoder::net(it.net.architecture()).on(it.base.clone()).needs_colours()
            }
            _ => false,
        }
    }

    /// Whether it comes from training at all, here or elsewhere.
    pub fn is_trained(&self) -> bool {
        !self.built_in
    }

    /// The name, and what is known of the training.
    pub fn origin(&self) -> (&str, Option<&Recipe>) {
        (&self.name, self.recipe.as_ref())
    }

    /// Its handcrafted terms, if it has some of ours.
    pub fn terms(&self) -> Option<&HceWeights> {
        match &self.what {
            What::Hce(terms) if !self.built_in => Some(&terms.weights),
            _ => None,
        }
    }

    /// The scale that turns its centipawns into expected results, or why it is unknown.
    pub fn centipawns(&self) -> Result<f64, &'static str> {
        self.fitted
    }

    /// Whether it can say what a position is worth of which nothing is known but the board.
    ///
    /// # Errors
    /// If it cannot; the error says why.
    pub fn knows_bare_positions(&self) -> Result<()> {
        let why = match &self.what {
            What::Score => "a position alone has no score",
            What::Constant => "it is the mean result of many positions",
            What::Traced(_) => {
                "only the engine knows its terms; `nnuance compare` measures it on traces that the \
                 engine printed"
            }
            _ => return Ok(()),
        };
        let name = &self.name;
        match self.built_in {
            true => {
                bail!("{name} has nothing to say here: {why}; it is there for `nnuance compare`")
            }
            false => bail!("{name} has nothing to say of positions: {why}"),
        }
    }

    /// The scale by which a search that goes along with it chooses its margins: the fitted one, or
    /// where nobody has fitted one a usual one.
    pub fn scale_in_search(&self) -> f64 {
        const USUAL: f64 = 200.0;
        self.fitted.unwrap_or(USUAL)
    }

    /// What goes along with a search; of a checkpoint the integers of its net.
    ///
    /// # Errors
    /// If it cannot; the error says why, and what can.
    pub fn in_search(&self) -> Result<Box<dyn search::Evaluate + Send + '_>> {
        self.knows_bare_positions()?;
        if let What::Hce(terms) = &self.what {
            return Ok(Box::new(search::Terms::new(terms.evaluator.clone())));
        }
        let net = self.net().map_err(|why| {
            anyhow!("{} cannot play, since what plays are integers: {why}", self.name)
        })?;
        let (net, base) = net.expect("what is neither a net nor terms is refused above");
        Ok(in_search(net, base))
    }

    /// The integers of its net, and what they are added to; of a checkpoint those that its export
    /// would have, if any fit. None where it is no net.
    pub fn net(&self) -> Result<Option<(&Net, Option<&Base>)>, &String> {
        Ok(match &self.what {
            What::Floats(floats) => Some((floats.integers()?, floats.base())),
            What::Net(it) => Some((&it.net, it.base.as_ref())),
            _ => None,
        })
    }

    /// Whether it consists of handcrafted terms.
    pub fn is_handcrafted(&self) -> bool {
        matches!(self.what, What::Hce(_) | What::Traced(_))
    }

    pub fn is_float(&self) -> bool {
        matches!(self.what, What::Floats(_))
    }

    pub fn is_quantised(&self) -> bool {
        matches!(self.what, What::Net(_))
    }

    pub fn needs_scores(&self) -> bool {
        matches!(self.what, What::Score)
    }

    /// Centipawns for the side to move, of samples from these files.
    pub fn evaluate(&self, samples: &[Sample], files: &[PathBuf]) -> Result<Predictions> {
        let each = |of: &(dyn Fn(&Sample) -> f64 + Sync)| samples.par_iter().map(of).collect();
        let values = match &self.what {
            What::Constant => Values::Constant,
            What::Score => {
                let score = |sample: &Sample| sample.score.map(f64::from);
                let scores: Option<Vec<f64>> = samples.iter().map(score).collect();
                Values::Cp(scores.ok_or_else(|| anyhow!("a position has no score"))?)
            }
            What::Hce(terms) => {
                Values::Cp(each(&|sample| terms.evaluator.evaluate(&sample.position)))
            }
            What::Traced(own) => {
                let values = own.evaluate(samples, files);
                Values::Cp(values.with_context(|| self.name.clone())?)
            }
            What::Net(it) => Values::Cp(each(&|sample| it.value(&sample.position).into())),
            What::Floats(floats) => Values::Cp(floats.evaluate(samples)?),
        };
        self.said(values, samples)
    }

    /// The same of the ends of their quiescence searches. What is no evaluation of positions says
    /// the same as ever.
    pub fn evaluate_quiet(&self, samples: &[Sample]) -> Result<Predictions> {
        if matches!(self.what, What::Constant | What::Score) {
            return self.evaluate(samples, &[]);
        }
        // Whether it can go along with a search shows at the first.
        self.in_search()?;
        let of = |samples: &[Sample]| -> Vec<f64> {
            let mut evaluation = self.in_search().expect("tried before");
            let mut quiescence = Quiescence::new(self.scale_in_search());
            let of = |sample: &Sample| {
                let chess = sample.position.to_chess().ok();
                let end = chess.and_then(|chess| quiescence.end(&chess, &mut *evaluation));
                let score = end.map_or_else(
                    || {
                        evaluation.refresh(&sample.position);
                        evaluation.value()
                    },
                    |end| end.score,
                );
                score.into()
            };
            samples.iter().map(of).collect()
        };
        self.said(Values::Cp(samples.par_chunks(512).flat_map_iter(of).collect()), samples)
    }

    fn said(&self, values: Values, samples: &[Sample]) -> Result<Predictions> {
        if let Values::Cp(cp) = &values
            && let Some(place) = cp.iter().position(|cp| !cp.is_finite())
        {
            bail!(
                "{} gives {} for {}: its weights are too large for its sums; train it anew with a \
                 lower learning rate",
                self.name,
                cp[place],
                samples[place].position.fen()
            );
        }
        Ok(Predictions { bound: self.needs_scores(), ..Predictions::saying(&self.name, values) })
    }
}

/// Refuses one evaluation under two names, or twice under one: a folder of a run is its best
/// checkpoint.
pub fn each_once(given: &[String]) -> Result<()> {
    let file = |name: &String| {
        let path = Path::new(name);
        let path = if path.is_dir() { path.join(BEST) } else { path.to_path_buf() };
        path.canonicalize().unwrap_or(path)
    };
    let files: Vec<PathBuf> = given.iter().map(file).collect();
    for (i, name) in given.iter().enumerate() {
        match files[..i].iter().position(|other| *other == files[i]) {
            Some(first) if given[first] == *name => {
                bail!("{name} is named twice; name each evaluation once")
            }
            Some(first) => bail!(
                "{} and {name} are the same evaluation; name it once, or another",
                given[first]
            ),
            None => {}
        }
    }
    Ok(())
}

/// What a file turned out to hold.
struct Opened {
    recipe: Option<Recipe>,
    what: What,
    fitted: Result<f64, &'static str>,
}

fn of_weights(bytes: &[u8], path: &Path, (device, compute): &(Device, Compute)) -> Result<Opened> {
    let WeightsFile { weights, mut facts, .. } = Weights::from_bytes(bytes)?;
    recipe::settle(&mut facts, &weights)?;
    let recipe = Recipe::read(&facts)?;
    if facts.get("kind").is_some_and(|kind| matches!(&kind[..], "hce" | "trace")) {
        let scale = facts.get("scale").and_then(|scale| scale.parse().ok());
        let scale = scale.context("its header has no `scale`")?;
        let terms = recipe.as_ref().map(Recipe::terms).transpose()?.flatten();
        let weights = match &terms {
            Some(terms) => terms.trained(&weights, scale)?,
            None => HceWeights::from_weights(&weights, hce::terms::list(), scale)?,
        };
        let what = match terms.and_then(|terms| terms.own) {
            Some(own) => What::Traced(Box::new(OwnEngine { own, weights })),
            None => What::Hce(Terms::new(weights)),
        };
        return Ok(Opened { recipe, what, fitted: Ok(scale) });
    }
    let source = export::import(bytes, &Default::default())?;
    let base = recipe.as_ref().map(Recipe::added).transpose()?.flatten();
    let encoder = Encoder::net(&source.architecture).on(base);
    let kind = Kind::Net(source.architecture.clone());
    let model = Model::new(&kind, &source.weights, device, *compute)?;
    let floats = Box::new(Floats::new(model, encoder, source));
    let fitted = fitted_to_floats(path, floats.scale());
    Ok(Opened { recipe, what: What::Floats(floats), fitted })
}

/// The scale that fits the net of these floats, brought to the centipawns of the floats.
fn fitted_to_floats(path: &Path, scale: f64) -> Result<f64, &'static str> {
    let net = match path.file_name() {
        Some(name) if name == BEST => path.with_file_name(NET),
        Some(name) if name == LAST => return Err("only the best checkpoint of a run is exported"),
        _ => path.with_extension("bin"),
    };
    let manifest = export::load(&net, &Default::default()).ok().and_then(|it| it.manifest);
    let Some(manifest) = manifest else {
        return Err("no net was exported from this checkpoint, which would fit a scale");
    };
    let fitted = manifest.fitted_scale.as_ref().ok_or(NOT_FITTED)?;
    Ok(fitted.centipawns * scale / f64::from(manifest.scales.scale))
}

const NOT_FITTED: &str = "the net's manifest knows no fitted scale; export it again, with --data \
                          that has results";

fn of_json(bytes: &[u8]) -> Result<Opened> {
    let text = std::str::from_utf8(bytes).context("not UTF-8 text")?;
    let weights = HceWeights::from_json(text)?;
    let fitted = Ok(weights.scale);
    Ok(Opened { recipe: None, what: What::Hce(Terms::new(weights)), fitted })
}

fn of_net(path: &Path, given: &Given, listener: &dyn Listener) -> Result<Opened> {
    let loaded = match export::load(path, given) {
        Err(LoadError::Net { error, .. }) => bail!("{error}"),
        other => other?,
    };
    for warning in &loaded.warnings {
        listener.remark(&format!("{}: {warning}", path.display()));
    }
    let why = match &loaded.manifest {
        None if loaded.described => given.is_any().then_some("options over the description"),
        None => Some("no manifest; N follows from the size"),
        Some(_) if given.is_any() => Some("options over the manifest"),
        Some(_) => None,
    };
    if let Some(why) = why {
        let (architecture, scales) = (loaded.net.architecture(), loaded.net.scales());
        let features = architecture.inputs.views.name();
        listener.remark(&format!(
            "{}: {architecture}, {features} features, {scales} ({why})",
            path.display()
        ));
    }
    let fitted = match &loaded.manifest {
        None => Err("it has no manifest, which would know the scale that fits it"),
        Some(_) if given.is_any() => Err("it was read otherwise than its manifest says"),
        Some(manifest) => {
            manifest.fitted_scale.as_ref().map(|fitted| fitted.centipawns).ok_or(NOT_FITTED)
        }
    };
    let base = loaded.manifest.as_ref().and_then(|manifest| manifest.provenance.base.as_ref());
    let base = base.map(recipe::added).transpose()?;
    let recipe = loaded.manifest.and_then(|manifest| Recipe::of_manifest(&manifest.provenance));
    let what = What::Net(Box::new(Quantised { net: loaded.net, base }));
    Ok(Opened { recipe, what, fitted })
}

/// `runs/first/best.safetensors` as `first/best`, `runs/first/net.bin` as `first/net`,
/// `nets/first.bin` as `first.bin`.
pub fn short_name(path: &Path) -> String {
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let stem = text(path.file_stem());
    let run = path.parent().filter(|folder| folder.ends_with(KEPT)).and_then(Path::parent);
    if let Some(run) = run.and_then(Path::file_name) {
        return format!("{}/{stem}", run.to_string_lossy());
    }
    match path.parent().and_then(Path::file_name) {
        Some(folder) if matches!(&stem[..], "best" | "last" | "net" | "terms") => {
            format!("{}/{stem}", folder.to_string_lossy())
        }
        _ => text(path.file_name()),
    }
}
