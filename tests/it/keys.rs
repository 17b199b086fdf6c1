//! The reference of a config's keys: whole, true, and the same in the program as in the book.

use std::collections::BTreeSet;

use nnuance::config::Config;
use nnuance::config::keys::{self, Key};

use crate::program::{complaint, nnuance, said};

/// Configs that each take some keys which the others refuse, but for what all have.
const LEAST: [&str; 11] = [
    "terms = {}\n target.loss = 'power'",
    "net = { inputs = 'plain', hidden = 8 }\n optimizer.name = 'ranger'",
    "net = { inputs = 'plain', hidden = 8 }",
    "[net]
     inputs = 'perspective'
     hidden = 8
     mirror = true
     king_buckets = [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1,
                     0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]
     head = [{ size = 4, activation = 'relu' }, { size = 1 }]",
    "net = { inputs = 'plain', hidden = 8, base = 'b' }",
    "terms = { rare = 1 }\n target.learn = 'quiescence'",
    "traces = { list = 'b' }",
    "terms = {}\n optimizer.name = 'gauss-newton'",
    "terms = {}\n optimizer.name = 'local-search'",
    "terms = {}\n target = { learn = 'moves', force = 100 }",
    "terms = {}\n target.learn = 'moves'",
];

fn least(own: &str) -> String {
    let is_direct = own.contains("gauss-newton") || own.contains("local-search");
    let schedule = if is_direct { "" } else { "schedule = { epochs = 1, learning_rate = 1 }" };
    format!("version = 3\n data.files = ['a']\n {schedule}\n {own}")
}

/// The paths of all values in a TOML text; values of known keys are leaves.
fn paths(text: &str, known: &[Key]) -> BTreeSet<String> {
    fn walk(path: &str, value: &toml::Value, known: &[Key], out: &mut BTreeSet<String>) {
        match value {
            toml::Value::Table(table) if known.iter().all(|key| key.path != path) => {
                for (name, value) in table {
                    walk(&format!("{path}.{name}"), value, known, out);
                }
            }
            _ => drop(out.insert(path.to_string())),
        }
    }
    let mut out = BTreeSet::new();
    for (name, value) in text.parse::<toml::Table>().expect("TOML") {
        walk(&name, &value, known, &mut out);
    }
    out
}

/// The value of a key in a complete config.
fn value(config: &Config, path: &str) -> Option<toml::Value> {
    let table: toml::Table = config.to_toml().parse().expect("TOML");
    let root = toml::Value::Table(table);
    path.split('.').try_fold(&root, |value, part| value.get(part)).cloned()
}

/// A value in a table of its own.
fn parsed(text: &str) -> toml::Value {
    let table: toml::Table = format!("value = {text}").parse().expect("a value of TOML");
    table["value"].clone()
}

#[test]
fn written_keys_are_documented() {
    let known = keys::keys();
    let names: BTreeSet<String> = known.iter().map(|key| key.path.clone()).collect();
    assert_eq!(names.len(), known.len(), "no key is told of twice");
    let mut configs = 0;
    for entry in std::fs::read_dir("configs").expect("the configs") {
        let path = entry.expect("an entry").path();
        let config = Config::read(&path, &[]).expect("a config that can be used");
        let written = paths(&config.to_toml(), &known);
        let unknown: Vec<_> = written.difference(&names).collect();
        assert!(unknown.is_empty(), "{}: `nnuance keys` lacks {unknown:?}", path.display());
        configs += 1;
    }
    assert!(configs >= 6);
}

#[test]
fn keys_take_defaults_and_examples() {
    for key in keys::keys() {
        let quoted = key.default.as_deref().unwrap_or_default().split('`').skip(1).step_by(2);
        let mut values: Vec<String> = quoted.map(String::from).collect();
        values.retain(|it| !["gauss-newton", "local-search", "ranger"].contains(&&it[..]));
        values.extend(key.example.clone());
        assert!(!values.is_empty(), "{} has neither default nor example", key.path);
        for text in values {
            if let Some(name) = key.path.strip_prefix("data.source.") {
                assert!(in_source(name, &text), "no source takes {name} = {text}");
                continue;
            }
            let set = format!("{}={text}", key.path);
            let taken = LEAST.iter().any(|own| {
                let config = Config::parse(&least(own), "least", std::slice::from_ref(&set));
                config.is_ok_and(|it| value(&it, &key.path) == Some(parsed(&text)))
            });
            assert!(taken, "no config takes --set {set}");
        }
    }
}

/// Whether a source may have a key with this value.
fn in_source(name: &str, text: &str) -> bool {
    let files = if name == "files" { "" } else { "files = ['b']" };
    let config = format!(
        "version = 3\nnet = {{ inputs = 'perspective', hidden = 1 }}\n\
         schedule = {{ epochs = 1, learning_rate = 1 }}\n[[data.source]]\n{files}\n{name} = {text}"
    );
    let config = Config::parse(&config, "source", &[]).expect("a config");
    let sources = value(&config, "data.source").expect("a source");
    sources[0].get(name) == Some(&parsed(text))
}

#[test]
fn page_of_the_book() {
    let page = std::fs::read_to_string("docs/config.md").expect("the page");
    let cure = "run: nnuance keys --markdown > docs/config.md";
    assert!(page == keys::markdown(), "docs/config.md is old; {cure}");
}

#[test]
fn schema_has_the_same_keys() {
    let schema = keys::schema();
    let text = schema.to_string();
    assert!(!text.contains(":null") && !text.contains("\"null\"") && !text.contains("$ref"));
    for key in keys::keys() {
        let parts = key.path.split('.');
        let object = parts.fold(&schema, |object, part| match &object["items"] {
            items if items.is_object() => &items["properties"][part],
            _ => &object["properties"][part],
        });
        assert!(object.is_object(), "{}", key.path);
    }
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["data"]["additionalProperties"], false);
    let required = schema["properties"]["net"]["required"].as_array().expect("a list");
    assert_eq!(required, &["inputs", "hidden"]);
}

#[test]
fn command_finds_keys_by_part() {
    let [all, _] = said(nnuance().arg("keys"));
    assert!(all.contains("[data.filter]") && all.contains("shape (must be given)"));
    assert!(all.lines().all(|line| line.chars().count() <= 100), "{all}");
    let [some, _] = said(nnuance().args(["keys", "min_"]));
    assert!(some.contains("data.filter.min_ply") && some.contains("data.filter.min_pieces"));
    assert!(!some.contains("max_pieces"));
    let [some, _] = said(nnuance().args(["keys", "data.check_*"]));
    assert!(some.starts_with("data.check_view\n"), "{some}");
    let [some, _] = said(nnuance().args(["keys", "every"]));
    assert!(some.contains("schedule.keep_every\n") && some.contains("\nevery, of"), "{some}");
    for (wrong, right) in [("evry", "`every`"), ("lerning_rate", "schedule.learning_rate")] {
        assert!(complaint(nnuance().args(["keys", wrong])).contains(right));
    }
    assert!(said(nnuance().args(["keys", "--markdown"]))[0] == keys::markdown());
}
