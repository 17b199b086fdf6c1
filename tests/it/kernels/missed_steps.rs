//! Rows that step when they are next touched have the bits of rows that step at once.

use burn::tensor::Tensor;
use nnuance::model::LossGradients;
use nnuance::model::ops::steps::OptimizerStep;
use nnuance::train::optimizer::OptimizerSettings;
use rand::prelude::*;

use crate::kernels::layers;
use crate::kernels::layers::OPTIMIZERS;
use crate::kernels::steps::{RULES, Rule};
use crate::support::kit::*;

#[derive(Clone)]
struct Numbers([Vec<f32>; 3]);

impl Numbers {
    /// Rows of drawn numbers, of 0 and of -0.
    fn drawn(rows: usize, width: usize, random: &mut Xoshiro256PlusPlus) -> Self {
        let mut row = |row| -> Vec<f32> {
            match row % 5 {
                3 => vec![0.0; width],
                4 => vec![-0.0; width],
                _ => (0..width).map(|_| random.random_range(-0.5..0.5)).collect(),
            }
        };
        let p: Vec<f32> = (0..rows).flat_map(&mut row).collect();
        let zeros = vec![0.0; p.len()];
        Self([p, zeros.clone(), zeros])
    }

    fn parts(&mut self, step: OptimizerStep) -> (&mut [f32], Vec<&mut [f32]>) {
        let [p, states @ ..] = &mut self.0;
        (p, states.iter_mut().map(|it| &mut it[..]).take(step.state_count()).collect())
    }

    fn bits(&self) -> Vec<u32> {
        self.0.iter().flatten().map(|it| it.to_bits()).collect()
    }
}

/// Takes steps that touch drawn rows, and compares rows before each step, and sometimes all.
fn check(rule: Rule, level: SimdLevel, (rows, width, steps): (usize, usize, u64)) {
    let what = format!("{rule:?}, {}, {rows} rows of {width}", level.name());
    let mut random = Xoshiro256PlusPlus::seed_from_u64((rows * width) as u64);
    let mut dense = Numbers::drawn(rows, width, &mut random);
    let (mut lazy, mut missed, mut taken) = (dense.clone(), Vec::new(), vec![0; rows]);
    for t in 1..=steps {
        let share = *[0.0, 0.02, 0.2, 0.9].choose(&mut random).expect("there are shares");
        // Some rows are never touched.
        let is_touched = |row: &u32| row % 4 != 1 && random.random_bool(share);
        let touched: Vec<u32> = (0..rows as u32).filter(is_touched).collect();
        let step = rule.at(t);
        let (p, states) = lazy.parts(step);
        OptimizerStep::take_missed(&missed, level, (&touched, &mut taken), p, None, states);
        for row in touched.iter().map(|row| *row as usize * width) {
            assert!(dense.0[0][row..][..width] == lazy.0[0][row..][..width], "{what}: step {t}");
        }
        let mut gradients = vec![0.0; rows * width];
        let size = *[1e-3, 1e-20, 10.0].choose(&mut random).expect("there are sizes");
        let mut touched_gradients = Vec::new();
        for row in touched.iter().map(|row| *row as usize * width) {
            let gradient = &mut gradients[row..][..width];
            gradient.fill_with(|| random.random_range(-size..size));
            touched_gradients.extend_from_slice(gradient);
        }
        let (p, states) = dense.parts(step);
        step.take_step(level, p, &gradients, states);
        missed.push(step);
        let (p, states) = lazy.parts(step);
        let rows_taken = (&touched[..], &mut taken[..]);
        let g = Some(&touched_gradients[..]);
        OptimizerStep::take_missed(&missed, level, rows_taken, p, g, states);
        if t == steps || random.random_bool(0.05) {
            let all: Vec<u32> = (0..rows as u32).collect();
            let (p, states) = lazy.parts(step);
            OptimizerStep::take_missed(&missed, level, (&all, &mut taken), p, None, states);
            assert!(dense.bits() == lazy.bits(), "{what}: step {t}");
            missed.clear();
            taken.fill(0);
        }
    }
}

fn rules() -> impl Iterator<Item = Rule> {
    RULES.into_iter().filter(|rule| !matches!(rule, Rule::Mean(_)))
}

#[test]
fn same_bits_later() {
    for level in SimdLevel::list_available() {
        for rule in rules() {
            for size in [(1, 1, 9), (9, 16, 60), (40, 5, 60), (50, 33, 60)] {
                check(rule, level, size);
            }
        }
    }
    for threads in [1, 2, 3] {
        with_threads(threads, || check(RULES[0], SimdLevel::detect_fastest(), (3000, 20, 20)));
    }
}

/// Means of gradients that shrank to denormal numbers, and stay there.
#[test]
fn same_bits_much_later() {
    for rule in rules() {
        let mut dense = Numbers::drawn(3, 17, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        let mut lazy = dense.clone();
        let steps: Vec<OptimizerStep> = (1..=2000).map(|t| rule.at(t)).collect();
        let level = SimdLevel::detect_fastest();
        let (mut gradients, mut taken) = (vec![1e-4; 3 * 17], [0; 3]);
        for (steps, gradients) in [(&steps[..1], Some(&gradients[..])), (&steps, None)] {
            let (rows, (p, states)) = ((&[0, 1, 2][..], &mut taken[..]), lazy.parts(steps[0]));
            OptimizerStep::take_missed(steps, level, rows, p, gradients, states);
        }
        for step in &steps {
            let (p, states) = dense.parts(*step);
            step.take_step(level, p, &gradients, states);
            gradients.fill(0.0);
        }
        assert!(dense.bits() == lazy.bits(), "{rule:?}");
    }
}

struct Walk {
    start: Model,
    device: Device,
    compute: Compute,
}

impl Walk {
    fn new(compute: Compute) -> Self {
        let config = layers::config("", "", 0.0);
        let net = config.architecture().expect("a net");
        Self { start: model(net, &drawn::weights(net, 5), compute), device: flex(), compute }
    }

    fn gradients(&self, seed: u64) -> LossGradients {
        let Model::Net(net) = &self.start else { panic!("it is a net") };
        let batch = games::batch(net.architecture(), 2, seed);
        self.start.loss_gradients(&batch.inputs, Aim::Targets(&batch.results))
    }

    /// Returns the gradients without rows that are 0.
    fn sparse_gradients(&self, seed: u64) -> LossGradients {
        let Model::Net(net) = &self.start else { panic!("it is a net") };
        let (rows, mut results) = (&net.sets[0], self.gradients(seed));
        for id in [rows.weight.id, rows.factor.as_ref().expect("it has one").id] {
            let gradient = results.gradients.remove(&id.val()).expect("it is trained");
            let (width, values) = (net.architecture().hidden, to_host(gradient));
            let (touched, rows): (Vec<u32>, Vec<&[f32]>) = (0..)
                .zip(values.chunks(width))
                .filter(|(_, row)| row.iter().any(|it| *it != 0.0))
                .unzip();
            assert!((1..200).contains(&touched.len()), "{} rows", touched.len());
            let gradient = Tensor::from_data(&rows.concat()[..], &self.device);
            results.gradients.insert(id.val(), gradient);
            results.touched.insert(id.val(), touched.into());
        }
        results
    }

    /// Returns weights and state after these steps. `few` selects gradients of few rows.
    fn end(
        &self,
        settings: &OptimizerSettings,
        steps: u64,
        few: impl Fn(u64) -> bool,
    ) -> (Weights, Vec<u8>) {
        let (mut optimizer, mut model) =
            (settings.build_optimizer(self.compute), self.start.clone());
        for step in 1..=steps {
            let seed = step % 7;
            let results =
                if few(step) { self.sparse_gradients(seed) } else { self.gradients(seed) };
            model = optimizer.catch_up(model, Some(&results.touched));
            model = optimizer.step_model(0.02, model, results.gradients, &results.touched);
            if step == steps / 2 {
                model = optimizer.catch_up(model, None);
                let state = optimizer.to_bytes().expect("a record");
                optimizer = settings
                    .build_optimizer(self.compute)
                    .load_state(&state, &self.device)
                    .expect("its own");
            }
        }
        model = optimizer.catch_up(model, None);
        (model.to_weights(), optimizer.to_bytes().expect("a record"))
    }
}

fn check_ends(compute: Compute, lines: &str, steps: u64) {
    let layers = "[optimizer.layers]\nfactoriser = { rate = 0.5, decay = 0.3, clip = 0.1 }\n";
    let settings = layers::config(layers, lines, 0.5).optimizer.clone();
    let walk = Walk::new(compute);
    let right = walk.end(&settings, steps, |_| false);
    let sparse = walk.end(&settings, steps, |_| true);
    let mixed = walk.end(&settings, steps, |step| step % 3 > 0);
    for (what, (weights, state)) in [("few", sparse), ("few and all", mixed)] {
        let what = format!("{compute:?}, {lines}, gradients of {what} rows");
        assert!(bits(&weights) == bits(&right.0), "{what}: other weights");
        assert!(state == right.1, "{what}: another state");
    }
}

#[test]
fn gradients_of_few_rows() {
    for lines in OPTIMIZERS.into_iter().chain(["name = \"adamw\"\naverage_decay = 0.9"]) {
        for level in SimdLevel::list_available() {
            check_ends(fused(level, Precision::F32), lines, 14);
        }
        check_ends(Compute::Plain, lines, 14);
    }
}

#[test]
fn many_missed_steps() {
    check_ends(fastest(), OPTIMIZERS[0], 600);
}
