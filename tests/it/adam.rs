//! Adam on plain slices against 64-bit formulas.

use nnuance::model::ops::cpu::{Adam, Level};
use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

const PLAIN: Adam = Adam {
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    decay: 0.01,
    coupled_decay: 0.0,
    bias_correction: true,
    clip: 0.0,
    level: Level::Portable,
};

#[test]
fn steps_match_the_reference() {
    let rules = [
        PLAIN,
        Adam { bias_correction: false, epsilon: 1e-5, ..PLAIN },
        Adam { clip: 0.3, ..PLAIN },
        Adam { decay: 0.0, coupled_decay: 0.1, beta1: 0.95, ..PLAIN },
    ];
    for level in Level::available() {
        for rule in rules {
            for len in [0, 1, 15, 16, 17, 1000, 40_000] {
                check(Adam { level, ..rule }, len);
            }
        }
    }
}

fn check(rule: Adam, len: usize) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(len as u64);
    let mut random = |size: f32| -> Vec<f32> {
        (0..len).map(|_| if size == 0.0 { 0.0 } else { rng.random_range(-size..size) }).collect()
    };
    let mut p = random(0.5);
    let (mut m, mut v) = (random(0.0), random(0.0));
    let (mut rp, mut rm, mut rv) = (wide(&p), wide(&m), wide(&v));
    let lr = 0.01;
    // The rule takes its betas in 32 bits, as other trainers do.
    let [beta1, beta2] = [rule.beta1, rule.beta2].map(|beta| f64::from(beta as f32));
    for t in 1..=20 {
        let g = random(1e-3);
        rule.step(lr, t, &mut p, &g, &mut m, &mut v);
        for i in 0..len {
            let g = f64::from(g[i]) + rule.coupled_decay * rp[i];
            rp[i] *= 1.0 - lr * rule.decay;
            rm[i] = beta1 * rm[i] + (1.0 - beta1) * g;
            rv[i] = beta2 * rv[i] + (1.0 - beta2) * g * g;
            let (mut m, mut v) = (rm[i], rv[i]);
            if rule.bias_correction {
                m /= 1.0 - rule.beta1.powi(t as i32);
                v /= 1.0 - rule.beta2.powi(t as i32);
            }
            rp[i] -= lr * m / (v.sqrt() + rule.epsilon);
            if rule.clip > 0.0 {
                rp[i] = rp[i].clamp(-rule.clip, rule.clip);
            }
        }
    }
    for (got, right, floor) in [(&p, &rp, 0.1), (&m, &rm, 1e-4), (&v, &rv, 1e-8)] {
        for (&got, &right) in got.iter().zip(right) {
            let error = (f64::from(got) - right).abs() / right.abs().max(floor);
            assert!(error < 1e-5, "{rule:?}, {len} parameters: {got} for {right}");
        }
    }
    if rule.clip > 0.0 {
        assert!(p.iter().all(|p| f64::from(p.abs()) <= rule.clip + 1e-7));
    }
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|&x| x.into()).collect()
}

#[test]
fn a_step_has_the_same_bits_on_any_number_of_threads() {
    let rule = Adam { clip: 1.98, level: Level::detect(), ..PLAIN };
    let run = |threads: usize| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut random = || (0..50_001).map(|_| rng.random::<f32>()).collect::<Vec<_>>();
        let (mut p, g, mut m, mut v) = (random(), random(), random(), random());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| rule.step(0.001, 3, &mut p, &g, &mut m, &mut v));
        (p, m, v)
    };
    let one = run(1);
    assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
}

/// A parameter that is no number must stay one: clipping would hide that training diverged.
#[test]
fn what_is_not_a_number_is_not_clipped_away() {
    for level in Level::available() {
        let rule = Adam { clip: 1.98, level, ..PLAIN };
        let (mut p, mut m, mut v) = (vec![0.5; 35], vec![0.0; 35], vec![0.0; 35]);
        let mut g = vec![0.1; 35];
        (g[3], g[34]) = (f32::NAN, f32::NAN);
        rule.step(0.01, 1, &mut p, &g, &mut m, &mut v);
        for (i, p) in p.iter().enumerate() {
            assert_eq!(p.is_nan(), i == 3 || i == 34, "{}: {i} is {p}", level.name());
        }
    }
}
