//! The reference of a config's keys, from the JSON schema of the types that read a config and from the
//! defaults in complete configs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde::de::value::Error;
use serde::de::{Deserializer, Error as _, Visitor};
use serde_json::Value;

use super::{
    Config, ConfigFile, Data, Net, Optimizer, Schedule, Source, Target, Terms, Traces, flat,
};
use crate::loader::{Filter, Weighing};
use crate::train::schedule::Stage;

/// A key of a config.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// With its section, as `--set` takes it: `data.filter.min_ply`.
    pub path: String,
    /// The kind of its value, in words.
    pub kind: String,
    /// In words, with values as TOML in backquotes; none where the key must be given, or is off or
    /// follows from the data without.
    pub default: Option<String>,
    /// Whether its section needs it.
    pub needed: bool,
    /// A value that it may have, as TOML.
    pub example: Option<String>,
    /// Its effect, its unit and its range.
    pub about: String,
    /// The words that it takes, with their meanings.
    pub words: Vec<(String, String)>,
}

/// Keys that stand together.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// As its heading in TOML, without brackets: `data.filter`; empty for the top of a config.
    pub name: &'static str,
    /// Whether a config may have several of them.
    pub many: bool,
    pub about: String,
    pub keys: Vec<Key>,
}

/// The section of which there may be several.
const SOURCES: &str = "data.source";

impl Section {
    /// Its heading in TOML.
    pub fn heading(&self) -> String {
        if self.many { format!("[[{}]]", self.name) } else { format!("[{}]", self.name) }
    }
}

/// The least configs of models and methods, as overrides; the first two are the usual ones.
const LEAST: [(&str, &[&str]); 8] = [
    ("nets", &["net={ inputs = 'perspective', hidden = 1 }", RATE, EPOCHS]),
    ("terms", &["terms={}", RATE, EPOCHS]),
    ("traces", &["traces.list=x", RATE, EPOCHS]),
    ("`gauss-newton`", &["terms={}", "optimizer.name=gauss-newton"]),
    ("`local-search`", &["terms={}", "optimizer.name=local-search"]),
    (
        "`ranger`",
        &["net={ inputs = 'perspective', hidden = 1 }", "optimizer.name=ranger", RATE, EPOCHS],
    ),
    ("128 neurons and more", &["net={ inputs = 'perspective', hidden = 128 }", RATE, EPOCHS]),
    ("moves", &["terms={}", "target.learn=moves", RATE, EPOCHS]),
];
const RATE: &str = "schedule.learning_rate=1";
const EPOCHS: &str = "schedule.epochs=1";

/// The values of keys that were not given, by path, one for each of [`LEAST`].
struct Defaults(Vec<BTreeMap<String, String>>);

impl Defaults {
    fn new() -> Self {
        let case = |(name, sets): (&str, &[&str])| {
            let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
            let least = "version = 3\ndata.files = ['x']";
            let config = Config::parse(least, name, &sets).expect("the least config is enough");
            let given = ["version", "data.files", "net.inputs", "net.hidden", "traces.list"];
            let mut values = flat(&config.text);
            values.retain(|path, _| {
                let is_set =
                    sets.iter().any(|set| set.split_once('=').is_some_and(|it| it.0 == path));
                !is_set && !given.contains(&&path[..])
            });
            values
        };
        Self(LEAST.map(case).into())
    }

    /// The default in words: a value, or one for nets and one for terms, and others that come with a
    /// method.
    fn of(&self, path: &str) -> Option<String> {
        let value = |case: usize| self.0.get(case)?.get(path);
        let (net, terms) = (value(0), value(1));
        let mut all: Vec<String> = Vec::new();
        all.extend(match (net, terms) {
            (Some(net), Some(terms)) if net != terms => {
                Some(format!("`{net}` for nets, `{terms}` for terms"))
            }
            (one, other) => one.or(other).map(|value| format!("`{value}`")),
        });
        let is_usual = !all.is_empty();
        let mut special: Vec<(&String, Vec<&str>)> = Vec::new();
        for (case, (name, sets)) in LEAST.iter().enumerate().skip(2) {
            let usual = if sets[0].starts_with("net") { net.or(terms) } else { terms.or(net) };
            let Some(found) = value(case).filter(|it| Some(*it) != usual) else { continue };
            match special.iter_mut().find(|(value, _)| *value == found) {
                Some((_, names)) => names.push(name),
                None => special.push((found, vec![name])),
            }
        }
        all.extend(special.into_iter().map(|(value, names)| match is_usual {
            true => format!("`{value}` with {}", names.join(" and ")),
            false => format!("`{value}`"),
        }));
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Every key of a config, in the order in which a complete config has them.
pub fn keys() -> Vec<Key> {
    sections().into_iter().flat_map(|section| section.keys).collect()
}

/// Every section of a config with its keys.
pub fn sections() -> Vec<Section> {
    let (schema, defaults) = (schema(), Defaults::new());
    [
        ("", fields::<ConfigFile>()),
        ("data", fields::<Data>()),
        ("data.filter", fields::<Filter>()),
        ("data.source", fields::<Source>()),
        ("net", fields::<Net>()),
        ("terms", fields::<Terms>()),
        ("traces", fields::<Traces>()),
        ("target", fields::<Target>()),
        ("target.weights", fields::<Weighing>()),
        ("optimizer", fields::<Optimizer>()),
        ("schedule", fields::<Schedule>()),
    ]
    .map(|(name, fields)| {
        let parts = name.split('.').filter(|part| !part.is_empty());
        let object = parts.fold(&schema, |object, part| match &object["properties"][part] {
            list if list["type"] == "array" => &list["items"],
            object => object,
        });
        section(name, object, fields, &defaults)
    })
    .into()
}

/// The keys of a stage, of which `schedule.learning_rate` and `target.wdl` may be made.
pub fn stage() -> Section {
    section("", &schema_of::<Stage>(), fields::<Stage>(), &Defaults(Vec::new()))
}

fn section(name: &'static str, object: &Value, fields: &[&str], defaults: &Defaults) -> Section {
    let required = object["required"].as_array();
    let keys = fields.iter().filter_map(|field| {
        // Old spellings are fields to serde, and none of the schema.
        let value = object["properties"].get(*field)?;
        let path = if name.is_empty() { field.to_string() } else { format!("{name}.{field}") };
        let is_section = !value["properties"].is_null() || path == SOURCES;
        (!is_section).then(|| Key {
            kind: kind(value),
            default: defaults.of(&path),
            needed: required.is_some_and(|all| all.iter().any(|it| it == field)),
            example: example(value),
            about: about(value),
            words: words(value),
            path,
        })
    });
    Section { name, many: name == SOURCES, about: about(object), keys: keys.collect() }
}

/// The fields of a struct in the order of its declaration, which a schema does not keep: those that a
/// deserializer of nothing is asked for.
fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    struct Fields<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Fields<'_> {
        type Error = Error;

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            fields: &'static [&'static str],
            _visitor: V,
        ) -> Result<V::Value, Error> {
            *self.0 = fields;
            Err(Error::custom("the fields are noted"))
        }

        fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
            Err(Error::custom("this is no struct"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
            unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut names: &[&str] = &[];
    let _ = T::deserialize(Fields(&mut names));
    names
}

/// The JSON schema of a config, for editors that complete and check TOML.
pub fn schema() -> Value {
    schema_of::<ConfigFile>()
}

/// The schema of a type, with no references in it.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|it| it.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(plain).transform(&mut schema);
    schema.to_value()
}

/// A schema for TOML: it has no null, so a key that may be missing is one that is not required.
/// Comments lose the line ends of the source.
fn plain(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            let kind = kind.clone();
            object.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    // The default of a section is that of its keys.
    if object.get("default").is_some_and(|it| it.is_null() || it.is_object()) {
        object.remove("default");
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        *text = text.split("\n\n").map(words).collect::<Vec<_>>().join("\n");
    }
}

/// The names of all formats.
pub(super) fn formats() -> Vec<&'static str> {
    crate::format::ALL.iter().map(|format| format.name).collect()
}

/// The comment on a type or field, a paragraph a line.
fn about(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_string()
}

/// The first example, as TOML.
fn example(schema: &Value) -> Option<String> {
    let example = schema["examples"].as_array()?.first()?;
    let value = toml::Value::try_from(example).expect("an example is plain TOML");
    Some(value.to_string())
}

/// The words that a value may be, each with its meaning or with nothing.
fn words(schema: &Value) -> Vec<(String, String)> {
    let plain = schema["enum"].as_array().into_iter().flatten();
    let plain = plain.filter_map(|word| Some((word.as_str()?.to_string(), String::new())));
    let told = schema["oneOf"].as_array().into_iter().flatten().flat_map(|choice| {
        match choice["const"].as_str() {
            Some(word) => vec![(word.to_string(), about(choice))],
            None => words(choice),
        }
    });
    plain.chain(told).collect()
}

/// The kind of a value in words, such as `whole number or "all"`.
fn kind(schema: &Value) -> String {
    let words = words(schema);
    if !words.is_empty() {
        let words: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        return either(&words);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return either(&choices.iter().map(kind).collect::<Vec<_>>());
    }
    if let Some(word) = schema["const"].as_str() {
        return format!("\"{word}\"");
    }
    match schema["type"].as_str() {
        Some("boolean") => "true or false".into(),
        Some("integer") => "whole number".into(),
        Some("string") => "text".into(),
        Some("array") if schema["items"]["items"]["type"] == "string" => "list of lists".into(),
        Some("array") if schema["items"]["type"] == "array" => "list of points".into(),
        Some("array") => format!("list of {}s", kind(&schema["items"])),
        Some("object") if !schema["properties"]["shape"].is_null() => "stage".into(),
        Some("object") => "table".into(),
        Some(other) => other.into(),
        None => unreachable!("every key has a kind: {schema}"),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn either(choices: &[String]) -> String {
    match choices {
        [] => String::new(),
        [only] => only.clone(),
        [some @ .., last] => format!("{} or {last}", some.join(", ")),
    }
}

const HEAD: &str = "\
<!-- Written by `nnuance keys --markdown`; change the comments in src/config/ instead. -->

# The keys of a config
";

const USE: &str = "\
Any key can be given on the command line, which comes before the file: `nnuance train CONFIG --set \
net.hidden=64`. A misspelt key is refused with the nearest known one. `nnuance keys batch` shows \
what this page says in a terminal; `nnuance keys --schema` is a JSON schema, with which editors \
complete and check configs.

A config has one of the sections `[net]`, `[terms]` and `[traces]`. Terms are the handcrafted terms of \
`[terms]` or `[traces]`.
";

/// The reference of all keys in Markdown, as `docs/config.md` has it.
pub fn markdown() -> String {
    let mut page = HEAD.to_string();
    for section in sections() {
        let _ = match section.name {
            "" => write!(page, "\n{}\n\n{USE}", section.about),
            _ => write!(page, "\n## `{}`\n\n{}\n", section.heading(), section.about),
        };
        markdown_keys(&mut page, &section);
    }
    let stage = stage();
    let _ = write!(page, "\n## Stages\n\n{}\n", stage.about);
    markdown_keys(&mut page, &stage);
    page
}

fn markdown_keys(page: &mut String, section: &Section) {
    for key in &section.keys {
        let _ = write!(page, "\n### `{}`\n\n*{}*\n\n", key.path, facts(key));
        let _ = writeln!(page, "{}", key.about.replace('\n', "\n\n"));
        if key.words.iter().any(|(_, about)| !about.is_empty()) {
            page.push('\n');
            for (word, about) in &key.words {
                let _ = writeln!(page, "- `\"{word}\"`: {about}");
            }
        }
    }
}

/// Kind, default and example in a line.
pub fn facts(key: &Key) -> String {
    let mut facts = vec![key.kind.clone()];
    match &key.default {
        Some(default) => facts.push(format!("default {default}")),
        None if key.needed => facts.push("must be given".into()),
        None => {}
    }
    facts.extend(key.example.as_ref().map(|example| format!("for example `{example}`")));
    facts.join("; ")
}
