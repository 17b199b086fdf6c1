//! Ratings of several players from the matches between them.
//!
//! The expected score of a game is the logistic function of the difference in Elo. The ratings are
//! those at which each player's expected points are the points that it made, which is maximum
//! likelihood without draws, and needs no model of draws. Their covariance is the sandwich
//! `H⁻¹ M H⁻¹`: `H` is the slope of the expected points, `M` the variance of the points of pairs
//! around what the ratings expect. So where the ratings do not fit (results may be intransitive),
//! the intervals widen.
//!
//! A finite rating needs points that flow both ways: players are placed together where each took
//! points from another, by however many steps. The others have no rating.
//!
//! Sources: L. R. Ford, "Solution of a ranking problem from binary comparisons" (1957), for when
//! ratings exist; H. White, "Maximum likelihood estimation of misspecified models" (1982), for the
//! sandwich.

use serde::Serialize;

use super::{Elo, Pairs, Verdict, Z, decide, percent};
use crate::linear::{Cholesky, Matrix};
use crate::report::chance;
use crate::report::table::{Align, Table};

/// Elo of one step of the logit.
const STEP: f64 = 400.0 / std::f64::consts::LN_10;

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
    /// The strongest first.
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
    /// Logistic Elo above zero.
    pub elo: Elo,
}

/// Rates players by their meetings, of which there may be several of the same two, and none of
/// others. `zero` is the player, by place, that has 0 Elo; None for the mean of all that are placed.
///
/// # Panics
/// If a place is that of no name.
pub fn ratings(names: &[String], meetings: &[Meeting], zero: Option<usize>) -> Ratings {
    let count = names.len();
    let mut rows = vec![vec![Pairs::default(); count]; count];
    for Meeting { players: [a, b], pairs } in meetings {
        rows[*a][*b].merge(pairs);
        rows[*b][*a].merge(&pairs.turned());
    }
    let table = Crosstable(rows);
    let placed = table.placed(zero);
    let fit = Fit::new(&table, &placed, zero);
    let at = |player: usize| placed.iter().position(|it| *it == player);
    let rating = |place: usize| {
        let met = table.met(place);
        let elo = at(place).map_or(Elo::UNKNOWN, |at| fit.rating(at));
        Rating { name: names[place].clone(), place, pairs: met.len(), score: met.score(), elo }
    };
    let mut players: Vec<Rating> = (0..count).map(rating).collect();
    let height = |it: &Rating| match (it.elo.value, it.score) {
        (Some(value), _) => value,
        (None, Some(score)) if score > 0.5 => f64::INFINITY,
        (None, _) => f64::NEG_INFINITY,
    };
    players.sort_by(|a, b| height(b).total_cmp(&height(a)));

    let (mut verdicts, mut neighbours) = (Vec::new(), Vec::new());
    for (rank, stronger) in players.iter().enumerate() {
        neighbours.push(verdicts.len());
        for weaker in &players[rank + 1..] {
            let own = &table.0[stronger.place][weaker.place];
            let names = [stronger, weaker].map(|it| &it.name[..]);
            let verdict = match [stronger, weaker].map(|it| at(it.place)) {
                [Some(a), Some(b)] => {
                    let least = stronger.pairs.min(weaker.pairs);
                    let (difference, p) = fit.difference(a, b, least);
                    let mut verdict = Verdict::open(names, difference, p, least);
                    if own.score().is_some_and(|score| score < 0.5) {
                        let why = "their own games point the other way".to_string();
                        verdict.why = verdict.why.or(Some(why));
                    }
                    verdict
                }
                // The ratings do not reach both; their own games may still tell.
                _ => Verdict::open(names, own.elo(), own.p(), own.len()),
            };
            verdicts.push(verdict);
        }
    }
    // The last player has none behind it.
    neighbours.pop();
    decide(&mut verdicts, &neighbours);
    Ratings { players, verdicts }
}

impl Ratings {
    /// Elo of a player by its place among the names.
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
        for (rank, Rating { name, pairs, score, elo, .. }) in (1..).zip(&self.players) {
            let [elo, interval] = elo.cells();
            let rank: u32 = rank;
            let (pairs, score) = (pairs.to_string(), percent(*score));
            table.row([rank.to_string(), name.clone(), elo, interval, pairs, score]);
        }
        table
    }
}

/// The pairs of all with all, each seen by the player of the row.
struct Crosstable(Vec<Vec<Pairs>>);

impl Crosstable {
    /// All pairs of a player.
    fn met(&self, player: usize) -> Pairs {
        let mut all = Pairs::default();
        self.0[player].iter().for_each(|pairs| all.merge(pairs));
        all
    }

    /// The players that can be measured with each other, in order of place: with the zero, or else
    /// the most.
    fn placed(&self, zero: Option<usize>) -> Vec<usize> {
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
        // Of several as large the first, which is the last in reverse.
        let most = || (0..count).rev().map(with).max_by_key(Vec::len).unwrap_or_default();
        zero.map_or_else(most, with)
    }
}

/// Ratings of those that are placed, in logits, and their covariance.
struct Fit {
    logits: Vec<f64>,
    covariance: Matrix,
    /// The place of what is zero among the placed; None for the mean.
    zero: Option<usize>,
}

impl Fit {
    fn new(table: &Crosstable, placed: &[usize], zero: Option<usize>) -> Self {
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
            Cholesky::new(Matrix::from_fn(count, count, |i, j| matrix[(i, j)] + constant))
                .expect("points flow between all that are placed")
        };
        let mut logits = vec![0.0; count];
        for _ in 0..200 {
            let mut step = Matrix::from_fn(count, 1, |a, _| {
                let of = |b| pairs(a, b) * (score(a, b) - logistic(logits[a] - logits[b]));
                (0..count).filter(|b| *b != a).map(of).sum::<f64>()
            });
            slope(&logits).solve(&mut step);
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
        // The inverse slope on both sides of what is scattered; all of them are symmetric.
        let (mut half, bread) = (laplacian(count, &met, scatter), slope(&logits));
        bread.solve(&mut half);
        let mut covariance = Matrix::from_fn(count, count, |i, j| half[(j, i)]);
        bread.solve(&mut covariance);
        let zero = zero.and_then(|place| placed.iter().position(|it| *it == place));
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
fn laplacian(count: usize, met: &[[usize; 2]], weight: impl Fn([usize; 2]) -> f64) -> Matrix {
    let mut matrix = Matrix::zeros(count, count);
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
