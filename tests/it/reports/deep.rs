//! `compare --deep` against definitions: phases, calibration, disagreements, quantising.

use nnuance::draw::page;
use nnuance::report::deep::{Calibration, Quantising, measure_quantising};
use nnuance::report::estimate::Groups;
use nnuance::report::fit::{fit_near, fit_scale};
use nnuance::report::html::{self, ReportRun};
use nnuance::report::{
    DeepComparison, PositionFacts, Predictions, compare, compare_deeply, part_of_group,
};

use crate::support::kit::*;

/// Positions of games with three evaluations: good, noisy in endgames, and good but rounded.
struct World {
    evaluations: Vec<Predictions>,
    results: Vec<f64>,
    groups: Vec<u64>,
    phases: Vec<u8>,
    games_known: bool,
}

impl World {
    fn new(positions: usize, seed: u64, endgame_noise: f64) -> Self {
        let mut dice = Dice::new(seed);
        let (mut good, mut noisy, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let mut phases = Vec::new();
        for _ in 0..positions {
            let cp = (dice.share() - 0.5) * 1200.0;
            let phase = dice.below(25) as u8;
            let noise = if phase <= 8 { endgame_noise } else { 0.0 };
            let draw = dice.share() < 0.3;
            let wins = dice.share() < sigmoid(cp / 200.0);
            results.push(if draw { 0.5 } else { f64::from(u8::from(wins)) });
            good.push(cp);
            noisy.push(cp + noise * (dice.share() - 0.5));
            phases.push(phase);
        }
        let rounded = good.iter().map(|cp: &f64| cp.round()).collect();
        let mut evaluations = vec![
            Predictions::new("noisy", noisy),
            Predictions::new("good", good),
            Predictions::new("rounded", rounded),
        ];
        evaluations[1].net = Some(1);
        evaluations[2].net = Some(1);
        let groups = (0..positions as u64).map(|i| i / 7).collect();
        Self { evaluations, results, groups, phases, games_known: true }
    }

    fn truth(&self) -> PositionFacts {
        let truth = facts_of_games(&self.results, &self.groups, "held-out games");
        PositionFacts { games_known: self.games_known, ..truth }
    }

    fn deep(&self, reference: Option<usize>) -> DeepComparison {
        let fen = |i: usize| format!("8/8/8/8/8/8/8/K1k5 w - - 0 {}", i + 1);
        let truth = self.truth();
        let deep =
            compare_deeply(&self.evaluations, &truth, &self.phases, &fen, reference, 5).unwrap();
        DeepComparison { quantising: vec![self.quantising()], ..deep }
    }

    fn quantising(&self) -> Quantising {
        let pair = [&self.evaluations[1], &self.evaluations[2]];
        measure_quantising(pair, &self.truth()).unwrap()
    }

    fn cp(&self, evaluation: usize) -> &[f64] {
        self.evaluations[evaluation].cp.as_ref().unwrap()
    }

    /// The expected results of an evaluation, each at the best scale of the other parts.
    fn expected(&self, evaluation: usize) -> Vec<f64> {
        let cp = self.cp(evaluation);
        let whole = fit_scale(cp, &self.results).scale.unwrap();
        let scales = [0, 1, 2, 3, 4].map(|own| {
            let others = (0..cp.len()).filter(|i| part_of_group(self.groups[*i]) != own);
            fit_near(cp, &self.results, &others.collect::<Vec<_>>(), whole).unwrap()
        });
        let scale = |i: usize| scales[part_of_group(self.groups[i])];
        (0..cp.len()).map(|i| sigmoid(cp[i] / scale(i))).collect()
    }
}

#[test]
fn text_and_page_are_whole() {
    let deep = World::new(700, 5, 900.0).deep(Some(1));
    let text = deep.to_text(true);
    let is_fen = |line: &&str| line.contains("8/8");
    let narrow = |line: &str| line.chars().count() <= 80;
    assert!(text.lines().filter(|it| !is_fen(it)).all(narrow), "{text}");
    let row = |step: u64, loss: f64| LogRow {
        step,
        positions: 100 * step,
        train_loss: (step > 0).then_some(loss - 0.01),
        held_out_loss: Some(loss),
        held_out_result_loss: Some(loss + 0.02),
        learning_rate: Some(0.001),
        wdl: 0.5,
        positions_per_second: (step > 0).then_some(1e6),
    };
    let run = |name: &str, hidden: &str| ReportRun {
        name: name.to_string(),
        about: vec![("model".into(), "(768 -> N)x2 -> 1".into())],
        settings: vec![("net.hidden".into(), hidden.into()), ("seed".into(), "1".into())],
        rows: vec![row(0, 0.2), row(10, 0.1), row(20, 0.08), row(30, 0.09)],
        ..ReportRun::default()
    };
    let runs = [run("a & b", "8"), run("other", "16")];
    let names = [("good".to_string(), "a net in floats".to_string())];
    let sections = [
        html::comparison_section(&deep.comparison, &names),
        html::curves_section(&runs),
        html::phases_section(&deep),
        html::calibration_section(&deep.calibrations[..1], "games"),
        html::disagreements_section(&deep.disagreements),
        html::quantising_section(&deep),
        html::settings_section(&runs),
    ];
    stands_alone(&page("title", &maud::html! {}, &sections));
}

#[test]
fn phases_equal_a_plain_loop() {
    let mut world = World::new(6_000, 2, 600.0);
    world.phases[..6].copy_from_slice(&[8, 9, 16, 17, 24, 0]);
    let deep = world.deep(None);
    assert_eq!(deep.comparison, compare(&world.evaluations, &world.truth()).unwrap());
    let bounds = [0..=8, 9..=16, 17..=24];
    for (rows, bounds) in deep.phases.chunks(3).zip(&bounds) {
        let inside: Vec<usize> =
            (0..6_000).filter(|i| bounds.contains(&world.phases[*i])).collect();
        for (e, found) in rows.iter().enumerate() {
            assert_eq!(found.positions, inside.len());
            let expected = world.expected(e);
            let square = |i: &usize| (expected[*i] - world.results[*i]).powi(2);
            let loss = inside.iter().map(square).sum::<f64>() / inside.len() as f64;
            assert!((found.loss.mean - loss).abs() < 1e-12, "{} {}", found.phase, found.name);
        }
    }
    world.phases.fill(20);
    assert_eq!(world.deep(None).phases.len(), 3);
    // The noisy one is worse where its noise is.
    let noisy = World::new(20_000, 5, 900.0).deep(Some(1)).phases.remove(0);
    let difference = noisy.difference.unwrap();
    assert!(difference.mean > 0.01 && !difference.contains_zero(), "{noisy:?}");
}

#[test]
fn calibration_of_right_and_overconfident() {
    let (mut inside, mut bins) = (0, 0);
    let groups = Groups::new((0..10_000).map(|i| i / 7), true);
    for seed in 0..10 {
        let mut dice = Dice::new(seed);
        let logits: Vec<f64> = (0..10_000).map(|_| 4.0 * (dice.share() - 0.5)).collect();
        let wins = |logit: &f64| f64::from(u8::from(dice.share() < sigmoid(*logit)));
        let results: Vec<f64> = logits.iter().map(wins).collect();
        let [right, bold] = [1.0, 2.0].map(|times| {
            let expected: Vec<f64> = logits.iter().map(|it| sigmoid(it * times)).collect();
            Calibration::calibrate("it", &expected, &results, &groups)
        });
        for calibration in [&right, &bold] {
            assert_eq!(calibration.bins.iter().map(|bin| bin.positions).sum::<usize>(), 10_000);
        }
        bins += right.bins.len();
        inside += right.bins.iter().filter(|bin| bin.off.contains_zero()).count();
        let by_chance = right.by_chance.unwrap();
        assert!((0.4 * by_chance..2.0 * by_chance).contains(&right.error), "{right:?}");
        assert!(bold.error > 5.0 * bold.by_chance.unwrap() && bold.bins[0].off.mean > 0.0);
    }
    assert!((0.88..0.99).contains(&(inside as f64 / bins as f64)), "{inside} of {bins}");
}

#[test]
fn equal_values_stay_in_one_bin() {
    let expected: Vec<f64> = (0..1_000).map(|i| [0.2, 0.5, 0.5, 0.9][i % 4]).collect();
    let results: Vec<f64> = (0..1_000).map(|i| f64::from(u8::from(i % 7 < 3))).collect();
    let groups = Groups::new(0..1_000, true);
    let found = Calibration::calibrate("it", &expected, &results, &groups);
    let bins: Vec<_> = found.bins.iter().map(|bin| (bin.positions, bin.range)).collect();
    assert_eq!(bins, [(250, [0.2; 2]), (500, [0.5; 2]), (250, [0.9; 2])]);
    assert_eq!(Calibration::calibrate("it", &[0.5; 1_000], &results, &groups).bins.len(), 1);
}

#[test]
fn disagreements_equal_brute_force() {
    let world = World::new(4_000, 8, 900.0);
    // Good and rounded are one net; the better of each pair comes first.
    let deep = world.deep(Some(1));
    let [disagreement] = &deep.disagreements[..] else { panic!("one") };
    assert_eq!(disagreement.names, ["good", "noisy"]);
    let expected = [1, 0].map(|e| world.expected(e));
    let apart = |i: usize| (expected[0][i] - expected[1][i]).abs();
    let mut left: Vec<usize> = (0..4_000).collect();
    for found in &disagreement.positions {
        let widest =
            left.iter().copied().fold(left[0], |a, b| if apart(b) > apart(a) { b } else { a });
        assert_eq!(found.position, widest);
        assert!(found.fen.ends_with(&format!(" {}", widest + 1)));
        left.retain(|i| world.groups[*i] != world.groups[widest]);
    }
    assert_eq!(disagreement.positions.len(), 5);
    let large = (0..4_000).filter(|i| apart(*i) > 0.1).count();
    assert_eq!(disagreement.share, large as f64 / 4_000.0);
}

#[test]
fn quantising_equals_brute_force() {
    let world = World::new(5_000, 9, 0.0);
    let found = world.quantising();
    let mut sizes: Vec<f64> = world.cp(1).iter().map(|cp| (cp - cp.round()).abs()).collect();
    sizes.sort_by(f64::total_cmp);
    assert_eq!((found.largest, found.most_999), (sizes[4_999], sizes[4_994]));
    assert!((found.mean - sizes.iter().sum::<f64>() / 5_000.0).abs() < 1e-12);
    let [floats, integers] = [1, 2].map(|e| {
        let square = |(expected, result): (f64, &f64)| (expected - result).powi(2);
        world.expected(e).into_iter().zip(&world.results).map(square).sum::<f64>() / 5_000.0
    });
    assert!((found.cost.mean - (integers - floats)).abs() < 1e-12);
}

#[test]
fn unknown_games_conclude_nothing() {
    let mut world = World::new(20_000, 5, 900.0);
    world.games_known = false;
    let deep = world.deep(None);
    assert!(deep.comparison.pairs.iter().all(|pair| !pair.decided));
    let json = serde_json::to_string(&deep).unwrap();
    assert!(!json.contains("\"interval_is_lower_bound\":false"));
}

#[test]
fn threads_change_nothing() {
    let world = World::new(20_000, 11, 500.0);
    same_for_threads(&[3], "deep", || serde_json::to_string(&world.deep(None)).unwrap());
}
