//! The steps of optimisers on plain slices against 64-bit formulas.

use nnuance::model::ops::steps::{AdaGrad, Adam, Mean, OptimizerStep, Sgd};
use rand::prelude::*;

use crate::support::kit::*;

const ADAM: Adam = Adam {
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    decay: 0.01,
    coupled_decay: 0.0,
    bias_correction: true,
    rectified: false,
    clip: 0.0,
};

#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Adam(Adam),
    AdaGrad(f64),
    Sgd(f64),
    Mean(f64),
}

pub const RULES: [Rule; 10] = [
    Rule::Adam(ADAM),
    Rule::Adam(Adam { bias_correction: false, epsilon: 1e-5, ..ADAM }),
    Rule::Adam(Adam { clip: 0.3, ..ADAM }),
    Rule::Adam(Adam { decay: 0.0, coupled_decay: 0.1, beta1: 0.95, ..ADAM }),
    Rule::Adam(Adam { rectified: true, ..ADAM }),
    Rule::AdaGrad(0.0),
    Rule::AdaGrad(0.3),
    Rule::Sgd(0.0),
    Rule::Sgd(0.9),
    Rule::Mean(0.25),
];

const RATE: f64 = 0.01;

impl Rule {
    pub fn at(self, step: u64) -> OptimizerStep {
        match self {
            Rule::Adam(rule) => rule.step_at(RATE, step),
            Rule::AdaGrad(clip) => AdaGrad::step_at(RATE, 1e-8, 0.1, clip),
            Rule::Sgd(beta) => Sgd::step_at(RATE, beta, 0.1, 0.0),
            Rule::Mean(share) => OptimizerStep::Mean(Mean { share: share as f32 }),
        }
    }

    fn clip(self) -> f64 {
        match self {
            Rule::Adam(Adam { clip, .. }) | Rule::AdaGrad(clip) => clip,
            Rule::Sgd(_) | Rule::Mean(_) => 0.0,
        }
    }

    /// Computes the next parameter and states by the formulas of the sources.
    fn next(self, t: u64, p: f64, g: f64, [a, b]: [f64; 2]) -> (f64, [f64; 2]) {
        // The rules take betas in 32 bits, as other trainers do.
        let narrow = |beta: f64| f64::from(beta as f32);
        let clip_to = |p: f64, clip: f64| if clip > 0.0 { p.clamp(-clip, clip) } else { p };
        match self {
            Rule::Adam(rule) => {
                let [beta1, beta2] = [rule.beta1, rule.beta2].map(narrow);
                let g = g + rule.coupled_decay * p;
                let (m, v) = (beta1 * a + (1.0 - beta1) * g, beta2 * b + (1.0 - beta2) * g * g);
                let [c1, c2] = [rule.beta1, rule.beta2].map(|beta| 1.0 - beta.powi(t as i32));
                let step = match (rule.rectified, rule.bias_correction) {
                    (true, _) => {
                        let limit = 2.0 / (1.0 - rule.beta2) - 1.0;
                        let rho = limit - 2.0 * t as f64 * (1.0 - c2) / c2;
                        match rho > 5.0 {
                            false => m / c1,
                            true => {
                                let r = (rho - 4.0) * (rho - 2.0) * limit
                                    / ((limit - 4.0) * (limit - 2.0) * rho);
                                m / c1 * r.sqrt() * c2.sqrt() / (v.sqrt() + rule.epsilon)
                            }
                        }
                    }
                    (_, true) => m / c1 / ((v / c2).sqrt() + rule.epsilon),
                    (_, false) => m / (v.sqrt() + rule.epsilon),
                };
                (clip_to(p * (1.0 - RATE * rule.decay) - RATE * step, rule.clip), [m, v])
            }
            Rule::AdaGrad(clip) => {
                let g = g + 0.1 * p;
                let s = a + g * g;
                (clip_to(p - RATE * g / (s.sqrt() + 1e-8), clip), [s, 0.0])
            }
            Rule::Sgd(beta) => {
                let m = beta * a + g + 0.1 * p;
                (p - RATE * m, [m, 0.0])
            }
            Rule::Mean(share) => (p + share * (g - p), [a, b]),
        }
    }
}

#[test]
fn steps_match_the_reference() {
    for level in SimdLevel::list_available() {
        for rule in RULES {
            for len in [0, 1, 15, 16, 17, 1000, 40_000] {
                check(rule, level, len);
            }
        }
    }
}

fn check(rule: Rule, level: SimdLevel, len: usize) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(len as u64);
    let mut random = |size: f32| -> Vec<f32> {
        (0..len).map(|_| if size == 0.0 { 0.0 } else { rng.random_range(-size..size) }).collect()
    };
    let mut p = random(0.5);
    let (mut a, mut b) = (random(0.0), random(0.0));
    let (mut rp, mut ra, mut rb) = (wide(&p), wide(&a), wide(&b));
    for t in 1..=20 {
        let g = random(1e-3);
        take_step(rule.at(t), level, [&mut p, &mut a, &mut b], &g);
        for i in 0..len {
            (rp[i], [ra[i], rb[i]]) = rule.next(t, rp[i], g[i].into(), [ra[i], rb[i]]);
        }
    }
    for (got, right, floor) in [(&p, &rp, 0.1), (&a, &ra, 1e-4), (&b, &rb, 1e-8)] {
        for (&got, &right) in got.iter().zip(right) {
            let error = (f64::from(got) - right).abs() / right.abs().max(floor);
            assert!(error < 1e-5, "{rule:?}, {len} parameters: {got} for {right}");
        }
    }
    if rule.clip() > 0.0 {
        assert!(p.iter().all(|p| f64::from(p.abs()) <= rule.clip() + 1e-7));
    }
}

/// Takes a step of parameters and as many states as the rule has.
fn take_step(step: OptimizerStep, level: SimdLevel, arrays: [&mut Vec<f32>; 3], g: &[f32]) {
    let [p, states @ ..] = arrays;
    let states = states.into_iter().take(step.state_count()).map(|state| &mut state[..]);
    step.take_step(level, p, g, states.collect());
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|&x| x.into()).collect()
}

#[test]
fn same_bits_for_any_threads() {
    for rule in RULES {
        same_for_threads(&[2, 3, 8], &format!("{rule:?}"), || {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut random = || (0..50_001).map(|_| rng.random::<f32>()).collect::<Vec<_>>();
            let (mut p, g, mut a, mut b) = (random(), random(), random(), random());
            let level = SimdLevel::detect_fastest();
            take_step(rule.at(3), level, [&mut p, &mut a, &mut b], &g);
            (p, a, b)
        });
    }
}

/// NaN in a parameter must stay: clipping would hide a divergence.
#[test]
fn nan_is_not_clipped() {
    let rules = [Rule::Adam(Adam { clip: 1.98, ..ADAM }), Rule::AdaGrad(1.98)];
    for level in SimdLevel::list_available() {
        for rule in rules {
            let (mut p, mut a, mut b) = (vec![0.5; 35], vec![0.0; 35], vec![0.0; 35]);
            let mut g = vec![0.1; 35];
            (g[3], g[34]) = (f32::NAN, f32::NAN);
            take_step(rule.at(1), level, [&mut p, &mut a, &mut b], &g);
            for (i, p) in p.iter().enumerate() {
                let is_nan = i == 3 || i == 34;
                assert_eq!(p.is_nan(), is_nan, "{rule:?}, {}: {i} is {p}", level.name());
            }
        }
    }
}
