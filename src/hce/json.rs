//! Handcrafted weights as a JSON file that people can read and edit.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::terms::{Axis, GROUPS, first};
use super::{HceWeights, Term};

const FORMAT: &str = "nnuance-hce";
const VERSION: u64 = 1;
const ORDER: &str = "tables as White sees the board: rank 8 first, files a to h";
const PHASES: [&str; 2] = ["mg", "eg"];
const HEADER: [&str; 6] = ["format", "version", "source", "order", "scale", "tempo"];

/// Why a text is no set of handcrafted weights. `at` is the path of keys.
#[derive(Debug, thiserror::Error)]
pub enum HceFileError {
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    #[error("this is the manifest of a net; name the .bin")]
    Manifest,
    #[error("`{at}` is missing")]
    Missing { at: String },
    #[error("unknown key `{at}`; known here: {known}")]
    Unknown { at: String, known: String },
    #[error("`{at}` is {found}, expected {expected}")]
    Wrong { at: String, found: String, expected: String },
}

impl HceWeights {
    /// Reads weights from JSON:
    ///
    /// ```json
    /// {
    ///   "format": "nnuance-hce",
    ///   "version": 1,
    ///   "source": "who made the numbers, optional",
    ///   "order": "tables as White sees the board: rank 8 first, files a to h",
    ///   "scale": 400,
    ///   "tempo": 10,
    ///   "material": { "pawn": { "mg": 100, "eg": 120 }, "...": {} },
    ///   "psqt": { "pawn": { "mg": [["8 rows of 8"]], "eg": [["8 rows of 8"]] }, "...": {} }
    /// }
    /// ```
    /// Values are centipawns; `scale` is centipawns a unit of logit. A group of terms that the file
    /// leaves out weighs nothing; one that it has must be complete. Unknown keys are errors.
    ///
    /// # Errors
    /// Name the key that is wrong and what is expected there.
    pub fn from_json(text: &str) -> Result<Self, HceFileError> {
        let value: Value = serde_json::from_str(text).map_err(HceFileError::Json)?;
        // It lies beside the net and is easily taken for it.
        if ["sha256", "architecture"].iter().all(|key| value.get(key).is_some()) {
            return Err(HceFileError::Manifest);
        }
        let known: Vec<&str> =
            HEADER.into_iter().chain(GROUPS.iter().map(|group| group.name)).collect();
        let file = object(&value, "", &known)?;
        let text = |key: &str| match file.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(key, other, "a text")),
        };
        let fixed = |key: &str, value: &str| match text(key)? {
            Some(found) if found != value => {
                Err(wrong(key, &Value::from(found), &format!("{value:?}")))
            }
            found => Ok(found),
        };
        fixed("format", FORMAT)?.ok_or_else(|| missing("format"))?;
        fixed("order", ORDER)?;
        match field(file, "", "version")? {
            version if version.as_u64() == Some(VERSION) => {}
            version => return Err(wrong("version", version, &VERSION.to_string())),
        }
        let scale = number(field(file, "", "scale")?, "scale")?;
        if scale <= 0.0 {
            return Err(wrong("scale", &Value::from(scale), "centipawns above 0"));
        }
        let mut weights = HceWeights::zero(scale);
        weights.source = text("source")?;
        weights.tempo = file.get("tempo").map_or(Ok(0.0), |value| number(value, "tempo"))?;
        for (i, group) in GROUPS.iter().enumerate() {
            if let Some(value) = file.get(group.name) {
                let mut values = Vec::with_capacity(group.len());
                read(value, group.name, group.axes, &mut values)?;
                for (term, value) in Term::all().skip(first(i)).zip(values) {
                    weights.set(term, value);
                }
            }
        }
        Ok(weights)
    }

    /// Writes what [`HceWeights::from_json`] reads, one rank a line.
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\n  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},\n");
        if let Some(source) = &self.source {
            let _ = writeln!(out, "  \"source\": {},", Value::from(source.as_str()));
        }
        let _ = write!(
            out,
            "  \"order\": \"{ORDER}\",\n  \"scale\": {},\n  \"tempo\": {}",
            show(self.scale),
            show(self.tempo)
        );
        for (i, group) in GROUPS.iter().enumerate() {
            let values: Vec<[f64; 2]> =
                Term::all().skip(first(i)).take(group.len()).map(|term| self.get(term)).collect();
            let _ = write!(out, ",\n  \"{}\": ", group.name);
            write(&mut out, 2, group.axes, &values);
        }
        out.push_str("\n}\n");
        out
    }
}

/// The values of the axes that remain, in the order of terms.
fn read(
    value: &Value,
    at: &str,
    axes: &[Axis],
    values: &mut Vec<[f64; 2]>,
) -> Result<(), HceFileError> {
    match axes {
        [] | [Axis::Squares] => {
            let pair = object(value, at, &PHASES)?;
            let mut read = Vec::new();
            for phase in PHASES {
                let (value, at) = (field(pair, at, phase)?, format!("{at}.{phase}"));
                read.push(match axes {
                    [] => vec![number(value, &at)?],
                    _ => table(value, &at)?,
                });
            }
            values.extend(read[0].iter().zip(&read[1]).map(|(mg, eg)| [*mg, *eg]));
            Ok(())
        }
        [axis, rest @ ..] => {
            let labels: Vec<String> = (0..axis.len()).map(|place| axis.label(place)).collect();
            let known: Vec<&str> = labels.iter().map(String::as_str).collect();
            let map = object(value, at, &known)?;
            for label in known {
                read(field(map, at, label)?, &format!("{at}.{label}"), rest, values)?;
            }
            Ok(())
        }
    }
}

fn write(out: &mut String, indent: usize, axes: &[Axis], values: &[[f64; 2]]) {
    let pad = " ".repeat(indent);
    match axes {
        [] => {
            let [mg, eg] = values[0].map(show);
            let _ = write!(out, "{{ \"mg\": {mg}, \"eg\": {eg} }}");
        }
        [Axis::Squares] => {
            let texts: Vec<[String; 2]> = values.iter().map(|value| value.map(show)).collect();
            let width = texts.iter().flatten().map(String::len).max().unwrap_or(0);
            out.push('{');
            for (i, phase) in PHASES.into_iter().enumerate() {
                let rows: Vec<String> = (0..8)
                    .rev()
                    .map(|rank| {
                        let row: Vec<String> = (0..8)
                            .map(|file| format!("{:>width$}", texts[8 * rank + file][i]))
                            .collect();
                        format!("\n{pad}    [{}]", row.join(", "))
                    })
                    .collect();
                let comma = if i == 0 { "" } else { "," };
                let _ = write!(out, "{comma}\n{pad}  \"{phase}\": [{}\n{pad}  ]", rows.join(","));
            }
            let _ = write!(out, "\n{pad}}}");
        }
        [axis, rest @ ..] => {
            out.push('{');
            let each = values.len() / axis.len();
            for (place, values) in values.chunks(each).enumerate() {
                let comma = if place == 0 { "" } else { "," };
                let _ = write!(out, "{comma}\n{pad}  \"{}\": ", axis.label(place));
                write(out, indent + 2, rest, values);
            }
            let _ = write!(out, "\n{pad}}}");
        }
    }
}

/// JSON has no infinity; such a weight becomes `null`, which does not read back.
fn show(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_string() }
}

/// Eight rows of eight from rank 8 down, turned into squares from a1 up.
fn table(value: &Value, at: &str) -> Result<Vec<f64>, HceFileError> {
    let mut ranks = Vec::new();
    for (i, row) in eight(value, at, "8 rows")?.iter().enumerate() {
        let at = format!("{at}[{i}]");
        let row = eight(row, &at, "8 numbers")?.iter().enumerate();
        let row: Result<Vec<f64>, _> =
            row.map(|(j, value)| number(value, &format!("{at}[{j}]"))).collect();
        ranks.push(row?);
    }
    Ok(ranks.into_iter().rev().flatten().collect())
}

fn eight<'a>(value: &'a Value, at: &str, expected: &str) -> Result<&'a Vec<Value>, HceFileError> {
    value
        .as_array()
        .filter(|list| list.len() == 8)
        .ok_or_else(|| wrong(at, value, &format!("a list of {expected}")))
}

fn object<'a>(
    value: &'a Value,
    at: &str,
    known: &[&str],
) -> Result<&'a Map<String, Value>, HceFileError> {
    let map = value.as_object().ok_or_else(|| {
        wrong(if at.is_empty() { "the file" } else { at }, value, "an object { ... }")
    })?;
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(HceFileError::Unknown { at: path(at, key), known: known.join(", ") }),
        None => Ok(map),
    }
}

fn field<'a>(map: &'a Map<String, Value>, at: &str, key: &str) -> Result<&'a Value, HceFileError> {
    map.get(key).ok_or_else(|| missing(&path(at, key)))
}

fn number(value: &Value, at: &str) -> Result<f64, HceFileError> {
    value.as_f64().ok_or_else(|| wrong(at, value, "a number"))
}

fn path(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_string() } else { format!("{at}.{key}") }
}

fn missing(at: &str) -> HceFileError {
    HceFileError::Missing { at: at.to_string() }
}

fn wrong(at: &str, found: &Value, expected: &str) -> HceFileError {
    let found = match found {
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "an object".to_string(),
        other => other.to_string(),
    };
    HceFileError::Wrong { at: at.to_string(), found, expected: expected.to_string() }
}
