//! What lies below a comparison: slices, calibration, disagreements, integers.

use nnuance::loss::sigmoid;
use nnuance::report::deep::DeepError;
use nnuance::report::fit::fit;
use nnuance::report::slices::{By, Slice};
use nnuance::report::{
    Attributes, Deep, Depth, Options, Predictions, Truth, Values, compare, deep,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Uniform in 0..1.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

const OPTIONS: Options = Options { fit_on_same: true, fixed_scale: None };

/// Positions of games, with three evaluations: good, one with more noise, and a rounded good one.
struct World {
    evaluations: Vec<Predictions>,
    results: Vec<f64>,
    groups: Vec<u64>,
    facts: Vec<Attributes>,
    sources: Vec<String>,
    options: Options,
    games_known: bool,
}

impl World {
    /// Evaluations are worse where the phase is below 9 by `endgame_noise` centipawns.
    fn new(positions: usize, seed: u64, endgame_noise: f64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut good, mut noisy, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let (mut groups, mut facts) = (Vec::new(), Vec::new());
        for i in 0..positions {
            let cp = (uniform(&mut random) - 0.5) * 1200.0;
            let phase = (random.next_u64() % 25) as u8;
            let noise = if phase <= 8 { endgame_noise } else { 0.0 };
            let draw = uniform(&mut random) < 0.3;
            let wins = uniform(&mut random) < sigmoid(cp / 200.0);
            results.push(if draw { 0.5 } else { f64::from(u8::from(wins)) });
            good.push(cp);
            noisy.push(cp + noise * (uniform(&mut random) - 0.5));
            groups.push(i as u64 / 7);
            facts.push(Attributes {
                phase,
                balance: ((random.next_u64() % 1200) as i32) - 600,
                in_check: random.next_u64().is_multiple_of(9),
                score: Some((cp * 1.1) as i32),
                source: (random.next_u64() % 2) as u16,
            });
        }
        let rounded = good.iter().map(|cp: &f64| cp.round()).collect();
        let evaluations = vec![
            Predictions::new("noisy", noisy),
            Predictions::new("good", good),
            Predictions::new("rounded", rounded),
        ];
        let sources = ["a.bin", "b.bin", "empty.bin"].map(String::from).to_vec();
        Self { evaluations, results, groups, facts, sources, options: OPTIONS, games_known: true }
    }

    fn deep(&self, change: impl FnOnce(&mut Depth)) -> Result<Deep, DeepError> {
        let fen = |i: usize| format!("8/8/8/8/8/8/8/K1k5 w - - 0 {}", i + 1);
        let mut depth = Depth {
            facts: &self.facts,
            sources: &self.sources,
            fen: &fen,
            reference: None,
            disagreements: None,
            most: Depth::MOST,
            gaps: &[[1, 2]],
            ends: None,
            bins: Depth::BINS,
        };
        change(&mut depth);
        let truth = Truth {
            games_known: self.games_known,
            ..Truth::of_games(&self.results, &self.groups, "held-out games")
        };
        deep(&self.evaluations, &truth, &self.options, &depth)
    }
}

fn cut(deep: &Deep, by: By) -> &[Slice] {
    &deep.slices.cuts.iter().find(|cut| cut.by == by).expect("shown").slices
}

/// The slices written out once more, one condition each.
fn belongs(by: By, slice: usize, facts: &Attributes, result: f64) -> bool {
    let (phase, balance) = (facts.phase, facts.balance.abs());
    let score = facts.score.unwrap().abs();
    match (by, slice) {
        (By::Phase, 0) => phase <= 8,
        (By::Phase, 1) => (9..=16).contains(&phase),
        (By::Phase, 2) => phase >= 17,
        (By::Balance, 0) => balance < 100,
        (By::Balance, 1) => (100..=300).contains(&balance),
        (By::Balance, 2) => balance > 300,
        (By::Score, 0) => score < 50,
        (By::Score, 1) => (50..150).contains(&score),
        (By::Score, 2) => (150..400).contains(&score),
        (By::Score, 3) => score >= 400,
        (By::Check, 0) => !facts.in_check,
        (By::Check, 1) => facts.in_check,
        (By::Source, file) => usize::from(facts.source) == file,
        (By::Result, 0) => result == 1.0,
        (By::Result, 1) => result == 0.5,
        (By::Result, 2) => result == 0.0,
        _ => panic!("{by:?} has no slice {slice}"),
    }
}

#[test]
fn slices_equal_a_plain_loop_and_add_up() {
    let mut world = World::new(6_000, 2, 600.0);
    // The borders themselves.
    for (i, value) in [0, 49, 50, 99, 100, 149, 150, 300, 301, 399, 400].into_iter().enumerate() {
        world.facts[i].balance = value;
        world.facts[i + 20].balance = -value;
        world.facts[i].score = Some(-value);
    }
    let deep = world.deep(|_| ()).unwrap();
    assert_eq!(deep.slices.cuts.len(), By::ALL.len());
    for cut in &deep.slices.cuts {
        let positions: usize = cut.slices.iter().map(|slice| slice.positions).sum();
        assert_eq!(positions, world.results.len(), "{:?}", cut.by);
        for (e, evaluation) in world.evaluations.iter().enumerate() {
            let Values::Cp(cp) = &evaluation.values else { panic!("centipawns") };
            let scale = fit(cp, &world.results).scale.unwrap();
            let mut whole = 0.0;
            for (s, slice) in cut.slices.iter().enumerate() {
                let (mut sum, mut count) = (0.0, 0);
                let mut groups = std::collections::BTreeSet::new();
                for (i, cp) in cp.iter().enumerate() {
                    if belongs(cut.by, s, &world.facts[i], world.results[i]) {
                        sum += (sigmoid(cp / scale) - world.results[i]).powi(2);
                        count += 1;
                        groups.insert(world.groups[i]);
                    }
                }
                assert_eq!(
                    (slice.positions, slice.groups),
                    (count, groups.len()),
                    "{}",
                    slice.name
                );
                if count > 0 {
                    let found = &slice.evaluations[e];
                    assert_eq!(found.name, evaluation.name);
                    assert!((found.loss.mean - sum / f64::from(count as u32)).abs() < 1e-12);
                    whole += found.loss.mean * count as f64;
                }
            }
            let measured = &deep.comparison.evaluations;
            let overall = measured.iter().find(|it| it.name == evaluation.name).unwrap();
            assert!((whole / positions as f64 - overall.loss.mean).abs() < 1e-12);
        }
    }
}

#[test]
fn the_comparison_within_is_the_comparison() {
    let world = World::new(3_000, 3, 600.0);
    let truth = Truth::of_games(&world.results, &world.groups, "held-out games");
    let alone = compare(&world.evaluations, &truth, &OPTIONS).unwrap();
    assert_eq!(world.deep(|_| ()).unwrap().comparison, alone);
}

#[test]
fn marks_stand_where_an_evaluation_is_worse() {
    let deep = World::new(20_000, 5, 900.0).deep(|_| ()).unwrap();
    let endgame = &cut(&deep, By::Phase)[0].evaluations[0];
    assert!(endgame.marked && endgame.difference.unwrap().mean > 0.01, "{endgame:?}");
    // A slice chosen by the result has its difference, and no mark.
    for slice in cut(&deep, By::Result) {
        assert!(slice.evaluations.iter().all(|one| !one.marked && one.p.is_none()));
        assert!(!slice.evaluations[0].difference.unwrap().contains_zero());
    }
    // Shrunken values are worse, and yet good at draws.
    assert!(cut(&deep, By::Result)[1].evaluations[0].difference.unwrap().mean < 0.0);
    // Three evaluations are two differences a slice: 14 slices with positions that rank.
    assert_eq!(deep.slices.comparisons, 28);
    let text = deep.slices.text();
    assert!(text.contains("among 28 differences") && text.contains("they do not rank"));
    assert!(text.contains("No positions: empty.bin (file)."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn slices_compare_with_the_one_that_is_asked_for() {
    let world = World::new(3_000, 6, 600.0);
    for (reference, others) in [
        (Some(0), [None, Some("noisy"), Some("noisy")]),
        (Some(2), [Some("rounded"), Some("rounded"), None]),
    ] {
        let deep = world.deep(|depth| depth.reference = reference).unwrap();
        for (one, other) in cut(&deep, By::Check)[0].evaluations.iter().zip(others) {
            assert_eq!(one.other.as_deref(), other);
            assert_eq!(one.difference.is_some(), other.is_some());
        }
    }
}

#[test]
fn chance_alone_marks_little() {
    // Two evaluations with noise of the same kind: nothing is there to be found.
    let (mut marked, mut excluded, worlds) = (0, 0, 60);
    for seed in 0..worlds {
        let mut world = World::new(3_000, 1000 + seed, 0.0);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        world.evaluations = ["one", "two"]
            .map(|name| {
                let Values::Cp(good) = &world.evaluations[1].values else { unreachable!() };
                let noisy = |cp: &f64| cp + 400.0 * (uniform(&mut random) - 0.5);
                Predictions::new(name, good.iter().map(noisy).collect())
            })
            .to_vec();
        let deep = world.deep(|depth| depth.gaps = &[]).unwrap();
        let ranked = deep.slices.cuts.iter().filter(|cut| cut.ranks).flat_map(|cut| &cut.slices);
        let all: Vec<_> = ranked.flat_map(|slice| slice.evaluations.first()).collect();
        marked += usize::from(all.iter().any(|one| one.marked));
        excluded += usize::from(all.iter().any(|one| !one.difference.unwrap().contains_zero()));
    }
    assert!(marked <= 9, "{marked} of {worlds}");
    assert!(excluded > 2 * marked.max(5), "{excluded}: the correction would be for nothing");
}

#[test]
fn an_evaluation_does_not_differ_from_itself() {
    let mut world = World::new(3_000, 4, 600.0);
    world.evaluations[2] = Predictions { name: "again".into(), ..world.evaluations[1].clone() };
    let deep = world.deep(|depth| depth.disagreements = Some(&[[1, 2]])).unwrap();
    for slice in deep.slices.cuts.iter().flat_map(|cut| &cut.slices) {
        for one in slice.evaluations.iter().skip(1) {
            let difference = one.difference.unwrap();
            assert_eq!((difference.mean, difference.interval), (0.0, Some([0.0, 0.0])));
            assert!(!one.marked);
        }
    }
    assert!(deep.disagreements[0].positions.is_empty() && deep.disagreements[0].large == 0);
    let gap = &deep.gaps[0];
    assert_eq!((gap.largest, gap.cost.mean, gap.correlation), (0.0, 0.0, Some(1.0)));
    assert_eq!(gap.sentence, "good and again have the same loss.");
}

#[test]
fn small_slices_and_missing_scores_are_said() {
    let mut world = World::new(3_000, 6, 0.0);
    world.facts.iter_mut().for_each(|facts| facts.source = 0);
    world.facts[..100].iter_mut().for_each(|facts| facts.source = 1);
    world.facts[9].score = None;
    let deep = world.deep(|_| ()).unwrap();
    let slice = &cut(&deep, By::Source)[1];
    assert!(slice.few && slice.evaluations.iter().all(|one| one.p.is_none()));
    assert!(deep.slices.cuts.iter().all(|cut| cut.by != By::Score));
    let text = deep.slices.text();
    assert!(text.contains("Not by score: not all positions have one."), "{text}");
    assert!(text.contains("too few for intervals to be trusted: b.bin (file)."), "{text}");
}

/// Positions whose results follow probabilities; the second evaluation doubles their logits.
fn calibrated(positions: usize, seed: u64) -> World {
    let mut world = World::new(positions, seed, 0.0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let logits: Vec<f64> = (0..positions).map(|_| 4.0 * (uniform(&mut random) - 0.5)).collect();
    let wins = |logit: &f64| f64::from(u8::from(uniform(&mut random) < sigmoid(*logit)));
    world.results = logits.iter().map(wins).collect();
    world.evaluations = [("right", 1.0), ("bold", 2.0)]
        .map(|(name, times)| {
            let values = logits.iter().map(|it| sigmoid(it * times)).collect();
            Predictions::saying(name, Values::Probability(values))
        })
        .to_vec();
    world
}

#[test]
fn calibration_knows_right_from_bold() {
    let (mut inside, mut bins) = (0, 0);
    for seed in 0..10 {
        let deep = calibrated(10_000, seed).deep(|depth| depth.gaps = &[]).unwrap();
        let [right, bold] = &deep.calibrations[..] else { panic!("two") };
        for calibration in [right, bold] {
            assert_eq!(calibration.bins.len(), Depth::BINS);
            assert_eq!(calibration.bins.iter().map(|bin| bin.positions).sum::<usize>(), 10_000);
        }
        bins += right.bins.len();
        inside += right.bins.iter().filter(|bin| bin.off.contains_zero()).count();
        let by_chance = right.by_chance.unwrap();
        assert!((0.4 * by_chance..2.0 * by_chance).contains(&right.error), "{right:?}");
        assert!(bold.error > 5.0 * bold.by_chance.unwrap());
        assert!(!bold.bins[0].off.contains_zero() && bold.bins[0].off.mean > 0.0);
        assert!(bold.slope.unwrap().interval.unwrap()[1] < 1.0);
        assert!(bold.sentence.ends_with("it promises too much."), "{}", bold.sentence);
    }
    // Results that favour the side to move more than promised.
    let mut world = calibrated(10_000, 20);
    world.results.iter_mut().step_by(9).for_each(|result| *result = 1.0);
    let deep = world.deep(|depth| depth.gaps = &[]).unwrap();
    let right = &deep.calibrations[0];
    assert!(right.bias.mean > 0.03 && right.sentence.contains("more than promised"), "{right:?}");
    assert!((0.88..0.99).contains(&(inside as f64 / bins as f64)), "{inside} of {bins}");
}

#[test]
fn equal_values_stay_in_one_bin() {
    let mut world = calibrated(1_000, 3);
    let coarse: Vec<f64> = (0..1_000).map(|i| [0.2, 0.5, 0.5, 0.9][i % 4]).collect();
    world.evaluations[0].values = Values::Probability(coarse);
    world.evaluations[1].values = Values::Probability(vec![0.5; 1_000]);
    world.evaluations.push(Predictions::constant());
    let deep = world.deep(|depth| (depth.gaps, depth.bins) = (&[], 10)).unwrap();
    // A constant promises nothing of its own.
    assert_eq!(deep.calibrations.len(), world.evaluations.len() - 1);
    let bins = &deep.calibrations[0].bins;
    let found: Vec<_> = bins.iter().map(|bin| (bin.positions, bin.range)).collect();
    assert_eq!(found, [(250, [0.2; 2]), (500, [0.5; 2]), (250, [0.9; 2])]);
    let fives: Vec<f64> =
        (0..1_000).filter(|i| matches!(i % 4, 1 | 2)).map(|i| world.results[i]).collect();
    assert!((bins[1].observed.mean - fives.iter().sum::<f64>() / 500.0).abs() < 1e-12);
    let even = &deep.calibrations[1];
    assert!(even.bins.len() == 1 && even.slope.is_none());
    // Least squares, once more.
    let Values::Probability(x) = &world.evaluations[0].values else { unreachable!() };
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (mx, my) = (mean(x), mean(&world.results));
    let pairs = || x.iter().zip(&world.results).map(|(x, y)| (x - mx, y - my));
    let slope = pairs().map(|(x, y)| x * y).sum::<f64>() / pairs().map(|(x, _)| x * x).sum::<f64>();
    assert!((deep.calibrations[0].slope.unwrap().mean - slope).abs() < 1e-12);
}

#[test]
fn disagreements_equal_brute_force() {
    let world = World::new(4_000, 8, 900.0);
    let deep = world.deep(|_| ()).unwrap();
    // Good and rounded are one thing; the better of each pair comes first.
    let [disagreement] = &deep.disagreements[..] else { panic!("one") };
    assert_eq!(disagreement.names[1], "noisy");
    let first = 1 + usize::from(disagreement.names[0] == "rounded");
    let expected = [first, 0].map(|e| {
        let Values::Cp(cp) = &world.evaluations[e].values else { unreachable!() };
        let scale = fit(cp, &world.results).scale.unwrap();
        cp.iter().map(|cp| sigmoid(cp / scale)).collect::<Vec<_>>()
    });
    let apart = |i: usize| (expected[0][i] - expected[1][i]).abs();
    let mut left: Vec<usize> = (0..4_000).collect();
    for found in &disagreement.positions {
        let mut widest = left[0];
        for i in &left {
            if apart(*i) > apart(widest) {
                widest = *i;
            }
        }
        assert_eq!(found.position, widest);
        assert!(found.fen.ends_with(&format!(" {}", widest + 1)));
        let off = expected.each_ref().map(|list| (list[widest] - world.results[widest]).abs());
        let nearer = &disagreement.names[usize::from(off[1] < off[0])];
        assert_eq!(found.nearer.as_ref(), Some(nearer));
        left.retain(|i| world.groups[*i] != world.groups[widest]);
    }
    assert_eq!(disagreement.positions.len(), Depth::MOST);
    let large: Vec<usize> = (0..4_000).filter(|i| apart(*i) > 0.1).collect();
    assert_eq!(disagreement.large, large.len());
    let nearer = |i: &&usize| {
        let [a, b] = expected.each_ref().map(|list| (list[**i] - world.results[**i]).abs());
        a < b
    };
    let share = large.iter().filter(nearer).count() as f64 / large.len() as f64;
    // Exactly between both, at a draw, happens to nobody.
    assert!((disagreement.first_nearer.unwrap().mean - share).abs() < 1e-12);
    assert!(disagreement.text().contains("8  . . . . . . . .    result"));
}

#[test]
fn gaps_equal_brute_force() {
    let world = World::new(5_000, 9, 0.0);
    let gap = world.deep(|_| ()).unwrap().gaps.remove(0);
    let Values::Cp(good) = &world.evaluations[1].values else { unreachable!() };
    let mut sizes: Vec<f64> = good.iter().map(|cp| (cp - cp.round()).abs()).collect();
    let at = gap.largest_at;
    assert_eq!((good[at] - good[at].round()).abs(), gap.largest);
    sizes.sort_by(f64::total_cmp);
    assert_eq!(gap.largest, sizes[4_999]);
    assert_eq!((gap.most_95, gap.most_999), (sizes[4_749], sizes[4_994]));
    assert!((gap.mean - sizes.iter().sum::<f64>() / 5_000.0).abs() < 1e-12);
    assert!(gap.cost.contains_zero() && gap.correlation.unwrap() > 0.999_99);
    assert!(gap.sentence.ends_with("nothing that these held-out games can show."), "{gap:?}");
}

#[test]
fn without_games_intervals_are_lower_bounds_everywhere_and_nothing_is_concluded() {
    let mut world = World::new(20_000, 5, 900.0);
    world.evaluations[2] = Predictions::new("shifted", {
        let Values::Cp(good) = &world.evaluations[1].values else { unreachable!() };
        good.iter().map(|cp| 1.4 * cp + 60.0).collect()
    });
    let known = world.deep(|_| ()).unwrap();
    assert!(known.gaps[0].sentence.contains("show it"), "{}", known.gaps[0].sentence);
    assert!(known.slices.comparisons > 0 && known.comparison.pairs.iter().any(|it| it.decided));
    assert!(!known.text().contains("at least"));
    world.games_known = false;
    let deep = world.deep(|_| ()).unwrap();
    assert!(deep.comparison.pairs.iter().all(|pair| !pair.decided));
    assert_eq!(deep.slices.comparisons, 0);
    let slices = deep.slices.cuts.iter().flat_map(|cut| &cut.slices);
    assert!(slices.flat_map(|slice| &slice.evaluations).all(|one| !one.marked));
    let text = deep.text();
    for line in text.lines().filter(|line| line.contains(" to ") && line.contains("  0.")) {
        assert!(line.contains("at least"), "{line}");
    }
    assert!(!text.contains("wins") && !text.contains("show it"), "{text}");
    assert!(deep.gaps[0].sentence.ends_with("games unknown: these data cannot tell."), "{text}");
    let json = serde_json::to_string(&deep).unwrap();
    assert!(json.contains("\"games_known\":false"));
    assert!(!json.contains("\"interval_is_lower_bound\":false"));
}

#[test]
fn what_does_not_fit_is_said() {
    let world = World::new(700, 10, 0.0);
    let error = |change: fn(&mut Depth)| world.deep(change).unwrap_err().to_string();
    let facts = error(|depth| depth.facts = &depth.facts[1..]);
    assert_eq!(facts, "there are facts for 699 positions of 700");
    let source = error(|depth| depth.sources = &depth.sources[..1]);
    assert!(source.contains("comes from file 1, but 1 files are named"), "{source}");
    let none = error(|depth| depth.gaps = &[[0, 3]]);
    assert_eq!(none, "there is no evaluation 3, they count from 0 to 2");
    assert_eq!(error(|depth| depth.bins = 0), "0 bins, expected 1 to 1000");
    let mut world = World::new(700, 10, 0.0);
    world.evaluations[2] = Predictions::constant();
    let error = world.deep(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("constant gives no centipawns"), "{error}");
}

#[test]
fn threads_change_nothing() {
    let world = World::new(20_000, 11, 500.0);
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| serde_json::to_string(&world.deep(|_| ()).unwrap()).unwrap())
    });
    assert!(one == three);
}

/// `cargo test --release -- --ignored --nocapture speed_of_deep`, under a clock.
#[test]
#[ignore = "for a clock"]
fn speed_of_deep() {
    let mut world = World::new(1_000_000, 12, 500.0);
    let more = [0, 1].map(|i| world.evaluations[i].clone());
    world.evaluations.extend(more);
    world.options = Options::default();
    world.deep(|_| ()).unwrap();
}

/// From "noisy", the worse end, to "good": a mixture lies between, and a mixture nearer to good
/// goes further.
#[test]
fn the_way_between_two_ends_is_a_share_of_their_losses() {
    let mut world = World::new(6_000, 5, 600.0);
    let cp = |world: &World, i: usize| match &world.evaluations[i].values {
        Values::Cp(cp) => cp.clone(),
        other => panic!("{other:?}"),
    };
    let (noisy, good) = (cp(&world, 0), cp(&world, 1));
    let mixed = noisy.iter().zip(&good).map(|(noisy, good)| 0.3 * noisy + 0.7 * good).collect();
    world.evaluations.push(Predictions::new("mixed", mixed));
    world.evaluations.push(Predictions::constant());
    let deep = world.deep(|depth| depth.ends = Some([0, 1])).unwrap();
    let names: Vec<&str> = deep.reaches.iter().map(|reach| &reach.name[..]).collect();
    assert_eq!(names, ["rounded", "mixed"]);
    let loss = |name: &str| {
        deep.comparison.evaluations.iter().find(|one| one.name == name).unwrap().loss.mean
    };
    for reach in &deep.reaches {
        let share = (loss("noisy") - loss(&reach.name)) / (loss("noisy") - loss("good"));
        assert!((reach.share.mean - share).abs() < 1e-9, "{reach:?}");
        let [low, high] = reach.share.interval.unwrap();
        assert!(low <= share && share <= high, "{reach:?}");
    }
    let [rounded, mixed] = [0, 1].map(|i| deep.reaches[i].share.mean);
    assert!((rounded - 1.0).abs() < 0.01 && (0.2..0.999).contains(&mixed), "{rounded} {mixed}");
    assert!(deep.text().contains("From material to score mixed goes "));
    // Where the ends cannot be told apart, or stand the other way round, there is no way.
    assert!(world.deep(|depth| depth.ends = Some([1, 2])).unwrap().reaches.is_empty());
    assert!(world.deep(|depth| depth.ends = Some([1, 0])).unwrap().reaches.is_empty());
    assert!(world.deep(|depth| depth.ends = Some([1, 9])).is_err());
}
