//! TOML and overrides to a config, with errors that name the line and the nearest known key.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, ConfigFile};
use crate::input;

/// Bytes of a config, at most; a larger file is something else.
const MOST_BYTES: u64 = 1 << 20;

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
    Value { key: Cow<'static, str>, reason: String },
}

impl Config {
    /// Reads a file and applies `key=value` overrides with dotted keys.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let bytes = input::read(path, MOST_BYTES)
            .map_err(|error| ConfigError::Read { path: path.to_path_buf(), error })?;
        let text = utf8(&bytes).map_err(|(line, reason)| ConfigError::Text {
            place: format!("{name}:{line}"),
            reason: reason.into(),
        })?;
        Self::parse(text, &name, overrides)
    }

    /// Reads a text; `name` stands for it in errors.
    pub fn parse(text: &str, name: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        let overrides = Override::all(text.len(), overrides)?;
        let located = |error: toml::de::Error| {
            let start = error.span().map(|span| span.start);
            let place = match (start, overrides.iter().find(|it| it.holds(start))) {
                (_, Some(culprit)) => format!("--set {}", culprit.text),
                (Some(start), None) => format!("{name}:{}", line(text, start)),
                (None, None) => name.to_string(),
            };
            ConfigError::Text { place, reason: reason(&error) }
        };
        let mut root = DeTable::parse(text).map_err(located)?;
        let no_table = |place| {
            Err(ConfigError::Text {
                place,
                reason: "expected a table of keys, found a list".into(),
            })
        };
        if let Some(at) = list_for_table(root.get_ref()) {
            return no_table(format!("{name}:{}", line(text, at)));
        }
        let mut read = ConfigFile::deserialize(toml::Deserializer::from(root.clone()));
        // The file's own mistakes come first. Only what it lacks may come from an override.
        if !overrides.is_empty() && read.as_ref().map_or_else(is_missing_key, |_| true) {
            for it in &overrides {
                it.apply(root.get_mut())?;
            }
            if list_for_table(root.get_ref()).is_some() {
                let set = overrides.iter().find(|it| it.value.starts_with('['));
                return no_table(set.map_or(name.into(), |it| format!("--set {}", it.text)));
            }
            read = ConfigFile::deserialize(toml::Deserializer::from(root));
        }
        Self::resolve(read.map_err(located)?).map_err(|error| {
            let sets = overrides.iter().map(|it| format!(" --set {}", it.text));
            let with = if overrides.is_empty() { "" } else { " with" };
            let place = format!("{name}{with}{}", sets.collect::<String>());
            ConfigError::Text { place, reason: error.to_string() }
        })
    }
}

fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The place of a list where there should be a table: serde would take its values in the order of the
/// keys. All lists of a config stand in sections.
fn list_for_table(root: &DeTable) -> Option<usize> {
    let filter = match root.get("data").map(Spanned::get_ref) {
        Some(DeValue::Table(data)) => data.get("filter"),
        _ => None,
    };
    let list = |value: &&Spanned<DeValue>| matches!(value.get_ref(), DeValue::Array(_));
    root.values().chain(filter).find(list).map(|value| value.span().start)
}

/// The text of a file, without its mark of UTF-8; or a line that is not UTF-8, and the cure.
fn utf8(bytes: &[u8]) -> Result<&str, (usize, &'static str)> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err((1, "this is UTF-16; save the file as UTF-8"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let at = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        (at, "this is not UTF-8 text; save the file as UTF-8")
    })
}

/// What serde says of a key that is not there.
const MISSING: &str = "missing field";

fn is_missing_key(error: &toml::de::Error) -> bool {
    error.message().starts_with(MISSING)
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
            let line = format!("{:start$}value = {}", "", whole(value));
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
        // A bare word is a string: --set net.inputs=plain
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

/// A number that begins with its point as TOML writes it: 0.1 for .1.
fn whole(value: &str) -> Cow<'_, str> {
    match value.trim_start_matches('-').starts_with('.') && value.parse::<f64>().is_ok() {
        true => value.replacen('.', "0.", 1).into(),
        false => value.into(),
    }
}

fn bad(text: &str) -> ConfigError {
    ConfigError::Override(text.to_string())
}

/// The message with the nearest known key, after the key that it is about.
fn reason(error: &toml::de::Error) -> String {
    let message = in_words(&with_nearest(error.message()));
    // Only the error's own form tells the key, in a last line: in `schedule.batch`
    let form = error.to_string();
    match form.trim_end().rsplit_once("\nin ") {
        Some((_, "`data.source`")) if message.contains("a list") => {
            "data.source: is a list of sources; write each below a line [[data.source]]".into()
        }
        Some((_, key)) => format!("{key}: {message}"),
        None => message,
    }
}

/// The kinds of values as people call them, where serde names types of Rust.
fn in_words(message: &str) -> String {
    if let Some(key) = message.strip_prefix(MISSING) {
        return format!("missing key {}", key.trim());
    }
    // Beyond what the format of the file has.
    if let Some((number, _)) = message.split_once(" as i128") {
        return format!("{} is too large", number.trim_start_matches("invalid type: "));
    }
    // A number that is whole has to be a larger or a smaller one.
    let whole = match message.starts_with("invalid value: integer `-") {
        true => "a whole number, 0 or more",
        false if message.starts_with("invalid value: integer") => "a smaller whole number",
        false => "a whole number",
    };
    let kinds = [
        (&["usize", "u64", "u32", "u16", "u8", "i64"][..], whole),
        (&["f64", "f32"], "a number"),
        (&["a boolean"], "true or false"),
        (&["a string", "path string"], "text in quotes"),
        (&["a sequence"], "a list"),
    ];
    let found = message.rsplit_once("expected ").and_then(|(before, expected)| {
        if expected.starts_with("struct ") {
            return Some(format!("{before}expected a table of keys"));
        }
        let (_, words) = kinds.iter().find(|(types, _)| types.contains(&expected))?;
        Some(format!("{before}expected {words}"))
    });
    found.unwrap_or_else(|| message.to_string())
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
