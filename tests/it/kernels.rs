//! The kernels on plain slices against a slow and obvious reference in f64.

use nnuance::architecture::Activation;
use nnuance::model::ops::cpu::{
    Gradients, Level, Net, Positions, Precision, Scratch, Weights, logits, loss,
};
use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::largest::largest;

const INPUTS: usize = 40;
const PLACES: usize = 32;

/// A net's weights, or their gradients.
#[derive(Clone, Debug, PartialEq)]
struct Tensors<T> {
    accumulator: Vec<T>,
    bias: Vec<T>,
    output: Vec<T>,
    output_bias: T,
}

struct Case {
    net: Net,
    weights: Tensors<f32>,
    indices: Vec<u16>,
    targets: Vec<f32>,
}

impl Case {
    fn random(net: Net, batch: usize, seed: u64) -> Case {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut tensor =
            |len: usize, size: f32| (0..len).map(|_| rng.random_range(-size..size)).collect();
        let mut weights = Tensors {
            accumulator: tensor(net.inputs * net.hidden, 0.4),
            bias: tensor(net.hidden, 1.0),
            output: tensor(net.views * net.hidden, 2.0 / (net.hidden as f32).sqrt()),
            output_bias: 0.3,
        };
        if seed % 2 == 1 || net.precision == Precision::Mixed {
            // Weights that fixed point holds too, sums without rounding that often end on a kink.
            for weight in weights.accumulator.iter_mut().chain(&mut weights.bias) {
                *weight = (*weight * 64.0).round() / 64.0;
            }
        }
        let targets: Vec<f32> = (0..batch).map(|_| rng.random_range(0.0..=1.0)).collect();
        let mut indices = vec![net.inputs as u16; batch * net.views * PLACES];
        for position in indices.chunks_exact_mut(net.views * PLACES) {
            let men = rng.random_range(0..=PLACES);
            for list in position.chunks_exact_mut(PLACES) {
                // One view now and then has fewer; inputs may repeat.
                let men = men.saturating_sub(rng.random_range(0..20) / 18);
                for index in &mut list[..men] {
                    *index = rng.random_range(0..net.inputs as u16);
                }
            }
        }
        Case { net, weights, indices, targets }
    }

    fn weights(&self) -> Weights<'_> {
        Weights {
            accumulator: &self.weights.accumulator,
            bias: &self.weights.bias,
            output: &self.weights.output,
            output_bias: self.weights.output_bias,
        }
    }

    fn positions(&self) -> Positions<'_> {
        Positions { indices: &self.indices, places: PLACES }
    }

    /// Loss and gradients, with memory left over from whatever was done before.
    fn run(&self, scratch: &mut Scratch) -> (f64, Tensors<f32>) {
        let mut all = self.weights.clone();
        let gradients = Gradients {
            accumulator: &mut all.accumulator,
            bias: &mut all.bias,
            output: &mut all.output,
            output_bias: &mut all.output_bias,
        };
        let (weights, positions) = (self.weights(), self.positions());
        let loss = loss(&self.net, weights, positions, &self.targets, Some(gradients), scratch);
        (loss, all)
    }

    /// Logits, loss and gradients, in 64 bits; and the mean size of the logits' gradients.
    fn reference(&self) -> (Vec<f64>, f64, Tensors<f64>, f64) {
        let Net { hidden, views, activation, .. } = self.net;
        let weights = &self.weights;
        let mut all = Tensors {
            accumulator: vec![0.0; weights.accumulator.len()],
            bias: vec![0.0; hidden],
            output: vec![0.0; views * hidden],
            output_bias: 0.0,
        };
        let (mut logits, mut loss, mut size) = (vec![], 0.0, 0.0);
        let batch = self.targets.len() as f64;
        let positions = self.indices.chunks_exact(views * PLACES);
        for (position, &target) in positions.zip(&self.targets) {
            let lists: Vec<Vec<usize>> = position
                .chunks_exact(PLACES)
                .map(|list| {
                    list.iter().map(|&i| i.into()).filter(|&i| i < self.net.inputs).collect()
                })
                .collect();
            let accumulator = |view: usize, column: usize| {
                let rows = lists[view].iter();
                let sum: f64 =
                    rows.map(|&row| f64::from(weights.accumulator[row * hidden + column])).sum();
                sum + f64::from(weights.bias[column])
            };
            let each = || (0..views).flat_map(|v| (0..hidden).map(move |c| (v, c)));
            let output = |view: usize, c: usize| f64::from(weights.output[view * hidden + c]);
            let rho = |a: f64| match activation {
                Activation::ReLU => a.max(0.0),
                Activation::CReLU => a.clamp(0.0, 1.0),
                Activation::SCReLU => a.clamp(0.0, 1.0).powi(2),
            };
            let slope = |a: f64| match activation {
                Activation::ReLU => f64::from(u8::from(a > 0.0)),
                Activation::CReLU => f64::from(u8::from((0.0..=1.0).contains(&a))),
                Activation::SCReLU => 2.0 * a * f64::from(u8::from((0.0..=1.0).contains(&a))),
            };
            let terms = each().map(|(v, c)| output(v, c) * rho(accumulator(v, c)));
            let y = terms.sum::<f64>() + f64::from(weights.output_bias);
            let p = 1.0 / (1.0 + (-y).exp());
            let error = p - f64::from(target);
            logits.push(y);
            loss += error * error / batch;
            let dy = 2.0 * error * p * (1.0 - p) / batch;
            size += dy.abs();
            all.output_bias += dy;
            for (view, column) in each() {
                let a = accumulator(view, column);
                all.output[view * hidden + column] += dy * rho(a);
                let da = dy * output(view, column) * slope(a);
                all.bias[column] += da;
                for row in &lists[view] {
                    all.accumulator[row * hidden + column] += da;
                }
            }
        }
        (logits, loss, all, size)
    }
}

/// Largest error of an element, and the error of the whole, over the norm of what is right. The
/// floor of this norm is for sums of terms that cancel.
fn errors(got: &[f32], right: &[f64], floor: f64) -> (f64, f64) {
    assert_eq!(got.len(), right.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let size = norm(&mut right.iter().copied()).max(floor);
    let differences = || got.iter().zip(right).map(|(&a, &b)| f64::from(a) - b);
    let most = largest(differences().map(f64::abs));
    assert!(got.iter().all(|x| x.is_finite()));
    (most / size, norm(&mut differences()) / size)
}

fn nets(precision: Precision) -> impl Iterator<Item = Net> {
    let sizes = [1, 3, 8, 16, 31, 32, 64, 100, 128, 256, 257, 512];
    Level::available().into_iter().flat_map(move |level| {
        sizes.into_iter().flat_map(move |hidden| {
            Activation::ALL.into_iter().flat_map(move |activation| {
                [1, 2].map(|views| Net {
                    inputs: INPUTS,
                    hidden,
                    views,
                    activation,
                    precision,
                    level,
                })
            })
        })
    })
}

fn compare(precision: Precision, tolerance: f64) {
    let mut scratch = Scratch::default();
    let batches = [1, 7, 255, 256, 257, 1000];
    let mut worst = (0.0, String::new());
    for (seed, net) in nets(precision).enumerate() {
        // All sizes of batch for small nets, one for each of the large: the reference is slow.
        let few = &batches[seed % batches.len()..][..1];
        for &batch in if net.hidden <= 31 { &batches[..] } else { few } {
            let case = Case::random(net, batch, seed as u64);
            let (right_logits, right_loss, right, size) = case.reference();
            let (got_loss, got) = case.run(&mut scratch);
            let mut got_logits = vec![0.0; batch];
            logits(&net, case.weights(), case.positions(), &mut got_logits, &mut scratch);
            let (weights, positions) = (case.weights(), case.positions());
            let alone = loss(&net, weights, positions, &case.targets, None, &mut scratch);
            assert_eq!(alone.to_bits(), got_loss.to_bits(), "{net:?} {batch}");
            let mut all = vec![("loss", ((got_loss - right_loss).abs() / right_loss, 0.0))];
            all.push(("logits", errors(&got_logits, &right_logits, 1.0)));
            all.push(("accumulator", errors(&got.accumulator, &right.accumulator, size / 4.0)));
            all.push(("bias", errors(&got.bias, &right.bias, size / 4.0)));
            all.push(("output", errors(&got.output, &right.output, size / 4.0)));
            all.push(("output bias", errors(&[got.output_bias], &[right.output_bias], size / 4.0)));
            for (name, (most, norm)) in all {
                let error = largest([most, norm]);
                if error.is_nan() || error > worst.0 {
                    worst = (error, format!("{name} {net:?} batch {batch}"));
                }
            }
        }
    }
    println!("{precision:?}: worst error {:.2e}, {}", worst.0, worst.1);
    assert!(worst.0 < tolerance, "{worst:?}");
}

#[test]
fn f32_matches_the_reference() {
    compare(Precision::F32, 1e-5);
}

/// Apart from the rounding of the weights, which the next test bounds.
#[test]
fn mixed_matches_the_reference_where_fixed_point_holds_the_weights() {
    compare(Precision::Mixed, 3e-3);
}

#[test]
fn mixed_logits_err_by_no_more_than_the_rounding_of_weights() {
    let mut scratch = Scratch::default();
    for net in nets(Precision::Mixed).filter(|net| net.hidden >= 31) {
        let mut case = Case::random(Net { precision: Precision::F32, ..net }, 200, 2);
        case.net = net;
        let (right, ..) = case.reference();
        let mut got = vec![0.0; 200];
        logits(&net, case.weights(), case.positions(), &mut got, &mut scratch);
        // 32 weights and a bias, each off by half a step of 2^-12, times the steepest slope.
        let slope = if net.activation == Activation::SCReLU { 2.0 } else { 1.0 };
        let size: f32 = case.weights.output.iter().map(|weight| weight.abs()).sum();
        let bound = f64::from(size * 33.0 / 8192.0 * slope + 1e-4);
        for (got, right) in got.iter().zip(&right) {
            assert!((f64::from(*got) - right).abs() < bound, "{net:?}: {got} for {right}");
        }
    }
}

#[test]
fn mixed_holds_weights_and_sums_within_8() {
    for level in Level::available() {
        let (activation, precision) = (Activation::ReLU, Precision::Mixed);
        let net = Net { inputs: 2, hidden: 1, views: 1, activation, precision, level };
        let weights = Tensors {
            accumulator: vec![100.0, -100.0],
            bias: vec![0.0],
            output: vec![1.0],
            output_bias: 0.0,
        };
        let mut indices = vec![2; 3 * PLACES];
        indices[0] = 0;
        indices[PLACES..PLACES + 2].copy_from_slice(&[0, 0]);
        indices[2 * PLACES] = 1;
        let case = Case { net, weights, indices, targets: vec![0.0; 3] };
        let mut got = vec![0.0; 3];
        logits(&net, case.weights(), case.positions(), &mut got, &mut Scratch::default());
        let right = [8.0, 8.0, 0.0];
        assert!(got.iter().zip(right).all(|(got, right)| (got - right).abs() < 1e-3), "{got:?}");
    }
}

/// The pools share two cores, yet the order in which their threads finish varies.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for precision in [Precision::F32, Precision::Mixed] {
        for (hidden, batch) in [(3, 5000), (64, 5000), (512, 3000)] {
            for level in Level::available() {
                let activation = Activation::SCReLU;
                let net = Net { inputs: INPUTS, hidden, views: 2, activation, precision, level };
                let case = Case::random(net, batch, 7);
                let of = |threads: usize| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                    pool.build().unwrap().install(|| {
                        let (loss, gradients) = case.run(&mut Scratch::default());
                        let mut out = vec![0.0; batch];
                        let (weights, positions) = (case.weights(), case.positions());
                        logits(&net, weights, positions, &mut out, &mut Scratch::default());
                        (loss.to_bits(), gradients, out)
                    })
                };
                let one = of(1);
                for threads in [2, 3, 8] {
                    assert!(of(threads) == one, "{net:?} with {threads} threads");
                }
            }
        }
    }
}

#[test]
fn the_derivative_at_a_kink_is_that_of_burns_ops() {
    for (activation, bias, right) in [
        (Activation::ReLU, 0.0, 0.0),
        (Activation::CReLU, 0.0, 1.0),
        (Activation::CReLU, 1.0, 1.0),
        (Activation::SCReLU, 0.0, 0.0),
        (Activation::SCReLU, 1.0, 2.0),
    ] {
        for precision in [Precision::F32, Precision::Mixed] {
            for level in Level::available() {
                let net = Net { inputs: 2, hidden: 1, views: 1, activation, precision, level };
                let weights = Tensors {
                    accumulator: vec![0.25, -0.25],
                    bias: vec![bias],
                    output: vec![0.5],
                    output_bias: 0.0,
                };
                let mut indices = vec![2; PLACES];
                indices[..2].copy_from_slice(&[0, 1]);
                let case = Case { net, weights, indices, targets: vec![0.0] };
                let (_, got) = case.run(&mut Scratch::default());
                let slope = got.bias[0] / (got.output_bias * 0.5);
                assert!((slope - right).abs() < 1e-3, "{net:?} at {bias}: {slope}");
                assert_eq!(got.accumulator, [got.bias[0]; 2], "{net:?}");
            }
        }
    }
}

#[test]
fn nets_of_many_inputs_match_too() {
    for level in Level::available() {
        for (precision, tolerance) in [(Precision::F32, 1e-5), (Precision::Mixed, 3e-3)] {
            for inputs in [8190, 8191, 8192, 65_535] {
                let activation = Activation::SCReLU;
                let net = Net { inputs, hidden: 5, views: 2, activation, precision, level };
                let mut case = Case::random(net, 40, 9);
                case.indices[0] = inputs as u16 - 1;
                let (_, _, right, size) = case.reference();
                let (_, got) = case.run(&mut Scratch::default());
                let worst = errors(&got.accumulator, &right.accumulator, size / 4.0);
                assert!(largest([worst.0, worst.1]) < tolerance, "{net:?}: {worst:?}");
            }
        }
    }
}

#[test]
fn lists_of_other_lengths_give_the_same() {
    const FEW: usize = 5;
    let net = nets(Precision::F32).find(|net| net.hidden == 100 && net.views == 2).unwrap();
    let mut case = Case::random(net, 700, 4);
    let mut short = vec![];
    for list in case.indices.chunks_exact_mut(PLACES) {
        list[FEW..].fill(INPUTS as u16);
        short.extend_from_slice(&list[..FEW]);
    }
    let (mut long_logits, mut short_logits) = (vec![0.0; 700], vec![0.0; 700]);
    let mut scratch = Scratch::default();
    logits(&net, case.weights(), case.positions(), &mut long_logits, &mut scratch);
    let positions = Positions { indices: &short, places: FEW };
    logits(&net, case.weights(), positions, &mut short_logits, &mut scratch);
    assert_eq!(long_logits, short_logits);
}

#[test]
fn positions_without_men_and_batches_without_positions() {
    for level in Level::available() {
        for precision in [Precision::F32, Precision::Mixed] {
            let activation = Activation::CReLU;
            let net = Net { inputs: INPUTS, hidden: 20, views: 2, activation, precision, level };
            let mut case = Case::random(net, 3, 5);
            case.indices.fill(INPUTS as u16);
            let (_, got) = case.run(&mut Scratch::default());
            assert!(got.accumulator.iter().all(|&g| g == 0.0));
            assert!(got.bias.iter().any(|&g| g != 0.0));

            case.indices.clear();
            case.targets.clear();
            let (loss, got) = case.run(&mut Scratch::default());
            assert!(loss.is_nan());
            assert!(got.accumulator.iter().chain(&got.output).all(|&g| g == 0.0));
        }
    }
}

#[test]
fn a_weight_that_is_not_a_number_shows_in_the_loss() {
    for net in nets(Precision::F32).chain(nets(Precision::Mixed)).filter(|net| net.hidden == 31) {
        for of_bias in [false, true] {
            let mut case = Case::random(net, 100, 3);
            match of_bias {
                false => case.weights.accumulator[31 * 7 + 5] = f32::NAN,
                true => case.weights.bias[30] = f32::NAN,
            }
            let (loss, _) = case.run(&mut Scratch::default());
            assert!(loss.is_nan(), "{net:?}");
        }
    }
}

#[test]
#[should_panic(expected = "an index is 41, but there are 40 inputs")]
fn an_index_beyond_the_inputs_panics() {
    let net = nets(Precision::F32).next().unwrap();
    let mut case = Case::random(net, 300, 1);
    case.indices[299 * PLACES + 3] = 41;
    case.run(&mut Scratch::default());
}

#[test]
#[should_panic(expected = "targets")]
fn targets_that_do_not_fit_panic() {
    let net = nets(Precision::F32).next().unwrap();
    let mut case = Case::random(net, 300, 1);
    case.targets.pop();
    case.run(&mut Scratch::default());
}
