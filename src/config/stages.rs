//! The configs of stages: the config of the whole file with the keys of a stage replaced.

use serde::Deserialize as _;
use toml::{Table, Value};

use super::read::{LENGTHS, toml_reason};
use super::{Config, ConfigError, ConfigFile, Stage};

/// The tables whose keys are replaced individually; any other value is replaced as a whole.
const TABLES: [&str; 6] = ["data", "filter", "target", "weights", "schedule", "net"];

impl Config {
    /// Checks all stages of a file and returns the config of the last one, which stores the others.
    pub(super) fn resolve_stages(file: ConfigFile) -> Result<Self, ConfigError> {
        if file.net.is_none() {
            let reason = "is for nets; train terms with one schedule, and remove the stages";
            return Err(ConfigError::for_key("stage", reason));
        }
        let mut stages = Vec::<Self>::new();
        for number in 1..=file.stage.len() {
            let resolved = file.at_stage(number).and_then(Self::resolve_file);
            let stage = resolved.map_err(|error| error.in_stage(number))?;
            let first = stages.first().unwrap_or(&stage);
            if (first.game_split(), first.test_share) != (stage.game_split(), stage.test_share) {
                let reason = "the games that are held out are the same in all stages; set \
                              `held_out`, `held_out_seed`, `test` and `validation` in [data] alone";
                return Err(ConfigError::for_key("data.held_out", reason).in_stage(number));
            }
            stages.push(stage);
        }
        let last = stages.pop().expect("a file of stages has one");
        Ok(Self { staged: Some(Box::new(file)), ..last })
    }

    /// Whether the file has stages.
    pub fn has_stages(&self) -> bool {
        self.staged.is_some()
    }

    /// The configs of all stages, or the config itself.
    pub fn list_stages(&self) -> Vec<Self> {
        let Some(file) = &self.staged else { return vec![self.clone()] };
        let numbers = 1..=file.stage.len();
        let stage = |number| file.at_stage(number).and_then(Self::resolve_file);
        numbers.map(stage).collect::<Result<_, _>>().expect("the config was checked")
    }
}

impl ConfigFile {
    /// The file of the stage with the given number, from 1.
    fn at_stage(&self, number: usize) -> Result<Self, ConfigError> {
        let base = Self { stage: Vec::new(), ..self.clone() };
        let mut table = Table::try_from(base).expect("a config has a TOML form");
        let Stage { data, target, schedule, net } = &self.stage[number - 1];
        if let Some(key) = net.keys().find(|key| *key != "qat") {
            let reason = "the net is the same in all stages but for `qat`; set it in [net]";
            return Err(ConfigError::for_key(&format!("net.{key}"), reason));
        }
        for (name, stage, exclusive) in [
            // A stage has one length, and either files or sources.
            ("schedule", schedule, &LENGTHS[..]),
            ("data", data, &["files", "source"]),
            ("target", target, &[]),
            ("net", net, &[]),
        ] {
            let section = table.entry(name).or_insert_with(|| Table::new().into());
            let section = section.as_table_mut().expect("a section is a table");
            if exclusive.iter().any(|key| stage.contains_key(*key)) {
                section.retain(|key, _| !exclusive.contains(&key));
            }
            merge_stage(section, stage);
        }
        Self::deserialize(table).map_err(|error| ConfigError::new(toml_reason(&error)))
    }
}

fn merge_stage(table: &mut Table, stage: &Table) {
    for (key, value) in stage {
        match (table.get_mut(key), value) {
            (Some(Value::Table(table)), Value::Table(stage)) if TABLES.contains(&&key[..]) => {
                merge_stage(table, stage);
            }
            _ => drop(table.insert(key.clone(), value.clone())),
        }
    }
}
