//! Losses of errors, expected results of scores, and weights of positions.

use nnuance::loader::{PositionWeights, Store};

use crate::support::kit::*;

#[test]
fn derivatives_of_losses_are_differences() {
    for loss in games::LOSSES {
        for target in [0.0, 0.3, 0.5, 1.0] {
            let at_target =
                loss.value_at(f64::ln(target / (1.0 - target)).clamp(-40.0, 40.0), target);
            for logit in [-6.0, -1.2, -0.1, 0.07, 0.9, 5.0] {
                let step = 1e-5;
                let difference =
                    loss.value_at(logit + step, target) - loss.value_at(logit - step, target);
                let (got, right) = (loss.derivative(logit, target), difference / (2.0 * step));
                assert!((got - right).abs() < 1e-8, "{loss:?} {logit} {target}: {got} {right}");
                assert!(loss.value_at(logit, target) > at_target, "{loss:?} {logit} {target}");
            }
        }
    }
}

#[test]
fn asymmetric_errors() {
    for plain in [Loss::SQUARED, games::power_loss(2.5), games::CROSS_ENTROPY] {
        let lopsided = Loss { asymmetry: 0.25, ..plain };
        assert_eq!(lopsided.value_at(1.0, 0.2), 1.25 * plain.value_at(1.0, 0.2));
        assert_eq!(lopsided.value_at(-1.0, 0.9), plain.value_at(-1.0, 0.9));
    }
    assert_eq!(games::power_loss(2.0).value_at(0.7, 0.1), Loss::SQUARED.value_at(0.7, 0.1));
}

#[test]
fn win_rates_of_scores() {
    let plain = win_rate(130.0);
    let with_draws = WinRateModel { offset: 110.0, ..win_rate(90.0) };
    for score in [-700.0, -110.0, -3.0, 0.0, 40.0, 110.0, 900.0] {
        assert_eq!(plain.expected_result(score), sigmoid(score / 130.0));
        let (win, loss) = (sigmoid((score - 110.0) / 90.0), sigmoid((-score - 110.0) / 90.0));
        let draw = 1.0 - win - loss;
        assert!(draw > 0.0);
        assert!((with_draws.expected_result(score) - (win + 0.5 * draw)).abs() < 1e-15);
        assert!(
            (with_draws.expected_result(score) + with_draws.expected_result(-score) - 1.0).abs()
                < 1e-15
        );
    }
    // Mates count as the bound.
    let clamped = WinRateModel { clamp: 500.0, ..with_draws };
    for (score, counted) in [(32_000.0, 500.0), (-501.0, -500.0), (499.0, 499.0), (-3.0, -3.0)] {
        assert_eq!(clamped.expected_result(score), with_draws.expected_result(counted));
    }
    let target = "target = { score_scale = 90, score_offset = 110, clamp_score = 500 }";
    let config = config_with(&format!("terms = {{}}\n{target}")).expect("a config");
    assert_eq!(config.win_rate, clamped);
    // At the offset a win has probability one half.
    assert!((sigmoid(0.0) - 0.5).abs() < 1e-15 && with_draws.expected_result(110.0) > 0.5);
}

fn weighing() -> PositionWeights {
    PositionWeights {
        ply: vec![[10.0, 0.5], [50.0, 2.0]],
        pieces: vec![[4.0, 1.0], [20.0, 3.0], [32.0, 0.0]],
        score: vec![[0.0, 1.0], [1000.0, 0.25]],
        own: None,
    }
}

fn by_hand(sample: &Sample) -> f64 {
    let line = |x: f64, points: &[[f64; 2]]| {
        let (first, last) = (points[0], points[points.len() - 1]);
        let inside = points.windows(2).find(|pair| pair[0][0] <= x && x <= pair[1][0]);
        match inside {
            Some(pair) => {
                let share = (x - pair[0][0]) / (pair[1][0] - pair[0][0]);
                (1.0 - share) * pair[0][1] + share * pair[1][1]
            }
            None if x < first[0] => first[1],
            None => last[1],
        }
    };
    let PositionWeights { ply, pieces, score, .. } = weighing();
    line(sample.ply.unwrap().into(), &ply) / 2.0
        * line(sample.position.piece_count() as f64, &pieces)
        / 3.0
        * line(f64::from(sample.score.unwrap()).abs(), &score)
}

fn plan() -> ReadPlan {
    let weighing = weighing();
    ReadPlan { weighing, ..plan_first_positions(GAMES, 20_000) }
}

#[test]
fn weights_are_interpolated() {
    let samples = collect_samples(&plan(), None, &|_| {}).expect("games");
    for sample in &samples {
        assert!((weighing().weight_of(sample) - by_hand(sample)).abs() < 1e-12);
    }
    let weights = weighing().batch_weights(&samples);
    for (weight, sample) in weights.iter().zip(&samples) {
        assert!((f64::from(*weight) - by_hand(sample)).abs() <= 0.5 / 255.0 + 1e-6);
    }
    assert!(PositionWeights::default().batch_weights(&samples).is_empty());
    // A missing fact changes nothing.
    let bare = Sample { ply: None, score: None, ..samples[0] };
    let pieces = PositionWeights { pieces: weighing().pieces, ..PositionWeights::default() };
    assert_eq!(weighing().weight_of(&bare), pieces.weight_of(&samples[0]));
}

#[test]
fn batches_carry_weights() {
    let samples = collect_samples(&plan(), None, &|_| {}).expect("games");
    let right = weighing().batch_weights(&samples);
    let expected = Some(samples.len() as u64);
    for window in [samples.len(), 7_000] {
        let order = PassOrder { shuffle: false, window, batch: 5_000, ..PassOrder::default() };
        let level = ReadPlan { weighing: PositionWeights::default(), ..plan() };
        let [plan, level] = [plan(), level].map(|read| stream_plan(read, order, expected));
        let encoder = games::lists(Perspectives::Perspective);
        let mut weighed = Stream::new(plan, encoder.clone(), 0);
        let mut plain = Stream::new(level, encoder, 0);
        let sorted = |batches: [&[f32]; 4]| {
            let mut all = batches.concat();
            all.sort_by(f32::total_cmp);
            all
        };
        let batches = [(); 4].map(|()| weighed.next().expect("no end").expect("good data"));
        let weights = sorted(batches.each_ref().map(|batch| &batch.weights[..]));
        assert!(weights == sorted([&right, &[], &[], &[]]), "window {window}");
        for batch in batches {
            let unweighted = plain.next().expect("no end").expect("good data");
            assert!(unweighted.weights.is_empty() && batch.inputs == unweighted.inputs);
            let mean = batch.normalised_weights().iter().sum::<f32>() / 5_000.0;
            assert!((mean - 1.0).abs() < 1e-4, "{mean}");
        }
    }
    // Terms in memory.
    let plan = ReadPlan { check_view: false, ..plan() };
    let scan = scan(&plan, u64::MAX, &|_| {}).expect("games");
    let Encoder::Hce(terms) = games::all_terms() else { panic!("terms") };
    let store = Store::encode_records(scan.kept.expect("room for all"), &terms);
    assert!(store.whole_batch().weights == right);
    let batch = store.batch_of(&[3, 19_000, 4]);
    assert_eq!(batch.weights[..], [right[3], right[19_000], right[4]]);
}
