//! Learning curves: laws that are recovered, and noise that is called noise.

use nnuance::report::learning::{LearningError, Nouns, Run};
use nnuance::report::{Learning, learning};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Uniform in 0..1.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Held-out losses of runs: by game some noise that all share, by run some of its own.
fn runs(sizes: &[f64], mean: impl Fn(f64) -> f64, noise: f64) -> (Vec<Vec<f64>>, Vec<u64>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(17);
    let groups: Vec<u64> = (0..4_000).map(|i| i / 5).collect();
    let shared: Vec<f64> = (0..800).map(|_| uniform(&mut random) - 0.5).collect();
    let losses = sizes.iter().map(|size| {
        let own = |game: &u64| {
            let own = noise * (uniform(&mut random) - 0.5);
            mean(*size) + 0.05 * shared[*game as usize] + own
        };
        groups.iter().map(own).collect()
    });
    (losses.collect(), groups)
}

fn curve(sizes: &[f64], mean: impl Fn(f64) -> f64, noise: f64) -> Learning {
    let (losses, groups) = runs(sizes, mean, noise);
    let runs: Vec<Run> = sizes
        .iter()
        .zip(&losses)
        .map(|(size, losses)| Run { name: "run", size: *size, losses })
        .collect();
    let nouns = Nouns { size: "the data", groups: "test games", games_known: true };
    learning(&runs, &groups, nouns).unwrap()
}

#[test]
fn a_power_law_is_recovered() {
    let sizes = [1e5, 2e5, 4e5, 8e5, 1.6e6];
    let law = |size: f64| 0.08 + 0.02 * (size / 1e5).powf(-0.4);
    let exact = curve(&sizes, law, 0.0);
    let power = exact.power.unwrap();
    // All runs share the noise of games, which shifts the floor.
    let shift = exact.points[0].loss.mean - law(1e5);
    assert!((power.exponent - 0.4).abs() < 1e-4 && (power.height - 0.02).abs() < 1e-5, "{power:?}");
    assert!((power.floor - shift - 0.08).abs() < 1e-5, "{power:?}");
    let next = law(1.6e6) - law(3.2e6);
    assert!((exact.next.unwrap().mean - next).abs() < 1e-6);
    for (i, step) in exact.steps.iter().enumerate() {
        assert!((step.worth.mean - law(sizes[i]) + law(sizes[i + 1])).abs() < 1e-9);
        // Paired: what the games share is gone.
        assert!(step.worth.standard_error.unwrap() < 1e-9);
    }
    let noisy = curve(&sizes, law, 0.01);
    let [low, high] = noisy.next.unwrap().interval.unwrap();
    assert!(low < next && next < high, "{low} {next} {high}");
    let text = noisy.text();
    assert!(text.contains("Doubling the data from 100 k to 200 k was worth 0.00"), "{text}");
    assert!(noisy.sentences.last().unwrap().contains("if the curve goes on"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn noise_is_no_learning_curve() {
    let flat = curve(&[1.0, 2.0, 4.0, 8.0, 16.0], |_| 0.1, 0.05);
    assert!(flat.power.is_none() && flat.next.is_none());
    let open = flat.steps.iter().filter(|step| step.worth.contains_zero()).count();
    assert!(open >= 3, "{:?}", flat.steps);
    let text = flat.sentences.join("\n");
    assert!(text.contains("these test games cannot tell whether it helped"), "{text}");
    assert!(
        text.contains("from the smallest size to the largest these games see no gain"),
        "{text}"
    );
    let three = curve(&[1.0, 2.0, 6.0], |size| 0.1 / size, 0.0);
    assert!(three.no_power.as_ref().unwrap().contains("at least 4 sizes, found 3"));
    assert!(three.sentences[1].starts_with("The data from 2 to 6 (3.00 times) was worth"));
    let step = three.steps[1];
    assert!((step.doubling.mean * 3.0_f64.log2() - step.worth.mean).abs() < 1e-12);
    let rising = curve(&[1.0, 2.0, 4.0, 8.0], |size| 0.1 + 0.01 * size, 0.0);
    assert!(rising.no_power.as_ref().unwrap().contains("does not fall"));
    assert!(rising.sentences[2].contains("it made things worse"));
}

#[test]
fn runs_of_one_size_are_averaged() {
    let (losses, groups) = runs(&[1.0, 1.0, 2.0], |size| 0.2 / size, 0.02);
    let runs: Vec<Run> = [("a", 1.0), ("b", 1.0), ("c", 2.0)]
        .iter()
        .zip(&losses)
        .map(|((name, size), losses)| Run { name, size: *size, losses })
        .collect();
    let nouns = Nouns { size: "the data", groups: "test games", games_known: true };
    let found = learning(&runs, &groups, nouns).unwrap();
    let mean = |run: usize| losses[run].iter().sum::<f64>() / losses[run].len() as f64;
    assert_eq!(found.points[0].runs, ["a", "b"]);
    assert!((found.points[0].loss.mean - (mean(0) + mean(1)) / 2.0).abs() < 1e-12);
    assert!((found.points[0].range[0] - mean(0).min(mean(1))).abs() < 1e-12);
    let one = learning(&runs[..2], &groups, nouns);
    assert_eq!(one.unwrap_err(), LearningError::Sizes);
    let short = Run { losses: &losses[0][1..], ..runs[0] };
    let unknown = Nouns { games_known: false, ..nouns };
    let text = learning(&runs, &groups, unknown).unwrap().sentences.join(" ");
    assert!(text.contains("(95 % interval at least 0.0"), "{text}");
    assert!(text.contains("these test games cannot tell whether it helped"), "{text}");
    assert!(text.contains("Games are unknown: positions of one game may count"), "{text}");
    let error = learning(&[short, runs[2]], &groups, nouns).unwrap_err();
    assert_eq!(error.to_string(), "a has 3999 losses for 4000 test positions");
}
