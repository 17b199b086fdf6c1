//! Clips and learning rates of single arrays of a net.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Clips and factors of the learning rate by the names of arrays, as checkpoints have them. A name
/// stands for everything below it: `head` for `head.0`, and `head.0` for `head.0.weight`.
///
/// In a config `head.0 = { .. }` (nested tables) and `"head.0" = { .. }` are the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, toml::Value>")]
pub struct Layers(pub BTreeMap<String, Layer>);

/// Settings of an array; what is missing is as for all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The numbers stay within `-clip ..= clip`; 0 = free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Factor of the learning rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl Layers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings of an array. Of several names that stand for it the longest counts.
    pub fn of(&self, name: &str) -> Layer {
        let above = self.0.iter().filter(|(it, _)| stands_for(it, name));
        // In their order the longer ones come later.
        above.fold(Layer::default(), |layer, (_, own)| Layer {
            clip: own.clip.or(layer.clip),
            rate: own.rate.or(layer.rate),
        })
    }

    fn add(&mut self, name: &str, keys: BTreeMap<String, toml::Value>) -> Result<(), String> {
        let (below, own): (BTreeMap<_, _>, BTreeMap<_, _>) =
            keys.into_iter().partition(|(_, value)| value.is_table());
        if below.is_empty() || !own.is_empty() {
            let own = toml::Table::from_iter(own);
            let layer = Layer::deserialize(own).map_err(|error| error.message().to_string())?;
            self.0.insert(name.into(), layer);
        }
        for (key, value) in below {
            let toml::Value::Table(keys) = value else { continue };
            let name = if name.is_empty() { key } else { format!("{name}.{key}") };
            self.add(&name, keys.into_iter().collect())?;
        }
        Ok(())
    }
}

impl TryFrom<BTreeMap<String, toml::Value>> for Layers {
    type Error = String;

    fn try_from(keys: BTreeMap<String, toml::Value>) -> Result<Self, String> {
        let mut layers = Self::default();
        if keys.values().any(|value| !value.is_table()) {
            return Err("expected a table of keys: `clip` and `rate` belong to an array, such as \
                        `output = { clip = 1.5 }`"
                .into());
        }
        if !keys.is_empty() {
            layers.add("", keys)?;
        }
        Ok(layers)
    }
}

impl JsonSchema for Layers {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Layers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": "object" } })
    }
}

/// Whether a name is that of an array, or of something above it.
pub fn stands_for(name: &str, array: &str) -> bool {
    array.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
