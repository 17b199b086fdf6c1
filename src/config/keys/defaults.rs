//! The defaults, read off complete configs: what stands there and was not given is a default.

use std::collections::BTreeMap;

use crate::config::Config;

/// Configs that give the least a model and a method need.
const LEAST: [(&str, &str); 8] = [
    (
        "nets",
        "version = 1
         data.files = ['x']
         model = { inputs = 'perspective', hidden = 1 }
         schedule = { epochs = 1, learning_rate = 1 }",
    ),
    (
        "terms",
        "version = 1
         data.files = ['x']
         model.inputs = 'hce'
         schedule = { epochs = 1, learning_rate = 1 }",
    ),
    (
        "`gauss-newton`",
        "version = 1
         data.files = ['x']
         model.inputs = 'hce'
         optimizer.name = 'gauss-newton'",
    ),
    (
        "`local-search`",
        "version = 1
         data.files = ['x']
         model.inputs = 'hce'
         optimizer.name = 'local-search'",
    ),
    (
        "`ranger`",
        "version = 1
         data.files = ['x']
         model = { inputs = 'perspective', hidden = 1 }
         optimizer.name = 'ranger'
         schedule = { epochs = 1, learning_rate = 1 }",
    ),
    (
        "`lion`",
        "version = 1
         data.files = ['x']
         model = { inputs = 'perspective', hidden = 1 }
         optimizer.name = 'lion'
         schedule = { epochs = 1, learning_rate = 1 }",
    ),
    (
        "128 neurons and more",
        "version = 1
         data.files = ['x']
         model = { inputs = 'perspective', hidden = 128 }
         schedule = { epochs = 1, learning_rate = 1 }",
    ),
    (
        "moves",
        "version = 1
         data.files = ['x']
         model.inputs = 'hce'
         target.learn = 'moves'
         schedule = { epochs = 1, learning_rate = 1 }",
    ),
];

/// The values of keys that were not given, by path.
pub type Values = BTreeMap<String, String>;

/// What keys are where they are not given.
pub struct Defaults {
    /// One for each of [`LEAST`], in the same order.
    cases: Vec<Values>,
}

impl Defaults {
    pub fn new() -> Self {
        let cases = LEAST.map(|(name, text)| {
            let config = Config::parse(text, name, &[]).expect("the least config is enough");
            let mut values = flat(&config.to_toml());
            values.retain(|path, _| !flat(text).contains_key(path));
            values
        });
        Self { cases: cases.into() }
    }

    /// For keys of something that is no config.
    pub fn none() -> Self {
        Self { cases: vec![Values::new(); LEAST.len()] }
    }

    /// The default in words: a value, or one for nets and one for terms, or others that come with
    /// a method.
    pub fn of(&self, path: &str) -> Option<String> {
        let value = |case: usize| self.cases[case].get(path);
        let (net, terms) = (value(0), value(1));
        let usual = match (net, terms) {
            (Some(net), Some(terms)) if net != terms => {
                Some(format!("`{net}` for nets, `{terms}` for terms"))
            }
            (one, other) => one.or(other).map(|value| format!("`{value}`")),
        };
        // Next to the same kind of model.
        let beside = |case: usize| match LEAST[case].1.contains("hidden") {
            true => net.or(terms),
            false => terms.or(net),
        };
        let differing =
            (2..LEAST.len()).filter(|&case| value(case).is_some_and(|it| beside(case) != Some(it)));
        let mut special: Vec<(&String, Vec<&str>)> = Vec::new();
        for case in differing {
            let found = value(case).expect("it differs, so it is there");
            match special.iter_mut().find(|(value, _)| *value == found) {
                Some((_, names)) => names.push(LEAST[case].0),
                None => special.push((found, vec![LEAST[case].0])),
            }
        }
        let special = special.into_iter().map(|(value, names)| match &usual {
            None => format!("`{value}`"),
            _ => format!("`{value}` with {}", names.join(" and ")),
        });
        let all: Vec<String> = usual.clone().into_iter().chain(special).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// The values of a TOML text by dotted path, as TOML.
pub fn flat(text: &str) -> Values {
    fn walk(path: &str, value: &toml::Value, out: &mut Values) {
        match value {
            toml::Value::Table(table) => {
                for (name, value) in table {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    walk(&path, value, out);
                }
            }
            value => {
                out.insert(path.to_string(), value.to_string());
            }
        }
    }
    let mut out = Values::new();
    let table: toml::Table = text.parse().expect("a config is TOML");
    walk("", &toml::Value::Table(table), &mut out);
    out
}
