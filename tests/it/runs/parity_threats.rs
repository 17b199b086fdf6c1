//! Ten losses of a net of pieces and threats, computed here in f64 from the rows of the sets alone.

use nnuance::architecture::{Inputs, NetArray};
use nnuance::features;
use nnuance::loader;
use rayon::prelude::*;

use crate::runs::golden::{DATA, losses_of};
use crate::support::kit::*;

const N: usize = 16;

/// Losses of an independent program, in f64.
pub const LOSSES: [f64; 10] = [
    0.0826268, 0.0817294, 0.0807400, 0.0790246, 0.0761408, 0.0719778, 0.0669908, 0.0617879,
    0.0566293, 0.0517110,
];

pub fn net() -> Architecture {
    let kings = Kings::new(true, &[]).expect("mirrored");
    let sets = ["pieces", "threats"].map(|name| features::set_named(name, kings).expect("a set"));
    let inputs = Inputs::new(Perspectives::Perspective, sets.into(), false);
    Architecture {
        inputs,
        ..Architecture::simple(Perspectives::Perspective, N, Activation::SCReLU)
    }
}

fn hash(i: usize) -> f64 {
    f64::from((i as u32).wrapping_mul(2_654_435_761)) / f64::from(1u32 << 31) / 2.0 - 0.5
}

/// Start weights of the rows `[rows, N]`, the bias `[N]` and the output `[2 N + 1]`, in one list.
pub fn start(rows: usize) -> Vec<f64> {
    let of_row = |i: usize| if i < 768 * N { 0.1 * hash(i) } else { 0.05 * hash(i) };
    let weights = (0..rows * N).map(of_row);
    let bias = (0..N).map(|j| 0.1 + 0.1 * hash(j + 7));
    let output = (0..2 * N).map(|k| 0.4 * hash(k + 1));
    let rounded = |value: f64| f64::from(value as f32);
    weights.chain(bias).chain(output).map(rounded).chain([0.0]).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

struct Entry {
    lists: [Vec<usize>; 2],
    target: f64,
}

impl Entry {
    fn of(net: &Architecture, sample: &Sample) -> Self {
        let list = |view: usize| {
            let rows = &net.inputs.active_rows(&sample.position)[view];
            rows.repeated_rows().map(|row| row as usize).collect::<Vec<usize>>()
        };
        let score = f64::from(sample.score.expect("a score"));
        let target = 0.2 * f64::from(sample.result) + 0.8 * sigmoid(score / 400.0);
        Self { lists: [0, 1].map(list), target }
    }

    /// Adds to the gradients of a squared error; returns the error.
    fn learn(&self, weights: &[f64], rows: usize, gradients: &mut [f64]) -> f64 {
        let (bias, output) = (rows * N, (rows + 1) * N);
        let mut sums = [[0.0; N]; 2];
        for (sum, list) in sums.iter_mut().zip(&self.lists) {
            sum.copy_from_slice(&weights[bias..output]);
            for row in list {
                for j in 0..N {
                    sum[j] += weights[row * N + j];
                }
            }
        }
        let clamped = sums.map(|sum| sum.map(|it| it.clamp(0.0, 1.0)));
        let mut logit = weights[output + 2 * N];
        for k in 0..2 * N {
            logit += weights[output + k] * clamped[k / N][k % N].powi(2);
        }
        let value = sigmoid(logit);
        let error = value - self.target;
        let slope = 2.0 * error * value * (1.0 - value);
        gradients[output + 2 * N] += slope;
        for (view, list) in self.lists.iter().enumerate() {
            let mut slopes = [0.0; N];
            for j in 0..N {
                let (at, x) = (output + view * N + j, clamped[view][j]);
                gradients[at] += slope * x * x;
                let is_inside = (0.0..1.0).contains(&sums[view][j]);
                slopes[j] = if is_inside { slope * weights[at] * 2.0 * x } else { 0.0 };
                gradients[bias + j] += slopes[j];
            }
            for row in list {
                for j in 0..N {
                    gradients[row * N + j] += slopes[j];
                }
            }
        }
        error * error
    }
}

#[test]
fn ten_losses_with_threats() {
    if !need::shared(DATA) {
        return;
    }
    let net = net();
    let rows = net.inputs.row_count();
    let mut plan = ReadPlan::new(vec![DATA.into()]);
    plan.reading.scores = true;
    let samples = loader::collect_samples(&plan, None, &|_| ()).unwrap();
    assert_eq!(samples.len(), 16_273);
    let entries: Vec<Entry> = samples.par_iter().map(|sample| Entry::of(&net, sample)).collect();
    let longest = entries.iter().flat_map(|it| &it.lists).map(Vec::len).max();
    assert_eq!(longest, Some(76));

    let mut weights = start(rows);
    let (mut means, mut squares) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
    for right in LOSSES {
        let mut gradients = vec![0.0; weights.len()];
        let errors = entries.iter().map(|it| it.learn(&weights, rows, &mut gradients));
        let loss = errors.sum::<f64>() / entries.len() as f64;
        assert!((loss - right).abs() < 2e-6, "{loss:.7}, expected {right:.7}");
        for i in 0..weights.len() {
            let slope = gradients[i] / entries.len() as f64;
            means[i] = 0.9 * means[i] + 0.1 * slope;
            squares[i] = 0.999 * squares[i] + 0.001 * slope * slope;
            let moved = weights[i] * (1.0 - 0.01 * 0.001);
            let moved = moved - 0.001 * means[i] / (squares[i].sqrt() + 1e-8);
            weights[i] = moved.clamp(-1.98, 1.98);
        }
    }
}

pub fn check(backend: Backend, compute: Compute, apart: f64) {
    if !need::shared(DATA) {
        return;
    }
    let net = net();
    let mut left: &[f64] = &start(net.inputs.row_count());
    let mut weights = Weights::default();
    for array @ NetArray { name, shape, .. } in &net.list_arrays() {
        let values = left.split_off(..array.len()).expect("a number each");
        weights.insert(name, shape, values.iter().map(|value| *value as f32).collect());
    }
    let window = 16_273;
    let order = PassOrder { window, batch: window, ..PassOrder::default() };
    let plan = StreamPlan::new(ReadPlan::new(vec![DATA.into()]), order);
    let found = losses_of(plan, (&net, weights), (backend, compute), false);
    assert_eq!(found.len(), LOSSES.len());
    for (found, right) in found.iter().zip(LOSSES) {
        assert!((found - right).abs() < apart, "{compute:?}: {found:.7}, expected {right:.7}");
    }
}

#[test]
fn trained_losses_with_threats() {
    for compute in computes() {
        check(Backend::Flex, compute, 2e-6);
    }
    for level in SimdLevel::list_available() {
        check(Backend::Flex, fused(level, Precision::Mixed), 1e-4);
    }
    #[cfg(feature = "ndarray")]
    check(Backend::NdArray, Compute::Plain, 1e-5);
}
