//! Coverage of the 95 % intervals, and how often a winner is named where there is none: games drawn
//! from real ones, whose mean is the truth. Scales are fitted in each draw, as in `compare`.

use nnuance::export;
use nnuance::hce;
use nnuance::report::estimate::Estimate;
use nnuance::report::fit::{fit_scale, mean_loss};
use nnuance::report::{Comparison, Predictions, chance, compare};
use rand::Rng;
use rayon::prelude::*;

use crate::support::kit::*;

struct Population {
    names: Vec<&'static str>,
    /// By game and position: the result, then the value of each evaluation.
    games: Vec<Vec<Vec<f64>>>,
    /// The loss of each evaluation over all of them, with the scale that fits all of them.
    truth: Vec<f64>,
}

impl Population {
    fn new(limit: Option<u64>, names: &[&'static str]) -> Self {
        let files = vec![GAMES.into()];
        let mut plan = ReadPlan { needs_colours: true, ..ReadPlan::new(files) };
        plan.reading.limit = limit;
        let samples = collect_samples(&plan, None, &|_| ()).expect("games");
        let material = hce::HceEvaluator::new(&HceWeights::material_only());
        let pesto = fs::read_to_string("tests/it/fixtures/pesto.json").expect("a fixture");
        let pesto = hce::HceEvaluator::new(&HceWeights::from_json(&pesto).expect("weights"));
        let net = export::load_net(QUICKSTART.as_ref()).unwrap().net;
        let says = |name: &str, sample: &Sample| match name {
            "material" => material.evaluate(&sample.position),
            "pesto" => pesto.evaluate(&sample.position),
            "net" => net.evaluate(&sample.position).into(),
            _ => f64::from(sample.score.expect("a score")),
        };
        let row = |sample: &Sample| -> Vec<f64> {
            let each = names.iter().map(|name| says(name, sample));
            std::iter::once(sample.result.into()).chain(each).collect()
        };
        let rows: Vec<Vec<f64>> = samples.par_iter().map(row).collect();
        let mut games: Vec<Vec<Vec<f64>>> = Vec::new();
        for (i, row) in rows.into_iter().enumerate() {
            match games.last_mut() {
                Some(game) if samples[i].split_group() == samples[i - 1].split_group() => {
                    game.push(row)
                }
                _ => games.push(vec![row]),
            }
        }
        // The limit may have cut the last one.
        games.pop();
        let mut population = Self { names: names.to_vec(), games, truth: Vec::new() };
        let column = |at: usize| -> Vec<f64> {
            population.games.iter().flatten().map(|row| row[at]).collect()
        };
        let results = column(0);
        let loss = |at: usize| {
            let scale = fit_scale(&column(at), &results).scale.expect("a scale");
            mean_loss(&column(at), &results, scale)
        };
        population.truth = (1..=names.len()).map(loss).collect();
        population
    }

    /// Compares on games by their places; a game listed twice counts as two.
    fn compared(&self, places: &[usize], seed: u64) -> Comparison {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut results, mut groups) = (Vec::new(), Vec::new());
        let mut cp = vec![Vec::new(); self.names.len()];
        for place in places {
            let group = random.next_u64();
            for row in &self.games[*place] {
                results.push(row[0]);
                groups.push(group);
                cp.iter_mut().zip(&row[1..]).for_each(|(cp, value)| cp.push(*value));
            }
        }
        let evaluations = self.names.iter().zip(cp).map(|(name, cp)| Predictions::new(*name, cp));
        let evaluations: Vec<Predictions> = evaluations.collect();
        let truth = facts_of_games(&results, &groups, "games");
        compare(&evaluations, &truth).expect("a comparison")
    }

    fn sampled(&self, games: usize, seed: u64) -> Comparison {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9));
        let place = |_| (random.next_u64() % self.games.len() as u64) as usize;
        let places: Vec<usize> = (0..games).map(place).collect();
        self.compared(&places, seed)
    }

    fn truth(&self, name: &str) -> f64 {
        self.truth[self.names.iter().position(|it| *it == name).expect("a name")]
    }
}

fn of(comparison: &Comparison, name: &str) -> Estimate {
    comparison.evaluations.iter().find(|one| one.name == name).expect("measured").loss
}

fn holds(estimate: &Estimate, truth: f64) -> bool {
    let [low, high] = estimate.interval.expect("an interval");
    low <= truth && truth <= high
}

/// Results of many draws: by loss and difference, how many intervals contained the truth; and how
/// often a winner would be named if all evaluations were equally good.
struct Outcome {
    of: Vec<(String, usize)>,
    false_winners: usize,
    draws: usize,
}

impl Outcome {
    fn new(population: &Population, games: usize, draws: usize) -> Self {
        let one = |seed: usize| -> (Vec<(String, bool)>, bool) {
            let comparison = population.sampled(games, 1 + seed as u64);
            let losses = population.names.iter().map(|name| {
                (name.to_string(), holds(&of(&comparison, name), population.truth(name)))
            });
            let mut found: Vec<(String, bool)> = losses.collect();
            for pair in &comparison.pairs {
                let truth = population.truth(&pair.worse) - population.truth(&pair.better);
                let mut both = [&pair.better, &pair.worse];
                both.sort_by_key(|name| population.names.iter().position(|it| it == name));
                let name = format!("{} - {}", both[0], both[1]);
                found.push((name, holds(&pair.difference, truth)));
            }
            found.sort();
            (found, false_winner(population, &comparison))
        };
        let all: Vec<_> = (0..draws).into_par_iter().map(one).collect();
        let count = |i: usize| all.iter().filter(|(found, _)| found[i].1).count();
        Self {
            of: (0..all[0].0.len()).map(|i| (all[0].0[i].0.clone(), count(i))).collect(),
            false_winners: all.iter().filter(|(_, winner)| *winner).count(),
            draws,
        }
    }

    fn percent(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.draws as f64
    }
}

/// Whether a winner would be named if every loss were shifted so that all evaluations were equally
/// good: the ranking is that of the shifted losses, and neighbours are decided together.
fn false_winner(population: &Population, comparison: &Comparison) -> bool {
    let shifted = |name: &str| of(comparison, name).mean - population.truth(name);
    let mut ranked = population.names.clone();
    ranked.sort_by(|a, b| shifted(a).total_cmp(&shifted(b)));
    let p = |names: &[&str]| {
        let named = |a: &str, b: &str| names.contains(&a) && names.contains(&b);
        let mut pairs = comparison.pairs.iter();
        let pair = pairs.find(|pair| named(&pair.better, &pair.worse)).expect("all pairs");
        let error = pair.difference.standard_error.expect("games");
        let z = (shifted(names[1]) - shifted(names[0])) / error;
        Some(chance::two_sided(z, pair.difference.groups as f64 - 1.0))
    };
    let probabilities: Vec<Option<f64>> = ranked.windows(2).map(p).collect();
    chance::are_significant(&probabilities).contains(&true)
}

#[test]
fn intervals_from_thirty_games_hold() {
    let population = Population::new(Some(100_000), &["material", "pesto", "net"]);
    let outcome = Outcome::new(&population, 30, 600);
    let mut mean = 0.0;
    for (name, held) in &outcome.of {
        let percent = outcome.percent(*held);
        println!("{name}: {percent:.1} %");
        // Four standard deviations of so many draws are 3.6 %.
        assert!((91.9..=98.6).contains(&percent), "{name}: {percent} %");
        mean += percent / outcome.of.len() as f64;
    }
    assert!((93.5..=96.5).contains(&mean), "{mean} %");
    let winners = outcome.percent(outcome.false_winners);
    println!("false winners: {winners:.1} %");
    assert!(winners <= 7.0, "{winners} %");
}
