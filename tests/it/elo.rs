//! What matches say: digits of fastchess, what the borders are, and how often it is wrong.

use nnuance::report::chance;
use nnuance::report::elo::{
    Anchor, Decision, Elo, FEW_PAIRS, Meeting, Pairs, Ratings, RatingsError, Scale, Sprt,
    SprtError, Verdict, expected, ratings,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Two players whose expected score is that of a difference in Elo.
///
/// Openings favour one side, and the side that a player has in the second game is the other: so a
/// pair scatters less than two games of different openings.
struct World {
    /// How often a pair scores 0, 0.5, 1, 1.5 and 2.
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
            let below = mean(Self::shares(middle)) < expected(elo);
            if below { low = middle } else { high = middle }
        }
        Self { shares: Self::shares(low) }
    }

    /// Loss, draw and win of who has White, ahead by so much.
    fn game(ahead: f64) -> [f64; 3] {
        const DRAWS: f64 = 120.0;
        let [loss, win] = [expected(-ahead - DRAWS), expected(ahead - DRAWS)];
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

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> [f64; 2] {
        let mut left = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut place = 0;
        while place < 4 && left >= self.shares[place] {
            left -= self.shares[place];
            place += 1;
        }
        [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 1.0], [1.0, 1.0]][place]
    }

    fn play(&self, count: u64, random: &mut Xoshiro256PlusPlus) -> Pairs {
        let mut pairs = Pairs::default();
        (0..count).for_each(|_| pairs.add(self.draw(random)));
        pairs
    }
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// The figures that fastchess (74deac23) prints for these counts.
#[test]
fn digits_of_fastchess() {
    for (counts, elo, normalised, los, ratio) in [
        ([36, 8, 85, 13, 48], "26.57 +/- 33.96", "27.53 +/- 34.93", "93.88", "1.39"),
        ([63, 11, 126, 20, 71], "14.93 +/- 27.92", "15.15 +/- 28.23", "85.36", "1.23"),
        ([22, 6, 42, 8, 22], "3.47 +/- 47.22", "3.56 +/- 48.15", "55.77", "1.07"),
    ] {
        let pairs = Pairs::new(counts, 0);
        let figures = pairs.figures();
        let plus_minus =
            |elo: Elo| format!("{:.2} +/- {:.2}", elo.value.unwrap(), elo.half_width().unwrap());
        assert_eq!(plus_minus(figures.elo), elo);
        assert_eq!(plus_minus(figures.normalised_elo), normalised);
        assert_eq!(format!("{:.2}", 100.0 * figures.los.unwrap()), los);
        assert_eq!(format!("{:.2}", figures.pairs_ratio.unwrap()), ratio);
        assert_eq!(figures.pairs, counts.iter().sum::<u64>());
        // The interval is that of the score, and so not symmetric in Elo.
        let Elo { value: Some(value), low: Some(low), high: Some(high) } = figures.elo else {
            panic!("{figures:?}")
        };
        assert!(high - value > value - low, "{figures:?}");
        assert!(pairs.elo().contains_zero());
    }
}

/// Ratios that fastchess's tests expect to within 1 %: counts, hypotheses, LLR. One more, for pairs
/// that were all won, is left out: it was that of 5,550 pairs in one version and of 104 in another.
#[test]
fn likelihood_ratios_of_fastchess() {
    use Scale::{Logistic, Normalised};
    for (counts, elo0, elo1, scale, llr) in [
        ([365, 16_618, 36_229, 16_974, 390], 0.0, 2.0, Normalised, 2.25),
        ([127, 4_883, 10_712, 5_150, 104], -1.75, 0.25, Normalised, 3.01),
        ([223, 9_863, 21_279, 10_037, 246], 0.5, 2.5, Logistic, -3.07),
        ([871, 26_175, 55_983, 26_678, 821], 0.0, 2.0, Logistic, -4.98),
    ] {
        let test = Sprt { elo0, elo1, alpha: 0.05, beta: 0.05, scale }.checked().expect("a test");
        let pairs = Pairs::new(counts, 0);
        let found = test.llr(&pairs);
        assert!((found / llr - 1.0).abs() < 0.01, "{counts:?}: {found}, not {llr}");
        // With many pairs it is nearly a parabola in the score.
        if scale == Logistic {
            let (n, m, v) = (pairs.len() as f64, pairs.score().unwrap(), pairs.variance().unwrap());
            let [s0, s1] = [elo0, elo1].map(expected);
            let parabola = n * (s1 - s0) * (2.0 * m - s0 - s1) / (2.0 * v);
            assert!((found / parabola - 1.0).abs() < 1e-3, "{counts:?}: {found}, {parabola}");
        }
    }
}

#[test]
fn pairs_add_up() {
    let mut pairs = Pairs::default();
    for results in [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [1.0, 0.5], [0.0, 0.5], [1.0, 1.0]] {
        pairs.add(results);
    }
    assert_eq!(pairs, Pairs::new([0, 1, 3, 1, 1], 2));
    assert_eq!(pairs.wins_draws_losses(), [5, 4, 3]);
    assert_eq!(pairs.turned(), Pairs::new([1, 1, 3, 1, 0], 2));
    assert_eq!(pairs.turned().wins_draws_losses(), [3, 4, 5]);
    let mut both = pairs;
    both.merge(&pairs.turned());
    assert_eq!((both.len(), both.score()), (12, Some(0.5)));
    assert_eq!(both.elo().value, Some(0.0));
}

/// Whatever the counts, what a reader sees is a number or nothing, and in order.
#[test]
fn every_match_has_numbers() {
    let finite = |number: Option<f64>| number.is_none_or(f64::is_finite);
    for code in 0..4_u64.pow(5) {
        let counts: [u64; 5] =
            std::array::from_fn(|i| [0, 1, 2, 300][(code >> (2 * i)) as usize % 4]);
        let pairs = Pairs::new(counts, 0);
        let figures = pairs.figures();
        for elo in [figures.elo, figures.normalised_elo] {
            assert!([elo.value, elo.low, elo.high].into_iter().all(finite), "{figures:?}");
            let ordered = |a: Option<f64>, b: Option<f64>| a.zip(b).is_none_or(|(a, b)| a <= b);
            assert!(ordered(elo.low, elo.value) && ordered(elo.value, elo.high), "{figures:?}");
            assert!(!elo.to_string().contains("NaN") && !elo.to_string().contains("inf"));
        }
        for share in [figures.los, pairs.p(), figures.score] {
            assert_eq!(share.is_none(), code == 0, "{figures:?}");
            assert!(share.is_none_or(|it| (0.0..=1.0).contains(&it)), "{figures:?}");
        }
        assert!(finite(figures.pairs_ratio));
        let turned = pairs.turned().figures();
        if let (Some(los), Some(other)) = (figures.los, turned.los) {
            let level = figures.score == Some(0.5);
            assert!(level || (los + other - 1.0).abs() < 1e-12, "{figures:?}");
        }
        if let (Some(one), Some(other)) = (figures.elo.low, turned.elo.high) {
            assert!((one + other).abs() < 1e-9 * (1.0 + one.abs()), "{figures:?} {turned:?}");
        }
        for (scale, elo1) in
            [(Scale::Logistic, 5.0), (Scale::Normalised, 5.0), (Scale::Normalised, 150.0)]
        {
            let test = Sprt { elo0: 0.0, elo1, alpha: 0.05, beta: 0.05, scale };
            let llr = test.llr(&pairs);
            assert!(llr.is_finite(), "{figures:?}: {llr}");
            let against = Sprt { elo0: -elo1, elo1: 0.0, ..test }.llr(&pairs.turned());
            assert!((llr + against).abs() < 1e-6 * (1.0 + llr.abs()), "{llr} {against}");
        }
        assert!(!Verdict::of_match(["a", "b"], &pairs).sentence().contains("NaN"));
    }
}

#[test]
fn what_is_known_without_variance_and_at_the_ends() {
    let none = Pairs::default();
    assert_eq!((none.elo(), none.normalised_elo(), none.los()), (Elo::UNKNOWN, Elo::UNKNOWN, None));
    assert_eq!(none.elo().to_string(), "unknown");

    // All won: of pairs that did not win, the share is below 1 - 0.025^(1 / 30) = 11.6 %.
    let won = Pairs::new([0, 0, 0, 0, 30], 0);
    let elo = won.elo();
    assert_eq!((elo.value, elo.high, won.normalised_elo()), (None, None, Elo::UNKNOWN));
    let low = 0.025_f64.powf(1.0 / 30.0);
    assert!((expected(elo.low.unwrap()) - low).abs() < 1e-12);
    assert_eq!(elo.to_string(), "above +353.3");
    assert_eq!(won.turned().elo().to_string(), "below -353.3");
    assert_eq!(won.ratio(), None);
    assert_eq!(won.p(), Some(2.0 * 0.5_f64.powi(30)));
    assert!(won.los().unwrap() > 0.999_999);

    // All drawn: level, and not without doubt.
    let level = Pairs::new([0, 0, 30, 0, 0], 0);
    let elo = level.elo();
    assert_eq!((elo.value, level.los(), level.p()), (Some(0.0), Some(0.5), Some(1.0)));
    assert!(elo.low.unwrap() < -30.0 && (elo.low.unwrap() + elo.high.unwrap()).abs() < 1e-9);

    // The interval of equal pairs leaves a half out exactly where chance is below 5 %.
    for (count, place) in (1..40).flat_map(|count| [0, 1, 3, 4].map(|place| (count, place))) {
        let mut counts = [0; 5];
        counts[place] = count;
        let pairs = Pairs::new(counts, 0);
        assert_eq!(pairs.elo().contains_zero(), pairs.p().unwrap() >= 0.05, "{counts:?}");
    }
    // Wide enough to pass the ends.
    let wide = Pairs::new([1, 0, 0, 0, 2], 0);
    assert_eq!((wide.elo().low.is_some(), wide.elo().high), (true, None));
    assert!(wide.elo().to_string().starts_with("+120.4 (95 % interval above "), "{}", wide.elo());
    for (z, below) in [(0.0, 0.5), (1.0, 0.841_344_746_068_543), (-6.0, 9.865_876_450_377e-10)] {
        assert!((chance::below(z) / below - 1.0).abs() < 1e-12, "{z}: {}", chance::below(z));
        assert!((chance::below(z) + chance::below(-z) - 1.0).abs() < 1e-15);
    }
    let jump = chance::below(3.0 + 1e-12) - chance::below(3.0);
    assert!(jump.abs() < 1e-13, "{jump}");
}

#[test]
fn tests_that_are_none() {
    let test = Sprt { elo0: 0.0, elo1: 5.0, alpha: 0.05, beta: 0.1, scale: Scale::Logistic };
    let [low, high] = test.checked().expect("a test").bounds();
    assert!((low - (0.1_f64 / 0.95).ln()).abs() < 1e-15 && (high - 18_f64.ln()).abs() < 1e-14);
    assert_eq!(
        (test.llr(&Pairs::default()), test.decide(&Pairs::default())),
        (0.0, Decision::GoOn)
    );
    let sentence = test.sentence(&Pairs::new([0, 0, 0, 0, 1], 0));
    assert!(sentence.ends_with("(-2.25 to 2.89): open between 0 and 5 Elo."), "{sentence}");
    for wrong in [
        Sprt { elo0: 5.0, ..test },
        Sprt { elo1: f64::NAN, ..test },
        Sprt { elo1: 1e4, ..test },
        Sprt { alpha: 0.0, ..test },
        Sprt { alpha: 0.95, ..test },
        Sprt { beta: f64::NAN, ..test },
        Sprt { elo1: 300.0, scale: Scale::Normalised, ..test },
    ] {
        assert!(wrong.checked().is_err(), "{wrong:?}");
    }
    let turned = Sprt { elo0: 5.0, elo1: 0.0, ..test }.checked();
    assert_eq!(turned, Err(SprtError::Order { elo0: 5.0, elo1: 0.0 }));
}

/// How often a test accepts H1, and the pairs it took.
fn accepted(test: &Sprt, world: &World, tests: u64) -> (f64, f64) {
    let run = |seed: u64| {
        let (mut random, mut pairs) = (random(seed), Pairs::default());
        loop {
            pairs.add(world.draw(&mut random));
            match test.decide(&pairs) {
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
fn sequential_tests_err_as_seldom_as_they_promise() {
    let tests = 10_000;
    // The opening is shared: a pair scatters less than two games of it alone would.
    let shares = World::shares(0.0);
    let pair: f64 = (0..5).map(|i| shares[i] * (i as f64 / 4.0 - 0.5).powi(2)).sum();
    let games: f64 = [-150.0, 0.0, 50.0, 150.0, 300.0_f64]
        .iter()
        .flat_map(|bias| [World::game(*bias), World::game(-bias)])
        .map(|[loss, _, win]| 0.25 * (loss + win) / 10.0)
        .sum();
    assert!(pair < 0.85 * games / 2.0, "{pair} {games}");

    let test = Sprt { elo0: 0.0, elo1: 30.0, alpha: 0.05, beta: 0.1, scale: Scale::Logistic };
    // Normalised Elo of a world follows from its shares.
    let normalised = |world: &World| {
        let mean: f64 = (0..5).map(|i| world.shares[i] * i as f64 / 4.0).sum();
        let square = |i: usize| (i as f64 / 4.0 - mean).powi(2);
        let variance: f64 = (0..5).map(|i| world.shares[i] * square(i)).sum();
        (mean - 0.5) / (2.0 * variance).sqrt() * 800.0 / 10_f64.ln()
    };
    let worlds = [0.0, 30.0].map(World::new);
    let other = Sprt { elo1: normalised(&worlds[1]), scale: Scale::Normalised, ..test };
    for (test, tests) in [(test, tests), (other, tests / 5)] {
        let test = test.checked().expect("a test");
        // Three standard errors of the simulation.
        let within = |rate: f64, promised: f64| {
            let error = (promised * (1.0 - promised) / tests as f64).sqrt();
            // Steps over a bound make it err less than it promises, but not by much.
            assert!(rate <= promised + 3.0 * error, "{test:?}: {rate}");
            assert!(rate >= 0.6 * promised, "{test:?}: {rate}");
        };
        let (wrong, pairs) = accepted(&test, &worlds[0], tests);
        within(wrong, test.alpha);
        let (right, more) = accepted(&test, &worlds[1], tests);
        within(1.0 - right, test.beta);
        let (half, most) = accepted(&test, &World::new(15.0), tests / 10);
        assert!((0.2..0.8).contains(&half) && most > pairs && most > more, "{half} {most}");
    }
}

#[test]
fn intervals_of_elo_hold_the_truth_in_95_of_100() {
    for (elo, pairs) in [(0.0, 100), (25.0, 300), (-150.0, 200)] {
        let world = World::new(elo);
        let holds = |seed: u64| {
            let found = world.play(pairs, &mut random(seed)).elo();
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
fn round_robin(elo: &[f64], count: u64) -> impl Fn(u64, Anchor) -> Ratings + Sync + use<> {
    let two = |a: usize| (a + 1..elo.len()).map(move |b| [a, b]);
    let couples: Vec<[usize; 2]> = (0..elo.len()).flat_map(two).collect();
    let worlds: Vec<World> = couples.iter().map(|[a, b]| World::new(elo[*a] - elo[*b])).collect();
    let names = names(elo.len());
    move |seed, anchor| {
        let mut random = random(seed);
        let play = |(players, world): (&[usize; 2], &World)| {
            let pairs = world.play(if players[0] == 0 { 2 * count } else { count }, &mut random);
            Meeting { players: *players, pairs }
        };
        let meetings: Vec<Meeting> = couples.iter().zip(&worlds).map(play).collect();
        ratings(&names, &meetings, anchor).expect("ratings")
    }
}

#[test]
fn ratings_are_recovered_and_their_intervals_cover() {
    let truth = [40.0, 0.0, -90.0, 10.0];
    let mean = truth.iter().sum::<f64>() / 4.0;
    let play = round_robin(&truth, 60);
    for (anchor, zero) in [(Anchor::Mean, mean), (Anchor::Player(1), truth[1])] {
        let rounds = 2_000;
        let all: Vec<Ratings> =
            (0..rounds).into_par_iter().map(|seed| play(seed, anchor)).collect();
        for (place, elo) in truth.iter().enumerate() {
            let of = |ratings: &Ratings| {
                ratings.players.iter().find(|it| it.place == place).expect("the player").elo
            };
            let found: Vec<Elo> = all.iter().map(of).collect();
            let middle = found.iter().map(|it| it.value.unwrap()).sum::<f64>() / rounds as f64;
            assert!((middle - (elo - zero)).abs() < 1.5, "{place}: {middle}");
            if anchor == Anchor::Player(place) {
                assert!(found.iter().all(|it| it.half_width() == Some(0.0)));
                continue;
            }
            let holds = |it: &&Elo| (it.low.unwrap()..=it.high.unwrap()).contains(&(elo - zero));
            let held = share(found.iter().filter(holds).count(), found.len());
            assert!((0.935..0.965).contains(&held), "{anchor:?} {place}: {held}");
        }
        // Differences too, and who is called stronger is.
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
fn equal_players_have_a_winner_in_one_match_of_twenty_at_most() {
    for (players, pairs) in [(2, 15), (4, 30), (6, 30)] {
        let play = round_robin(&[0.0; 6][..players], pairs);
        let false_winner =
            |seed: &u64| play(*seed, Anchor::Mean).verdicts.iter().any(|verdict| verdict.decided);
        let rounds = 2_000;
        let count = (0..rounds).into_par_iter().filter(false_winner).count();
        let rate = share(count, rounds as usize);
        assert!(rate < 0.065 && (players > 2 || rate > 0.03), "{players}: {rate}");
    }
}

#[test]
fn two_players_are_a_match() {
    let pairs = Pairs::new([36, 8, 85, 13, 88], 0);
    let meetings = [Meeting { players: [1, 0], pairs }];
    let both = ratings(&names(2), &meetings, Anchor::Player(0)).expect("ratings");
    let (elo, found) = (pairs.elo(), both.players[0].elo);
    assert_eq!((&both.players[0].name[..], both.players[0].pairs), ("b", 230));
    assert!((elo.value.unwrap() - found.value.unwrap()).abs() < 1e-6, "{elo} {found}");
    // The interval is that of a step in Elo, not in the score, and nearly as wide.
    assert!((elo.half_width().unwrap() / found.half_width().unwrap() - 1.0).abs() < 0.02);
    let sentence = both.verdicts[0].sentence();
    let start = "b's Elo is higher than a's: +";
    assert!(sentence.starts_with(start) && sentence.ends_with("): b is stronger."), "{sentence}");
    let own = Verdict::of_match(["b", "a"], &pairs);
    assert_eq!(own, Verdict::of_match(["a", "b"], &pairs.turned()));
    assert!(own.decided && own.sentence().ends_with("): b is stronger."), "{}", own.sentence());
    let text = both.table().to_string();
    assert!(text.lines().nth(2).is_some_and(|line| line.contains("   1  b ")), "{text}");
}

#[test]
fn verdicts_need_pairs() {
    let sentence = |counts| Verdict::of_match(["a", "b"], &Pairs::new(counts, 0)).sentence();
    assert_eq!(sentence([0; 5]), "a against b; no pairs were played: these games cannot tell.");
    let few = sentence([0, 0, 0, 0, FEW_PAIRS - 1]);
    assert!(few.ends_with("; 29 pairs, fewer than 30: these games cannot tell."), "{few}");
    assert_eq!(
        sentence([0, 0, 0, 0, 30]),
        "a's Elo is higher than b's: above +353.3: a is stronger."
    );
    let open = sentence([36, 8, 85, 13, 48]);
    assert!(open.contains("+26.6 (95 % interval -7.1 to +60.8); the interval contains"), "{open}");
    let level = sentence([10, 10, 10, 10, 10]);
    assert!(level.starts_with("a and b are level (95 % interval -"), "{level}");
}

#[test]
fn who_won_everything_has_one_end() {
    let even = Pairs::new([10, 5, 10, 5, 12], 0);
    let lost = Pairs::new([40, 0, 0, 0, 0], 0);
    let meet = |players, pairs| Meeting { players, pairs };
    // Weak player d, strong e, and f, who played nobody.
    let meetings = [
        meet([0, 1], even),
        meet([1, 2], even),
        meet([3, 0], lost),
        meet([3, 1], lost),
        meet([2, 4], lost),
        meet([3, 4], lost),
    ];
    for anchor in [Anchor::Mean, Anchor::Player(1)] {
        let found = ratings(&names(6), &meetings, anchor).expect("ratings");
        let order: String = found.players.iter().map(|it| &it.name[..]).collect();
        assert_eq!(order, "eabcdf");
        let elo = |rank: usize| found.players[rank].elo;
        assert!(elo(0).value.is_none() && elo(0).high.is_none(), "{}", elo(0));
        assert!(elo(0).low > elo(1).value && elo(4).high < elo(3).value);
        assert!(elo(4).value.is_none() && elo(4).low.is_none() && elo(5) == Elo::UNKNOWN);
        let verdict = |stronger: &str, weaker: &str| {
            let is = |it: &&Verdict| it.stronger == stronger && it.weaker == weaker;
            found.verdicts.iter().find(is).expect("a verdict")
        };
        assert!(verdict("e", "c").decided && verdict("e", "d").decided);
        assert!(verdict("a", "d").decided && !verdict("a", "b").decided);
        let apart = verdict("e", "a");
        assert_eq!(apart.why.as_deref(), Some("no games measure them with each other"));
        assert!(!verdict("d", "f").decided);
        let text = found.table().to_string() + &serde_json::to_string(&found).expect("JSON");
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        assert!(text.contains("unknown") && text.contains("below -"), "{text}");
    }
    // Measured with whom nobody else can be.
    let alone = ratings(&names(6), &meetings, Anchor::Player(5)).expect("ratings");
    assert_eq!(alone.players[0].name, "f");
    assert!(alone.players[1..].iter().all(|it| it.elo == Elo::UNKNOWN));
}

#[test]
fn a_circle_names_nobody_whose_own_games_say_otherwise() {
    // a beats b, b beats c, c beats a, all by as much.
    let won = Pairs::new([5, 5, 20, 30, 40], 0);
    let circle = [[0, 1], [1, 2], [2, 0]].map(|players| Meeting { players, pairs: won });
    let found = ratings(&names(3), &circle, Anchor::Mean).expect("ratings");
    assert!(found.players.iter().all(|it| it.elo.value.is_some_and(|elo| elo.abs() < 1e-6)));
    assert!(found.verdicts.iter().all(|it| !it.decided));
    // a is ahead by its games with c, not by those with b.
    let far = Pairs::new([0, 0, 5, 100, 400], 0);
    let near = Pairs::new([30, 50, 60, 40, 20], 0);
    let meetings = [
        Meeting { players: [0, 1], pairs: near },
        Meeting { players: [1, 2], pairs: won },
        Meeting { players: [0, 2], pairs: far },
    ];
    let found = ratings(&names(3), &meetings, Anchor::Mean).expect("ratings");
    let verdict = &found.verdicts[0];
    assert_eq!((&verdict.stronger[..], &verdict.weaker[..], verdict.decided), ("a", "b", false));
    assert_eq!(verdict.why.as_deref(), Some("their own games point the other way"));
}

#[test]
fn ratings_that_are_none() {
    let pairs = Pairs::new([1; 5], 0);
    let of = |names: &[String], players, anchor| {
        ratings(names, &[Meeting { players, pairs }], anchor).unwrap_err()
    };
    let place = RatingsError::Place { place: 2, players: 2 };
    assert_eq!(of(&names(1), [0, 0], Anchor::Mean), RatingsError::Few(1));
    assert_eq!(of(&names(2), [0, 2], Anchor::Mean), place);
    assert_eq!(of(&names(2), [0, 1], Anchor::Player(2)), place);
    assert_eq!(of(&names(2), [1, 1], Anchor::Mean), RatingsError::Itself("b".into()));
    let twice = ["a".to_string(), "a".to_string()];
    assert_eq!(of(&twice, [0, 1], Anchor::Mean), RatingsError::Twice("a".into()));
}
