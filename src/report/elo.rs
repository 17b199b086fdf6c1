//! Elo of matches. A pair of games with colours reversed is one observation; the pentanomial counts
//! of [`PairCounts`] are sufficient. Logistic Elo is `-400 log10(1 / m - 1)` of the mean score
//! `m`, its 95 % interval that of `m ± 1.96 sqrt(v / n)` over `n` pairs. If all pairs are equal,
//! the share of different ones is below `1 - 0.025^(1 / n)`. Sources: M. Van den Bergh, "Comments on
//! Normalized Elo" (2020); fastchess.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::chance::{self, OpenVerdict};
use super::compare::BETTER;
use super::table::{TextTable, legend_lines};
use crate::digits::format_decimal_percent;
use crate::linear::{Cholesky, DenseMatrix};
use crate::loss::sigmoid;

/// The fewest pairs with which a winner is named.
pub const FEW_PAIRS: u64 = 30;
/// Score of a game by the index in [`PairCounts`].
const SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Half-width of a 95 % interval in standard errors.
const Z: f64 = 1.959_963_984_540_054;

/// Numbers of pairs of games in which the first player scored 0, 0.5, 1, 1.5 and 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCounts(pub [u64; 5]);

impl PairCounts {
    /// Adds a pair, the result of each game being 0, 0.5 or 1.
    pub fn add(&mut self, [first, second]: [f64; 2]) {
        self.0[(2.0 * (first + second)) as usize] += 1;
    }

    /// Adds the pairs of another match of the same players, with the same point of view.
    pub fn add_pairs(&mut self, added: &Self) {
        self.0.iter_mut().zip(added.0).for_each(|(count, more)| *count += more);
    }

    /// Returns the pairs from the second player's point of view.
    pub fn reverse_players(&self) -> Self {
        let mut counts = self.0;
        counts.reverse();
        Self(counts)
    }

    pub fn len(&self) -> u64 {
        self.0.iter().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the mean score of a game, 0 to 1; None without pairs.
    pub fn mean_score(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.mean_over_pairs(|score| score))
    }

    /// Returns the variance of half a pair's score; 0 if all pairs are equal.
    pub fn score_variance(&self) -> Option<f64> {
        let middle = self.mean_score()?;
        // Rounding must not count as variance.
        let same = self.equal_score().is_some();
        Some(if same { 0.0 } else { self.mean_over_pairs(|score| (score - middle).powi(2)) })
    }

    /// Returns the 95 % interval of the mean score of a game, within 0 to 1; None without pairs.
    pub fn score_interval(&self) -> Option<[f64; 2]> {
        let (score, variance) = (self.mean_score()?, self.score_variance()?);
        if let Some(same) = self.equal_score() {
            let different = 1.0 - 0.025_f64.powf(1.0 / self.len() as f64);
            return Some([same * (1.0 - different), same * (1.0 - different) + different]);
        }
        let width = Z * (variance / self.len() as f64).sqrt();
        Some([(score - width).max(0.0), (score + width).min(1.0)])
    }

    /// Returns the difference in logistic Elo, above 0 where the first player is ahead.
    pub fn elo_difference(&self) -> Elo {
        let [low, high] = self.score_interval().map_or([None; 2], |ends| ends.map(logistic_elo));
        Elo { value: self.mean_score().and_then(logistic_elo), low, high }
    }

    /// Returns the probability that equal players have a score as far from a half; None without
    /// pairs. Student's t allows for few pairs. If all pairs are equal, it is an upper bound.
    pub fn p_value(&self) -> Option<f64> {
        let (score, variance) = (self.mean_score()?, self.score_variance()?);
        if let Some(same) = self.equal_score() {
            // If the mean is a half, at most this share of pairs can score so.
            let share = 0.5 / same.max(1.0 - same);
            return Some((2.0 * share.powf(self.len() as f64)).min(1.0));
        }
        let freedom = (self.len() - 1) as f64;
        Some(chance::two_sided((score - 0.5) / (variance / freedom).sqrt(), freedom))
    }

    /// Returns the score of all pairs, if they are equal.
    fn equal_score(&self) -> Option<f64> {
        let index = self.0.iter().position(|count| *count > 0)?;
        (self.0[index] == self.len()).then_some(SCORES[index])
    }

    fn mean_over_pairs(&self, value: impl Fn(f64) -> f64) -> f64 {
        let sum: f64 = self.0.iter().zip(SCORES).map(|(n, score)| *n as f64 * value(score)).sum();
        sum / self.len() as f64
    }
}

/// Elo with its 95 % interval. Numbers that the games do not bound are None.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Elo {
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Elo {
    pub const UNKNOWN: Self = Self { value: None, low: None, high: None };

    /// Returns half of the interval, which fastchess prints after "±"; None if an end is missing.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }

    /// Returns whether the interval contains both signs.
    pub fn contains_zero(&self) -> bool {
        self.low.is_none_or(|low| low <= 0.0) && self.high.is_none_or(|high| 0.0 <= high)
    }

    /// Formats as "+15 ± 49", with a decimal if it is narrow; the zero of a rating has no interval.
    pub fn format_cell(&self) -> String {
        match (self.value, self.half_width()) {
            (_, Some(0.0)) => "0".to_string(),
            (Some(value), Some(half)) if half < 10.0 => {
                format!("{} ± {half:.1}", format_signed(value))
            }
            (Some(value), Some(half)) => format!("{:+.0} ± {half:.0}", value.round() + 0.0),
            _ => self.format_interval(),
        }
    }

    /// Formats the interval alone: "-7.1 to +60.8", "above +120.3", "unknown".
    pub fn format_interval(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} to {}", format_signed(low), format_signed(high)),
            (Some(low), None) => format!("above {}", format_signed(low)),
            (None, Some(high)) => format!("below {}", format_signed(high)),
            (None, None) => "unknown".to_string(),
        }
    }
}

/// Formats as "+26.6 Elo (95 %: -7.1 to +60.8)", or "above +120.3 Elo" without a value.
impl fmt::Display for Elo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => {
                write!(f, "{} Elo (95 %: {})", format_signed(value), self.format_interval())
            }
            None => write!(f, "{} Elo", self.format_interval()),
        }
    }
}

/// Formats with a sign and one decimal; no negative zero.
fn format_signed(elo: f64) -> String {
    format!("{:+.1}", (elo * 10.0).round() / 10.0 + 0.0)
}

/// Returns the logistic Elo of a score; None at 0 and 1, where it is unbounded.
fn logistic_elo(score: f64) -> Option<f64> {
    let inside = 0.0 < score && score < 1.0;
    // Adding zero removes the sign of a negative zero.
    inside.then(|| -400.0 * (1.0 / score - 1.0).log10() + 0.0)
}

/// Returns the score, 0 to 1, that is expected at a difference in logistic Elo.
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}

/// Makes a table of meetings: pairs by their score, the mean score of a game, and Elo.
pub fn meetings_table(names: &[String], meetings: &[PairedGames]) -> TextTable {
    let columns = ["<player", "<against", "pairs", "0, 0.5, 1, 1.5, 2", "score", "Elo, ± 95 %"];
    let mut table = TextTable::with_titles(&columns);
    for PairedGames { players, pairs } in meetings {
        let [first, second] = players.map(|player| names[player].clone());
        let counts = pairs.0.map(|count| count.to_string()).join(", ");
        let (count, score) = (pairs.len().to_string(), format_score(pairs.mean_score()));
        table.add_row([first, second, count, counts, score, pairs.elo_difference().format_cell()]);
    }
    table
}

fn format_score(score: Option<f64>) -> String {
    score.map_or("-".to_string(), |score| format_decimal_percent(score, 1))
}

/// The difference of two players, the leading one first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlayerDifference {
    pub stronger: String,
    pub weaker: String,
    /// Logistic Elo of the stronger player above the weaker one.
    pub difference: Elo,
    /// Probability that equal players are as far apart; None if unknown.
    pub p: Option<f64>,
    pub decided: bool,
    pub why: Option<String>,
}

impl PlayerDifference {
    /// Returns the result of a match of two players. Pairs are from the first one's point of view.
    pub fn from_match(names: [&str; 2], pairs: &PairCounts) -> Self {
        let ahead = pairs.mean_score().is_none_or(|score| score >= 0.5);
        let [stronger, weaker] = if ahead { names } else { [names[1], names[0]] };
        let pairs = if ahead { *pairs } else { pairs.reverse_players() };
        let mut verdict = Self::open_for_pairs([stronger, weaker], &pairs);
        decide_verdicts(std::slice::from_mut(&mut verdict), 2);
        verdict
    }

    fn open_for_pairs(names: [&str; 2], pairs: &PairCounts) -> Self {
        Self::open_unless_few(names, pairs.elo_difference(), pairs.p_value(), pairs.len())
    }

    /// Returns an open verdict, with a reason if there are too few pairs.
    fn open_unless_few(names: [&str; 2], difference: Elo, p: Option<f64>, pairs: u64) -> Self {
        let [stronger, weaker] = names.map(str::to_string);
        let why = match pairs {
            0 => Some("no games measure them with each other".to_string()),
            FEW_PAIRS.. => None,
            _ => Some(format!("too few pairs ({pairs} of {FEW_PAIRS})")),
        };
        Self { stronger, weaker, difference, p, decided: false, why }
    }

    /// Formats the result of a match of two players as
    /// "a beats b: +59.6 Elo (95 %: +7.4 to +131.4), 50 pairs".
    pub fn format_line(&self, pairs: &PairCounts) -> String {
        let Self { stronger, weaker, difference, .. } = self;
        let verb = if self.decided { "beats" } else { "against" };
        let rest = match &self.why {
            Some(why) if pairs.len() < FEW_PAIRS => why.clone(),
            Some(why) => format!("{} pairs; unclear: {why}", pairs.len()),
            None => format!("{} pairs", pairs.len()),
        };
        format!("{stronger} {verb} {weaker}: {difference}, {rest}")
    }
}

/// Decides verdicts on all pairs of a ranking of `players` players.
fn decide_verdicts(verdicts: &mut [PlayerDifference], players: usize) {
    let open =
        verdicts.iter_mut().map(|PlayerDifference { p, difference, decided, why, .. }| {
            OpenVerdict { p: *p, contains_zero: difference.contains_zero(), decided, why }
        });
    chance::decide_verdicts(open, players);
}

/// A sequential test (A. Wald) of H0, the difference is `elo0`, against H1, it is `elo1`, each with
/// 5 % of error. LLR is the generalised log-likelihood ratio (M. Van den Bergh, "Comments on
/// Normalized Elo", 2020, proposition 1.1). As in fastchess, a count of 0 becomes a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sprt {
    pub elo0: f64,
    /// Above `elo0`.
    pub elo1: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Decision {
    GoOn,
    H0,
    H1,
}

impl Sprt {
    /// LLR at which H1 is accepted; H0 is accepted at its negative.
    pub const BOUND: f64 = 2.944_438_979_166_440_3;

    /// Creates a test; None unless `elo0` is below `elo1`, both within 1000.
    pub fn new(elo0: f64, elo1: f64) -> Option<Self> {
        (-1000.0 <= elo0 && elo0 < elo1 && elo1 <= 1000.0).then_some(Self { elo0, elo1 })
    }

    /// Returns the generalised log-likelihood ratio, above 0 for H1; 0 without pairs.
    pub fn log_likelihood_ratio(&self, pairs: &PairCounts) -> f64 {
        if pairs.is_empty() {
            return 0.0;
        }
        let counts = pairs.0.map(|count| if count == 0 { 1e-3 } else { count as f64 });
        let total: f64 = counts.iter().sum();
        let shares = counts.map(|count| count / total);
        let [h0, h1] = [self.elo0, self.elo1]
            .map(|elo| tilt_distribution(&shares, &SCORES.map(|it| it - expected_score(elo))));
        (0..5).map(|i| counts[i] * (h1[i] / h0[i]).ln()).sum()
    }

    /// Returns the decision after these pairs. Once H0 or H1 is accepted, it is final.
    pub fn decide_after(&self, pairs: &PairCounts) -> Decision {
        match self.log_likelihood_ratio(pairs) {
            llr if llr >= Self::BOUND => Decision::H1,
            llr if llr <= -Self::BOUND => Decision::H0,
            _ => Decision::GoOn,
        }
    }

    /// Says the LLR and the decision in words.
    pub fn decision_sentence(&self, pairs: &PairCounts) -> String {
        let (Self { elo0, elo1 }, bound) = (self, Self::BOUND);
        let llr =
            format!("LLR {:.2} ({:.2} to {bound:.2})", self.log_likelihood_ratio(pairs), -bound);
        match self.decide_after(pairs) {
            Decision::GoOn => format!("{llr}: open between {elo0} and {elo1} Elo."),
            Decision::H0 => format!("{llr}: H0, {elo0} Elo, is accepted against {elo1}."),
            Decision::H1 => format!("{llr}: H1, {elo1} Elo, is accepted against {elo0}."),
        }
    }
}

/// Returns the likeliest distribution for the observed shares, given that `values`, which ascend,
/// have mean 0.
fn tilt_distribution(shares: &[f64; 5], values: &[f64; 5]) -> [f64; 5] {
    // The sum below falls from infinity to minus infinity between the poles of theta.
    let (mut low, mut high) = (-1.0 / values[4], -1.0 / values[0]);
    let mut theta = 0.0;
    for _ in 0..200 {
        let (mut sum, mut derivative) = (0.0, 0.0);
        for (share, value) in shares.iter().zip(values) {
            let term = value / (1.0 + theta * value);
            sum += share * term;
            derivative += share * term * term;
        }
        if sum > 0.0 {
            low = theta;
        } else {
            high = theta;
        }
        let newton = theta + sum / derivative;
        let next = if low < newton && newton < high { newton } else { 0.5 * (low + high) };
        let done = (next - theta).abs() <= 1e-13 * (1.0 + theta.abs());
        theta = next;
        if done {
            break;
        }
    }
    std::array::from_fn(|i| shares[i] / (1.0 + theta * values[i]))
}

/// Elo of one step of the logit.
const STEP: f64 = 400.0 / std::f64::consts::LN_10;

/// Pairs of two players, which are given by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PairedGames {
    pub players: [usize; 2],
    /// Counts from the first player's point of view.
    pub pairs: PairCounts,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratings {
    pub players: Vec<Rating>,
    /// Verdicts on all pairs of players, in the order of the ranking.
    pub verdicts: Vec<PlayerDifference>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    pub name: String,
    /// Index among the names.
    pub place: usize,
    pub pairs: u64,
    /// Mean score of its games, 0 to 1; None without games.
    pub score: Option<f64>,
    /// Logistic Elo above the player of 0 Elo, or the mean.
    pub elo: Elo,
}

/// Rates players by their meetings. `zero` is the player of 0 Elo; None for the mean.
pub fn rate_players(names: &[String], meetings: &[PairedGames], zero: Option<usize>) -> Ratings {
    let count = names.len();
    let mut rows = vec![vec![PairCounts::default(); count]; count];
    for PairedGames { players: [a, b], pairs } in meetings {
        rows[*a][*b].add_pairs(pairs);
        rows[*b][*a].add_pairs(&pairs.reverse_players());
    }
    let table = Crosstable(rows);
    let rated = table.connected_players(zero);
    let fit = RatingFit::new(&table, &rated, zero);
    let fit_index = |player: usize| rated.iter().position(|it| *it == player);
    let rating = |player: usize| Rating {
        name: names[player].clone(),
        place: player,
        pairs: table.total_pairs(player).len(),
        score: table.total_pairs(player).mean_score(),
        elo: fit_index(player).map_or(Elo::UNKNOWN, |index| fit.rating_at(index)),
    };
    let mut players: Vec<Rating> = (0..count).map(rating).collect();
    let sort_key = |rating: &Rating| match (rating.elo.value, rating.score) {
        (Some(value), _) => value,
        (None, Some(score)) if score > 0.5 => f64::INFINITY,
        (None, _) => f64::NEG_INFINITY,
    };
    players.sort_by(|a, b| sort_key(b).total_cmp(&sort_key(a)));

    let mut verdicts = Vec::new();
    for (rank, stronger) in players.iter().enumerate() {
        for weaker in &players[rank + 1..] {
            let mutual = &table.0[stronger.place][weaker.place];
            let names = [stronger, weaker].map(|it| &it.name[..]);
            let verdict = match [stronger, weaker].map(|it| fit_index(it.place)) {
                [Some(a), Some(b)] => {
                    let fewest = stronger.pairs.min(weaker.pairs);
                    let (difference, p) = fit.difference_of(a, b, fewest);
                    let mut verdict =
                        PlayerDifference::open_unless_few(names, difference, p, fewest);
                    if mutual.mean_score().is_some_and(|score| score < 0.5) {
                        let why = || "their own games point the other way".to_string();
                        verdict.why.get_or_insert_with(why);
                    }
                    verdict
                }
                // The ratings do not include both; the games between them may still decide.
                _ => PlayerDifference::open_for_pairs(names, mutual),
            };
            verdicts.push(verdict);
        }
    }
    decide_verdicts(&mut verdicts, count);
    Ratings { players, verdicts }
}

impl Ratings {
    /// Returns the Elo of a player by its index among the names.
    pub fn elo_of(&self, index: usize) -> Elo {
        let rating = self.players.iter().find(|player| player.place == index);
        rating.map_or(Elo::UNKNOWN, |player| player.elo)
    }

    /// Makes a table of rank, player, Elo, score, pairs, and the verdict on the next line.
    pub fn to_table(&self) -> TextTable {
        let titles = ["rank", "<player", "Elo, ± 95 %", "score", "pairs", "<vs next"];
        let mut table = TextTable::with_titles(&titles);
        let mut neighbours = self.neighbour_differences();
        for (rank, Rating { name, pairs, score, elo, .. }) in self.players.iter().enumerate() {
            let verdict = match neighbours.next() {
                None => "",
                Some(PlayerDifference { decided: true, .. }) => BETTER,
                Some(_) => "unclear",
            };
            let [rank, pairs] = [rank as u64 + 1, *pairs].map(|number| number.to_string());
            let (elo, score) = (elo.format_cell(), format_score(*score));
            table.add_row([&rank, name, &elo, &score, &pairs, verdict]);
        }
        table
    }

    /// Iterates over the differences of neighbours in the ranking, in order.
    fn neighbour_differences(&self) -> impl Iterator<Item = &PlayerDifference> {
        chance::neighbour_indices(self.players.len()).into_iter().map(|pair| &self.verdicts[pair])
    }

    /// Explains the verdicts, and why some are open.
    pub fn legend_lines(&self) -> Vec<String> {
        let has_better = self.neighbour_differences().any(|verdict| verdict.decided);
        let meaning = has_better
            .then_some(("more Elo than the next line, 95 % over pairs", self.players.len() - 1));
        legend_lines(meaning, self.neighbour_differences().map(|it| &it.why))
    }
}

/// Pairs between all players, from the point of view of the row's player.
struct Crosstable(Vec<Vec<PairCounts>>);

impl Crosstable {
    fn total_pairs(&self, player: usize) -> PairCounts {
        let mut all = PairCounts::default();
        self.0[player].iter().for_each(|pairs| all.add_pairs(pairs));
        all
    }

    /// Returns the players connected by games with that of 0 Elo; without one, the largest such set.
    fn connected_players(&self, zero: Option<usize>) -> Vec<usize> {
        let count = self.0.len();
        let scored =
            |a: usize, b: usize| self.0[a][b].mean_score().is_some_and(|score| score > 0.0);
        let mut reach: Vec<Vec<bool>> =
            (0..count).map(|a| (0..count).map(|b| a == b || scored(a, b)).collect()).collect();
        for via in 0..count {
            for a in 0..count {
                for b in 0..count {
                    reach[a][b] |= reach[a][via] && reach[via][b];
                }
            }
        }
        let connected = |a: usize| -> Vec<usize> {
            (0..count).filter(|b| reach[a][*b] && reach[*b][a]).collect()
        };
        // `max_by_key` returns the last of several as large: in reverse, the first.
        let largest = || (0..count).rev().map(connected).max_by_key(Vec::len).unwrap_or_default();
        zero.map_or_else(largest, connected)
    }
}

/// Ratings of connected players, in logits, and their covariance.
struct RatingFit {
    logits: Vec<f64>,
    covariance: DenseMatrix,
    /// Index of the player of 0 Elo among the logits; None for the mean.
    zero: Option<usize>,
}

impl RatingFit {
    fn new(table: &Crosstable, rated: &[usize], zero: Option<usize>) -> Self {
        let count = rated.len();
        let counts = |a: usize, b: usize| &table.0[rated[a]][rated[b]];
        let pairs = |a: usize, b: usize| counts(a, b).len() as f64;
        let score = |a: usize, b: usize| counts(a, b).mean_score().unwrap_or(0.0);
        let met: Vec<[usize; 2]> = (0..count)
            .flat_map(|a| (a + 1..count).map(move |b| [a, b]))
            .filter(|[a, b]| !counts(*a, *b).is_empty())
            .collect();
        let likelihood = |logits: &[f64]| -> f64 {
            let meeting = |[a, b]: &[usize; 2]| {
                let difference = logits[*a] - logits[*b];
                // Logarithms of both expected scores, without differences of near numbers.
                let [won, lost] =
                    [difference, -difference].map(|x| -(-x.abs()).exp().ln_1p() + x.min(0.0));
                pairs(*a, *b) * (score(*a, *b) * won + (1.0 - score(*a, *b)) * lost)
            };
            met.iter().map(meeting).sum()
        };
        // A constant in all entries makes the derivative invertible: points sum to zero.
        let derivative = |logits: &[f64]| {
            let weight = |[a, b]: [usize; 2]| {
                let share = sigmoid(logits[a] - logits[b]);
                pairs(a, b) * share * (1.0 - share)
            };
            let matrix = weighted_laplacian(count, &met, weight);
            let size = (0..count).map(|i| matrix[(i, i)]).sum::<f64>();
            let constant = if size > 0.0 { size / (count * count) as f64 } else { 1.0 };
            Cholesky::new(DenseMatrix::from_fn(count, count, |i, j| matrix[(i, j)] + constant))
                .expect("points flow between all rated players")
        };
        let mut logits = vec![0.0; count];
        for _ in 0..200 {
            let mut step = DenseMatrix::from_fn(count, 1, |a, _| {
                let excess = |b| pairs(a, b) * (score(a, b) - sigmoid(logits[a] - logits[b]));
                (0..count).filter(|b| *b != a).map(excess).sum::<f64>()
            });
            derivative(&logits).solve_in_place(&mut step);
            let before = likelihood(&logits);
            let moved = |by: f64| -> Vec<f64> {
                (0..count).map(|i| logits[i] + by * step[(i, 0)]).collect()
            };
            // Newton's step may be too long, never in the wrong direction.
            let mut tries = (0..40).map(|halves| moved(0.5_f64.powi(halves)));
            let Some(better) = tries.find(|new| likelihood(new) >= before) else { break };
            let largest = (0..count).map(|i| (better[i] - logits[i]).abs()).fold(0.0, f64::max);
            logits = better;
            if largest < 1e-12 {
                break;
            }
        }
        let scatter = |[a, b]: [usize; 2]| {
            pairs(a, b) * variance_around(counts(a, b), sigmoid(logits[a] - logits[b]))
        };
        // The sandwich: inverse derivative, scatter, inverse derivative; all of them are symmetric.
        let mut half = weighted_laplacian(count, &met, scatter);
        let bread = derivative(&logits);
        bread.solve_in_place(&mut half);
        let mut covariance = DenseMatrix::from_fn(count, count, |i, j| half[(j, i)]);
        bread.solve_in_place(&mut covariance);
        let zero = zero.and_then(|player| rated.iter().position(|it| *it == player));
        let base = match zero {
            Some(index) => logits[index],
            None => logits.iter().sum::<f64>() / count as f64,
        };
        logits.iter_mut().for_each(|logit| *logit -= base);
        Self { logits, covariance, zero }
    }

    fn elo_at(&self, index: usize) -> f64 {
        STEP * self.logits[index]
    }

    fn rating_at(&self, index: usize) -> Elo {
        let variance = match self.zero {
            Some(zero) => self.difference_variance(index, zero),
            // The fit changes differences only: the mean is exact.
            None => self.covariance[(index, index)],
        };
        elo_interval(self.elo_at(index), STEP * variance.max(0.0).sqrt())
    }

    /// Returns the difference of two ratings and its probability, by Student's t over `pairs`.
    fn difference_of(&self, a: usize, b: usize, pairs: u64) -> (Elo, Option<f64>) {
        let value = self.elo_at(a) - self.elo_at(b);
        let error = STEP * self.difference_variance(a, b).max(0.0).sqrt();
        let p = (error > 0.0 && pairs > 1)
            .then(|| chance::two_sided(value / error, (pairs - 1) as f64));
        (elo_interval(value, error), p)
    }

    fn difference_variance(&self, a: usize, b: usize) -> f64 {
        let covariance = |i, j| self.covariance[(i, j)];
        covariance(a, a) + covariance(b, b) - 2.0 * covariance(a, b)
    }
}

fn elo_interval(value: f64, error: f64) -> Elo {
    let [low, high] = [value - Z * error, value + Z * error];
    Elo { value: Some(value), low: Some(low), high: Some(high) }
}

/// Returns the quadratic form that sums weighted squared differences over meetings.
fn weighted_laplacian(
    count: usize,
    met: &[[usize; 2]],
    weight: impl Fn([usize; 2]) -> f64,
) -> DenseMatrix {
    let mut matrix = DenseMatrix::zeros(count, count);
    for [a, b] in met {
        let weight = weight([*a, *b]);
        matrix[(*a, *a)] += weight;
        matrix[(*b, *b)] += weight;
        matrix[(*a, *b)] -= weight;
        matrix[(*b, *a)] -= weight;
    }
    matrix
}

/// Returns the variance around the expected score. A different pair is added if all are equal.
fn variance_around(pairs: &PairCounts, expected: f64) -> f64 {
    let mut pairs = *pairs;
    if pairs.score_variance() == Some(0.0) {
        let unlike = if pairs.mean_score().is_some_and(|score| score < 0.5) { 1.0 } else { 0.0 };
        pairs.add([unlike; 2]);
    }
    let count = pairs.len() as f64;
    let (Some(score), Some(variance)) = (pairs.mean_score(), pairs.score_variance()) else {
        return 0.0;
    };
    variance * count / (count - 1.0) + (score - expected).powi(2)
}
