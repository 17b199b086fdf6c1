//! What training does otherwise with some arrays of a net.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Clips and factors of the learning rate by the names of arrays, as checkpoints have them. A name
/// stands for everything below it: `head` for `head.0`, and `head.0` for `head.0.weight`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Layers(pub BTreeMap<String, Layer>);

/// What holds for an array; what is not said is as for all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Layer {
    /// The numbers are held within `-clip ..= clip`; 0 = free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Times the learning rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl Layers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What holds for a name. Of several that stand for it the longest counts.
    pub fn of(&self, name: &str) -> Layer {
        let above = self.0.iter().filter(|(it, _)| stands_for(it, name));
        // In their order the longer ones come later.
        above.fold(Layer::default(), |layer, (_, own)| Layer {
            clip: own.clip.or(layer.clip),
            rate: own.rate.or(layer.rate),
        })
    }
}

/// Whether a name is that of an array, or of something above it.
pub fn stands_for(name: &str, array: &str) -> bool {
    array.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// `head.0 = { .. }` is a table in a table, and `"head.0" = { .. }` a name with a dot: both are the
/// same name.
impl<'de> Deserialize<'de> for Layers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut layers = Self::default();
        let all = deserializer.deserialize_map(Entries)?;
        if all.layer != Layer::default() {
            let cure = "`clip` and `rate` belong to an array, such as `output = { clip = 1.5 }`";
            return Err(D::Error::custom(cure));
        }
        for (name, entry) in all.below {
            entry.flatten(name, &mut layers);
        }
        Ok(layers)
    }
}

#[derive(Default)]
struct Entry {
    layer: Layer,
    below: BTreeMap<String, Entry>,
}

impl Entry {
    fn flatten(self, name: String, layers: &mut Layers) {
        if self.below.is_empty() || self.layer != Layer::default() {
            layers.0.insert(name.clone(), self.layer);
        }
        for (below, entry) in self.below {
            entry.flatten(format!("{name}.{below}"), layers);
        }
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Entry;

    fn expecting(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str("a table of keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let mut entry = Entry::default();
        while let Some(key) = map.next_key::<String>()? {
            match &key[..] {
                "clip" => entry.layer.clip = Some(map.next_value()?),
                "rate" => entry.layer.rate = Some(map.next_value()?),
                _ => match map.next_value()? {
                    Value::Entry(below) => drop(entry.below.insert(key, below)),
                    Value::Number => return Err(Error::unknown_field(&key, &["clip", "rate"])),
                },
            }
        }
        Ok(entry)
    }
}

enum Value {
    Entry(Entry),
    /// Which only `clip` and `rate` may have.
    Number,
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Value;

            fn expecting(&self, f: &mut Formatter) -> fmt::Result {
                Entries.expecting(f)
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Value, E> {
                Ok(Value::Number)
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Value, E> {
                Ok(Value::Number)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
                Entries.visit_map(map).map(Value::Entry)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Layers {
    fn schema_name() -> Cow<'static, str> {
        "Layers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": "object" } })
    }
}
