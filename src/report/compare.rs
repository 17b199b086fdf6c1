//! Comparison of several evaluations on the same positions, against the results of the games.
//! Verdicts use Holm's correction (1979): the probability of any false verdict is 5 %.

use serde::Serialize;

use super::chance::OpenVerdict;
use super::elo::{Elo, PairedGames, PlayerDifference, rate_players};
use super::estimate::{Estimate, FEW_GROUPS, Groups, Means};
use super::fitted::FittedEvaluation;
use super::table::{format_share, legend_lines, with_half_width, wrap_all};
use super::{TextTable, chance};
use crate::digits::group_digits;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub measured_on: MeasuredPositions,
    pub noun: &'static str,
    /// Whether games are known. Else positions count as games, and every interval is a lower bound.
    pub games_known: bool,
    /// Evaluations in the order of their losses, the smallest first.
    pub evaluations: Vec<MeasuredEvaluation>,
    /// All pairs; the evaluation with the smaller loss comes first.
    pub pairs: Vec<EvaluationPair>,
    /// Games between some of the evaluations.
    pub games: Option<Games>,
    /// Whether no evaluation was trained or chosen on the positions. The caller sets it.
    pub unseen: bool,
    /// Reasons why these positions name no winner.
    pub cautions: Vec<String>,
    /// Facts about the positions. The caller sets them.
    pub notes: Vec<String>,
}

/// A match between some of the evaluations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Games {
    pub count: u64,
    /// Nodes per move; None if games differ or do not say.
    pub nodes: Option<u64>,
    /// The player of 0 Elo; None for the mean of all.
    pub zero: Option<String>,
    /// Verdicts on all pairs of players, in the order of their ranking.
    pub verdicts: Vec<PlayerDifference>,
}

impl Games {
    /// Formats the title of a column: "Elo, 200 nodes".
    pub fn title(&self) -> String {
        match self.nodes {
            Some(nodes) => format!("Elo, {} nodes", group_digits(nodes)),
            None => "Elo".to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MeasuredPositions {
    pub positions: usize,
    pub groups: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredEvaluation {
    /// 1 for the smallest loss.
    pub rank: usize,
    pub name: String,
    /// Other explanations of a low loss.
    pub cautions: Vec<String>,
    pub bound: bool,
    /// Best scale in centipawns, a geometric mean over parts; None for a constant.
    pub scale: Option<f64>,
    /// Whether the best scale lies at a border of the search and means nothing.
    pub at_border: bool,
    /// Mean squared error against the results.
    pub loss: Estimate,
    /// Mean squared error against the targets, with the scale fitted to the results.
    pub loss_target: Option<Estimate>,
    /// Logistic Elo by games; None if it did not play.
    pub elo: Option<Elo>,
    /// Index among the players of these games.
    #[serde(skip)]
    pub player: Option<usize>,
}

/// Two evaluations on the same positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationPair {
    pub better: String,
    pub worse: String,
    /// Loss of the worse evaluation minus the loss of the better one.
    pub difference: Estimate,
    pub z: Option<f64>,
    /// Whether both are one net, in floats and in integers: nothing is decided.
    pub rounding: bool,
    /// Whether the difference is significant, corrected for neighbours or all pairs.
    pub decided: bool,
    pub why: Option<String>,
}

/// Measures evaluations, each at its own best scale, fitted on other groups.
pub fn compare(
    evaluations: &[Predictions],
    truth: &PositionFacts,
) -> Result<Comparison, CompareError> {
    let groups = truth.group_games();
    Ok(measure_fitted(&FittedEvaluation::fit_all(evaluations, truth, &groups)?, truth, &groups))
}

/// Compares evaluations whose scales are fitted to the groups.
pub(super) fn measure_fitted(
    fitted: &[FittedEvaluation],
    truth: &PositionFacts,
    groups: &Groups,
) -> Comparison {
    // Columns: losses against the results, then against the targets.
    let count = fitted.len();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for against in std::iter::once(&truth.results).chain(&truth.targets) {
        columns.extend(fitted.iter().map(|it| it.group_errors(against)));
    }
    let means = Means::new(groups, &columns);

    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| means.mean_of_column(*a).mean.total_cmp(&means.mean_of_column(*b).mean));
    let measure = |(rank, i): (usize, &usize)| {
        let Predictions { name, cautions, bound, player, .. } = fitted[*i].evaluation;
        MeasuredEvaluation {
            rank: rank + 1,
            name: name.clone(),
            cautions: cautions.clone(),
            bound: *bound,
            scale: fitted[*i].mean_scale(),
            at_border: fitted[*i].is_at_border(),
            loss: means.mean_of_column(*i),
            loss_target: truth.targets.as_ref().map(|_| means.mean_of_column(count + i)),
            elo: None,
            player: *player,
        }
    };
    let general = general_reason(truth, groups);
    let mut pairs = Vec::new();
    for (rank, better) in order.iter().enumerate() {
        for worse in &order[rank + 1..] {
            let difference = means.difference_of_columns(*worse, *better);
            let both = [*better, *worse].map(|index| &fitted[index]);
            let [better, worse] = both.map(|it| it.evaluation);
            let rounding = better.net.is_some() && better.net == worse.net;
            let at_border = both.into_iter().find(|it| it.is_at_border()).map(|fit| {
                let name = &fit.evaluation.name;
                format!("the best scale of {name} lies at the border of the search")
            });
            let rounded = rounding.then(|| "they differ by rounding".to_string());
            let why = general.clone().or(rounded).or(at_border);
            pairs.push(EvaluationPair {
                better: better.name.clone(),
                worse: worse.name.clone(),
                difference,
                z: difference.z_score(),
                rounding,
                decided: false,
                why,
            });
        }
    }
    let verdicts = pairs.iter_mut().map(|EvaluationPair { difference, decided, why, .. }| {
        let contains_zero = difference.contains_zero();
        OpenVerdict { p: difference.p, contains_zero, decided, why }
    });
    chance::decide_verdicts(verdicts, count);
    Comparison {
        measured_on: MeasuredPositions { positions: groups.record_count(), groups: groups.len() },
        noun: truth.noun,
        games_known: truth.games_known,
        evaluations: order.iter().enumerate().map(measure).collect(),
        pairs,
        games: None,
        unseen: false,
        cautions: truth.cautions.clone(),
        notes: Vec::new(),
    }
}

/// Returns the reason why these data name no winner at all, if any.
fn general_reason(truth: &PositionFacts, groups: &Groups) -> Option<String> {
    let (groups, first) = (groups.len(), truth.results[0]);
    if let Some(caution) = truth.cautions.first() {
        return Some(caution.clone());
    }
    if !truth.games_known {
        return Some("games unknown".to_string());
    }
    if groups < FEW_GROUPS {
        return Some(format!("too few {} ({groups} of {FEW_GROUPS})", truth.noun));
    }
    if truth.results.iter().all(|result| *result == first) {
        return Some(format!("every result is {first}"));
    }
    None
}

impl Comparison {
    /// Formats the numbers of positions and games, and whether training saw them.
    pub fn head_line(&self) -> String {
        let [positions, groups] =
            [self.measured_on.positions, self.measured_on.groups].map(|it| group_digits(it as u64));
        let unseen = if self.unseen { "; nothing was trained or chosen on them" } else { "" };
        match self.games_known {
            true => format!("{positions} positions of {groups} {}{unseen}", self.noun),
            false => format!("{positions} {}, games unknown{unseen}", self.noun),
        }
    }

    /// Formats the comparison as it is printed; `verbose` adds all pairs and all notes.
    pub fn to_text(&self, verbose: bool) -> String {
        let mut text = format!("{}\n{}", wrap_all([self.head_line()]), self.to_table(verbose));
        let legend = wrap_all(self.legend_lines(verbose));
        if !legend.is_empty() {
            text += &format!("\n{legend}");
        }
        if verbose && self.pairs.len() > 1 {
            text += &format!("\n{}", self.pair_table());
        }
        text
    }

    /// Formats the difference of the first two evaluations with its interval, as a sentence.
    pub fn gain_sentence(&self) -> String {
        let EvaluationPair { better, worse, difference, .. } = &self.pairs[0];
        if difference.mean == 0.0 {
            return format!("{better} and {worse} have the same loss.");
        }
        let [mean, half] = with_half_width(difference);
        let noise = if difference.contains_zero() { ", so it may be noise" } else { "" };
        format!("{better} has a lower loss than {worse} by {mean} ± {half} (95 %, paired){noise}.")
    }

    /// Makes a table of the evaluations. `verbose` adds the loss against targets.
    pub fn to_table(&self, verbose: bool) -> TextTable {
        let targets =
            verbose && self.evaluations.iter().any(|evaluation| evaluation.loss_target.is_some());
        let elo = self.games.as_ref().map(Games::title);
        let mut columns = vec!["<evaluation", "loss", "± 95 %", "<vs next"];
        columns.extend(elo.as_deref());
        columns.push("scale");
        columns.extend(targets.then_some("to target"));
        let mut table = TextTable::with_titles(&columns);
        for (rank, evaluation) in self.evaluations.iter().enumerate() {
            let scale = evaluation.scale.map_or("-".to_string(), |scale| format!("{scale:.0}"));
            let mark = if evaluation.at_border { " (border)" } else { "" };
            let half = evaluation.loss.half_width().map_or("-".to_string(), format_share);
            let mut cells = vec![evaluation.name.clone(), format_share(evaluation.loss.mean), half];
            cells.push(self.vs_next(rank).to_string());
            if elo.is_some() {
                cells.push(evaluation.elo.map_or("-".to_string(), |elo| elo.format_cell()));
            }
            cells.push(scale + mark);
            // A cell without a column is dropped.
            cells.extend(evaluation.loss_target.map(|it| format_share(it.mean)));
            table.add_row(cells);
        }
        table
    }

    /// Iterates over the pairs of neighbours in the ranking, in order.
    fn neighbour_pairs(&self) -> impl Iterator<Item = &EvaluationPair> {
        chance::neighbour_indices(self.evaluations.len()).into_iter().map(|pair| &self.pairs[pair])
    }

    /// Returns the verdict on an evaluation and the next one.
    fn vs_next(&self, rank: usize) -> &'static str {
        let MeasuredEvaluation { bound, cautions, .. } = &self.evaluations[rank];
        match self.neighbour_pairs().nth(rank) {
            None => "",
            Some(_) if *bound => "(search)",
            Some(pair) if pair.rounding => "rounding",
            Some(pair) if pair.decided && cautions.is_empty() => BETTER,
            Some(_) => "unclear",
        }
    }

    /// Explains the verdicts, and why some are open.
    pub fn legend_lines(&self, verbose: bool) -> Vec<String> {
        let count = self.pairs.len().min(self.evaluations.len() - 1);
        let has_better = (0..count).any(|rank| self.vs_next(rank) == BETTER);
        let meaning = "lower loss than the next line, 95 % over games";
        // The head line says that games are unknown.
        let has_reasons = self.games_known || !self.cautions.is_empty();
        let open = self.neighbour_pairs().filter(|it| !it.rounding && has_reasons);
        let mut lines =
            legend_lines(has_better.then_some((meaning, count)), open.map(|it| &it.why));
        let cautions = self.evaluations.iter().filter_map(|it| it.cautions.split_first());
        lines.extend(cautions.clone().map(|(first, _)| format!("unclear: {first}")));
        if verbose {
            lines.extend(cautions.flat_map(|(_, more)| more).chain(&self.notes).cloned());
            lines.push(
                "loss: mean squared error of sigmoid(cp / scale) against the results".to_string(),
            );
            lines.push(format!("scale: for each fifth of the {}, fitted on the others", self.noun));
        }
        lines
    }

    pub fn pair_table(&self) -> TextTable {
        let titles = ["<lower loss", "<higher loss", "difference", "± 95 %", "<decided"];
        let mut table = TextTable::with_titles(&titles);
        for EvaluationPair { better, worse, difference, decided, .. } in &self.pairs {
            let [mean, half] = with_half_width(difference);
            let decided = if *decided { "yes" } else { "no" };
            table.add_row([&better[..], worse, &mean, &half, decided]);
        }
        table
    }
}

pub(super) const BETTER: &str = "better";

#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    pub name: String,
    /// Centipawns for the side to move, one per position. None for a constant, which predicts the
    /// mean result of all positions.
    pub cp: Option<Vec<f64>>,
    /// Other explanations of a low loss; an evaluation that has any is no winner.
    pub cautions: Vec<String>,
    /// Whether it is a bound, such as the search that labelled the positions: never a winner.
    pub bound: bool,
    /// Number that the floats and the integers of one net share: neither wins.
    pub net: Option<usize>,
    /// Index among the players of a match, if it played.
    pub player: Option<usize>,
}

impl Predictions {
    pub fn new(name: impl Into<String>, cp: Vec<f64>) -> Self {
        let (name, cp) = (name.into(), Some(cp));
        Self { name, cp, cautions: Vec::new(), bound: false, net: None, player: None }
    }

    pub fn of_constant() -> Self {
        Self { cp: None, ..Self::new("constant", Vec::new()) }
    }

    /// Returns the centipawns of a position; None for a constant.
    pub(super) fn centipawns(&self, i: usize) -> Option<f64> {
        self.cp.as_ref().map(|cp| cp[i])
    }
}

/// Facts about the positions, one entry per position.
#[derive(Clone, Debug)]
pub struct PositionFacts {
    /// Results, 0 to 1, from the side to move's point of view.
    pub results: Vec<f64>,
    /// Probabilities, 0 to 1, to measure a second loss against.
    pub targets: Option<Vec<f64>>,
    /// Key of each position's game.
    pub groups: Vec<u64>,
    /// Noun of the groups: "games", "test games".
    pub noun: &'static str,
    /// Whether the groups are games; else no winner is named.
    pub games_known: bool,
    /// Reasons why these data name no winner, such as results with the wrong point of view.
    pub cautions: Vec<String>,
}

impl PositionFacts {
    pub(super) fn group_games(&self) -> Groups {
        Groups::new(self.groups.iter().copied(), self.games_known)
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    #[error("no evaluation or no position to compare")]
    Nothing,
    #[error("{name} has no finite value for position {position} (from 0)")]
    Value { name: String, position: usize },
    #[error("{groups} {noun} cannot be split into parts for fitting scales; give more")]
    Parts { groups: usize, noun: &'static str },
}

pub(super) fn check_lengths(
    evaluations: &[Predictions],
    truth: &PositionFacts,
) -> Result<(), CompareError> {
    let positions = truth.results.len();
    if evaluations.is_empty() || positions == 0 {
        return Err(CompareError::Nothing);
    }
    assert_eq!(truth.groups.len(), positions);
    assert!(truth.targets.as_ref().is_none_or(|targets| targets.len() == positions));
    for evaluation in evaluations {
        let Some(cp) = &evaluation.cp else { continue };
        assert_eq!(cp.len(), positions);
        if let Some(position) = cp.iter().position(|value| !value.is_finite()) {
            return Err(CompareError::Value { name: evaluation.name.clone(), position });
        }
    }
    Ok(())
}

/// Games between players, some of which are evaluations of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayedGames {
    /// The players; no two have the same name.
    pub names: Vec<String>,
    pub meetings: Vec<PairedGames>,
    /// Nodes per move; None if games differ or do not say.
    pub nodes: Option<u64>,
}

impl Comparison {
    /// Adds the Elo of each evaluation that played, above the first of the table that played.
    pub fn add_games(&mut self, played: &PlayedGames) {
        let mut names = played.names.clone();
        for evaluation in self.evaluations.iter().rev() {
            if let Some(player) = evaluation.player
                && !names.contains(&evaluation.name)
            {
                names[player].clone_from(&evaluation.name);
            }
        }
        let zero = self.evaluations.iter().find_map(|evaluation| evaluation.player);
        let rated = rate_players(&names, &played.meetings, zero);
        // Two players have the Elo of their match.
        let only_meeting = match &played.meetings[..] {
            [meeting] if names.len() == 2 => Some(meeting),
            _ => None,
        };
        for evaluation in &mut self.evaluations {
            evaluation.elo = evaluation.player.map(|player| match only_meeting {
                Some(PairedGames { players, pairs }) if zero != Some(player) => {
                    if players[0] == player {
                        pairs.elo_difference()
                    } else {
                        pairs.reverse_players().elo_difference()
                    }
                }
                _ => rated.elo_of(player),
            });
        }
        let verdicts = only_meeting.map_or(rated.verdicts, |PairedGames { players, pairs }| {
            vec![PlayerDifference::from_match(players.map(|player| &names[player][..]), pairs)]
        });
        self.games = Some(Games {
            count: 2 * played.meetings.iter().map(|it| it.pairs.len()).sum::<u64>(),
            nodes: played.nodes,
            zero: zero.map(|zero| names[zero].clone()),
            verdicts,
        });
    }
}
