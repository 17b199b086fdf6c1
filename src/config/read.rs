//! TOML and overrides to a config, with errors that name the line and the nearest known key.

use std::path::{Path, PathBuf};

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
        let located = |error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map_or(name.to_string(), |line| format!("{name}:{line}"));
            ConfigError::Text { place, reason: with_nearest(error.message()) }
        };
        // First as it stands, so that errors carry their line.
        let config: Config = match toml::from_str(text) {
            Ok(config) => config,
            Err(error) if overrides.is_empty() || toml::from_str::<toml::Table>(text).is_err() => {
                return Err(located(error));
            }
            // Perhaps an override gives what the file lacks.
            Err(_) => Self::overridden(toml::from_str(text).map_err(located)?, name, overrides)?,
        };
        let config = if overrides.is_empty() {
            config
        } else {
            Self::overridden(toml::from_str(text).map_err(located)?, name, overrides)?
        };
        config.check()?;
        Ok(config.resolved())
    }

    fn overridden(
        mut table: toml::Table,
        name: &str,
        overrides: &[String],
    ) -> Result<Self, ConfigError> {
        for text in overrides {
            set(&mut table, text)?;
        }
        let place = format!("{name} with {}", overrides.join(" "));
        table.try_into().map_err(|error: toml::de::Error| ConfigError::Text {
            place,
            reason: with_nearest(error.message()),
        })
    }
}

fn set(table: &mut toml::Table, text: &str) -> Result<(), ConfigError> {
    let bad = || ConfigError::Override(text.to_string());
    let (key, value) = text.split_once('=').ok_or_else(bad)?;
    let (key, value) = (key.trim(), value.trim());
    // A bare word is a string: --set model.inputs=hce
    let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_string()));
    let mut path: Vec<&str> = key.split('.').collect();
    let last = path.pop().filter(|last| !last.is_empty()).ok_or_else(bad)?;
    let mut inner = table;
    for part in path {
        let entry = inner.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        inner = entry.as_table_mut().ok_or_else(bad)?;
    }
    inner.insert(last.to_string(), value);
    Ok(())
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
