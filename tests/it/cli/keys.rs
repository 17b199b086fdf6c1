//! The reference of a config's keys, docs/config.md: whole, true, and shown by the program.

use crate::support::kit::*;

/// Configs that each use some keys which the others refuse, besides common ones.
const LEAST: [&str; 12] = [
    "terms = {}\n target.loss = 'power'",
    "net = { inputs = 'plain', hidden = 8 }",
    "net = {}",
    "[net]
     inputs = 'perspective'
     hidden = 8
     mirror = true
     king_buckets = [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1,
                     0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]
     head = [{ size = 4, activation = 'relu' }, { size = 1 }]
     head_format = 'int8'",
    "net = { inputs = 'plain', hidden = 8, start = 'a', base = 'b' }",
    "terms = { rare = 1 }\n target.learn = 'quiescence'",
    "traces = { list = 'b' }",
    "terms = {}\n optimizer.name = 'gauss-newton'",
    "terms = {}\n optimizer.name = 'local-search'",
    "terms = {}\n target = { learn = 'moves', force = 100 }",
    "terms = {}\n target.learn = 'moves'",
    "net = { inputs = 'perspective', hidden = 8, sets = ['pieces', 'threat-kinds'] }",
];

fn least(own: &str) -> String {
    let is_direct = own.contains("gauss-newton") || own.contains("local-search");
    let schedule = if is_direct { "" } else { "schedule = { epochs = 1, learning_rate = 1 }" };
    format!("version = 3\n data.files = ['a']\n {schedule}\n {own}")
}

fn page() -> String {
    fs::read_to_string("docs/config.md").expect("the page")
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn value(config: &Config, path: &str) -> Option<toml::Value> {
    let table: toml::Table = config.to_toml().parse().expect("TOML");
    let root = toml::Value::Table(table);
    path.split('.').try_fold(&root, |value, part| value.get(part)).cloned()
}

fn parsed(text: &str) -> toml::Value {
    let table: toml::Table = format!("value = {text}").parse().expect("a value of TOML");
    table["value"].clone()
}

/// Each section refuses an unknown key and lists the known ones.
#[test]
fn page_has_every_key() {
    let (page, mut known) = (page(), 0);
    for (section, set) in [
        ("", "unknown=1"),
        ("data.", "data.unknown=1"),
        ("data.filter.", "data.filter.unknown=1"),
        ("data.source.", "data.source=[{ unknown = 1 }]"),
        ("net.", "net.unknown=1"),
        ("terms.", "terms.unknown=1"),
        ("traces.", "traces.unknown=1"),
        ("target.", "target.unknown=1"),
        ("target.weights.", "target.weights.unknown=1"),
        ("optimizer.", "optimizer.unknown=1"),
        ("schedule.", "schedule.unknown=1"),
        ("stage.", "stage=[{ unknown = 1 }]"),
        ("", "schedule.learning_rate={ unknown = 1 }"),
    ] {
        let error = Config::parse_text("version = 3", "least", &[set.into()]).expect_err(set);
        let error = error.to_string();
        let (_, names) = error.split_once(", expected ").expect(&error);
        for name in quoted(names.split([';', '\n']).next().expect("a line")) {
            let path = format!("{section}{name}");
            let headings = [format!("`{path}`"), format!("`[{path}]`"), format!("`[[{path}]]`")];
            let count = |it: &String| page.matches(&format!("## {it}\n")).count();
            assert_eq!(headings.iter().map(count).sum::<usize>(), 1, "docs/config.md: {path}");
            known += 1;
        }
    }
    assert_eq!(page.matches("## `").count(), known, "docs/config.md has keys that are none");
}

#[test]
fn keys_take_defaults_and_examples() {
    const METHODS: [&str; 6] = ["gauss-newton", "local-search", "ranger", "adam", "adagrad", "sgd"];
    let page = page();
    let (page, _) = page.split_once("\n## Stages").expect("stages come last");
    for entry in page.split("\n### `").skip(1) {
        let (path, facts) = entry.split_once("`\n\n").expect("facts follow the name");
        let facts = facts.lines().next().expect("a line");
        assert!(facts.starts_with('*') && facts.ends_with('*'), "{path}: {facts}");
        for text in quoted(facts).filter(|it| !METHODS.contains(it)) {
            if let Some(name) = path.strip_prefix("data.source.") {
                assert!(in_source(name, text), "no source takes {name} = {text}");
                continue;
            }
            let set = format!("{path}={text}");
            let taken = LEAST.iter().any(|own| {
                let config = Config::parse_text(&least(own), "least", std::slice::from_ref(&set));
                config.is_ok_and(|it| value(&it, path) == Some(parsed(text)))
            });
            assert!(taken, "no config takes --set {set}");
        }
    }
}

fn in_source(name: &str, text: &str) -> bool {
    let files = if name == "files" { "" } else { "files = ['b']" };
    let config = format!(
        "version = 3\nnet = {{ inputs = 'perspective', hidden = 1 }}\n\
         schedule = {{ epochs = 1, learning_rate = 1 }}\n[[data.source]]\n{files}\n{name} = {text}"
    );
    let config = Config::parse_text(&config, "source", &[]).expect("a config");
    let sources = value(&config, "data.source").expect("a source");
    sources[0].get(name) == Some(&parsed(text))
}

#[test]
fn command_finds_keys_by_part() {
    let [all, _] = said(nnuance().arg("keys"));
    assert!(all.split_whitespace().eq(page().split_whitespace()));
    let [some, _] = said(nnuance().args(["keys", "min_"]));
    assert!(some.contains("`data.filter.min_ply`\n") && some.contains("min_pieces`\n"));
    assert!(!some.contains("max_pieces"));
    assert!(complaint(nnuance().args(["keys", "lerning_rate"])).contains("lerning_rate"));
}
