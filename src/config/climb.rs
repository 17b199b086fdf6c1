//! The section of a config that a climb reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// How `nnuance climb` makes its own games and decides what to keep. A config with this section
/// names no `data.files`, since there are none yet; `nnuance train` does not take it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Climb {
    /// Who plays the first games: `"material"`, `"random"` (a net of the config's shape with weights
    /// of chance), or any evaluation that can play: a net, handcrafted weights, or the folder of a
    /// run.
    pub start: String,
    /// How often there are new games and a training, 1 to 999. A climb that has ended goes on where
    /// this is raised.
    pub generations: u64,
    /// The games of a generation, 10 to 100,000,000.
    pub games: u64,
    /// The nodes of a search in these games, 1 to 1,000,000,000: no iteration begins beyond so many,
    /// and one that has begun may take ten times as many.
    pub soft_nodes: u64,
    /// How many of the last generations' games are trained on; at least 1. The first ones were
    /// played worst, and are left behind.
    pub window: u64,
    /// The pairs of games in which a new evaluation meets the best so far, and the start; 1 to
    /// 1,000,000. It is kept where it scores more than a half against the best.
    pub pairs: u64,
    /// The nodes of a move in these pairs, 1 to 1,000,000,000.
    pub nodes: u64,
    /// The least and the most random half-moves that games begin with, 1 to 100.
    pub random_plies: [u32; 2],
}

impl Default for Climb {
    fn default() -> Self {
        Self {
            start: "material".into(),
            generations: 20,
            games: 4000,
            soft_nodes: 200,
            window: 6,
            pairs: 200,
            nodes: 500,
            random_plies: [8, 9],
        }
    }
}

impl Climb {
    /// # Errors
    /// The first key whose value cannot be used.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason| Err(ConfigError::Value { key, reason });
        const NODES: u64 = 1_000_000_000;
        for (key, value, least, most) in [
            ("climb.generations", self.generations, 1, 999),
            ("climb.games", self.games, 10, 100_000_000),
            ("climb.soft_nodes", self.soft_nodes, 1, NODES),
            ("climb.window", self.window, 1, u64::MAX),
            ("climb.pairs", self.pairs, 1, 1_000_000),
            ("climb.nodes", self.nodes, 1, NODES),
        ] {
            if !(least..=most).contains(&value) {
                let reason = match most {
                    u64::MAX => format!("must be at least {least}, found {value}"),
                    _ => format!("lies from {least} to {most}, found {value}"),
                };
                return wrong(key, reason);
            }
        }
        let [least, most] = self.random_plies;
        if !(1 <= least && least <= most && most <= 100) {
            let reason =
                format!("two numbers from 1 to 100, the smaller first, found {least}, {most}");
            return wrong("climb.random_plies", reason);
        }
        Ok(())
    }
}
