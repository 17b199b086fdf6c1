//! Comparison of several evaluations on the same positions, against the results of the games.
//! Verdicts use Holm's correction (1979): any verdict of a comparison is false with 5 %
//! probability.

use serde::Serialize;

use super::elo::{Elo, Meeting, Verdict, ratings};
use super::estimate::{Estimate, FEW_GROUPS, Groups, Means};
use super::fitted::FittedEvaluation;
use super::table::{UNKNOWN, amount, between, interval, loss, wrap};
use super::{Table, chance};
use crate::digits::grouped;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub measured_on: Records,
    pub noun: &'static str,
    /// If not, positions count as games: every interval is a lower bound, and nothing is decided.
    pub games_known: bool,
    /// By loss, the smallest first.
    pub evaluations: Vec<MeasuredEvaluation>,
    /// All pairs, the one with the smaller loss first.
    pub pairs: Vec<Pair>,
    /// On games between some of them: how they were played, and which is stronger.
    pub games: Vec<String>,
    pub sentences: Vec<String>,
    /// The positions that were measured, and open questions about them.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Records {
    pub positions: usize,
    pub groups: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredEvaluation {
    /// 1 for the smallest loss.
    pub rank: usize,
    pub name: String,
    /// Another explanation of a low loss.
    pub doubt: Option<String>,
    pub bound: bool,
    /// The best scale in centipawns, a geometric mean over parts; none for a constant.
    pub scale: Option<f64>,
    /// Whether the best scale lies at a border of the search and means nothing.
    pub at_border: bool,
    /// Mean squared error against the results.
    pub loss: Estimate,
    /// Mean squared error against the targets, with the scale fitted to the results.
    pub loss_target: Option<Estimate>,
    /// Logistic Elo by games; None if it did not play.
    pub elo: Option<Elo>,
    /// Its place among the players of these games.
    #[serde(skip)]
    pub player: Option<usize>,
}

/// Two evaluations on the same positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub better: String,
    pub worse: String,
    /// The loss of the worse minus that of the better.
    pub difference: Estimate,
    pub z: Option<f64>,
    /// Whether they are floats and integers of one net: nothing is decided.
    pub rounding: bool,
    /// Whether the better one is significantly better, corrected for neighbours or all pairs.
    pub decided: bool,
    pub why: Option<String>,
}

/// Measures evaluations, each at its own best scale, fitted on other groups.
pub fn compare(evaluations: &[Predictions], truth: &Truth) -> Result<Comparison, CompareError> {
    let groups = truth.grouped();
    let fitted = FittedEvaluation::all(evaluations, truth, &groups)?;
    Ok(measure(evaluations, truth, &groups, &fitted))
}

/// The comparison with fitted scales and groups.
pub(super) fn measure(
    evaluations: &[Predictions],
    truth: &Truth,
    groups: &Groups,
    fitted: &[FittedEvaluation],
) -> Comparison {
    // Columns: losses against the results, then against the targets.
    let count = evaluations.len();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for against in std::iter::once(&truth.results).chain(&truth.targets) {
        let each = evaluations.iter().zip(fitted);
        columns.extend(each.map(|(one, fitted)| fitted.errors(one, truth, groups, against)));
    }
    let means = Means::new(groups, &columns);

    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| means.mean(*a).mean.total_cmp(&means.mean(*b).mean));
    let measured = |(rank, i): (usize, &usize)| MeasuredEvaluation {
        rank: rank + 1,
        name: evaluations[*i].name.clone(),
        doubt: evaluations[*i].doubt.clone(),
        bound: evaluations[*i].bound,
        scale: fitted[*i].scale(),
        at_border: fitted[*i].at_border(),
        loss: means.mean(*i),
        loss_target: truth.targets.as_ref().map(|_| means.mean(count + i)),
        elo: None,
        player: evaluations[*i].player,
    };
    let mut pairs = Vec::new();
    for (rank, better) in order.iter().enumerate() {
        for worse in &order[rank + 1..] {
            let difference = means.difference(*worse, *better);
            let nets = [*better, *worse].map(|place| evaluations[place].net);
            pairs.push(Pair {
                better: evaluations[*better].name.clone(),
                worse: evaluations[*worse].name.clone(),
                difference,
                z: difference.z(),
                rounding: nets[0].is_some() && nets[0] == nets[1],
                decided: false,
                why: None,
            });
        }
    }
    let mut comparison = Comparison {
        measured_on: Records { positions: groups.records(), groups: groups.len() },
        noun: truth.noun,
        games_known: truth.games_known,
        evaluations: order.iter().enumerate().map(measured).collect(),
        pairs,
        games: Vec::new(),
        sentences: Vec::new(),
        notes: Vec::new(),
    };
    comparison.decide(truth);
    comparison.conclude();
    comparison
}

impl Comparison {
    /// Decides every pair, or states why it is undecided.
    fn decide(&mut self, truth: &Truth) {
        let general = self.against_all(truth);
        let border = |name: &str| self.evaluations.iter().any(|it| it.at_border && it.name == name);
        // The reasons against a verdict, whatever the numbers are.
        for pair in &mut self.pairs {
            let at_border = [&pair.better, &pair.worse].into_iter().find(|name| border(name));
            let of_scale =
                |name| format!("the best scale of {name} lies at the border of the search");
            pair.why = match pair.rounding {
                _ if general.is_some() => general.clone(),
                true => Some("they differ by rounding".to_string()),
                false => at_border.map(of_scale),
            };
        }
        let of = |Pair { difference, why, .. }: &Pair| {
            (difference.p.filter(|_| why.is_none()), difference.contains_zero())
        };
        let differences: Vec<_> = self.pairs.iter().map(of).collect();
        let open = chance::open(&differences, self.evaluations.len());
        for (pair, open) in self.pairs.iter_mut().zip(open) {
            pair.why = pair.why.take().or(open.map(str::to_string));
            pair.decided = pair.why.is_none();
        }
    }

    /// Reason why these data name no winner at all, if any.
    fn against_all(&self, truth: &Truth) -> Option<String> {
        let (groups, first) = (self.measured_on.groups, truth.results[0]);
        if !truth.games_known {
            return Some("games unknown".to_string());
        }
        if groups < FEW_GROUPS {
            return Some(format!("{groups} {}, fewer than {FEW_GROUPS}", self.noun));
        }
        if truth.results.iter().all(|result| *result == first) {
            return Some(format!("every result is {first}"));
        }
        truth.doubt.clone()
    }

    /// Adds sentences about neighbours in the ranking.
    fn conclude(&mut self) {
        let [positions, groups] =
            [self.measured_on.positions, self.measured_on.groups].map(|it| grouped(it as u64));
        let on = match self.noun.ends_with("positions") {
            true => format!("{positions} {}", self.noun),
            false => format!("{positions} positions of {groups} {}", self.noun),
        };
        if self.pairs.is_empty() {
            self.sentences.push(format!("Measured on {on}; nothing to compare with."));
        }
        let mut lead = format!("On {on}, ");
        for (rank, place) in chance::neighbours(self.evaluations.len()).into_iter().enumerate() {
            let verdict = verdict(&self.pairs[place], &self.evaluations[rank]);
            self.sentences.push(std::mem::take(&mut lead) + &verdict);
        }
    }

    /// The table and the sentences, as printed.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.table());
        self.basis().iter().for_each(|line| wrap(line, &mut text));
        self.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
        if !self.games.is_empty() {
            text.push('\n');
            self.games.iter().for_each(|sentence| wrap(sentence, &mut text));
        }
        text
    }

    /// One line an evaluation, the smallest loss first.
    pub fn table(&self) -> Table {
        let targets = self.evaluations.iter().any(|one| one.loss_target.is_some());
        let mut columns = vec!["<evaluation", "loss", "95 % interval"];
        if !self.games.is_empty() {
            columns.extend(["Elo", "its 95 % interval"]);
        }
        columns.push("scale, cp");
        columns.extend(targets.then_some("to target"));
        let mut table = Table::titled(&columns).width(120);
        for one in &self.evaluations {
            let scale = one.scale.map_or("-".to_string(), |scale| format!("{scale:.0}"));
            let mark = if one.at_border { " (border)" } else { "" };
            let mut cells = vec![one.name.clone(), loss(one.loss.mean), interval(&one.loss)];
            if !self.games.is_empty() {
                cells.extend(one.elo.map_or(["-", "-"].map(str::to_string), |elo| elo.cells()));
            }
            cells.push(scale + mark);
            cells.extend(one.loss_target.map(|estimate| loss(estimate.mean)));
            table.row(cells);
        }
        table
    }

    pub fn pair_table(&self) -> Table {
        let mut table = Table::titled(&[
            "<lower loss",
            "<higher loss",
            "difference",
            "95 % interval",
            "<decided",
        ]);
        for pair in &self.pairs {
            let decided = pair.why.as_ref().map_or("yes".to_string(), |why| format!("no: {why}"));
            let (mean, between) = (loss(pair.difference.mean), interval(&pair.difference));
            table.row([&pair.better[..], &pair.worse, &mean, &between, &decided]);
        }
        table
    }

    pub(super) fn basis(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "Loss: mean squared error of sigmoid(cp / scale) against the results; scale: for each \
             fifth of the {}, fitted on the others.",
            self.noun
        )];
        lines.extend((!self.games_known).then(|| UNKNOWN.to_string()));
        lines
    }
}

/// The winner of a pair, with doubts about it; or why there is none.
fn verdict(pair: &Pair, first: &MeasuredEvaluation) -> String {
    let Pair { better, worse, difference, .. } = pair;
    if difference.mean == 0.0 && difference.interval == Some([0.0; 2]) {
        return format!("{better} and {worse} have the same loss.");
    }
    let by = amount(difference.mean) + &between(difference);
    let lead = format!("{better}'s loss is lower than {worse}'s by {by}");
    match (&pair.why, &first.doubt) {
        (Some(why), _) if pair.rounding => format!("{lead}; {why}: no contest."),
        (Some(why), _) => format!("{lead}; {why}: these data cannot tell."),
        (None, _) if first.bound => format!("{lead}; it is a bound, from a search, and no rival."),
        (None, Some(doubt)) => format!("{lead}: {better} wins, but {doubt}."),
        (None, None) => format!("{lead}: {better} wins."),
    }
}

/// An evaluation's values, one a position.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Centipawns for the side to move.
    Cp(Vec<f64>),
    /// The mean result for every position.
    Constant,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    pub name: String,
    pub values: Values,
    /// Another explanation of a low loss, printed behind "but" in a verdict.
    pub doubt: Option<String>,
    /// Whether it is a bound, such as the search that labelled the positions: never a winner.
    pub bound: bool,
    /// Number shared by floats and integers of one net: neither wins.
    pub net: Option<usize>,
    /// Its place among the players of a match, if it played.
    pub player: Option<usize>,
}

impl Predictions {
    /// Centipawns for the side to move.
    pub fn new(name: impl Into<String>, cp: Vec<f64>) -> Self {
        Self::of(name, Values::Cp(cp))
    }

    pub fn constant() -> Self {
        Self::of("constant", Values::Constant)
    }

    pub fn of(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, doubt: None, bound: false, net: None, player: None }
    }

    pub(super) fn centipawns(&self) -> Option<&[f64]> {
        match &self.values {
            Values::Cp(cp) => Some(cp),
            Values::Constant => None,
        }
    }
}

/// Facts about the positions, one entry a position.
#[derive(Clone, Debug)]
pub struct Truth {
    /// 0 to 1, from the side to move's point of view.
    pub results: Vec<f64>,
    /// Probabilities, 0 to 1, to measure a second loss against.
    pub targets: Option<Vec<f64>>,
    /// Equal for positions of one game.
    pub groups: Vec<u64>,
    /// Noun of the groups: "games", "test games".
    pub noun: &'static str,
    /// Whether the groups are games; else no winner is named.
    pub games_known: bool,
    /// Reason why these data name no winner, such as results with the wrong point of view.
    pub doubt: Option<String>,
}

impl Truth {
    pub fn of_games(results: &[f64], groups: &[u64], noun: &'static str) -> Self {
        let (results, groups) = (results.to_vec(), groups.to_vec());
        Self { results, targets: None, groups, noun, games_known: true, doubt: None }
    }

    pub(super) fn grouped(&self) -> Groups {
        Groups::new(self.groups.iter().copied()).known(self.games_known)
    }
}

/// Reason why numbers cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("no evaluation or no position to compare")]
    Nothing,
    #[error("{name} has no finite value for position {position} (from 0)")]
    Value { name: String, position: usize },
    #[error("{groups} {noun} cannot be split into parts for fitting scales; give more")]
    Parts { groups: usize, noun: &'static str },
}

pub(super) fn check(evaluations: &[Predictions], truth: &Truth) -> Result<(), CompareError> {
    let positions = truth.results.len();
    if evaluations.is_empty() || positions == 0 {
        return Err(CompareError::Nothing);
    }
    assert_eq!(truth.groups.len(), positions);
    assert!(truth.targets.as_ref().is_none_or(|targets| targets.len() == positions));
    for one in evaluations {
        let cp = one.centipawns().unwrap_or_default();
        assert!(cp.len() == positions || one.values == Values::Constant);
        if let Some(position) = cp.iter().position(|value| !value.is_finite()) {
            return Err(CompareError::Value { name: one.name.clone(), position });
        }
    }
    Ok(())
}

/// Games between players, some of which are evaluations of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayedGames {
    /// The players; no two have the same name.
    pub names: Vec<String>,
    pub meetings: Vec<Meeting>,
}

impl Comparison {
    /// Adds Elo of each evaluation that played, above the first of the table that did.
    pub fn add_games(&mut self, played: &PlayedGames) {
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
                Some(Meeting { pairs, .. }) => pairs.reversed().elo(),
                None => rated.elo(player),
            });
        }
        let zero = match zero {
            Some(zero) => format!("that of {} is 0", names[zero]),
            None => "the mean of the players is 0".to_string(),
        };
        let games = 2 * played.meetings.iter().map(|it| it.pairs.len()).sum::<u64>();
        self.games = vec![format!("Elo over {} games: {zero}.", grouped(games))];
        match alone {
            Some(Meeting { players, pairs }) => {
                let names = players.map(|player| &names[player][..]);
                self.games.push(Verdict::of_match(names, pairs).sentence());
            }
            None => self.games.extend(rated.players.windows(2).filter_map(|two| {
                let is = |it: &&Verdict| it.stronger == two[0].name && it.weaker == two[1].name;
                rated.verdicts.iter().find(is).map(Verdict::sentence)
            })),
        }
    }
}
