//! Elo of matches: digits of fastchess, borders, error rates by simulation.

use nnuance::report::elo::{
    Decision, Elo, FEW_PAIRS, PairCounts, PairedGames, PlayerDifference, Ratings, Sprt,
    expected_score, rate_players,
};
use rayon::prelude::*;

use crate::support::term_positions::Dice;

///
/// Openings favour one side, and players change sides: so a pair has less variance than two games.
struct World {
    /// Probabilities of a pair to score 0, 0.5, 1, 1.5 and 2.
    shares: [f64; 5],
}

impl World {
    fn new(elo: f64) -> Self {
        let mean = |shares: [f64; 5]| -> f64 {
            shares.iter().enumerate().map(|(i, share)| share * i as f64 / 4.0).sum()
        };
        let (mut low, mut high) = (-3000.0, 3000.0);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            let below = mean(Self::shares(middle)) < expected_score(elo);
            if below { low = middle } else { high = middle }
        }
        Self { shares: Self::shares(low) }
    }

    /// Loss, draw and win of White, who is ahead by `ahead`.
    fn game(ahead: f64) -> [f64; 3] {
        const DRAWS: f64 = 120.0;
        let [loss, win] = [expected_score(-ahead - DRAWS), expected_score(ahead - DRAWS)];
        [loss, 1.0 - loss - win, win]
    }

    fn shares(ahead: f64) -> [f64; 5] {
        let biases = [-150.0, 0.0, 50.0, 150.0, 300.0];
        let mut shares = [0.0; 5];
        for bias in biases {
            let white = Self::game(bias + ahead);
            let mut black = Self::game(bias - ahead);
            black.reverse();
            for (i, first) in white.iter().enumerate() {
                for (j, second) in black.iter().enumerate() {
                    shares[i + j] += first * second / biases.len() as f64;
                }
            }
        }
        shares
    }

    fn draw(&self, random: &mut Dice) -> [f64; 2] {
        let mut left = random.share();
        let mut place = 0;
        while place < 4 && left >= self.shares[place] {
            left -= self.shares[place];
            place += 1;
        }
        [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 1.0], [1.0, 1.0]][place]
    }

    fn play(&self, count: u64, random: &mut Dice) -> PairCounts {
        let mut pairs = PairCounts::default();
        (0..count).for_each(|_| pairs.add(self.draw(random)));
        pairs
    }
}

fn random(seed: u64) -> Dice {
    Dice::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// The figures that fastchess (74deac23) prints for these counts.
#[test]
fn digits_of_fastchess() {
    for (counts, elo) in [
        ([36, 8, 85, 13, 48], "26.57 +/- 33.96"),
        ([63, 11, 126, 20, 71], "14.93 +/- 27.92"),
        ([22, 6, 42, 8, 22], "3.47 +/- 47.22"),
    ] {
        let found = PairCounts(counts).elo_difference();
        let (value, half) = (found.value.unwrap(), found.half_width().unwrap());
        assert_eq!(format!("{value:.2} +/- {half:.2}"), elo);
        assert!(found.contains_zero());
    }
}

/// Ratios that fastchess's tests expect to within 1 %.
#[test]
fn likelihood_ratios_of_fastchess() {
    for (counts, elo0, elo1, llr) in [
        ([223, 9_863, 21_279, 10_037, 246], 0.5, 2.5, -3.07),
        ([871, 26_175, 55_983, 26_678, 821], 0.0, 2.0, -4.98),
    ] {
        let pairs = PairCounts(counts);
        let found = Sprt::new(elo0, elo1).expect("a test").log_likelihood_ratio(&pairs);
        assert!((found / llr - 1.0).abs() < 0.01, "{counts:?}: {found}, not {llr}");
    }
}

/// Student's t by hand: with one degree of freedom an arc tangent, with two a root.
#[test]
fn degrees_of_freedom_of_p() {
    // Scores 1/2, 3/4, 1: mean 3/4, standard error sqrt(1/16 / 3), t = sqrt(3).
    let three = PairCounts([0, 0, 1, 1, 1]).p_value().unwrap();
    assert!((three - (1.0 - (3.0_f64 / 5.0).sqrt())).abs() < 1e-12, "{three}");
    // Scores 1/2, 1: mean 3/4, standard error 1/4, t = 1.
    let two = PairCounts([0, 0, 1, 0, 1]).p_value().unwrap();
    assert!((two - 0.5).abs() < 1e-12, "{two}");
}

#[test]
fn every_match_has_numbers() {
    let test = Sprt::new(0.0, 5.0).expect("a test");
    let against = Sprt::new(-5.0, 0.0).expect("a test");
    for code in 0..4_u64.pow(5) {
        let counts: [u64; 5] =
            std::array::from_fn(|i| [0, 1, 2, 300][(code >> (2 * i)) as usize % 4]);
        let pairs = PairCounts(counts);
        let (elo, reversed) = (pairs.elo_difference(), pairs.reverse_players().elo_difference());
        let finite = |number: Option<f64>| number.is_none_or(f64::is_finite);
        assert!([elo.value, elo.low, elo.high].into_iter().all(finite), "{counts:?}");
        let ordered = |a: Option<f64>, b: Option<f64>| a.zip(b).is_none_or(|(a, b)| a <= b);
        assert!(ordered(elo.low, elo.value) && ordered(elo.value, elo.high), "{counts:?}");
        if let (Some(one), Some(other)) = (elo.low, reversed.high) {
            assert!((one + other).abs() < 1e-9 * (1.0 + one.abs()), "{counts:?}");
        }
        assert_eq!(pairs.p_value().is_none(), code == 0);
        assert!(pairs.p_value().is_none_or(|it| (0.0..=1.0).contains(&it)), "{counts:?}");
        let (llr, other) = (
            test.log_likelihood_ratio(&pairs),
            against.log_likelihood_ratio(&pairs.reverse_players()),
        );
        assert!((llr + other).abs() < 1e-6 * (1.0 + llr.abs()), "{llr} {other}");
    }
}

#[test]
fn equal_pairs_have_bounds() {
    assert_eq!(PairCounts::default().elo_difference(), Elo::UNKNOWN);
    // All won: of pairs that did not win, the share is below 1 - 0.025^(1 / 30) = 11.6 %.
    let won = PairCounts([0, 0, 0, 0, 30]);
    let elo = won.elo_difference();
    assert_eq!((elo.value, elo.high), (None, None));
    assert!((expected_score(elo.low.unwrap()) - 0.025_f64.powf(1.0 / 30.0)).abs() < 1e-12);
    assert_eq!(won.reverse_players().elo_difference().to_string(), "below -353.3 Elo");
    assert_eq!(won.p_value(), Some(2.0 * 0.5_f64.powi(30)));
    // The interval of equal pairs leaves a half out exactly where p is below 5 %.
    for (count, place) in (1..40).flat_map(|count| [0, 1, 3, 4].map(|place| (count, place))) {
        let mut counts = [0; 5];
        counts[place] = count;
        let pairs = PairCounts(counts);
        assert_eq!(
            pairs.elo_difference().contains_zero(),
            pairs.p_value().unwrap() >= 0.05,
            "{counts:?}"
        );
    }
    let mut pairs = PairCounts::default();
    for results in [[1.0, 0.0], [0.5, 0.5], [1.0, 0.5], [0.0, 0.5], [1.0, 1.0]] {
        pairs.add(results);
    }
    assert_eq!(pairs, PairCounts([0, 1, 2, 1, 1]));
    assert_eq!(pairs.reverse_players(), PairCounts([1, 1, 2, 1, 0]));
}

/// How often a test accepts H1, and the pairs it took.
fn accepted(test: &Sprt, world: &World, tests: u64) -> (f64, f64) {
    let run = |seed: u64| {
        let (mut random, mut pairs) = (random(seed), PairCounts::default());
        loop {
            pairs.add(world.draw(&mut random));
            match test.decide_after(&pairs) {
                Decision::GoOn => assert!(pairs.len() < 100_000, "{pairs:?}"),
                decision => return (decision == Decision::H1, pairs.len()),
            }
        }
    };
    let runs: Vec<(bool, u64)> = (0..tests).into_par_iter().map(run).collect();
    let yes = runs.iter().filter(|run| run.0).count();
    let pairs: u64 = runs.iter().map(|run| run.1).sum();
    (share(yes, runs.len()), pairs as f64 / tests as f64)
}

#[test]
fn sequential_tests_keep_their_error_rates() {
    assert!(Sprt::new(5.0, 0.0).is_none() && Sprt::new(0.0, f64::NAN).is_none());
    assert!((Sprt::BOUND - 19_f64.ln()).abs() < 1e-15);
    let (test, tests) = (Sprt::new(0.0, 30.0).expect("a test"), 4_000);
    let (wrong, pairs) = accepted(&test, &World::new(0.0), tests);
    let (right, more) = accepted(&test, &World::new(30.0), tests);
    for rate in [wrong, 1.0 - right] {
        // Three standard errors of the simulation; steps over a bound make it err less.
        let error = (0.05 * 0.95 / tests as f64).sqrt();
        assert!((0.03..=0.05 + 3.0 * error).contains(&rate), "{rate}");
    }
    let (half, most) = accepted(&test, &World::new(15.0), tests / 10);
    assert!((0.2..0.8).contains(&half) && most > pairs && most > more, "{half} {most}");
}

#[test]
fn intervals_cover_95_percent() {
    for (elo, pairs) in [(0.0, 100), (25.0, 300), (-150.0, 200)] {
        let world = World::new(elo);
        let holds = |seed: u64| {
            let found = world.play(pairs, &mut random(seed)).elo_difference();
            found.low.is_none_or(|low| low <= elo) && found.high.is_none_or(|high| elo <= high)
        };
        let held = (0..4_000).into_par_iter().filter(|seed| holds(*seed)).count();
        assert!((0.935..0.965).contains(&share(held, 4_000)), "{elo}: {held}");
    }
}

fn names(count: usize) -> Vec<String> {
    ["a", "b", "c", "d", "e", "f"][..count].iter().map(|name| name.to_string()).collect()
}

/// A round robin of players by their Elo; `count` pairs, twice as many where the first plays.
fn round_robin(elo: &[f64], count: u64) -> impl Fn(u64, Option<usize>) -> Ratings + Sync + use<> {
    let two = |a: usize| (a + 1..elo.len()).map(move |b| [a, b]);
    let couples: Vec<[usize; 2]> = (0..elo.len()).flat_map(two).collect();
    let worlds: Vec<World> = couples.iter().map(|[a, b]| World::new(elo[*a] - elo[*b])).collect();
    let names = names(elo.len());
    move |seed, zero| {
        let mut random = random(seed);
        let play = |(players, world): (&[usize; 2], &World)| {
            let pairs = world.play(if players[0] == 0 { 2 * count } else { count }, &mut random);
            PairedGames { players: *players, pairs }
        };
        let meetings: Vec<PairedGames> = couples.iter().zip(&worlds).map(play).collect();
        rate_players(&names, &meetings, zero)
    }
}

#[test]
fn ratings_and_coverage_of_intervals() {
    let truth = [40.0, 0.0, -90.0, 10.0];
    let mean = truth.iter().sum::<f64>() / 4.0;
    let play = round_robin(&truth, 60);
    for (place_of_zero, zero) in [(None, mean), (Some(1), truth[1])] {
        let rounds = 2_000;
        let all: Vec<Ratings> =
            (0..rounds).into_par_iter().map(|seed| play(seed, place_of_zero)).collect();
        for (place, elo) in truth.iter().enumerate() {
            let of = |ratings: &Ratings| {
                ratings.players.iter().find(|it| it.place == place).expect("the player").elo
            };
            let found: Vec<Elo> = all.iter().map(of).collect();
            let middle = found.iter().map(|it| it.value.unwrap()).sum::<f64>() / rounds as f64;
            assert!((middle - (elo - zero)).abs() < 1.5, "{place}: {middle}");
            if place_of_zero == Some(place) {
                assert!(found.iter().all(|it| it.half_width() == Some(0.0)));
                continue;
            }
            let holds = |it: &&Elo| (it.low.unwrap()..=it.high.unwrap()).contains(&(elo - zero));
            let held = share(found.iter().filter(holds).count(), found.len());
            assert!((0.935..0.965).contains(&held), "{place}: {held}");
        }
        // Differences and decided winners.
        let (mut held, mut right, mut wrong, mut count) = (0, 0, 0, 0);
        for verdict in all.iter().flat_map(|ratings| &ratings.verdicts) {
            let of = |name: &str| truth["abcd".find(name).expect("a player")];
            let apart = of(&verdict.stronger) - of(&verdict.weaker);
            let Elo { low: Some(low), high: Some(high), .. } = verdict.difference else {
                panic!("{verdict:?}")
            };
            count += 1;
            held += usize::from((low..=high).contains(&apart));
            right += usize::from(verdict.decided && apart > 0.0);
            wrong += usize::from(verdict.decided && apart < 0.0);
        }
        assert!((0.935..0.965).contains(&share(held, count)), "{held} of {count}");
        assert!(share(right, count) > 0.4 && share(wrong, count) < 0.002, "{right} {wrong}");
    }
}

#[test]
fn false_winners_among_equal_players() {
    for (players, pairs) in [(2, 15), (4, 30), (6, 30)] {
        let play = round_robin(&[0.0; 6][..players], pairs);
        let false_winner =
            |seed: &u64| play(*seed, None).verdicts.iter().any(|verdict| verdict.decided);
        let rounds = 2_000;
        let count = (0..rounds).into_par_iter().filter(false_winner).count();
        let rate = share(count, rounds as usize);
        assert!(rate < 0.065 && (players > 2 || rate > 0.03), "{players}: {rate}");
    }
}

#[test]
fn two_players_are_a_match() {
    let pairs = PairCounts([36, 8, 85, 13, 88]);
    let meetings = [PairedGames { players: [1, 0], pairs }];
    let both = rate_players(&names(2), &meetings, Some(0));
    let (elo, found) = (pairs.elo_difference(), both.players[0].elo);
    assert!((elo.value.unwrap() - found.value.unwrap()).abs() < 1e-6, "{elo} {found}");
    // The interval is that of a step in Elo, not in the score, and nearly as wide.
    assert!((elo.half_width().unwrap() / found.half_width().unwrap() - 1.0).abs() < 0.02);
    let own = PlayerDifference::from_match(["b", "a"], &pairs);
    assert_eq!(own, PlayerDifference::from_match(["a", "b"], &pairs.reverse_players()));
    assert!(own.decided && own.stronger == "b" && both.verdicts[0].decided);
    let few = PlayerDifference::from_match(["a", "b"], &PairCounts([0, 0, 0, 0, FEW_PAIRS - 1]));
    assert!(!few.decided && few.stronger == "a");
}

#[test]
fn ratings_need_points_both_ways() {
    let even = PairCounts([10, 5, 10, 5, 12]);
    let lost = PairCounts([40, 0, 0, 0, 0]);
    let meet = |players, pairs| PairedGames { players, pairs };
    // Weak player d, strong e, and f without games.
    let meetings = [
        meet([0, 1], even),
        meet([1, 2], even),
        meet([3, 0], lost),
        meet([3, 1], lost),
        meet([2, 4], lost),
    ];
    for zero in [None, Some(1)] {
        let found = rate_players(&names(6), &meetings, zero);
        let order: String = found.players.iter().map(|it| &it.name[..]).collect();
        assert_eq!(order, "eabcdf");
        let known = found.players.iter().filter(|it| it.elo != Elo::UNKNOWN).count();
        assert_eq!(known, 3);
        let decided: Vec<String> = found
            .verdicts
            .iter()
            .filter(|it| it.decided)
            .map(|it| it.stronger.clone() + &it.weaker)
            .collect();
        assert_eq!(decided, ["ec", "ad", "bd"]);
    }
}

/// By hand: three players, each beats the next by as much, so all ratings are 0. On what leaves the
/// mean alone, `H = 3 n / 4` and `M = 3 n w`, where `w` is the variance around the expected half.
#[test]
fn intransitive_results_widen_the_intervals() {
    let won = PairCounts([5, 5, 20, 30, 40]);
    let circle = [[0, 1], [1, 2], [2, 0]].map(|players| PairedGames { players, pairs: won });
    let found = rate_players(&names(3), &circle, Some(0));
    // Pairs score 0.7375 on average, with a variance of 0.0742.
    let (n, score) = (100.0, 0.7375_f64);
    let square = (5.0 * 0.0625 + 20.0 * 0.25 + 30.0 * 0.5625 + 40.0) / n;
    let w = (square - score * score) * n / (n - 1.0) + (score - 0.5) * (score - 0.5);
    // The variance of a difference of two ratings is twice `M / H²`.
    let error = (2.0 * 3.0 * n * w).sqrt() / (0.75 * n);
    let half = 1.959_963_984_540_054 * 400.0 / 10_f64.ln() * error;
    for player in found.players.iter().filter(|it| it.place > 0) {
        assert!(player.elo.value.is_some_and(|elo| elo.abs() < 1e-6), "{player:?}");
        let found = player.elo.half_width().unwrap();
        assert!((found / half - 1.0).abs() < 1e-9, "{found}, not {half}");
    }
    assert!(found.verdicts.iter().all(|it| !it.decided));
    // a is ahead by its games with c, not by those with b.
    let far = PairCounts([0, 0, 5, 100, 400]);
    let near = PairCounts([30, 50, 60, 40, 20]);
    let meetings = [([0, 1], near), ([1, 2], won), ([0, 2], far)];
    let meetings = meetings.map(|(players, pairs)| PairedGames { players, pairs });
    let found = rate_players(&names(3), &meetings, None);
    let verdict = &found.verdicts[0];
    assert_eq!((&verdict.stronger[..], &verdict.weaker[..], verdict.decided), ("a", "b", false));
}
