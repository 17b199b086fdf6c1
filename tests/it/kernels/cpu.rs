//! The kernels on plain slices against a slow and obvious reference in f64.

use nnuance::batch::{ActiveRows, ChunkPlan, InputPairs, OneHot, Planner};
use nnuance::model::ops::cpu::{
    Kernel, Precision, Scratch, SimdLevel, SliceGradients, SliceWeights, compute_logits,
    loss_and_gradients,
};
use rand::prelude::*;

use crate::support::kit::*;
use crate::support::listed_rows::near_mut;

/// Rows of these nets, and those that positions activate: they repeat.
const ROWS: usize = 768;
const USED: u16 = 40;
/// Entries per list.
const WIDTH: usize = 32;

fn net(perspectives: usize, hidden: usize, activation: Activation) -> Architecture {
    let views =
        if perspectives == 1 { Perspectives::SideToMove } else { Perspectives::Perspective };
    Architecture::simple(views, hidden, activation)
}

/// A net's weights, or their gradients, in the order of its arrays.
#[derive(Clone, Debug, PartialEq)]
struct Tensors<T> {
    accumulator: Vec<T>,
    bias: Vec<T>,
    output: Vec<T>,
    output_bias: [T; 1],
}

struct Case {
    kernel: Kernel,
    weights: Tensors<f32>,
    lists: ActiveRows,
    targets: Vec<f32>,
}

struct Right {
    logits: Vec<f64>,
    loss: f64,
    gradients: Tensors<f64>,
    /// Sum of the absolute logit gradients.
    size: f64,
    /// Distance of the nearest accumulator to a kink.
    nearest: f64,
}

impl Right {
    /// Rounding decides gradients at a kink, and dominates if evaluations nearly equal targets.
    fn is_decided(&self) -> bool {
        self.nearest > 5e-7 && self.size > 0.02
    }
}

impl Case {
    fn random(kernel: &Kernel, batch: usize, seed: u64) -> Case {
        let net = &kernel.net;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut tensor =
            |len: usize, size: f32| (0..len).map(|_| rng.random_range(-size..size)).collect();
        let mut weights = Tensors {
            accumulator: tensor(net.row_count() * net.hidden, 0.4),
            bias: tensor(net.hidden, 1.0),
            output: tensor(net.feature_count(), 2.0 / (net.hidden as f32).sqrt()),
            output_bias: [0.3],
        };
        if seed % 2 == 1 || kernel.precision == Precision::Mixed {
            // Weights exact in fixed point; their sums often end on a kink.
            for weight in weights.accumulator.iter_mut().chain(&mut weights.bias) {
                *weight = (*weight * 64.0).round() / 64.0;
            }
        }
        let targets: Vec<f32> = (0..batch).map(|_| rng.random_range(0.0..=1.0)).collect();
        let mut indices = vec![net.row_count() as u16; batch * net.perspective_count() * WIDTH];
        for position in indices.chunks_exact_mut(net.perspective_count() * WIDTH) {
            let pieces = rng.random_range(0..=WIDTH);
            for list in position.chunks_exact_mut(WIDTH) {
                // Some lists have fewer; inputs may repeat.
                let pieces = pieces.saturating_sub(rng.random_range(0..20) / 18);
                for index in &mut list[..pieces] {
                    *index = rng.random_range(0..USED);
                }
            }
        }
        let lists = listed::active(net, indices, WIDTH);
        Case { kernel: kernel.clone(), weights, lists, targets }
    }

    fn weights(&self) -> SliceWeights<'_> {
        let Tensors { accumulator, bias, output, output_bias } = &self.weights;
        let arrays = [accumulator, bias, output, &output_bias[..]];
        SliceWeights::new(&self.kernel.net, arrays.into_iter())
    }

    fn positions(&self) -> OneHot<'_> {
        OneHot::Lists(&self.lists)
    }

    /// Plans of chunks of these sizes, the last with the rest.
    fn plans(&self, sizes: &[usize]) -> Vec<Arc<ChunkPlan>> {
        let (mut planner, mut start) = (Planner::default(), 0);
        let pairs = Arc::new(InputPairs::without_pairs(ROWS));
        let rest = self.targets.len() - sizes.iter().sum::<usize>();
        let plan = |size: &usize| {
            let chosen: Vec<u32> = (start..start + *size as u32).collect();
            start += *size as u32;
            let mut plan = ChunkPlan::default();
            planner.order_items(&self.kernel.net, &self.lists, &chosen, &pairs, &mut plan);
            planner.invert_lists(&mut plan);
            Arc::new(plan)
        };
        sizes.iter().chain([&rest]).map(plan).collect()
    }

    fn logits(&self, scratch: &mut Scratch) -> Vec<f32> {
        let mut out = vec![0.0; self.targets.len()];
        compute_logits(&self.kernel, &self.weights(), self.positions(), &mut out, scratch);
        out
    }

    fn run(&self, scratch: &mut Scratch) -> (f64, Tensors<f32>) {
        self.run_on(self.positions(), scratch)
    }

    fn run_on(&self, positions: OneHot, scratch: &mut Scratch) -> (f64, Tensors<f32>) {
        let mut all = self.weights.clone();
        let Tensors { accumulator, bias, output, output_bias } = &mut all;
        let arrays = [accumulator, bias, output, &mut output_bias[..]];
        let gradients = SliceGradients::new(&self.kernel.net, arrays.into_iter());
        let weights = self.weights();
        let (aim, positions) = (Aim::Targets(&self.targets), (positions, None));
        (loss_and_gradients(&self.kernel, &weights, positions, aim, gradients, scratch), all)
    }

    fn right(&self) -> Right {
        let Architecture { hidden, activation, .. } = self.kernel.net;
        let perspectives = self.kernel.net.perspective_count();
        let weights = &self.weights;
        let mut gradients = Tensors {
            accumulator: vec![0.0; weights.accumulator.len()],
            bias: vec![0.0; hidden],
            output: vec![0.0; perspectives * hidden],
            output_bias: [0.0],
        };
        let (mut logits, mut loss, mut size, mut nearest) = (vec![], 0.0, 0.0, 1.0);
        let batch = self.targets.len() as f64;
        let positions = near(&self.lists).chunks_exact(perspectives * WIDTH);
        for (position, &target) in positions.zip(&self.targets) {
            let lists: Vec<Vec<usize>> = position
                .chunks_exact(WIDTH)
                .map(|list| {
                    let rows = list.iter().map(|&row| usize::from(row));
                    rows.filter(|&row| row < self.kernel.net.row_count()).collect()
                })
                .collect();
            let accumulator = |list: usize, column: usize| {
                let rows = lists[list].iter();
                let sum: f64 =
                    rows.map(|&row| f64::from(weights.accumulator[row * hidden + column])).sum();
                sum + f64::from(weights.bias[column])
            };
            let each = || (0..perspectives).flat_map(|v| (0..hidden).map(move |c| (v, c)));
            let output = |list: usize, c: usize| f64::from(weights.output[list * hidden + c]);
            let rho = |a: f64| match activation {
                Activation::ReLU => a.max(0.0),
                Activation::CReLU => a.clamp(0.0, 1.0),
                Activation::SCReLU => a.clamp(0.0, 1.0).powi(2),
                Activation::SqrReLU => a.max(0.0).powi(2),
                _ => unreachable!("accumulators do not have it"),
            };
            let derivative = |a: f64| match activation {
                Activation::ReLU => f64::from(u8::from(a > 0.0)),
                Activation::CReLU => f64::from(u8::from((0.0..=1.0).contains(&a))),
                Activation::SCReLU => 2.0 * a * f64::from(u8::from((0.0..=1.0).contains(&a))),
                Activation::SqrReLU => 2.0 * a.max(0.0),
                _ => unreachable!("accumulators do not have it"),
            };
            let terms = each().map(|(v, c)| output(v, c) * rho(accumulator(v, c)));
            let y = terms.sum::<f64>() + f64::from(weights.output_bias[0]);
            let p = 1.0 / (1.0 + (-y).exp());
            let error = p - f64::from(target);
            logits.push(y);
            loss += error * error / batch;
            let dy = 2.0 * error * p * (1.0 - p) / batch;
            size += dy.abs();
            gradients.output_bias[0] += dy;
            for (list, column) in each() {
                let a = accumulator(list, column);
                for apart in [a, a - 1.0].map(f64::abs) {
                    if apart > 0.0 && apart < nearest {
                        nearest = apart;
                    }
                }
                gradients.output[list * hidden + column] += dy * rho(a);
                let da = dy * output(list, column) * derivative(a);
                gradients.bias[column] += da;
                for row in &lists[list] {
                    gradients.accumulator[row * hidden + column] += da;
                }
            }
        }
        Right { logits, loss, gradients, size, nearest }
    }
}

/// Largest error of an element, and error of the whole, over the expected norm, with a floor for
/// sums of terms that cancel.
fn errors(got: &[f32], right: &[f64], floor: f64) -> (f64, f64) {
    assert_eq!(got.len(), right.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let size = norm(&mut right.iter().copied()).max(floor);
    let differences = || got.iter().zip(right).map(|(&a, &b)| f64::from(a) - b);
    let largest = largest(differences().map(f64::abs));
    assert!(got.iter().all(|x| x.is_finite()));
    (largest / size, norm(&mut differences()) / size)
}

fn nets(precision: Precision) -> impl Iterator<Item = Kernel> {
    let sizes = [1, 3, 8, 16, 31, 32, 64, 100, 128, 256, 257, 512];
    SimdLevel::list_available().into_iter().flat_map(move |level| {
        sizes.into_iter().flat_map(move |hidden| {
            let nets = of_accumulators().flat_map(move |activation| {
                [1, 2].map(|perspectives| net(perspectives, hidden, activation))
            });
            let nets =
                nets.filter(move |net| precision == Precision::F32 || net.fits_mixed_precision());
            nets.map(move |net| Kernel::new(&net, precision, level))
        })
    })
}

fn compare(precision: Precision, tolerance: f64) {
    let mut scratch = Scratch::default();
    let batches = [1, 7, 255, 256, 257, 1000];
    let mut worst = (0.0, String::new());
    for (seed, kernel) in nets(precision).enumerate() {
        // All sizes of batch for small nets, one for each of the large: the reference is slow.
        let few = &batches[seed % batches.len()..][..1];
        for &batch in if kernel.net.hidden <= 31 { &batches[..] } else { few } {
            let turns = (0..50).map(|turn| (seed + 2000 * turn) as u64);
            let mut cases = turns.map(|seed| Case::random(&kernel, batch, seed));
            let decided = cases.find_map(|case| {
                let right = case.right();
                right.is_decided().then_some((case, right))
            });
            let (case, right) = decided.expect("there are such cases");
            let (got_loss, got) = case.run(&mut scratch);
            let mut got_logits = vec![0.0; batch];
            let (weights, positions) = (case.weights(), case.positions());
            compute_logits(&case.kernel, &weights, positions, &mut got_logits, &mut scratch);
            let Right { loss: right_loss, gradients, size, .. } = &right;
            let mut all = vec![("loss", ((got_loss - right_loss).abs() / right_loss, 0.0))];
            all.push(("logits", errors(&got_logits, &right.logits, 1.0)));
            let Tensors { accumulator, bias, output, output_bias } = gradients;
            all.push(("accumulator", errors(&got.accumulator, accumulator, size / 4.0)));
            all.push(("bias", errors(&got.bias, bias, size / 4.0)));
            all.push(("output", errors(&got.output, output, size / 4.0)));
            all.push(("output bias", errors(&got.output_bias, output_bias, size / 4.0)));
            for (name, (element, norm)) in all {
                let error = largest([element, norm]);
                if error.is_nan() || error > worst.0 {
                    worst = (error, format!("{name} {kernel:?} batch {batch}"));
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

/// Without the rounding of the weights, which the next test bounds.
#[test]
fn mixed_matches_the_reference() {
    compare(Precision::Mixed, 3e-3);
}

#[test]
fn mixed_saturates_at_8() {
    for level in SimdLevel::list_available() {
        let kernel = Kernel::new(&net(1, 1, Activation::ReLU), Precision::Mixed, level);
        let weights = Tensors {
            accumulator: [100.0, -100.0].repeat(ROWS / 2),
            bias: vec![0.0],
            output: vec![1.0],
            output_bias: [0.0],
        };
        let mut indices = vec![ROWS as u16; 3 * WIDTH];
        indices[0] = 0;
        indices[WIDTH..WIDTH + 2].copy_from_slice(&[0, 0]);
        indices[2 * WIDTH] = 1;
        let lists = listed::active(&kernel.net, indices, WIDTH);
        let case = Case { lists, kernel, weights, targets: vec![0.0; 3] };
        let got = case.logits(&mut Scratch::default());
        let right = [8.0, 8.0, 0.0];
        assert!(got.iter().zip(right).all(|(got, right)| (got - right).abs() < 1e-3), "{got:?}");
    }
}

/// The pools share two cores, but their threads finish in varying order.
#[test]
fn same_bits_for_any_threads() {
    for precision in [Precision::F32, Precision::Mixed] {
        for (hidden, batch) in [(3, 5000), (64, 5000), (512, 3000)] {
            for level in SimdLevel::list_available() {
                let kernel = Kernel::new(&net(2, hidden, Activation::SCReLU), precision, level);
                let case = Case::random(&kernel, batch, 7);
                same_for_threads(&[2, 3, 8], &format!("{kernel:?}"), || {
                    let (loss, gradients) = case.run(&mut Scratch::default());
                    (loss.to_bits(), gradients, case.logits(&mut Scratch::default()))
                });
            }
        }
    }
}

#[test]
fn derivatives_at_kinks() {
    for (activation, bias, right) in [
        (Activation::ReLU, 0.0, 0.0),
        (Activation::CReLU, 0.0, 1.0),
        (Activation::CReLU, 1.0, 1.0),
        (Activation::SCReLU, 0.0, 0.0),
        (Activation::SCReLU, 1.0, 2.0),
    ] {
        for precision in [Precision::F32, Precision::Mixed] {
            for level in SimdLevel::list_available() {
                let kernel = Kernel::new(&net(1, 1, activation), precision, level);
                let weights = Tensors {
                    accumulator: [0.25, -0.25].repeat(ROWS / 2),
                    bias: vec![bias],
                    output: vec![0.5],
                    output_bias: [0.0],
                };
                let mut indices = vec![ROWS as u16; WIDTH];
                indices[..2].copy_from_slice(&[0, 1]);
                let lists = listed::active(&kernel.net, indices, WIDTH);
                let case = Case { lists, kernel, weights, targets: vec![0.0] };
                let (_, got) = case.run(&mut Scratch::default());
                let derivative = got.bias[0] / (got.output_bias[0] * 0.5);
                assert!(
                    (derivative - right).abs() < 1e-3,
                    "{:?} {bias}: {derivative}",
                    case.kernel
                );
                assert_eq!(got.accumulator[..2], [got.bias[0]; 2], "{:?}", case.kernel);
                assert!(got.accumulator[2..].iter().all(|&g| g == 0.0));
            }
        }
    }
}

#[test]
fn nets_of_many_rows() {
    for level in SimdLevel::list_available() {
        for (precision, tolerance) in [(Precision::F32, 1e-5), (Precision::Mixed, 3e-3)] {
            for buckets in [10, 11, 64] {
                let net = net_of_kings(kings_in_turn(false, buckets), 5);
                let kernel = Kernel::new(&net, precision, level);
                let rows = kernel.net.row_count() as u16;
                let mut case = Case::random(&kernel, 40, 9);
                let mut indices = near(&case.lists).to_vec();
                for row in indices.iter_mut().filter(|row| **row < rows) {
                    *row += (rows / USED - 1) * *row;
                }
                indices[0] = rows - 1;
                case.lists = listed::active(&net, indices, WIDTH);
                let Right { gradients: right, size, .. } = case.right();
                let (_, got) = case.run(&mut Scratch::default());
                let worst = errors(&got.accumulator, &right.accumulator, size / 4.0);
                assert!(largest([worst.0, worst.1]) < tolerance, "{kernel:?}: {worst:?}");
            }
        }
    }
}

#[test]
fn lists_of_other_lengths() {
    const FEW: usize = 5;
    let is_wanted = |it: &Kernel| it.net.hidden == 100 && it.net.perspective_count() == 2;
    let kernel = nets(Precision::F32).find(is_wanted).unwrap();
    let mut case = Case::random(&kernel, 700, 4);
    let mut short = vec![];
    for list in near_mut(&mut case.lists).chunks_exact_mut(WIDTH) {
        list[FEW..].fill(ROWS as u16);
        short.extend_from_slice(&list[..FEW]);
    }
    let mut scratch = Scratch::default();
    let long = case.logits(&mut scratch);
    case.lists = listed::active(&kernel.net, short, FEW);
    assert_eq!(case.logits(&mut scratch), long);
}

/// Equal to the last bit if the chunks are the same, and within rounding if they differ.
#[test]
fn plans_made_before() {
    let mut scratch = Scratch::default();
    for precision in [Precision::F32, Precision::Mixed] {
        for kernel in nets(precision).filter(|it| it.net.hidden <= 100) {
            let case = Case::random(&kernel, 1100, 6);
            let (loss, gradients) = case.run(&mut scratch);
            let same = case.run_on(OneHot::Plans(&case.plans(&[512, 512])), &mut scratch);
            assert!(same == (loss, gradients.clone()), "{kernel:?}");
            let plans = case.plans(&[1, 300, 7, 250, 512]);
            let (planned_loss, planned) = case.run_on(OneHot::Plans(&plans), &mut scratch);
            let bound = if precision == Precision::F32 { 1e-5 } else { 1e-3 };
            let right: Vec<f64> = gradients.accumulator.iter().map(|it| f64::from(*it)).collect();
            let (_, norm) = errors(&planned.accumulator, &right, 0.0);
            assert!(norm < bound && (planned_loss - loss).abs() < 1e-6, "{norm:.1e} {kernel:?}");
        }
    }
}

#[test]
fn no_pieces_and_no_positions() {
    for level in SimdLevel::list_available() {
        for precision in [Precision::F32, Precision::Mixed] {
            let kernel = Kernel::new(&net(2, 20, Activation::CReLU), precision, level);
            let mut case = Case::random(&kernel, 3, 5);
            near_mut(&mut case.lists).fill(ROWS as u16);
            let (_, got) = case.run(&mut Scratch::default());
            assert!(got.accumulator.iter().all(|&g| g == 0.0));
            assert!(got.bias.iter().any(|&g| g != 0.0));

            near_mut(&mut case.lists).clear();
            case.targets.clear();
            let (loss, got) = case.run(&mut Scratch::default());
            assert!(loss.is_nan());
            assert!(got.accumulator.iter().chain(&got.output).all(|&g| g == 0.0));
        }
    }
}

#[test]
fn nan_shows_in_the_loss() {
    let nets = nets(Precision::F32).chain(nets(Precision::Mixed));
    for kernel in nets.filter(|kernel| kernel.net.hidden == 31) {
        let cases = [(); 2].map(|()| Case::random(&kernel, 100, 3));
        let [mut row_case, mut bias_case] = cases;
        row_case.weights.accumulator[31 * 7 + 5] = f32::NAN;
        bias_case.weights.bias[30] = f32::NAN;
        for case in [row_case, bias_case] {
            let (loss, _) = case.run(&mut Scratch::default());
            assert!(loss.is_nan(), "{kernel:?}");
        }
    }
}

#[test]
#[should_panic(expected = "an index is 769, but there are 768 inputs")]
fn index_beyond_the_inputs_panics() {
    let kernel = nets(Precision::F32).next().unwrap();
    let mut case = Case::random(&kernel, 300, 1);
    near_mut(&mut case.lists)[299 * WIDTH + 3] = 769;
    case.run(&mut Scratch::default());
}
