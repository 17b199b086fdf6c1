//! Handcrafted weights as a JSON file that people can read and edit.

use std::fmt::Write;

use serde_json::{Map, Value};
use shakmaty::Square;

use super::{HceWeights, terms::list};
use crate::terms::TermEntry;

const FORMAT: &str = "nnuance-hce";
const VERSION: u64 = 1;
const ORDER: &str = "tables as White sees the board: rank 8 first, files a to h";
const PHASES: [&str; 2] = ["mg", "eg"];
/// Marks files of an engine's own terms, which only their run can name.
const TERMS: &str = "terms";
const OWN: &str = "own";
const HEADER: [&str; 8] =
    ["format", "version", "source", "order", TERMS, "scale", "tempo", "scale_factor"];

/// Why a text is no set of handcrafted weights. `at` is the path of keys.
#[derive(Debug, thiserror::Error)]
pub enum HceFileError {
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    #[error("this is the manifest of a net; name the .bin")]
    Manifest,
    #[error("`{at}` is missing")]
    Missing { at: String },
    #[error("these are the weights of an engine's own terms; name the run folder instead")]
    Own,
    #[error("unknown key `{at}`; the nearest known here is `{nearest}`")]
    Unknown { at: String, nearest: String },
    #[error("`{at}` is {found}, expected {expected}")]
    Wrong { at: String, found: String, expected: String },
}

impl HceWeights {
    /// Reads weights of our own terms from JSON:
    ///
    /// ```json
    /// {
    ///   "format": "nnuance-hce",
    ///   "version": 1,
    ///   "source": "who made the numbers, optional",
    ///   "order": "tables as White sees the board: rank 8 first, files a to h",
    ///   "scale": 400,
    ///   "tempo": 10,
    ///   "scale_factor": true,
    ///   "material": { "pawn": { "mg": 100, "eg": 120 }, "...": {} },
    ///   "psqt": { "pawn": { "mg": [["8 rows of 8"]], "eg": [["8 rows of 8"]] }, "...": {} },
    ///   "mobility": { "knight": { "0": { "mg": -24, "eg": -24 }, "...": {} }, "...": {} }
    /// }
    /// ```
    /// Values are centipawns; `scale` is centipawns a unit of logit. Without
    /// `scale_factor` endgames are not scaled down. Objects follow the words of
    /// the terms' names. Terms whose first word the file leaves out weigh nothing; below a first
    /// word that it has nothing may be missing. Unknown keys are errors.
    ///
    /// # Errors
    /// Name the key that is wrong and what is expected there.
    pub fn from_json(text: &str) -> Result<Self, HceFileError> {
        let value: Value = serde_json::from_str(text).map_err(HceFileError::Json)?;
        // It lies beside the net and is easily taken for it.
        if ["sha256", "architecture"].iter().all(|key| value.get(key).is_some()) {
            return Err(HceFileError::Manifest);
        }
        if value.get(TERMS).and_then(Value::as_str) == Some(OWN) {
            return Err(HceFileError::Own);
        }
        let tree = Tree::of(&list().terms);
        let known: Vec<&str> =
            HEADER.into_iter().chain(tree.children.iter().map(|(name, _)| &name[..])).collect();
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
        fixed(TERMS, OWN)?;
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
        weights.scale_factor = match file.get("scale_factor") {
            None => false,
            Some(Value::Bool(there)) => *there,
            Some(other) => return Err(wrong("scale_factor", other, "true or false")),
        };
        for (name, tree) in &tree.children {
            if let Some(value) = file.get(name) {
                read(value, name, tree, &mut weights.values)?;
            }
        }
        Ok(weights)
    }

    /// Writes what [`HceWeights::from_json`] reads, one rank a line, without what weighs nothing;
    /// weights of an engine's own terms are for reading by people, and marked as such.
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\n  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},\n");
        if let Some(source) = &self.source {
            let _ = writeln!(out, "  \"source\": {},", Value::from(source.as_str()));
        }
        let _ = writeln!(out, "  \"order\": \"{ORDER}\",");
        if !self.is_ours() {
            let _ = writeln!(out, "  \"{TERMS}\": \"{OWN}\",");
        }
        let _ =
            write!(out, "  \"scale\": {},\n  \"tempo\": {}", show(self.scale), show(self.tempo));
        if self.scale_factor {
            out.push_str(",\n  \"scale_factor\": true");
        }
        let (list, values) = self.used();
        for (name, tree) in Tree::of(&list.terms).children {
            let _ = write!(out, ",\n  {}: ", Value::from(name));
            write(&mut out, 2, &tree, &values);
        }
        out.push_str("\n}\n");
        out
    }
}

/// The values of the terms of a tree.
fn read(value: &Value, at: &str, tree: &Tree, values: &mut [[f64; 2]]) -> Result<(), HceFileError> {
    if let Some(terms) = tree.table() {
        let pair = object(value, at, &PHASES)?;
        for (i, phase) in PHASES.into_iter().enumerate() {
            let read = table(field(pair, at, phase)?, &format!("{at}.{phase}"))?;
            terms.iter().zip(read).for_each(|(term, value)| values[*term][i] = value);
        }
        return Ok(());
    }
    let phases = if tree.term.is_some() { &PHASES[..] } else { &[] };
    let names = tree.children.iter().map(|(name, _)| &name[..]);
    let known: Vec<&str> = phases.iter().copied().chain(names).collect();
    let map = object(value, at, &known)?;
    if let Some(term) = tree.term {
        for (i, phase) in PHASES.into_iter().enumerate() {
            values[term][i] = number(field(map, at, phase)?, &path(at, phase))?;
        }
    }
    for (name, tree) in &tree.children {
        read(field(map, at, name)?, &path(at, name), tree, values)?;
    }
    Ok(())
}

fn write(out: &mut String, indent: usize, tree: &Tree, values: &[[f64; 2]]) {
    let pad = " ".repeat(indent);
    if let Some(terms) = tree.table() {
        write_table(out, &pad, &terms.iter().map(|term| values[*term]).collect::<Vec<_>>());
        return;
    }
    let pair = tree.term.map(|term| {
        let [mg, eg] = values[term].map(show);
        format!("\"mg\": {mg}, \"eg\": {eg}")
    });
    if let (Some(pair), true) = (&pair, tree.children.is_empty()) {
        let _ = write!(out, "{{ {pair} }}");
        return;
    }
    out.push('{');
    let mut comma = "";
    if let Some(pair) = pair {
        let _ = write!(out, "\n{pad}  {pair}");
        comma = ",";
    }
    for (name, tree) in &tree.children {
        let _ = write!(out, "{comma}\n{pad}  {}: ", Value::from(&name[..]));
        write(out, indent + 2, tree, values);
        comma = ",";
    }
    let _ = write!(out, "\n{pad}}}");
}

/// Squares from a1 up as two tables, rank 8 first.
fn write_table(out: &mut String, pad: &str, values: &[[f64; 2]]) {
    let texts: Vec<[String; 2]> = values.iter().map(|value| value.map(show)).collect();
    let width = texts.iter().flatten().map(String::len).max().unwrap_or(0);
    out.push('{');
    for (i, phase) in PHASES.into_iter().enumerate() {
        let row = |rank: &[[String; 2]]| {
            let row: Vec<String> = rank.iter().map(|pair| format!("{:>width$}", pair[i])).collect();
            format!("\n{pad}    [{}]", row.join(", "))
        };
        let rows: Vec<String> = texts.chunks(8).rev().map(row).collect();
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\n{pad}  \"{phase}\": [{}\n{pad}  ]", rows.join(","));
    }
    let _ = write!(out, "\n{pad}}}");
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
    let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(map);
    };
    let near = |name: &&&str| ordered(strsim::jaro_winkler(key, name));
    let nearest = known.iter().max_by_key(near).map_or("", |name| name).to_string();
    Err(HceFileError::Unknown { at: path(at, key), nearest })
}

/// A likeness from 0 to 1 as a whole number, which can be compared.
fn ordered(likeness: f64) -> u32 {
    (likeness * 1e6) as u32
}

fn field<'a>(map: &'a Map<String, Value>, at: &str, key: &str) -> Result<&'a Value, HceFileError> {
    map.get(key).ok_or_else(|| missing(&path(at, key)))
}

/// Sums of weights, and of squares of them, must stay numbers.
const LARGEST: f64 = 1e6;

fn number(value: &Value, at: &str) -> Result<f64, HceFileError> {
    let number = value.as_f64().ok_or_else(|| wrong(at, value, "a number"))?;
    match number.abs() <= LARGEST {
        true => Ok(number),
        false => Err(wrong(at, value, "a number within a million centipawns")),
    }
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

/// The terms below a prefix.
#[derive(Debug, Default)]
pub struct Tree {
    /// The term whose name is the prefix itself.
    pub term: Option<usize>,
    /// By the next word, in the order of the first terms.
    pub children: Vec<(String, Tree)>,
}

impl Tree {
    pub fn of(terms: &[TermEntry]) -> Tree {
        let mut tree = Tree::default();
        for (number, term) in terms.iter().enumerate() {
            let mut node = &mut tree;
            for word in term.name.split('.') {
                let known = node.children.iter().rposition(|(name, _)| name == word);
                let place = known.unwrap_or_else(|| {
                    node.children.push((word.to_string(), Tree::default()));
                    node.children.len() - 1
                });
                node = &mut node.children[place].1;
            }
            node.term = Some(number);
        }
        tree
    }

    /// The terms of a1 to h8, if that is all there is.
    pub fn table(&self) -> Option<Vec<usize>> {
        if self.term.is_some() || self.children.len() != 64 {
            return None;
        }
        let squares = Square::ALL.into_iter().zip(&self.children);
        squares
            .map(|(square, (name, tree))| {
                let leaf = tree.children.is_empty() && *name == square.to_string();
                tree.term.filter(|_| leaf)
            })
            .collect()
    }
}
