//! Elo beside the losses of a comparison.

use serde::Serialize;

use super::compare::Comparison;
use super::elo::{Meeting, Met, Ratings, Verdict, ratings};

/// Games between players, some of whom are evaluations of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// The players; no two have the same name.
    pub names: Vec<String>,
    pub meetings: Vec<Meeting>,
    /// Facts of how they were played, with their values.
    pub manner: Vec<(String, String)>,
}

/// Ratings and matches of a comparison's players.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Games {
    /// The player with 0 Elo; None for the mean of the players.
    pub zero: Option<String>,
    /// Where more than two have played.
    pub ratings: Option<Ratings>,
    pub meetings: Vec<Met>,
    /// Facts of how they were played, with their values.
    pub manner: Vec<(String, String)>,
    /// Verdicts on neighbours of the ranking.
    pub sentences: Vec<String>,
}

impl Comparison {
    /// Adds Elo of each evaluation that played, above the first of the table that did.
    pub fn add_games(&mut self, played: &Played) {
        let mut names = played.names.clone();
        for one in self.evaluations.iter().rev() {
            if let Some(player) = one.player
                && !names.contains(&one.name)
            {
                names[player].clone_from(&one.name);
            }
        }
        let zero = self.evaluations.iter().find_map(|one| one.player);
        let rated = ratings(&names, &played.meetings, zero);
        // Two players have the Elo of their match.
        let alone = match &played.meetings[..] {
            [meeting] if names.len() == 2 => Some(meeting),
            _ => None,
        };
        for one in &mut self.evaluations {
            one.elo = one.player.map(|player| match alone {
                Some(_) if zero == Some(player) => rated.elo(player),
                Some(Meeting { players, pairs }) if players[0] == player => pairs.elo(),
                Some(Meeting { pairs, .. }) => pairs.turned().elo(),
                None => rated.elo(player),
            });
        }
        let sentences = match alone {
            Some(Meeting { players, pairs }) => {
                vec![Verdict::of_match(players.map(|player| &names[player][..]), pairs).sentence()]
            }
            None => {
                let neighbours = rated.players.windows(2).filter_map(|two| {
                    let is = |it: &&Verdict| it.stronger == two[0].name && it.weaker == two[1].name;
                    rated.verdicts.iter().find(is)
                });
                neighbours.map(Verdict::sentence).collect()
            }
        };
        self.games = Some(Games {
            zero: zero.map(|zero| names[zero].clone()),
            meetings: played.meetings.iter().map(|meeting| Met::of(&names, meeting)).collect(),
            manner: played.manner.clone(),
            sentences,
            ratings: (names.len() > 2).then_some(rated),
        });
    }
}

impl Games {
    /// The zero of Elo, and how the games were played.
    pub fn basis(&self) -> String {
        let zero = match &self.zero {
            Some(zero) => format!("that of {zero} is 0"),
            None => "the mean of the players is 0".to_string(),
        };
        let facts = self.manner.iter().map(|(fact, value)| format!("; {fact}: {value}"));
        format!("Elo: {zero}{}.", facts.collect::<String>())
    }
}
