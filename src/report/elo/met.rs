//! What each two players made of their games, as a table.

use serde::Serialize;

use super::{Figures, Meeting};
use crate::report::table::{Align, Table};

/// Two players by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Met {
    pub players: [String; 2],
    /// As the first of them sees it.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Met {
    /// The players of a meeting, called by the names at their places.
    pub fn of(names: &[String], Meeting { players, pairs }: &Meeting) -> Self {
        let players = players.map(|player| names[player].clone());
        Self { players, figures: pairs.figures() }
    }

    /// Pairs, games won, drawn and lost, score, Elo, its interval and LOS.
    pub fn table(all: &[Self]) -> Table {
        let columns = ["pairs", "won", "drawn", "lost", "score", "Elo", "95 % interval", "LOS"];
        let columns = columns.map(|title| (title, Align::Right));
        let names = [("player", Align::Left), ("against", Align::Left)];
        // Names that were cut would be those of several players.
        let mut table = Table::new(&[&names[..], &columns].concat()).width(160);
        let share = |share: Option<f64>| match share {
            Some(share) => format!("{:.1} %", 100.0 * share),
            None => "-".into(),
        };
        for Self { players: [first, second], figures } in all {
            let [elo, interval] = figures.elo.cells();
            table.row([
                first.clone(),
                second.clone(),
                figures.pairs.to_string(),
                figures.wins.to_string(),
                figures.draws.to_string(),
                figures.losses.to_string(),
                share(figures.score),
                elo,
                interval,
                share(figures.los),
            ]);
        }
        table
    }
}
