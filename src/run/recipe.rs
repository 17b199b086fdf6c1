//! Origin of weights and nets: the config and the data that made them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::{Serialize, de::DeserializeOwned};

use super::base::{base_fact, base_terms, read_base, replace_base_terms};
use super::terms::RunTerms;
use crate::config::{Config, Traces};
use crate::data_file::DataFile;
use crate::export::{self, StartNet};
use crate::input;
use crate::model::ModelKind;
use crate::resume_point::ReadFacts;
use crate::sketch::Sketch;
use crate::train::checkpoint::Checkpoint;

/// Key of the header for how a run computed.
pub const COMPUTE: &str = "compute";
/// Key of the header for the number of training positions.
pub const POSITIONS: &str = "positions";

/// The run that made an evaluation.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub config: Config,
    pub data: Vec<DataFile>,
    /// Sketch of the games of the data, including held-out ones.
    pub sketch: Sketch,
    /// Files for validation only; empty if games of `data` validated.
    pub validation: Vec<DataFile>,
    /// Sketch of their games, on which a checkpoint was chosen.
    pub validation_sketch: Sketch,
    /// Text of another engine's term list.
    pub term_list: Option<String>,
    /// Net that the run started from; None: random weights.
    pub start: Option<StartNet>,
    /// Base evaluation of the net.
    pub base: Option<export::StoredBase>,
}

impl Recipe {
    pub fn model_kind(&self) -> Result<ModelKind> {
        Ok(match self.config.architecture().cloned() {
            Some(net) if self.config.tunes_base() => {
                let config = &self.config;
                let base = self.base.as_ref().context("a net with terms has terms")?;
                ModelKind::Sum(net, RunTerms::of_base(&base_terms(base)?).hce_shape(config))
            }
            Some(net) => ModelKind::Net(net),
            None => ModelKind::Hce(
                self.run_terms()?.context("no net, so terms")?.hce_shape(&self.config),
            ),
        })
    }

    pub fn run_terms(&self) -> Result<Option<RunTerms>> {
        RunTerms::from_config(&self.config, self.term_list.as_deref())
    }

    /// Makes the header entries of a file of weights.
    pub fn header_facts(&self) -> Result<BTreeMap<String, String>> {
        let mut facts = match self.config.architecture() {
            Some(net) => export::facts(net, self.config.scales),
            None => {
                let kind = if self.config.file.traces.is_some() { "trace" } else { "hce" };
                let scale = self.config.scale.to_string();
                BTreeMap::from([("kind".into(), kind.into()), ("scale".into(), scale)])
            }
        };
        facts.extend(self.term_list.clone().map(|list| ("term_list".to_string(), list)));
        facts.extend(self.start.as_ref().map(|start| format_fact("start", start)).transpose()?);
        facts.extend(base_fact(self.base.as_ref())?);
        facts.insert("config".into(), self.config.to_toml());
        facts.extend([format_fact("data", &self.data)?, format_fact("sketch", &self.sketch)?]);
        facts.extend([format_fact("validation", &self.validation)?]);
        facts.extend([format_fact("validation_sketch", &self.validation_sketch)?]);
        Ok(facts)
    }

    /// Reads the header of a file of weights. None for weights of other programs.
    pub fn read_header(facts: &BTreeMap<String, String>) -> Result<Option<Self>> {
        let data = parse_entry(facts, "data")?;
        let (Some(config), Some(data)) = (facts.get("config"), data) else { return Ok(None) };
        Ok(Some(Self {
            config: Config::parse_text(config, "the config in its header", &[])?,
            data,
            sketch: parse_entry(facts, "sketch")?.unwrap_or_default(),
            validation: parse_entry(facts, "validation")?.unwrap_or_default(),
            validation_sketch: parse_entry(facts, "validation_sketch")?.unwrap_or_default(),
            term_list: facts.get("term_list").cloned(),
            start: parse_entry(facts, "start")?,
            base: read_base(facts)?,
        }))
    }

    /// Reads a net's manifest. None for nets of other programs.
    pub fn of_manifest(provenance: &export::Provenance) -> Option<Self> {
        let config = provenance.recipe.as_deref()?;
        let chosen = provenance.validation_sketch.clone().unwrap_or_default();
        Some(Self {
            config: Config::parse_text(config, "the manifest's recipe", &[]).ok()?,
            data: provenance.data.clone(),
            sketch: provenance.sketch.clone()?.try_into().ok()?,
            validation: provenance.validation.clone(),
            validation_sketch: chosen.try_into().ok()?,
            term_list: None,
            start: provenance.start.clone(),
            base: provenance.base.clone(),
        })
    }

    /// Makes the entries of a net's manifest, for [`Recipe::of_manifest`].
    pub fn to_provenance(&self) -> export::Provenance {
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
        self.sketch.join_sketch(&read.sketch);
        if read.is_complete {
            // Older checkpoints do not count positions without a game.
            let gameless = read.gameless.iter().chain(std::iter::repeat(&0));
            let counts = read.files.iter().zip(gameless);
            for (file, ([positions, games, bad], gameless)) in self.data.iter_mut().zip(counts) {
                (file.positions, file.games) = (Some(*positions), *games);
                file.gameless = gameless * u64::from(*games > 0);
                file.bad_records = Some(*bad);
            }
        }
    }

    /// Returns why the start, and why the base, may know games that the run holds out.
    pub fn doubts(&self) -> [Option<&String>; 2] {
        let start = self.start.as_ref().and_then(|start| start.doubt.as_ref());
        [start, self.base.as_ref().and_then(|base| base.doubt.as_ref())]
    }

    pub fn validation_files(&self) -> &[DataFile] {
        if self.validation.is_empty() { &self.data } else { &self.validation }
    }

    /// Returns the first data or validation file that in `now` differs from the start of the run.
    pub fn changed_file(&self, now: [&[DataFile]; 2]) -> Option<&Path> {
        let then = self.data.iter().chain(&self.validation);
        let mut pairs = then.zip(now.into_iter().flatten());
        let same = |then: &DataFile, now: &DataFile| {
            (then.bytes, &then.sha256) == (now.bytes, &now.sha256)
        };
        pairs.find(|(then, now)| !same(then, now)).map(|(then, _)| then.path.as_path())
    }
}

pub fn list_names(files: &[DataFile]) -> String {
    files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Reads a header entry in JSON. None if it is missing.
pub(super) fn parse_entry<T: DeserializeOwned>(
    facts: &BTreeMap<String, String>,
    key: &str,
) -> Result<Option<T>> {
    let entry = facts.get(key).map(|text| serde_json::from_str(text));
    entry.transpose().with_context(|| format!("`{key}` in its header"))
}

/// Formats a header entry in JSON.
pub(super) fn format_fact<T: Serialize>(key: &str, value: &T) -> Result<(String, String)> {
    Ok((key.to_string(), serde_json::to_string(value)?))
}

/// Opens a checkpoint of this program with its recipe.
pub fn open_checkpoint(path: &Path) -> Result<(Checkpoint, Recipe)> {
    let checkpoint = Checkpoint::read_file(path)?;
    // The file keeps its original header, so that runs end with the same bits.
    let mut facts = checkpoint.facts.clone();
    let mut recipe = replace_base_terms(&mut facts, &checkpoint.weights)
        .and_then(|()| Recipe::read_header(&facts))
        .and_then(|recipe| recipe.ok_or_else(|| anyhow!("its header has no config")))
        .with_context(|| path.display().to_string())?;
    if let Some(resume_point) = &checkpoint.state.resume_point {
        recipe.add(&resume_point.read);
    }
    Ok((checkpoint, recipe))
}

/// Reads an engine's term list, if the config names one.
pub fn term_list(config: &Config) -> Result<Option<String>> {
    let Some(Traces { list: path, .. }) = &config.file.traces else { return Ok(None) };
    let text = input::read_text(path, input::TEXT)
        .with_context(|| format!("cannot read the list of terms {}", path.display()))?;
    Ok(Some(text))
}
