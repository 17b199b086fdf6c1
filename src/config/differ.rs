//! What two configs say differently.

use super::Config;
use super::keys::flat;

/// A key that has other values in two configs, as TOML; none where a config lacks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub key: String,
    pub here: Option<String>,
    pub there: Option<String>,
}

impl Config {
    /// The keys in which two configs differ, defaults written out.
    pub fn differences(&self, other: &Config) -> Vec<Difference> {
        let [here, there] = [self, other].map(|config| flat(&config.clone().resolved().to_toml()));
        let mut keys: Vec<&String> = here.keys().chain(there.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.into_iter()
            .filter(|key| here.get(*key) != there.get(*key))
            .map(|key| Difference {
                key: key.clone(),
                here: here.get(key).cloned(),
                there: there.get(key).cloned(),
            })
            .collect()
    }
}
