//! Handcrafted weights as a readable and editable JSON file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use shakmaty::Square;

use super::terms::built_in_list;
use super::weights::{HceWeights, first_word};
use crate::terms::TermEntry;

const FORMAT: &str = "nnuance-hce";
const VERSION: u64 = 1;
const ORDER: &str = "tables as White sees the board: rank 8 first, files a to h";
const PHASES: [&str; 2] = ["mg", "eg"];
/// Key that marks files of an engine's own terms, which need their run.
const TERMS: &str = "terms";
const OWN: &str = "own";
/// Largest weight. Sums, and sums of squares, stay finite.
const LARGEST: f64 = 1e6;

/// The reason why a text is not a set of handcrafted weights. `at` is the path of keys.
#[derive(Debug, thiserror::Error)]
pub enum HceFileError {
    #[error("not a JSON file of handcrafted weights: {0}")]
    Json(#[from] serde_json::Error),
    #[error("this is the manifest of a net; name the .bin")]
    Manifest,
    #[error("these are weights of an engine's own terms; name the run folder instead")]
    Own,
    #[error("unknown key `{at}`; the nearest known is `{nearest}`")]
    Unknown { at: String, nearest: String },
    #[error("`{at}` is missing or wrong, expected {expected}")]
    Wrong { at: String, expected: String },
}

/// A file of weights. All other keys are terms.
#[derive(Deserialize)]
struct File {
    format: String,
    version: u64,
    source: Option<String>,
    order: Option<String>,
    scale: f64,
    #[serde(default)]
    tempo: f64,
    #[serde(default)]
    scale_factor: bool,
    #[serde(flatten)]
    terms: Value,
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
    /// Values and `scale`, a unit of logit, are centipawns. Objects follow the words of the terms'
    /// names. Terms whose first word is missing weigh nothing; within a first word no term may be
    /// missing. Unknown keys are errors.
    ///
    /// # Errors
    ///
    /// Fails with [`HceFileError::Json`] if the text is not JSON, or a key beside the terms is
    /// missing or of another type; with [`HceFileError::Manifest`] for the manifest of a net; with
    /// [`HceFileError::Own`] for terms of another engine; with [`HceFileError::Unknown`] for an
    /// unknown key; and with [`HceFileError::Wrong`] for another format, and for a value that is
    /// missing or out of range.
    pub fn from_json(text: &str) -> Result<Self, HceFileError> {
        let value: Value = serde_json::from_str(text)?;
        // A manifest lies beside its net and is easily mistaken for weights.
        if ["sha256", "architecture"].iter().all(|key| value.get(key).is_some()) {
            return Err(HceFileError::Manifest);
        }
        if value[TERMS] == OWN {
            return Err(HceFileError::Own);
        }
        let file: File = serde_json::from_value(value)?;
        let known = file.order.is_none_or(|order| order == ORDER);
        if file.format != FORMAT || file.version != VERSION || !known {
            let expected = format!("{FORMAT:?}, version {VERSION}, order {ORDER:?}");
            return Err(HceFileError::Wrong { at: "format".into(), expected });
        }
        if file.scale <= 0.0 || file.scale > LARGEST || file.tempo.abs() > LARGEST {
            let expected = "centipawns above 0, and a tempo within a million".to_string();
            return Err(HceFileError::Wrong { at: "scale".into(), expected });
        }
        let mut weights = HceWeights::zeros_with_scale(file.scale);
        (weights.source, weights.tempo) = (file.source, file.tempo);
        weights.scale_factor = file.scale_factor;
        let mut leaves = BTreeMap::new();
        collect_leaves(&file.terms, "", &mut leaves);
        for (term, TermEntry { name, .. }) in built_in_list().terms.iter().enumerate() {
            let group = first_word(name);
            if file.terms.get(group).is_none() {
                continue;
            }
            for (i, phase) in PHASES.into_iter().enumerate() {
                let at = format!("{name}.{phase}");
                let paths = [Some(at.clone()), path_in_table(name, phase)];
                let value = paths.into_iter().flatten().find_map(|path| leaves.remove(&path));
                let number = value.and_then(Value::as_f64).filter(|it| it.abs() <= LARGEST);
                weights.values[term][i] = number.ok_or_else(|| {
                    let expected = "a number within a million centipawns".to_string();
                    HceFileError::Wrong { at, expected }
                })?;
            }
        }
        if let Some((at, _)) = leaves.pop_first() {
            let nearest = built_in_list().nearest(&at).to_string();
            return Err(HceFileError::Unknown { at, nearest });
        }
        Ok(weights)
    }

    /// Writes the format of [`HceWeights::from_json`]. Terms of an engine are marked.
    pub fn to_json(&self) -> String {
        let mut lines =
            vec![format!("\"format\": \"{FORMAT}\""), format!("\"version\": {VERSION}")];
        lines.extend(self.source.iter().map(|it| format!("\"source\": {}", Value::from(&it[..]))));
        lines.push(format!("\"order\": \"{ORDER}\""));
        lines.extend((!self.is_ours()).then(|| format!("\"{TERMS}\": \"{OWN}\"")));
        lines.push(format!("\"scale\": {}", format_number(self.scale)));
        lines.push(format!("\"tempo\": {}", format_number(self.tempo)));
        lines.extend(self.scale_factor.then(|| "\"scale_factor\": true".to_string()));
        let (list, values) = self.used_terms();
        lines.extend(TermTree::from_terms(&list.terms).format_members(&values, ""));
        format_object(&lines, "") + "\n"
    }
}

/// Formats a JSON object of these lines, indented by `pad`.
fn format_object(lines: &[String], pad: &str) -> String {
    format!("{{\n{pad}  {}\n{pad}}}", lines.join(&format!(",\n{pad}  ")))
}

/// Formats two tables of squares, which are given from a1 on, with rank 8 first.
fn format_tables(values: &[[String; 2]], pad: &str) -> String {
    let width = values.iter().flatten().map(String::len).max().unwrap_or(0);
    let table = |i: usize| {
        let row = |rank: &[[String; 2]]| {
            let row: Vec<String> = rank.iter().map(|pair| format!("{:>width$}", pair[i])).collect();
            format!("\n{pad}    [{}]", row.join(", "))
        };
        let rows: Vec<String> = values.chunks(8).rev().map(row).collect();
        format!("\"{}\": [{}\n{pad}  ]", PHASES[i], rows.join(","))
    };
    format_object(&[0, 1].map(table), pad)
}

/// Formats a number. JSON has no infinity: such a weight becomes `null`, which is not read back.
fn format_number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_string() }
}

/// Returns the path of a square's term in the rows of a table.
fn path_in_table(name: &str, phase: &str) -> Option<String> {
    let (table, square) = name.rsplit_once('.')?;
    let square: Square = square.parse().ok()?;
    let (row, column) = (7 - u32::from(square.rank()), u32::from(square.file()));
    Some(format!("{table}.{phase}.{row}.{column}"))
}

/// Collects the leaves under a value by their paths.
fn collect_leaves<'a>(value: &'a Value, path: &str, leaves: &mut BTreeMap<String, &'a Value>) {
    let join = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| collect_leaves(value, &join(key), leaves));
        }
        Value::Array(list) => {
            let list = list.iter().enumerate();
            list.for_each(|(i, value)| collect_leaves(value, &join(&i.to_string()), leaves));
        }
        _ => drop(leaves.insert(path.to_string(), value)),
    }
}

#[derive(Debug, Default)]
struct TermTree {
    /// Term whose name is the prefix itself.
    term: Option<usize>,
    /// Children by the next word, in the order of the first terms.
    children: Vec<(String, TermTree)>,
}

impl TermTree {
    fn from_terms(terms: &[TermEntry]) -> TermTree {
        let mut tree = TermTree::default();
        for (number, term) in terms.iter().enumerate() {
            let mut node = &mut tree;
            for word in term.name.split('.') {
                let known = node.children.iter().rposition(|(name, _)| name == word);
                let child = known.unwrap_or_else(|| {
                    node.children.push((word.to_string(), TermTree::default()));
                    node.children.len() - 1
                });
                node = &mut node.children[child].1;
            }
            node.term = Some(number);
        }
        tree
    }

    /// Formats the children with their names, as lines of an object that is indented by `pad`.
    fn format_members(&self, values: &[[f64; 2]], pad: &str) -> impl Iterator<Item = String> {
        let child_pad = format!("{pad}  ");
        self.children.iter().map(move |(name, tree)| {
            format!("{}: {}", Value::from(&name[..]), tree.to_json(values, &child_pad))
        })
    }

    fn to_json(&self, values: &[[f64; 2]], pad: &str) -> String {
        if let Some(terms) = self.table_terms() {
            let values: Vec<_> =
                terms.iter().map(|term| values[*term].map(format_number)).collect();
            return format_tables(&values, pad);
        }
        let pair = self.term.map(|term| {
            let [mg, eg] = values[term].map(format_number);
            format!("\"mg\": {mg}, \"eg\": {eg}")
        });
        let lines: Vec<String> = pair.into_iter().chain(self.format_members(values, pad)).collect();
        match self.children.is_empty() {
            true => format!("{{ {} }}", lines.concat()),
            false => format_object(&lines, pad),
        }
    }

    /// Returns the terms of a1 to h8, if they are exactly the children.
    fn table_terms(&self) -> Option<Vec<usize>> {
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
