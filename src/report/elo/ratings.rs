//! Ratings of several players from the matches between them.
//!
//! The expected score of a game is the logistic function of the difference in Elo. The ratings are
//! those at which each player's expected points are the points that it made, which is maximum
//! likelihood where nobody draws, and needs no model of draws. Their covariance is the sandwich
//! `H⁻¹ M H⁻¹`: `H` is the slope of the expected points, `M` the variance of the points as the
//! pairs show it, around what the ratings expect. So pairs, not games, are what is independent,
//! and where the ratings do not fit (who beats whom may go round in a circle), the intervals widen.
//!
//! A finite rating needs points that flow both ways: whoever is better than all that one can
//! measure has no upper end. Players are placed together where each took points from another,
//! by however many steps; who won everything against these, or lost it, gets one end of an
//! interval only.
//!
//! Sources: L. R. Ford, "Solution of a ranking problem from binary comparisons" (1957), for when
//! ratings exist; H. White, "Maximum likelihood estimation of misspecified models" (1982), for the
//! sandwich.

use faer::{Mat, Side, linalg::solvers::Solve};
use serde::Serialize;

use super::verdict::{self, Verdict, few};
use super::{Elo, Pairs, Z, expected};
use crate::report::chance;
use crate::report::table::{Align, Table};

/// Elo of one step of the logit.
const STEP: f64 = 400.0 / std::f64::consts::LN_10;

/// What is zero Elo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anchor {
    /// The mean of all that are placed: of the players that took points from each other, the most.
    #[default]
    Mean,
    /// A player, by place; those that it can be measured with are placed.
    Player(usize),
}

/// The pairs of two players, given by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    pub players: [usize; 2],
    /// Seen by the first.
    pub pairs: Pairs,
}

/// Several players, rated together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratings {
    /// The strongest first; those of whom nothing is known last.
    pub players: Vec<Rating>,
    /// On all pairs of players, in the order of the ranking.
    pub verdicts: Vec<Verdict>,
}

/// One player.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rating {
    pub name: String,
    /// Its place among the names.
    pub place: usize,
    pub pairs: u64,
    /// The mean score of its games, 0 to 1; None without games.
    pub score: Option<f64>,
    /// Logistic Elo above the anchor. An end without value takes the ratings of those that it
    /// played for known.
    pub elo: Elo,
}

/// Nothing to rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RatingsError {
    #[error("{0} players to rate; expected at least 2")]
    Few(usize),
    #[error("{0} is named twice; name each player once")]
    Twice(String),
    #[error("there is no player {place} among {players}")]
    Place { place: usize, players: usize },
    #[error("{0} met itself")]
    Itself(String),
}

/// Rates players by their meetings, of which there may be several of the same two, and none of
/// others.
pub fn ratings(
    names: &[String],
    meetings: &[Meeting],
    anchor: Anchor,
) -> Result<Ratings, RatingsError> {
    let table = Crosstable::new(names, meetings)?;
    let count = names.len();
    if let Anchor::Player(place) = anchor
        && place >= count
    {
        return Err(RatingsError::Place { place, players: count });
    }
    let placed = table.placed(anchor);
    let fit = Fit::new(&table, &placed, anchor);
    let elo: Vec<Elo> = (0..count)
        .map(|player| match placed.iter().position(|it| *it == player) {
            Some(at) => fit.rating(at),
            None => table.bound(player, &placed, &fit),
        })
        .collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| height(&elo[*b]).total_cmp(&height(&elo[*a])));

    let players = order.iter().map(|place| Rating {
        name: names[*place].clone(),
        place: *place,
        pairs: table.met(*place).len(),
        score: table.met(*place).score(),
        elo: elo[*place],
    });
    let (mut verdicts, mut neighbours) = (Vec::new(), Vec::new());
    for (rank, stronger) in order.iter().enumerate() {
        for (behind, weaker) in order[rank + 1..].iter().enumerate() {
            if behind == 0 {
                neighbours.push(verdicts.len());
            }
            verdicts.push(table.compare(names, [*stronger, *weaker], &placed, &fit));
        }
    }
    verdict::decide(&mut verdicts, &neighbours);
    Ok(Ratings { players: players.collect(), verdicts })
}

impl Ratings {
    /// Elo of a player by its place among the names; unknown of a place that there is not.
    pub fn elo(&self, place: usize) -> Elo {
        let found = self.players.iter().find(|player| player.place == place);
        found.map_or(Elo::UNKNOWN, |player| player.elo)
    }

    /// Rank, player, Elo, its interval, pairs and score.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("rank", Align::Right),
            ("player", Align::Left),
            ("Elo", Align::Right),
            ("95 % interval", Align::Right),
            ("pairs", Align::Right),
            ("score", Align::Right),
        ]);
        for (rank, player) in self.players.iter().enumerate() {
            let [elo, interval] = player.elo.cells();
            table.row([
                (rank + 1).to_string(),
                player.name.clone(),
                elo,
                interval,
                player.pairs.to_string(),
                player.score.map_or("-".to_string(), |score| format!("{:.1} %", 100.0 * score)),
            ]);
        }
        table
    }
}

/// Where a player stands in the ranking.
fn height(elo: &Elo) -> f64 {
    // Bounds may overlap with ratings; who won everything stands above those it won against.
    match (elo.value, elo.low, elo.high) {
        (Some(value), ..) => value,
        (None, Some(low), _) => 1e6 + low,
        (None, None, Some(high)) => -1e6 + high,
        (None, None, None) => f64::NEG_INFINITY,
    }
}

/// The pairs of all with all, each seen by the player of the row.
struct Crosstable(Vec<Vec<Pairs>>);

impl Crosstable {
    fn new(names: &[String], meetings: &[Meeting]) -> Result<Self, RatingsError> {
        let count = names.len();
        if count < 2 {
            return Err(RatingsError::Few(count));
        }
        if let Some(i) = (1..count).find(|i| names[..*i].contains(&names[*i])) {
            return Err(RatingsError::Twice(names[i].clone()));
        }
        let mut rows = vec![vec![Pairs::default(); count]; count];
        for Meeting { players: [a, b], pairs } in meetings {
            if let Some(place) = [*a, *b].into_iter().find(|place| *place >= count) {
                return Err(RatingsError::Place { place, players: count });
            }
            if a == b {
                return Err(RatingsError::Itself(names[*a].clone()));
            }
            rows[*a][*b].merge(pairs);
            rows[*b][*a].merge(&pairs.turned());
        }
        Ok(Self(rows))
    }

    /// All pairs of a player.
    fn met(&self, player: usize) -> Pairs {
        let mut all = Pairs::default();
        self.0[player].iter().for_each(|pairs| all.merge(pairs));
        all
    }

    /// The players that can be measured with each other, in order of place.
    fn placed(&self, anchor: Anchor) -> Vec<usize> {
        let count = self.0.len();
        let took = |a: usize, b: usize| self.0[a][b].score().is_some_and(|score| score > 0.0);
        let mut reach: Vec<Vec<bool>> =
            (0..count).map(|a| (0..count).map(|b| a == b || took(a, b)).collect()).collect();
        for by in 0..count {
            for a in 0..count {
                for b in 0..count {
                    reach[a][b] |= reach[a][by] && reach[by][b];
                }
            }
        }
        let with = |a: usize| -> Vec<usize> {
            (0..count).filter(|b| reach[a][*b] && reach[*b][a]).collect()
        };
        let pairs = |some: &[usize]| -> u64 { some.iter().map(|it| self.met(*it).len()).sum() };
        match anchor {
            Anchor::Player(place) => with(place),
            // Of several as large the first, which is the last of the turned.
            Anchor::Mean => (0..count)
                .rev()
                .map(with)
                .max_by_key(|some| (some.len(), pairs(some)))
                .expect("there are players"),
        }
    }

    /// What is known of a player outside: one end, where it won all pairs against those placed or
    /// lost them.
    fn bound(&self, player: usize, placed: &[usize], fit: &Fit) -> Elo {
        let mut all = Pairs::default();
        placed.iter().for_each(|other| all.merge(&self.0[player][*other]));
        let (Some(score), Some([low, high])) = (all.score(), all.interval()) else {
            return Elo::UNKNOWN;
        };
        // A mean of expected scores that rises with the player's rating.
        let reaches = |bound: f64| {
            let mean = |elo: f64| {
                let of = |at: usize| {
                    let pairs = self.0[player][placed[at]].len() as f64;
                    pairs * expected(elo - fit.elo(at))
                };
                (0..placed.len()).map(of).sum::<f64>() / all.len() as f64
            };
            let [mut below, mut above] = [-1e5, 1e5];
            for _ in 0..100 {
                let middle = 0.5 * (below + above);
                if mean(middle) < bound { below = middle } else { above = middle }
            }
            Some(0.5 * (below + above))
        };
        match score {
            1.0 => Elo { low: reaches(low), ..Elo::UNKNOWN },
            0.0 => Elo { high: reaches(high), ..Elo::UNKNOWN },
            _ => Elo::UNKNOWN,
        }
    }

    /// Two players in the order of the ranking.
    fn compare(&self, names: &[String], two: [usize; 2], placed: &[usize], fit: &Fit) -> Verdict {
        let own = &self.0[two[0]][two[1]];
        let at = two.map(|player| placed.iter().position(|it| *it == player));
        let [stronger, weaker] = two.map(|player| &names[player][..]);
        if let [Some(a), Some(b)] = at {
            let least = two.map(|player| self.met(player).len()).into_iter().min().unwrap_or(0);
            let (difference, p) = fit.difference(a, b, least);
            let turned = own.score().is_some_and(|score| score < 0.5);
            let against = || turned.then(|| "their own games point the other way".to_string());
            let why = few(least).or_else(against);
            return Verdict { why, ..Verdict::open(stronger, weaker, difference, p) };
        }
        // The ratings do not reach both; their own games may still tell.
        let apart = own.is_empty().then(|| "no games measure them with each other".to_string());
        let why = apart.or_else(|| few(own.len()));
        Verdict { why, ..Verdict::open(stronger, weaker, own.elo(), own.p()) }
    }
}

/// Ratings of those that are placed, in logits, and their covariance.
struct Fit {
    logits: Vec<f64>,
    covariance: Mat<f64>,
    /// The place of what is zero among the placed; None for the mean.
    zero: Option<usize>,
}

impl Fit {
    fn new(table: &Crosstable, placed: &[usize], anchor: Anchor) -> Self {
        let count = placed.len();
        let own = |a: usize, b: usize| &table.0[placed[a]][placed[b]];
        let pairs = |a: usize, b: usize| own(a, b).len() as f64;
        let score = |a: usize, b: usize| own(a, b).score().unwrap_or(0.0);
        let met: Vec<[usize; 2]> = (0..count)
            .flat_map(|a| (a + 1..count).map(move |b| [a, b]))
            .filter(|[a, b]| !own(*a, *b).is_empty())
            .collect();
        let likelihood = |logits: &[f64]| -> f64 {
            let of = |[a, b]: &[usize; 2]| {
                let apart = logits[*a] - logits[*b];
                // The logarithms of both expected scores, without a difference of near numbers.
                let [won, lost] = [apart, -apart].map(|x| -(-x.abs()).exp().ln_1p() + x.min(0.0));
                pairs(*a, *b) * (score(*a, *b) * won + (1.0 - score(*a, *b)) * lost)
            };
            met.iter().map(of).sum()
        };
        // The slope of the points; a constant everywhere makes it invertible and changes nothing,
        // since points sum to zero.
        let slope = |logits: &[f64]| {
            let weight = |[a, b]: [usize; 2]| {
                let share = logistic(logits[a] - logits[b]);
                pairs(a, b) * share * (1.0 - share)
            };
            let matrix = laplacian(count, &met, weight);
            let size = (0..count).map(|i| matrix[(i, i)]).sum::<f64>();
            let constant = if size > 0.0 { size / (count * count) as f64 } else { 1.0 };
            Mat::from_fn(count, count, |i, j| matrix[(i, j)] + constant)
                .llt(Side::Lower)
                .expect("points flow between all that are placed")
        };
        let mut logits = vec![0.0; count];
        for _ in 0..200 {
            let missing = Mat::from_fn(count, 1, |a, _| {
                let of = |b| pairs(a, b) * (score(a, b) - logistic(logits[a] - logits[b]));
                (0..count).filter(|b| *b != a).map(of).sum::<f64>()
            });
            let step = slope(&logits).solve(&missing);
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
        let scatter =
            |[a, b]: [usize; 2]| pairs(a, b) * variance(own(a, b), logistic(logits[a] - logits[b]));
        let middle = laplacian(count, &met, scatter);
        let bread = slope(&logits).solve(&Mat::<f64>::identity(count, count));
        let covariance = &bread * &middle * &bread;
        let zero = match anchor {
            Anchor::Mean => None,
            Anchor::Player(place) => placed.iter().position(|it| *it == place),
        };
        let base = match zero {
            Some(at) => logits[at],
            None => logits.iter().sum::<f64>() / count as f64,
        };
        logits.iter_mut().for_each(|logit| *logit -= base);
        Self { logits, covariance, zero }
    }

    fn elo(&self, at: usize) -> f64 {
        STEP * self.logits[at]
    }

    /// A rating above what is zero.
    fn rating(&self, at: usize) -> Elo {
        let variance = match self.zero {
            Some(zero) => self.between(at, zero),
            // The fit moves nothing but differences: the mean is certain.
            None => self.covariance[(at, at)],
        };
        interval(self.elo(at), STEP * variance.max(0.0).sqrt())
    }

    /// The difference of two ratings, and how often equal players would be as far apart, by
    /// Student's t with one degree of freedom less than `pairs`.
    fn difference(&self, a: usize, b: usize, pairs: u64) -> (Elo, Option<f64>) {
        let (value, error) = (self.elo(a) - self.elo(b), STEP * self.between(a, b).max(0.0).sqrt());
        let p = (error > 0.0 && pairs > 1)
            .then(|| chance::two_sided(value / error, (pairs - 1) as f64));
        (interval(value, error), p)
    }

    fn between(&self, a: usize, b: usize) -> f64 {
        let of = |i, j| self.covariance[(i, j)];
        of(a, a) + of(b, b) - 2.0 * of(a, b)
    }
}

fn interval(value: f64, error: f64) -> Elo {
    let [low, high] = [value - Z * error, value + Z * error];
    Elo { value: Some(value), low: Some(low), high: Some(high) }
}

/// The sum over meetings of a weight times the square of the difference of two players.
fn laplacian(count: usize, met: &[[usize; 2]], weight: impl Fn([usize; 2]) -> f64) -> Mat<f64> {
    let mut matrix = Mat::zeros(count, count);
    for [a, b] in met {
        let weight = weight([*a, *b]);
        matrix[(*a, *a)] += weight;
        matrix[(*b, *b)] += weight;
        matrix[(*a, *b)] -= weight;
        matrix[(*b, *a)] -= weight;
    }
    matrix
}

/// The variance of a pair's score divided by 2 around what is expected. Where all pairs are equal,
/// one more that is as unlike them as can be stands for what was not seen.
fn variance(pairs: &Pairs, expected: f64) -> f64 {
    let mut pairs = *pairs;
    if pairs.variance() == Some(0.0) {
        let unlike = if pairs.score().is_some_and(|score| score < 0.5) { 1.0 } else { 0.0 };
        pairs.add([unlike; 2]);
    }
    let count = pairs.len() as f64;
    let (Some(score), Some(variance)) = (pairs.score(), pairs.variance()) else { return 0.0 };
    variance * count / (count - 1.0) + (score - expected).powi(2)
}

fn logistic(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}
