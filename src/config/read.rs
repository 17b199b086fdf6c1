//! TOML and overrides to a config, with errors that name the line and the nearest known key.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Config;

/// Why a config cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{place}: {reason}")]
    Text { place: String, reason: String },
    #[error("--set {0}: write it as key=value, for example --set schedule.epochs=4")]
    Override(String),
    #[error("`{key}`: {reason}")]
    Value { key: &'static str, reason: String },
}

impl Config {
    /// Reads a file and applies `key=value` overrides with dotted keys.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Read { path: path.to_path_buf(), error })?;
        Self::parse(&text, &path.display().to_string(), overrides)
    }

    /// Reads a text; `name` stands for it in errors.
    pub fn parse(text: &str, name: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        Ok(Self::as_written(text, name, overrides)?.resolved())
    }

    /// Reads what a run has written about itself, whatever the version. Runs before `data.test`
    /// there was chose their checkpoints on all held-out games and kept none for a test.
    pub fn of_run(text: &str, name: &str) -> Result<Self, ConfigError> {
        let mut config = Self::as_written(text, name, &[])?;
        config.data.test.get_or_insert(0.0);
        Ok(config.resolved())
    }

    /// Without the defaults of other keys than serde's.
    fn as_written(text: &str, name: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        let overrides = Override::all(text.len(), overrides)?;
        let located = |error: toml::de::Error| {
            let start = error.span().map(|span| span.start);
            let place = match (start, overrides.iter().find(|it| it.holds(start))) {
                (_, Some(culprit)) => format!("--set {}", culprit.text),
                (Some(start), None) => {
                    format!("{name}:{}", text[..start].matches('\n').count() + 1)
                }
                (None, None) => name.to_string(),
            };
            ConfigError::Text { place, reason: reason(&error) }
        };
        let mut root = DeTable::parse(text).map_err(located)?;
        let mut read = Self::deserialize(toml::Deserializer::from(root.clone()));
        // The file's own mistakes come first. Only what it lacks may come from an override.
        if !overrides.is_empty() && read.as_ref().map_or_else(is_missing_key, |_| true) {
            for it in &overrides {
                it.apply(root.get_mut())?;
            }
            read = Self::deserialize(toml::Deserializer::from(root));
        }
        let config = read.map_err(located)?;
        config.check().map_err(|error| {
            let sets = overrides.iter().map(|it| format!(" --set {}", it.text));
            let with = if overrides.is_empty() { "" } else { " with" };
            let place = format!("{name}{with}{}", sets.collect::<String>());
            ConfigError::Text { place, reason: error.to_string() }
        })?;
        Ok(config)
    }
}

fn is_missing_key(error: &toml::de::Error) -> bool {
    error.message().starts_with("missing field")
}

/// A `key=value` from the command line, parsed as if it stood behind the file: the offset of an
/// error tells whose mistake it is.
struct Override<'a> {
    text: &'a str,
    key: &'a str,
    value: &'a str,
    /// `value = VALUE`, after as many spaces as there is text before.
    line: String,
    start: usize,
}

impl<'a> Override<'a> {
    fn all(length: usize, texts: &'a [String]) -> Result<Vec<Self>, ConfigError> {
        let mut start = length + 1;
        let parse = |text: &'a String| {
            let (key, value) = text.split_once('=').ok_or_else(|| bad(text))?;
            let (key, value) = (key.trim(), value.trim());
            let line = format!("{:start$}value = {value}", "");
            let parsed = Self { text, key, value, start, line };
            start = parsed.line.len() + 1;
            Ok(parsed)
        };
        texts.iter().map(parse).collect()
    }

    fn holds(&self, offset: Option<usize>) -> bool {
        offset.is_some_and(|offset| (self.start..=self.line.len()).contains(&offset))
    }

    fn apply(&'a self, root: &mut DeTable<'a>) -> Result<(), ConfigError> {
        let span = self.start..self.line.len();
        let spanned = |value: DeValue<'a>| Spanned::new(span.clone(), value);
        let name = |part: &'a str| Spanned::new(span.clone(), part.into());
        let mut path: Vec<&str> = self.key.split('.').collect();
        let last = path.pop().filter(|last| !last.is_empty()).ok_or_else(|| bad(self.text))?;
        let mut inner = root;
        for part in &path {
            if !inner.contains_key(*part) {
                inner.insert(name(part), spanned(DeValue::Table(DeTable::new())));
            }
            let Some(DeValue::Table(table)) = inner.get_mut(*part).map(Spanned::get_mut) else {
                return Err(bad(self.text));
            };
            inner = table;
        }
        // The length that is asked for stands instead of the file's.
        let replaced: &[&str] = match (&path[..], LENGTHS.contains(&last)) {
            (["schedule"], true) => &LENGTHS,
            _ => &[last],
        };
        for key in replaced {
            inner.remove(*key);
        }
        // A bare word is a string: --set model.inputs=hce
        let value = DeTable::parse(&self.line)
            .ok()
            .and_then(|table| table.into_inner().remove("value"))
            .unwrap_or_else(|| spanned(DeValue::String(self.value.into())));
        inner.insert(name(last), value);
        Ok(())
    }
}

/// The keys of `[schedule]` of which a config has one.
const LENGTHS: [&str; 3] = ["epochs", "positions", "superbatches"];

fn bad(text: &str) -> ConfigError {
    ConfigError::Override(text.to_string())
}

/// The message with the nearest known key, after the key that it is about.
fn reason(error: &toml::de::Error) -> String {
    let message = with_nearest(error.message());
    // Only the error's own form tells the key, in a last line: in `schedule.batch`
    let form = error.to_string();
    match form.trim_end().rsplit_once("\nin ") {
        Some((_, key)) => format!("{key}: {message}"),
        None => message,
    }
}

/// Adds the nearest known key to serde's "unknown field `x`, expected one of `a`, `b`".
fn with_nearest(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((unknown, known)) if message.starts_with("unknown") && !known.is_empty() => {
            nearest(format!("unknown key or word `{unknown}`"), unknown, known)
        }
        _ => message.to_string(),
    }
}

pub fn nearest(message: String, word: &str, known: &[&str]) -> String {
    let likeness = |name: &str| strsim::jaro_winkler(word, name);
    let best = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best {
        Some(best) if likeness(best) > 0.7 => format!("{message}; did you mean `{best}`?"),
        _ => format!("{message}; known are {}", known.join(", ")),
    }
}
