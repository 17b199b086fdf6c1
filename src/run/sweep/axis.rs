//! A key and the values that a sweep tries.

use anyhow::{Context, Result, bail, ensure};

use crate::config::keys::keys;
use crate::config::nearest;

/// A key of the config with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// As `--set` takes it.
    pub key: String,
    /// Without its section, for tables.
    pub title: String,
    /// As TOML, or bare words.
    pub values: Vec<String>,
}

/// Keys that no sweep takes, whole or with what stands below them, and why.
const REFUSED: [(&[&str], &str); 5] = [
    (
        &["data"],
        "it changes which positions there are, and members are compared on the same ones; `nnuance \
         curve` tells what more data were worth",
    ),
    (&["seed"], "each member is trained with several seeds by --seeds"),
    (&["version", "climb"], "it is no setting of a run"),
    (
        &["schedule.epochs", "schedule.positions", "schedule.superbatches"],
        "the rungs of a sweep are shares of one length; --set gives it",
    ),
    (&["schedule.extended"], "every member is a run that begins anew"),
];

impl Axis {
    /// Reads `model.hidden=16,32`, or `hidden=16,32` where one key alone ends so. Commas within
    /// brackets and quotes belong to a value.
    ///
    /// # Errors
    /// If there is no such key, or several, or none that a sweep takes, or no value.
    pub fn parse(text: &str) -> Result<Self> {
        let parsed = Self::parsed(text);
        parsed.with_context(|| format!("--over {text}"))
    }

    fn parsed(text: &str) -> Result<Self> {
        let (name, values) = text
            .split_once('=')
            .context("write it as key=value,value, for example --over model.hidden=16,32")?;
        let (known, below) = key(name.trim())?;
        let key = format!("{known}{below}");
        let within = |whole: &&str| known == **whole || known.starts_with(&format!("{whole}."));
        if let Some((_, why)) = REFUSED.iter().find(|(keys, _)| keys.iter().any(within)) {
            bail!("no sweep goes over `{key}`: {why}");
        }
        let values: Vec<String> = split(values).into_iter().map(|it| number(it.trim())).collect();
        ensure!(
            values.iter().all(|value| !value.is_empty()),
            "a value is missing; write key=value,value"
        );
        let title = known.rsplit('.').next().unwrap_or(&known).to_string() + below;
        Ok(Self { key, title, values })
    }
}

/// The known key that a name, or the beginning of a name, stands for, and what stands behind it:
/// `learning_rate.from` is `schedule.learning_rate` and `.from`.
fn key(name: &str) -> Result<(String, &str)> {
    let mut keys = keys();
    // Of two keys that end alike the other one is meant.
    let others = ["climb.", "data.source."];
    keys.retain(|key| key.path == name || !others.iter().any(|it| key.path.starts_with(it)));
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    for end in ends.collect::<Vec<_>>().into_iter().rev() {
        let (head, below) = name.split_at(end);
        let tail = format!(".{head}");
        let mut found: Vec<&str> =
            keys.iter().map(|key| &key.path[..]).filter(|it| it.ends_with(&tail)).collect();
        if let Some(exact) = keys.iter().find(|key| key.path == head) {
            found = vec![&exact.path];
        }
        match found[..] {
            [] => {}
            [one] => return Ok((one.to_string(), below)),
            _ => bail!("`{head}` may be {}; name one of them", found.join(", ")),
        }
    }
    let known: Vec<&str> = keys.iter().map(|key| &key.path[..]).collect();
    // Whoever leaves out the section has misspelt the last part.
    let last: Vec<&str> = known.iter().filter_map(|path| path.rsplit('.').next()).collect();
    let among = if name.contains('.') { known } else { last };
    bail!(nearest(format!("no key is named or ends in `{name}`"), name, &among))
}

/// Cuts at commas that are in no brackets and no quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0, None, 0);
    let mut values = Vec::new();
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                values.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    values.push(&text[start..]);
    values
}

/// TOML wants a digit before the point.
fn number(text: &str) -> String {
    match text.strip_prefix('.') {
        Some(digits) if digits.starts_with(|it: char| it.is_ascii_digit()) => format!("0.{digits}"),
        _ => text.to_string(),
    }
}
