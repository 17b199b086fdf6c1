//! The JSON schema of a config, and what it says in words.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::architecture::Views;
use crate::config::Config;

/// The JSON schema of a config, for editors that complete and check TOML.
pub fn schema() -> Value {
    of::<Config>()
}

/// The schema of a type, with no references in it.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|it| it.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(plain).transform(&mut schema);
    schema.to_value()
}

/// What serde's types say of JSON, said of TOML: it has no null, so a key that may be missing is one
/// that is not required. Comments lose the line ends of the source.
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
pub fn formats() -> Vec<&'static str> {
    crate::format::ALL.iter().map(|format| format.name).collect()
}

/// What `model.inputs` may be, with what it means.
pub fn inputs() -> Vec<Value> {
    let word = |name, about: &str| json!({ "const": name, "description": about });
    let sets = Views::ALL.iter().map(|views| word(views.name(), &format!("{}.", views.about())));
    let terms = [
        word("hce", "The handcrafted terms that are built in."),
        word("trace", "The terms of another engine, counted in the files."),
    ];
    sets.chain(terms).collect()
}

/// The comment on a type or field, a paragraph a line.
pub fn about(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_string()
}

/// The first example, as TOML.
pub fn example(schema: &Value) -> Option<String> {
    let example = schema["examples"].as_array()?.first()?;
    let value = toml::Value::try_from(example).expect("an example is plain TOML");
    Some(value.to_string())
}

/// The words that a value may be, each with what it means or with nothing.
pub fn words(schema: &Value) -> Vec<(String, String)> {
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
pub fn kind(schema: &Value) -> String {
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
