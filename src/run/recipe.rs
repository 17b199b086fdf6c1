//! Origin of weights and nets: the config and the data behind them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use serde::{Serialize, de::DeserializeOwned};

use super::terms::RunTerms;
use crate::config::{Config, Objective, Source, Traces};
use crate::data_file::DataFile;
use crate::export::{self, StartNet};
use crate::hce::{HceEvaluator, HceWeights};
use crate::loader::{
    self, Base, BaseEvaluation, DataSource, Filter, LoadError, PLANS, Plan, ReadOptions, Subset,
    TrainingShare, most_pairs, pairs_of,
};
use crate::model::{Compute, Kind, Precision};
use crate::place::ReadFacts;
use crate::point_of_view::PointOfView;
use crate::progress::Progress;
use crate::sample::Sample;
use crate::sketch::Sketch;
use crate::train::checkpoint::Checkpoint;
use crate::weights::Weights;
use crate::{digest, input};

/// Key of the header for how a run computed.
pub const COMPUTE: &str = "compute";
/// Key of the header for the number of training positions.
pub const POSITIONS: &str = "positions";

/// A run that made an evaluation.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub config: Config,
    pub data: Vec<DataFile>,
    /// The games of the data, including held-out ones.
    pub sketch: Sketch,
    /// The files for validation only; none if games of `data` validated.
    pub validation: Vec<DataFile>,
    /// The games of these, on which a checkpoint was chosen.
    pub validation_sketch: Sketch,
    /// Text of another engine's term list.
    pub term_list: Option<String>,
    /// The net that it started from; none: random weights.
    pub start: Option<StartNet>,
    /// Base evaluation of its net.
    pub base: Option<export::Base>,
}

impl Recipe {
    pub fn kind(&self) -> Result<Kind> {
        Ok(match self.config.architecture().cloned() {
            Some(net) if self.config.tunes_base() => {
                let config = &self.config;
                let base = self.base.as_ref().context("a net with terms has terms")?;
                Kind::Sum(net, RunTerms::of_base(&terms_of(base)?).shape(config))
            }
            Some(net) => Kind::Net(net),
            None => Kind::Hce(self.terms()?.context("no net, so terms")?.shape(&self.config)),
        })
    }

    pub fn terms(&self) -> Result<Option<RunTerms>> {
        RunTerms::of(&self.config, self.term_list.as_deref())
    }

    /// The header entries of a file of weights.
    pub fn facts(&self) -> Result<BTreeMap<String, String>> {
        let mut facts = match self.config.architecture() {
            Some(net) => export::facts(net, self.config.scales),
            None => {
                let kind = if self.config.file.traces.is_some() { "trace" } else { "hce" };
                let scale = self.config.scale.to_string();
                BTreeMap::from([("kind".into(), kind.into()), ("scale".into(), scale)])
            }
        };
        facts.extend(self.term_list.clone().map(|list| ("term_list".to_string(), list)));
        facts.extend(self.start.as_ref().map(|start| fact("start", start)).transpose()?);
        facts.extend(base_fact(self.base.as_ref())?);
        facts.insert("config".into(), self.config.to_toml());
        facts.extend([fact("data", &self.data)?, fact("sketch", &self.sketch)?]);
        facts.extend([fact("validation", &self.validation)?]);
        facts.extend([fact("validation_sketch", &self.validation_sketch)?]);
        Ok(facts)
    }

    /// Reads the header of a file of weights; none for weights of other programs.
    pub fn read(facts: &BTreeMap<String, String>) -> Result<Option<Self>> {
        let data = entry(facts, "data")?;
        let (Some(config), Some(data)) = (facts.get("config"), data) else { return Ok(None) };
        Ok(Some(Self {
            config: Config::parse(config, "the config in its header", &[])?,
            data,
            sketch: entry(facts, "sketch")?.unwrap_or_default(),
            validation: entry(facts, "validation")?.unwrap_or_default(),
            validation_sketch: entry(facts, "validation_sketch")?.unwrap_or_default(),
            term_list: facts.get("term_list").cloned(),
            start: entry(facts, "start")?,
            base: base(facts)?,
        }))
    }

    /// Reads a net's manifest; none for nets of other programs.
    pub fn of_manifest(provenance: &export::Provenance) -> Option<Self> {
        let config = provenance.recipe.as_deref()?;
        let chosen = provenance.validation_sketch.clone().unwrap_or_default();
        Some(Self {
            config: Config::parse(config, "the manifest's recipe", &[]).ok()?,
            data: provenance.data.clone(),
            sketch: provenance.sketch.clone()?.try_into().ok()?,
            validation: provenance.validation.clone(),
            validation_sketch: chosen.try_into().ok()?,
            term_list: None,
            start: provenance.start.clone(),
            base: provenance.base.clone(),
        })
    }

    /// The entries of a net's manifest, for [`Recipe::of_manifest`].
    pub fn provenance(&self) -> export::Provenance {
        let chosen = Some(&self.validation_sketch).filter(|sketch| !sketch.is_empty());
        export::Provenance {
            recipe: Some(self.config.to_toml()),
            data: self.data.clone(),
            sketch: Some(self.sketch.clone().into()),
            validation: self.validation.clone(),
            validation_sketch: chosen.map(|sketch| sketch.clone().into()),
            start: self.start.clone(),
            ..Default::default()
        }
    }

    /// Adds the facts of a pass over streamed data.
    fn add(&mut self, read: &ReadFacts) {
        self.sketch.join(&read.sketch);
        if read.is_complete {
            // Older checkpoints do not count them.
            let gameless = read.gameless.iter().chain(std::iter::repeat(&0));
            let counts = read.files.iter().zip(gameless);
            for (file, ([positions, games, bad], gameless)) in self.data.iter_mut().zip(counts) {
                (file.positions, file.games) = (Some(*positions), *games);
                file.gameless = gameless * u64::from(*games > 0);
                file.bad_records = Some(*bad);
            }
        }
    }

    /// The evaluation that its net is added to.
    pub fn open_base(&self) -> Result<Option<Base>> {
        self.base.as_ref().map(open_base).transpose()
    }

    /// Plan that reads the run's data for a measurement, with its limit of positions per file.
    pub fn measuring_plan(&self) -> Result<Plan> {
        let Plan { mut reading, bad_records, mut sources, .. } = plan(&self.config);
        let readings = sources.iter_mut().map(|source| &mut source.reading).chain([&mut reading]);
        for reading in readings.filter(|reading| reading.limit.is_none()) {
            (reading.filter, reading.scores) = (Filter::default(), false);
        }
        Ok(Plan { reading, bad_records, sources, ..Plan::reading(unchanged(&self.data)?) })
    }

    pub fn validating(&self) -> &[DataFile] {
        if self.validation.is_empty() { &self.data } else { &self.validation }
    }

    /// The first file of the data, or of those for validation, that differs in `now` from the start
    /// of the run.
    pub fn changed_file(&self, now: [&[DataFile]; 2]) -> Option<&Path> {
        let then = self.data.iter().chain(&self.validation);
        let mut pairs = then.zip(now.into_iter().flatten());
        let same = |then: &DataFile, now: &DataFile| {
            (then.bytes, &then.sha256) == (now.bytes, &now.sha256)
        };
        pairs.find(|(then, now)| !same(then, now)).map(|(then, _)| then.path.as_path())
    }
}

pub fn names(files: &[DataFile]) -> String {
    files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Paths of a run's files, for commands with `--data`. Fails if one has changed or is missing.
pub fn unchanged(files: &[DataFile]) -> Result<Vec<PathBuf>> {
    for DataFile { path, bytes, sha256, .. } in files {
        // The header of a checkpoint may name any file: files of another length are not read.
        let same = input::regular(path).and_then(|()| {
            Ok(path.metadata()?.len() == *bytes && digest::of_data(path)?.sha256 == *sha256)
        });
        let name = path.display();
        ensure!(
            same.with_context(|| format!("cannot read {name}; name the files with --data"))?,
            "{name} has changed since the run began; restore it, or name files with --data"
        );
    }
    Ok(files.iter().map(|file| file.path.clone()).collect())
}

/// A header entry in JSON; none if it is missing.
fn entry<T: DeserializeOwned>(facts: &BTreeMap<String, String>, key: &str) -> Result<Option<T>> {
    let entry = facts.get(key).map(|text| serde_json::from_str(text));
    entry.transpose().with_context(|| format!("`{key}` in its header"))
}

fn fact<T: Serialize>(key: &str, value: &T) -> Result<(String, String)> {
    Ok((key.to_string(), serde_json::to_string(value)?))
}

/// Opens a checkpoint of this program with its recipe.
pub fn open(path: &Path) -> Result<(Checkpoint, Recipe)> {
    let checkpoint = Checkpoint::read(path)?;
    // The file keeps its original header, so that runs end with the same bits.
    let mut facts = checkpoint.facts.clone();
    let mut recipe = replace_base_terms(&mut facts, &checkpoint.weights)
        .and_then(|()| Recipe::read(&facts))
        .and_then(|recipe| recipe.ok_or_else(|| anyhow!("its header has no config")))
        .with_context(|| path.display().to_string())?;
    if let Some(place) = &checkpoint.state.place {
        recipe.add(&place.read);
    }
    Ok((checkpoint, recipe))
}

/// Key of the header for a net's base evaluation.
const BASE: &str = "base";

/// Base evaluation of a net, from the header of its weights.
pub fn base(facts: &BTreeMap<String, String>) -> Result<Option<export::Base>> {
    entry(facts, BASE)
}

/// Replaces the base's terms in the header by those trained with the net.
pub fn replace_base_terms(facts: &mut BTreeMap<String, String>, weights: &Weights) -> Result<()> {
    if !HceWeights::are_in(weights) {
        return Ok(());
    }
    let Some(mut base) = base(facts)? else { return Ok(()) };
    base.below = export::BaseContent::Terms(learnt_with(&base, weights)?.to_json());
    // These are no longer the file's terms.
    base.sha256 = None;
    facts.extend(base_fact(Some(&base))?);
    Ok(())
}

/// Terms of a base that is trained with its net. Fails if the base is a net.
pub fn terms_of(base: &export::Base) -> Result<HceWeights> {
    match &base.below {
        export::BaseContent::Terms(text) => {
            HceWeights::from_json(text).with_context(|| format!("base {}", base.name))
        }
        export::BaseContent::Net(_) => bail!(
            "`net.tune_base`: {} is a net, and only handcrafted terms learn together with one; \
             leave tune_base out",
            base.name
        ),
    }
}

/// Terms of a base after training with a net.
pub fn learnt_with(base: &export::Base, weights: &Weights) -> Result<HceWeights> {
    let before = terms_of(base)?;
    let scale_factor = before.scale_factor;
    let now = HceWeights::from_weights(weights, before.list, before.scale, true)?;
    let source = format!("{}, trained on together with a net", base.name);
    Ok(HceWeights { scale_factor, source: Some(source), ..now }.rounded(2))
}

pub fn base_fact(base: Option<&export::Base>) -> Result<Option<(String, String)>> {
    base.map(|base| fact(BASE, base)).transpose()
}

pub fn open_base(base: &export::Base) -> Result<Base> {
    let read = || -> Result<BaseEvaluation> {
        Ok(match &base.below {
            export::BaseContent::Terms(text) => {
                BaseEvaluation::Terms(HceEvaluator::new(&HceWeights::from_json(text)?))
            }
            export::BaseContent::Net(net) => {
                BaseEvaluation::Net(Arc::new(net.read().map_err(Error::msg)?))
            }
        })
    };
    let below = read().with_context(|| format!("base {}", base.name))?;
    Ok(Base { below, scale: base.scale })
}

pub fn collect(
    plan: &Plan,
    subset: Option<Subset>,
    listener: &dyn Progress,
) -> Result<Vec<Sample>, LoadError> {
    let counter = listener.count(None, "reading");
    loader::collect(plan, subset, &*counter)
}

/// Text of an engine's term list, if the config names one.
pub fn term_list(config: &Config) -> Result<Option<String>> {
    let Some(Traces { list: path, .. }) = &config.file.traces else { return Ok(None) };
    let text = input::text(path, input::TEXT)
        .with_context(|| format!("cannot read the list of terms {}", path.display()))?;
    Ok(Some(text))
}

pub fn plan(config: &Config) -> Plan {
    let source =
        |it: &Source| DataSource { files: it.files.clone(), reading: config.reading(Some(it)) };
    Plan {
        files: config.file.data.all_files(),
        reading: ReadOptions { scores: config.needs_scores(), ..config.reading(None) },
        sources: config.file.data.source.iter().map(source).collect(),
        validation: config.file.data.validation.clone(),
        bad_records: config.file.data.bad_records,
        check_view: config.file.data.check_view,
        weighing: config.file.target.weights.clone(),
        split: config.split(),
        test: config.test_share,
        share: TrainingShare(config.file.data.share),
        colours: (config.architecture())
            .is_some_and(|net| net.inputs.views.point_of_view() == PointOfView::White),
        window: config.window(u64::MAX),
        shuffle: config.file.data.shuffle,
        chunk: config.file.data.chunk.unwrap_or(0),
        seed: config.file.seed,
        batch: config.batch_size.unwrap_or(usize::MAX),
        ..Plan::default()
    }
}

/// Plans the chunks of a net's data, for `positions` positions: the order in which the CPU
/// computes, and the pairs in lists. Chunks of data in memory are planned once for all passes. A
/// GPU finds an order itself; with one king bucket it uses the cached lists and their pairs. Chunks
/// of streamed data are planned one by one if the net has one king bucket, with pairs if rows are
/// long enough. Pairs are learnt from `some` positions.
pub fn plan_chunks(
    plan: &mut Plan,
    config: &Config,
    compute: Compute,
    positions: u64,
    some: &[Sample],
) {
    let Some(net) = config.architecture().filter(|net| net.has_kernels()) else { return };
    let one = net.inputs.kings().count() == 1;
    let pairs = config.pairs(positions);
    let plans = match compute {
        Compute::Plain => false,
        Compute::Fused { .. } => true,
        Compute::Gpu { .. } => one && net.inputs.is_pieces(),
    };
    if plans {
        (plan.plans, plan.pairs) = (PLANS, pairs);
    }
    let number = match compute {
        Compute::Fused { precision: Precision::F32, .. } => size_of::<f32>(),
        Compute::Fused { precision: Precision::Mixed, .. } => size_of::<i16>(),
        Compute::Plain | Compute::Gpu { .. } => return,
    };
    let is_cut = plan.chunk > 0 && plan.batch >= 2 * plan.chunk;
    let streams = !plan.is_kept() && config.file.target.learn == Objective::Values;
    let is_long = net.hidden * number >= LONG || !net.inputs.is_pieces();
    if streams && is_cut && one {
        plan.passing =
            Some(Arc::new(pairs_of(net, some, if is_long { most_pairs(net) } else { 0 })));
    }
}

/// Bytes of an accumulator of pieces, whose lists are short, from which pairs pay off in a stream.
const LONG: usize = 512;
