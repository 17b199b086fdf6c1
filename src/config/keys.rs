//! The reference of a config's keys: what the types that read a config say about themselves.
//!
//! Names, kinds and comments come from their JSON schema, defaults from complete configs, as runs
//! write them. Nothing is said twice.

mod defaults;
mod markdown;
mod schema;

pub(super) use defaults::flat;
pub use markdown::{facts, markdown};
pub use schema::schema;
pub(super) use schema::{formats, inputs};

use serde::Deserialize;
use serde::de::value::Error;
use serde::de::{Deserializer, Error as _, Visitor};
use serde_json::Value;

use super::{Config, Data, Model, Optimizer, Plan, Source, Target};
use crate::loader::{Filter, Weighing};
use crate::train::schedule::Stage;
use defaults::Defaults;

/// A key of a config.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// With its section, as `--set` takes it: `data.filter.min_ply`.
    pub path: String,
    /// What kind of value it takes, in words.
    pub kind: String,
    /// In words, with values as TOML in backquotes; none where the key must be given, or is off or
    /// found out from the data without.
    pub default: Option<String>,
    /// Whether no config goes without it.
    pub needed: bool,
    /// A value that it may have, as TOML.
    pub example: Option<String>,
    /// What it does, its unit and its range.
    pub about: String,
    /// The words that it takes, with what they mean.
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

/// Every key of a config, in the order in which a complete config has them.
pub fn keys() -> Vec<Key> {
    sections().into_iter().flat_map(|section| section.keys).collect()
}

/// Every section of a config with its keys.
pub fn sections() -> Vec<Section> {
    let defaults = Defaults::new();
    let schema = schema();
    [
        ("", fields::<Config>()),
        ("data", fields::<Data>()),
        ("data.filter", fields::<Filter>()),
        ("data.source", fields::<Source>()),
        ("model", fields::<Model>()),
        ("target", fields::<Target>()),
        ("target.weights", fields::<Weighing>()),
        ("optimizer", fields::<Optimizer>()),
        ("schedule", fields::<Plan>()),
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
    section("", &schema::of::<Stage>(), fields::<Stage>(), &Defaults::none())
}

fn section(name: &'static str, object: &Value, fields: &[&str], defaults: &Defaults) -> Section {
    let keys = fields.iter().filter_map(|field| {
        // Old spellings are fields to serde, and none of the schema.
        let value = object["properties"].get(*field)?;
        let path = if name.is_empty() { field.to_string() } else { format!("{name}.{field}") };
        let is_section = !value["properties"].is_null() || path == SOURCES;
        (!is_section).then(|| key(path, field, value, object, defaults))
    });
    Section { name, many: name == SOURCES, about: schema::about(object), keys: keys.collect() }
}

fn key(path: String, field: &str, value: &Value, object: &Value, defaults: &Defaults) -> Key {
    let needed = object["required"].as_array().is_some_and(|all| all.iter().any(|it| it == field));
    Key {
        kind: schema::kind(value),
        default: defaults.of(&path),
        needed,
        example: schema::example(value),
        about: schema::about(value),
        words: schema::words(value),
        path,
    }
}

/// The fields of a struct in the order of its declaration, which a schema does not keep.
fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    let asked = T::deserialize(Fields(&mut names));
    debug_assert!(asked.is_err(), "there was nothing to read");
    names
}

/// Reads nothing, but notes the fields that it is asked for.
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
