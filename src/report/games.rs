//! What games say of the evaluations of a comparison, beside what their losses say.

use serde::Serialize;

use super::compare::{Comparison, Pair};
use super::elo::{Anchor, Elo, Meeting, Met, Ratings, RatingsError, Verdict, ratings};
use crate::digits::counted;

/// Games between players, some of whom are evaluations of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// The players; no two have the same name.
    pub names: Vec<String>,
    pub meetings: Vec<Meeting>,
    /// How they were played, a fact and its value.
    pub manner: Vec<(String, String)>,
}

/// What games say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Games {
    /// Who has 0 Elo; None for the mean of the players.
    pub zero: Option<String>,
    /// Where more than two have played.
    pub ratings: Option<Ratings>,
    pub meetings: Vec<Met>,
    /// How they were played, a fact and its value.
    pub manner: Vec<(String, String)>,
    /// Who is stronger, and whether loss and Elo agree, in words.
    pub sentences: Vec<String>,
}

impl Comparison {
    /// Adds what games say: Elo of each evaluation that played, above the first of the table that
    /// did, and who is stronger. Players that are evaluations are called as the table calls them.
    ///
    /// # Errors
    /// If the players cannot be rated, see [`RatingsError`].
    pub fn add_games(&mut self, played: &Played) -> Result<(), RatingsError> {
        let mut names = played.names.clone();
        for one in self.evaluations.iter().rev() {
            if let Some(player) = one.player
                && !names.contains(&one.name)
            {
                names[player].clone_from(&one.name);
            }
        }
        let zero = self.evaluations.iter().find_map(|one| one.player);
        let anchor = zero.map_or(Anchor::Mean, Anchor::Player);
        let rated = ratings(&names, &played.meetings, anchor)?;
        let alone = match &played.meetings[..] {
            [meeting] if names.len() == 2 => Some(meeting),
            _ => None,
        };
        let elo = |player: usize| match (alone, zero) {
            // As the match itself says it.
            (Some(_), Some(zero)) if zero == player => rated.elo(player),
            (Some(Meeting { players, pairs }), Some(_)) if players[0] == player => pairs.elo(),
            (Some(Meeting { pairs, .. }), Some(_)) => pairs.turned().elo(),
            _ => rated.elo(player),
        };
        for one in &mut self.evaluations {
            one.elo = one.player.map(elo);
        }
        let verdicts = match alone {
            Some(Meeting { players, pairs }) => {
                vec![Verdict::of_match(players.map(|player| &names[player][..]), pairs)]
            }
            None => rated.verdicts.clone(),
        };
        let ours = self.evaluations.iter().filter(|one| one.player.is_some()).count() > 1;
        let told = |name: &str| {
            let is = |player: usize| names[player] == name;
            !ours || self.evaluations.iter().any(|one| one.player.is_some_and(is))
        };
        let ranked = rated.players.iter().map(|one| &one.name[..]).filter(|name| told(name));
        let ranked: Vec<&str> = ranked.collect();
        let between = |two: &[&str]| {
            let same =
                |it: &&Verdict| two.contains(&&it.stronger[..]) && two.contains(&&it.weaker[..]);
            verdicts.iter().find(same)
        };
        let neighbours = ranked.windows(2).filter_map(between).map(Verdict::sentence);
        let sentences = neighbours.chain(self.agreement(&names, &verdicts)).collect();
        self.games = Some(Games {
            zero: zero.map(|zero| names[zero].clone()),
            meetings: played.meetings.iter().map(|meeting| Met::of(&names, meeting)).collect(),
            manner: played.manner.clone(),
            sentences,
            ratings: (names.len() > 2).then_some(rated),
        });
        Ok(())
    }

    /// Whether who has the lower loss is the stronger, where both are decided; None where they
    /// never are.
    fn agreement(&self, names: &[String], verdicts: &[Verdict]) -> Option<String> {
        let player = |name: &str| {
            let one = self.evaluations.iter().find(|one| one.name == name)?;
            Some(&names[one.player?])
        };
        let (mut agree, mut differ) = (0, Vec::new());
        for Pair { better, worse, .. } in self.pairs.iter().filter(|pair| pair.decided) {
            let (Some(a), Some(b)) = (player(better), player(worse)) else { continue };
            let decided = |it: &&Verdict| it.decided;
            let is = |it: &Verdict, stronger: &str, weaker: &str| {
                it.stronger == stronger && it.weaker == weaker
            };
            if verdicts.iter().filter(decided).any(|it| is(it, a, b)) {
                agree += 1;
            } else if verdicts.iter().filter(decided).any(|it| is(it, b, a)) {
                differ.push(format!("{better} has the lower loss, {worse} the higher Elo"));
            }
        }
        let both = agree + differ.len() as u64;
        let lead = || {
            let pairs = counted(both, "pair");
            format!("Loss and Elo both decide {pairs} of evaluations, and agree on {agree}")
        };
        (both > 0).then(|| match &differ[..] {
            [] => format!("{}.", lead()),
            _ => format!("{}: {}.", lead(), differ.join("; ")),
        })
    }
}

impl Games {
    /// What Elo is above, and how the games were played.
    pub fn basis(&self) -> String {
        let zero = match &self.zero {
            Some(zero) => format!("that of {zero} is 0"),
            None => "the mean of the players is 0".to_string(),
        };
        let facts = self.manner.iter().map(|(fact, value)| format!("; {fact}: {value}"));
        format!("Elo: {zero}{}.", facts.collect::<String>())
    }
}

/// Elo and its interval, as cells of a table; dashes for who did not play.
pub(super) fn cells(elo: Option<Elo>) -> [String; 2] {
    elo.map_or(["-".to_string(), "-".to_string()], |elo| elo.cells())
}
