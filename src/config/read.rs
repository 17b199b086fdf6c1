//! Reading of a config from TOML and overrides.

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::{Config, ConfigFile};
use crate::format::SampleSource;
use crate::input;
use crate::net::format::stockfish;
use crate::words::find_nearest;

/// Maximum size of a config; larger files are something else.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// The keys of `[schedule]` of which a config has exactly one.
pub(super) const LENGTHS: [&str; 3] = ["epochs", "positions", "superbatches"];

/// An error in a config, with its remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    pub(super) fn for_key(key: &str, reason: impl std::fmt::Display) -> Self {
        Self(format!("`{key}`: {reason}"))
    }

    /// An error with this text.
    pub(super) fn new(reason: String) -> Self {
        Self(reason)
    }

    /// Adds the number of the stage, from 1, to the error.
    pub(super) fn in_stage(self, number: usize) -> Self {
        Self(format!("stage {number}: {self}"))
    }
}

impl Config {
    /// Reads a file and applies `key=value` overrides with dotted keys.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, and as [`parse_text`](Self::parse_text) does.
    pub fn read_file(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(ConfigError(format!(
                "{name} is a folder, expected a config; name {name}/config.toml, or go on with its \
                 run by --resume {name}"
            )));
        }
        let text = input::read_text(path, MAX_CONFIG_BYTES)
            .map_err(|error| ConfigError(format!("cannot read {name}: {error}")));
        let read = text.and_then(|text| Self::parse_text(&text, &name, overrides));
        let source = || {
            input::require_regular(path)
                .ok()
                .and_then(|()| SampleSource::open_file(path, None, 0).ok())
        };
        read.map_err(|error| match source() {
            Some(source) => ConfigError(format!(
                "{name} holds positions ({}), expected a config; write one with data.files = \
                 [\"{name}\"]",
                source.format().name
            )),
            None => error,
        })
    }

    /// Parses a text and applies `key=value` overrides with dotted keys. `name` names it in errors.
    ///
    /// # Errors
    ///
    /// Fails if the text is not TOML, and with the first key that is unknown, missing or wrong.
    pub fn parse_text(text: &str, name: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        let sets: String = overrides.iter().map(|set| format!(" --set {set}")).collect();
        let with = if overrides.is_empty() { "" } else { " with" };
        let config_error = |reason: String| ConfigError(format!("{name}{with}{sets}: {reason}"));
        let check = |table: &Table| match table.values().find_map(find_control_text) {
            Some(text) => {
                Err(config_error(format!("{text:?} holds a control character; {ESCAPE_HINT}")))
            }
            None => Ok(()),
        };
        // This check precedes other errors, whose messages would print the text.
        text.parse().map_or(Ok(()), |table| check(&table))?;
        // A format supplies missing keys, too.
        let is_complete = overrides.is_empty() && !text.contains("format");
        let file = match toml::from_str::<ConfigFile>(text) {
            Ok(file) if is_complete => file,
            // The file's own errors come first. An override may only supply missing keys.
            Err(error) if is_complete || !error.message().starts_with("missing field") => {
                let reason = add_escape_hint(&toml_reason(&error));
                return Err(ConfigError(format!("{name}: {reason}")));
            }
            _ => {
                let mut table: Table =
                    text.parse().map_err(|error| config_error(toml_reason(&error)))?;
                for text in overrides {
                    apply_override(&mut table, text)?;
                }
                check(&table)?;
                stockfish::complete_config(&mut table)
                    .map_err(|reason| config_error(ConfigError::for_key("net.format", reason).0))?;
                ConfigFile::deserialize(table).map_err(|error| config_error(toml_reason(&error)))?
            }
        };
        Self::resolve_file(file).map_err(|error| config_error(error.0))
    }
}

/// Formats an error in the words of TOML, with the brackets that a list lacks.
pub(super) fn toml_reason(error: &toml::de::Error) -> String {
    let message = error.message();
    let text = error.to_string();
    let text = text.trim_end();
    if let Some((_, keys)) = RENAMED.iter().find(|(old, _)| message.contains(&format!("`{old}`"))) {
        return format!("{text}; it is now {keys}");
    }
    if let Some(text) = suggest_name(text, message) {
        return text;
    }
    let unlisted = message.strip_suffix(", expected a sequence");
    let value = unlisted.and_then(|it| Some(it[it.find(['"', '`'])?..].trim_matches('`')));
    let Some(value) = value else {
        return WORDS.iter().fold(text.to_string(), |text, (rust, toml)| text.replace(rust, toml));
    };
    match text.strip_suffix('`').and_then(|text| text.rsplit_once("\nin `")) {
        Some((_, key)) => format!("expected a list, `{key} = [{value}]`"),
        None => text.replace(message, &format!("expected a list, `[{value}]`")),
    }
}

/// In an error about an unknown key or word, names the known one that is most like it. Where none
/// is, the error lists all.
fn suggest_name(text: &str, message: &str) -> Option<String> {
    let is_key = message.starts_with("unknown field");
    let unknown =
        message.strip_prefix(if is_key { "unknown field `" } else { "unknown variant `" })?;
    let (unknown, known) = unknown.split_once('`')?;
    let kind = if is_key { "key" } else { "word" };
    let near = find_nearest(unknown, known.split('`').skip(1).step_by(2));
    let rest = match near.filter(|near| strsim::jaro(near, unknown) > LIKE) {
        Some(near) => format!("; did you mean `{near}`?"),
        // The key stands outside of all tables.
        None if known.contains("`version`") => {
            format!("{known}; write the table with a key, as `net.hidden`")
        }
        None => known.to_string(),
    };
    Some(text.replace(message, &format!("unknown {kind} `{unknown}`{rest}")))
}

/// The similarity, by Jaro, above which a known name is meant by a misspelt one.
const LIKE: f64 = 0.8;

/// The keys of earlier versions, and the keys that replace them.
const RENAMED: [(&str, &str); 1] =
    [("point_of_view", "`score_view` for scores and `result_view` for results")];

/// The names of Rust's types, and the words for them in messages.
const WORDS: [(&str, &str); 11] = [
    ("expected usize", "expected a whole number, 0 or more"),
    ("expected u64", "expected a whole number, 0 or more"),
    ("expected u32", "expected a whole number, 0 or more"),
    ("expected u16", "expected a whole number from 0 to 65535"),
    ("expected u8", "expected a whole number from 0 to 255"),
    ("expected i32", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("type: sequence", "type: list"),
    ("type: map", "type: table"),
    ("expected a sequence", "expected a list"),
    ("expected struct ", "expected the table "),
];

/// Finds a text with control characters in a config.
fn find_control_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(&text[..]).filter(|text| text.contains(char::is_control)),
        Value::Array(values) => values.iter().find_map(find_control_text),
        Value::Table(values) => values.values().find_map(find_control_text),
        _ => None,
    }
}

/// Adds the remedy to an error about a string in which a Windows path is read as escapes.
fn add_escape_hint(error: &str) -> String {
    let error = error.trim_end();
    if error.lines().any(|line| line.contains('\\') && line.contains('"')) {
        format!("{error}; {ESCAPE_HINT}")
    } else {
        error.to_string()
    }
}

const ESCAPE_HINT: &str = "a backslash in double quotes begins an escape; write paths as 'C:\\games' in \
     single quotes, or with slashes as \"C:/games\"";

/// Applies a `key=value` with a dotted key. A bare word is a string: `net.inputs=plain`.
fn apply_override(root: &mut Table, text: &str) -> Result<(), ConfigError> {
    let override_error = |reason: &str| ConfigError(format!("--set {text}: {reason}"));
    let expected = || override_error("expected key=value, for example --set schedule.epochs=4");
    let (key, value) = text.split_once('=').ok_or_else(expected)?;
    let value = value.trim();
    let mut path: Vec<&str> = key.trim().split('.').collect();
    let last = path.pop().filter(|last| !last.is_empty()).ok_or_else(expected)?;
    let mut table = root;
    let mut key_parts = path.iter();
    while let Some(key_part) = key_parts.next() {
        let mut inner = table.entry(key_part.to_string()).or_insert_with(|| Table::new().into());
        if let Value::Array(items) = inner {
            let number = key_parts.next().and_then(|number| number.parse::<usize>().ok());
            let index = number.and_then(|number| number.checked_sub(1));
            inner = index.and_then(|index| items.get_mut(index)).ok_or_else(expected)?;
        }
        table = inner.as_table_mut().ok_or_else(expected)?;
    }
    // A length from the command line replaces the length in the file.
    if path.last() == Some(&"schedule") && LENGTHS.contains(&last) {
        LENGTHS.iter().for_each(|length| drop(table.remove(*length)));
    }
    let parsed = match format!("value = {value}").parse::<Table>() {
        Ok(mut table) => table.remove("value"),
        Err(error) if value.starts_with(['"', '[', '{']) => {
            return Err(override_error(&add_escape_hint(&format!("{}: {value}", error.message()))));
        }
        Err(_) => None,
    };
    table.insert(last.into(), parsed.unwrap_or_else(|| value.into()));
    Ok(())
}
