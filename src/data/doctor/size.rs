//! For evaluations of which size data are enough.
//!
//! Games, not positions, carry independent results: the positions of a game share one. A score is
//! a judgement of its own on each position. So a weight wants either so many games or so many
//! scored positions, and a target that mixes both takes from each by its share. The two numbers
//! are anchors, not laws, measured on the self-play games in `data/` (11,000 games and 900,000
//! quiet positions to train on):
//!
//! - results alone carry all 914 handcrafted terms, 1,829 weights, at 6 games each; on some 250,000
//!   master games they carry a net of 64 neurons at 5 games a weight;
//! - with scores nets get better up to 32 neurons, 36 positions a weight, and no better at 64;
//! - with half of the target from results nets get worse from 16 neurons on.

use serde::{Deserialize, Serialize};

/// Games that a weight wants which learns from results alone.
pub const GAMES: f64 = 5.0;

/// Scored positions that a weight wants which learns from scores alone.
pub const POSITIONS: f64 = 30.0;

/// Positions of a whole game; where games are unknown there is one for so many positions at least,
/// and one for each position at most.
const WHOLE_GAME: f64 = 80.0;

/// What there is to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// None where they are unknown.
    pub games: Option<u64>,
    pub positions: u64,
    /// Positions with a score.
    pub scored: u64,
}

/// Whether data are enough for a number of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Enough,
    Thin,
    /// It depends on how many games there are, which is unknown.
    Unknown,
}

/// An evaluation of some size, and whether the data are enough for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    pub name: &'static str,
    pub weights: u64,
    /// Learning from results alone.
    pub by_results: Verdict,
    /// Learning from scores alone.
    pub by_scores: Verdict,
}

/// The evaluations that data are weighed against. Tables are material and squares; nets have two
/// perspectives.
pub const SIZES: [(&str, u64); 6] = [
    ("piece-square tables", 779),
    ("all 914 terms", 1_829),
    ("nets of 8 neurons", net(8)),
    ("32", net(32)),
    ("128", net(128)),
    ("256", net(256)),
];

/// The weights of `(768 -> N)x2 -> 1`.
const fn net(hidden: u64) -> u64 {
    768 * hidden + hidden + 2 * hidden + 1
}

impl Amount {
    /// How many weights the data carry where results are `wdl` of the target and scores the rest;
    /// at least and at most, which differ where games are unknown.
    pub fn weights(&self, wdl: f64) -> [f64; 2] {
        let all = self.positions as f64;
        let games = match self.games {
            Some(games) => [games as f64; 2],
            None => [all / WHOLE_GAME, all],
        };
        let scores = if wdl < 1.0 { (1.0 - wdl) * self.scored as f64 / POSITIONS } else { 0.0 };
        games.map(|games| wdl * games / GAMES + scores)
    }

    /// Whether they are enough for so many weights.
    pub fn verdict(&self, weights: u64, wdl: f64) -> Verdict {
        let [least, most] = self.weights(wdl);
        match weights as f64 {
            weights if weights <= least => Verdict::Enough,
            weights if weights <= most => Verdict::Unknown,
            _ => Verdict::Thin,
        }
    }
}

/// All of [`SIZES`], weighed.
pub fn sizes(amount: &Amount) -> Vec<Size> {
    let size = |(name, weights): (&'static str, u64)| Size {
        name,
        weights,
        by_results: amount.verdict(weights, 1.0),
        by_scores: amount.verdict(weights, 0.0),
    };
    SIZES.into_iter().map(size).collect()
}

/// What the sizes say of one kind of target: "enough for ..., thin for ...".
pub fn clauses(sizes: &[Size], of: fn(&Size) -> Verdict) -> String {
    let kinds = [
        (Verdict::Enough, "enough for"),
        (Verdict::Unknown, "perhaps enough for"),
        (Verdict::Thin, "thin for"),
    ];
    let clause = |(verdict, words): (Verdict, &str)| {
        let mut names: Vec<&str> =
            sizes.iter().filter(|size| of(size) == verdict).map(|size| size.name).collect();
        let whole = names.first().is_some_and(|name| name.parse::<u64>().is_ok());
        let last = names.pop()?;
        let list = match names.is_empty() {
            true => last.to_string(),
            false => format!("{} and {last}", names.join(", ")),
        };
        Some(format!("{words} {}{list}", if whole { "nets of " } else { "" }))
    };
    kinds.into_iter().filter_map(clause).collect::<Vec<_>>().join(", ")
}
