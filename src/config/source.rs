//! Where positions come from: files, or several sources of files.

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keys::formats;
use super::{Config, ConfigError, Data, Learn, nearest};
use crate::format::Format;
use crate::loader::{DataSource, Filter, Reading, Weighing};
use crate::point_of_view::PointOfView;
use crate::train::target::{Promise, Worth};

/// One of several sources of positions, in the place of `data.files`; a config has as many of these
/// sections as it has sources. What a source does not say is as `[data]` and `[target]` have it; a
/// `filter` of its own, with the keys of `[data.filter]`, takes the place of that as a whole. The
/// validation loss of each source is told beside that of all, in `sources.csv` and on the page. For
/// nets and for terms, but not for terms of another engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// How it is called. Without it the name of its first file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"masters")]
    pub name: Option<String>,
    /// Its files, each of which is of one source alone.
    #[schemars(example = ["masters.pgn"])]
    pub files: Vec<PathBuf>,
    /// The format of its files; without it that of `data.format`, or what their content tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"pgn", extend("enum" = formats()))]
    pub format: Option<String>,
    /// Who sees their scores and results; without it `data.point_of_view`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"white", extend("enum" = ["white", "side-to-move"]))]
    pub point_of_view: Option<String>,
    /// How many positions to take of each file at most; without it `data.limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1_000_000)]
    pub limit: Option<u64>,
    /// Its share of each batch, against those of the other sources: with 3 and 1 three quarters of
    /// the positions of each batch come from the first, however many either has. The smaller one is
    /// passed more often, in an order of its own; an epoch is as many positions as all of them have
    /// together. All sources have a share, or none: then batches take positions as they come. For
    /// nets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 3.0)]
    pub batch_share: Option<f64>,
    /// How much the loss of its positions counts, against that of the others; without it 1. Together
    /// with `[target.weights]` it is a factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 2.0)]
    pub weight: Option<f64>,
    /// The weight of results against scores, 0 to 1; without it `target.wdl`. With 1 its positions
    /// need no scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1.0)]
    pub wdl: Option<f64>,
    /// The centipawns of its scores that make one logit, above 0; without it `target.score_scale`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 300.0)]
    pub score_scale: Option<f64>,
    /// What is left out of it, in the place of `data.filter` as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
}

/// Characters that a name must not have, since tables of losses have it in their first line.
const NOT_IN_NAMES: [char; 4] = [',', '"', '\n', '\r'];

/// Sources that a config may have.
const MOST: usize = 255;

impl Source {
    /// How it is called.
    pub fn name(&self) -> String {
        let of_file = || {
            let file = self.files.first()?;
            Some(file.file_name()?.to_string_lossy().replace(NOT_IN_NAMES, " "))
        };
        self.name.clone().or_else(of_file).unwrap_or_default()
    }
}

impl Data {
    /// The key that names them.
    pub fn key_of_files(&self) -> &'static str {
        if self.source.is_empty() { "data.files" } else { "data.source.files" }
    }

    /// All files that there are to learn from, in the order of the config.
    pub fn all_files(&self) -> Vec<PathBuf> {
        let of_sources = self.source.iter().flat_map(|source| &source.files);
        self.files.iter().chain(of_sources).cloned().collect()
    }
}

impl Config {
    /// What positions are worth: those of no source first, then those of each.
    pub fn worths(&self) -> Vec<Worth> {
        let promise = self.promise();
        let own = |source: &Source| {
            let scale = source.score_scale.unwrap_or(promise.scale);
            Worth::new(Promise { scale, ..promise }, source.wdl)
        };
        [promise.into()].into_iter().chain(self.data.source.iter().map(own)).collect()
    }

    /// How much positions count.
    pub fn weighing(&self) -> Weighing {
        let sources: Vec<f64> =
            self.data.source.iter().map(|source| source.weight.unwrap_or(1.0)).collect();
        let level = sources.iter().all(|weight| *weight == 1.0);
        let sources = if level { Vec::new() } else { sources };
        Weighing { sources, ..self.target.weights.clone() }
    }

    /// The sources, as they are read.
    ///
    /// # Errors
    /// If there is no such format or point of view.
    pub fn sources(&self) -> Result<Vec<DataSource>, ConfigError> {
        self.data.source.iter().map(|source| self.data_source(source)).collect()
    }

    fn data_source(&self, source: &Source) -> Result<DataSource, ConfigError> {
        let format = source.format.as_deref().map(|name| format("data.source.format", name));
        let view = source.point_of_view.as_deref();
        let view = view.map(|name| view_named("data.source.point_of_view", name));
        let wdl = source.wdl.unwrap_or(self.target.wdl.range().0);
        Ok(DataSource {
            name: source.name(),
            files: source.files.clone(),
            reading: Reading {
                format: format.or(self.format().transpose()).transpose()?,
                view: view.or(self.view().transpose()).transpose()?,
                filter: source.filter.as_ref().unwrap_or(&self.data.filter).clone(),
                scores: !self.learns_moves() && wdl < 1.0,
                limit: source.limit.or(self.data.limit),
            },
            share: source.batch_share,
            expected: None,
        })
    }

    pub fn format(&self) -> Result<Option<&'static Format>, ConfigError> {
        self.data.format.as_deref().map(|name| format("data.format", name)).transpose()
    }

    /// Whose eyes see scores and results, where the config says.
    pub fn view(&self) -> Result<Option<PointOfView>, ConfigError> {
        let view = self.data.point_of_view.as_deref();
        view.map(|name| view_named("data.point_of_view", name)).transpose()
    }

    /// Whether there are files to learn from and to validate with, each of them once.
    pub(super) fn check_files(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        let (data, files) = (&self.data, self.data.all_files());
        let key = data.key_of_files();
        if files.is_empty() {
            return wrong(key, "name at least one file".into());
        }
        if !data.source.is_empty() && !data.files.is_empty() {
            let reason = "stands beside [[data.source]]; make these files a source of their own";
            return wrong("data.files", reason.into());
        }
        for (key, files) in [(key, &files), ("data.validation", &data.validation)] {
            for (i, path) in files.iter().enumerate() {
                if files[..i].iter().any(|other| same_path(other, path)) {
                    let reason = format!("{} is listed twice; remove one", path.display());
                    return wrong(key, reason);
                }
            }
        }
        for path in &data.validation {
            if let Some(other) = files.iter().find(|other| same_path(other, path)) {
                let (path, other) = (path.display(), other.display());
                let reason = format!("{path} is {other} of `{key}`; {ONE_LIST}");
                return wrong("data.validation", reason);
            }
        }
        if !data.validation.is_empty() && self.test().0 != 1.0 {
            let reason = "with files in `data.validation` all held-out games are the test; remove \
                          `data.test`, or set `data.held_out` to 0 for no test";
            return wrong("data.test", reason.into());
        }
        self.check_sources()
    }

    fn check_sources(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        let sources = &self.data.source;
        if sources.is_empty() {
            return Ok(());
        }
        if sources.len() > MOST {
            let reason = format!("there are {} sources, and {MOST} are the most", sources.len());
            return wrong("data.source", reason);
        }
        if self.model.inputs == "trace" {
            let reason = "is for positions, and traces of another engine have none; name the files \
                          in `data.files`";
            return wrong("data.source", reason.into());
        }
        for (i, source) in sources.iter().enumerate() {
            let name = source.name();
            if source.files.is_empty() {
                return wrong("data.source.files", format!("source {} names no file", i + 1));
            }
            if name.is_empty() || name.contains(NOT_IN_NAMES) {
                let reason = format!(
                    "{name:?} is no name: it must not be empty, nor have commas, \
                                      quotes or line ends"
                );
                return wrong("data.source.name", reason);
            }
            if sources[..i].iter().any(|other| other.name() == name) {
                let reason =
                    format!("two sources are called {name:?}; give each a `name` of its own");
                return wrong("data.source.name", reason);
            }
            let (share, weight, scale) = (source.batch_share, source.weight, source.score_scale);
            if share.is_some() != sources[0].batch_share.is_some() {
                let reason = "all sources have a share of each batch, or none has";
                return wrong("data.source.batch_share", reason.into());
            }
            for (key, value) in [
                ("data.source.batch_share", share),
                ("data.source.weight", weight),
                ("data.source.score_scale", scale),
            ] {
                if let Some(value) = value.filter(|value| !(*value > 0.0 && *value <= 1e6)) {
                    let reason =
                        format!("{name}: a number above 0, up to a million, found {value}");
                    return wrong(key, reason);
                }
            }
            if let Some(wdl) = source.wdl.filter(|wdl| !(0.0..=1.0).contains(wdl)) {
                let reason = format!("{name}: lies between 0 and 1, found {wdl}");
                return wrong("data.source.wdl", reason);
            }
            if source.limit == Some(0) {
                let reason = format!("{name}: must be at least 1; leave it out to take all");
                return wrong("data.source.limit", reason);
            }
            self.data_source(source)?;
        }
        let batch = self.batch().of(u64::MAX);
        if sources[0].batch_share.is_some() {
            if !self.is_net() || self.target.learn != Learn::Values {
                let reason = "is for nets that learn what positions are worth; elsewhere give \
                              sources a `weight`, or a `limit`";
                return wrong("data.source.batch_share", reason.into());
            }
            if batch < sources.len() as u64 {
                let reason = format!("has {batch} positions for {} sources", sources.len());
                return wrong("schedule.batch", reason);
            }
        }
        Ok(())
    }
}

fn format(key: &'static str, name: &str) -> Result<&'static Format, ConfigError> {
    let names: Vec<&str> = crate::format::ALL.iter().map(|format| format.name).collect();
    let reason = || nearest(format!("no format is named {name:?}"), name, &names);
    Format::named(name).ok_or_else(|| ConfigError::Value { key, reason: reason() })
}

fn view_named(key: &'static str, name: &str) -> Result<PointOfView, ConfigError> {
    let reason = || format!("there are \"white\" and \"side-to-move\", found {name:?}");
    PointOfView::named(name).ok_or_else(|| ConfigError::Value { key, reason: reason() })
}

/// What to do about a file that is to train and to validate.
pub(crate) const ONE_LIST: &str =
    "what validates must not be trained on: take it out of one of the two";

/// Whether two paths differ by no more than a `./`.
fn same_path(one: &Path, other: &Path) -> bool {
    let plain = |part: &Component| *part != Component::CurDir;
    one.components().filter(plain).eq(other.components().filter(plain))
}
