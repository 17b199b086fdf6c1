//! Nets of every kind in training: the plain modules against the definition, the fused operations
//! against the plain ones, gradients against differences, bits against the number of threads.

use burn::tensor::{Tensor, TensorData};
use nnuance::architecture::PIECES;
use nnuance::batch::BatchInputs;
use nnuance::model::SetRows;
use nnuance::train::target::blend_targets;

use crate::nets::graphs;
use crate::support::kit::*;

const NETS: std::ops::Range<u64> = 0..24;

/// Drawn nets with their seeds, and nets whose layers do not just follow one another.
fn nets(most: usize) -> impl Iterator<Item = (u64, Architecture)> {
    let drawn = NETS.map(move |seed| (seed, drawn::net(seed, most)));
    drawn.chain(graphs::HEADS.map(|head| (5, graphs::net(head, "skip = true"))))
}

/// The logit by definition, seen as the model sees it.
fn defined_logit(float: &Float, position: &Position) -> f64 {
    f64::from(float.net.inputs.sign_of_output(position)) * float.logit(position)
}

#[test]
fn fused_operations_equal_plain_ones() {
    for (seed, net) in nets(100) {
        let weights = drawn::weights(&net, seed);
        let samples = games::samples([1, 70, 300][seed as usize % 3], seed);
        let batch = Encoder::for_net(&net).encode_samples(&samples);
        let targets = blend_targets(&batch, 0.4, &[SourceTarget::new(win_rate(300.0), None)]);
        let plain = model(&net, &weights, Compute::Plain);
        let (loss, gradients) = plain.compute_gradients(&batch.inputs, Aim::Targets(&targets));
        let logits = to_host(plain.logits(&batch.inputs));
        let float = Float::new(&weights, &net).expect("the weights fit");
        let samples = games::samples(40, seed);
        let inputs = Encoder::for_net(&net).encode_samples(&samples).inputs;
        for (sample, logit) in samples.iter().zip(&to_host(plain.logits(&inputs))) {
            let right = defined_logit(&float, &sample.position);
            let error = (f64::from(*logit) - right).abs();
            assert!(error < 1e-4 * (1.0 + right.abs()), "{net}: {logit}, by definition {right}");
        }
        for level in SimdLevel::list_available() {
            let what = format!("seed {seed}, {}, {net}", level.name());
            let fused = model(&net, &weights, fused(level, Precision::F32));
            let apart = distance(&to_host(fused.logits(&batch.inputs)), &logits);
            assert!(apart < 1e-5, "{what}: logits differ by {apart:.1e}");
            let (fused_loss, found) =
                fused.compute_gradients(&batch.inputs, Aim::Targets(&targets));
            assert!((fused_loss - loss).abs() < 1e-5 * loss, "{what}: {fused_loss}, plain {loss}");
            assert_close(&what, &found, &gradients, 1e-4);
            games::for_each_aim(&targets, |aim| {
                let [got, right] =
                    [&fused, &plain].map(|it| it.compute_gradients(&batch.inputs, aim));
                let apart = (got.0 - right.0).abs();
                assert!(aim.loss_inputs().is_none() || apart < 1e-5 * right.0, "{what} {aim:?}");
                assert_close(&format!("{what} {aim:?}"), &got.1, &right.1, 1e-4);
            });
            // Earlier contents of a model's buffers have no effect.
            let again = fused.compute_gradients(&batch.inputs, Aim::Targets(&targets));
            assert!(again == (fused_loss, found), "{what}: the second time is another");
        }
    }
}

/// Whether an array is before the activation of the accumulators.
fn is_before_activation(name: &str) -> bool {
    name.starts_with("accumulator.") || name.starts_with("factoriser.")
}

/// Weights whose accumulators fixed point represents without rounding.
fn in_fixed_point(weights: &Weights) -> Weights {
    let mut weights = weights.clone();
    for (_, array) in weights.0.iter_mut().filter(|it| is_before_activation(it.0)) {
        for value in &mut array.values {
            *value = (*value * 4096.0).round_ties_even() / 4096.0;
        }
    }
    weights
}

/// The largest partial sum of an accumulator of the batch in any order.
fn largest_sum(net: &Architecture, weights: &Weights, batch: &Batch) -> f64 {
    let BatchInputs::Active(active) = &batch.inputs else { unreachable!("a net takes lists") };
    let values = |name: &str| &weights.0[name].values;
    let shared = net.inputs.factorised.then(|| values("factoriser.weight"));
    let (rows, bias) = (values("accumulator.weight"), values("accumulator.bias"));
    let sums = listed::near(active).chunks_exact(active.width).flat_map(|list| {
        let list = list.iter().map(|row| usize::from(*row)).filter(|row| *row < active.rows);
        let list: Vec<usize> = list.collect();
        (0..net.hidden).flat_map(move |neuron| {
            let weight = |row: &usize| {
                let own = rows[row * net.hidden + neuron];
                own + shared.map_or(0.0, |it| it[row % PIECES * net.hidden + neuron])
            };
            let all = || list.iter().map(weight).chain([bias[neuron]]).map(f64::from);
            let up: f64 = all().filter(|it| *it > 0.0).sum();
            let down: f64 = all().filter(|it| *it < 0.0).sum();
            [up, -down]
        })
    });
    largest(sums)
}

#[test]
fn mixed_precision_rounds_weights_and_slopes() {
    for seed in NETS {
        let net = drawn::net(seed, 100);
        if !net.fits_mixed_precision() {
            continue;
        }
        let weights = drawn::weights(&net, seed);
        let rounded = in_fixed_point(&weights);
        let batch = games::batch(&net, 200, seed);
        let targets = blend_targets(&batch, 0.4, &[SourceTarget::new(win_rate(300.0), None)]);
        let most = largest_sum(&net, &rounded, &batch);
        assert!(most < 8.0, "seed {seed}, {net}: a sum may be {most}, and would be held");
        for level in SimdLevel::list_available() {
            let what = format!("seed {seed}, {}, {net}", level.name());
            let model = |weights, precision| model(&net, weights, fused(level, precision));
            let exact = model(&rounded, Precision::F32);
            let mixed = model(&rounded, Precision::Mixed);
            let [logits, found] = [&exact, &mixed].map(|it| to_host(it.logits(&batch.inputs)));
            let apart = distance(&found, &logits);
            assert!(apart < 1e-5, "{what}: logits differ by {apart:.1e}");
            let (loss, gradients) = exact.compute_gradients(&batch.inputs, Aim::Targets(&targets));
            let (mixed_loss, found) =
                mixed.compute_gradients(&batch.inputs, Aim::Targets(&targets));
            assert!((mixed_loss - loss).abs() < 1e-5 * loss, "{what}: {mixed_loss} of {loss}");
            for (name, array) in &gradients.0 {
                let apart = distance(&found.0[name].values, &array.values);
                // The slopes before the activation are rounded to 1/4095 of the largest.
                let bound = if is_before_activation(name) { 1e-3 } else { 1e-5 };
                assert!(apart < bound, "{what}: gradients of {name} differ by {apart:.1e}");
            }
            // A factoriser's weights are rounded with those that they are added to.
            if !net.inputs.factorised {
                let unrounded = model(&weights, Precision::Mixed)
                    .compute_gradients(&batch.inputs, Aim::Targets(&targets));
                assert!(unrounded == (mixed_loss, found), "{what}: rounding is another");
            }
        }
    }
}

#[test]
fn gradients_equal_central_differences() {
    for (seed, net) in nets(8) {
        let weights = drawn::weights(&net, seed);
        let samples = games::samples(24, seed);
        let batch = Encoder::for_net(&net).encode_samples(&samples);
        let targets = blend_targets(&batch, 0.3, &[SourceTarget::new(win_rate(400.0), None)]);
        let computed = [Compute::Plain, fastest()].map(|compute| {
            let model = model(&net, &weights, compute);
            model.compute_gradients(&batch.inputs, Aim::Targets(&targets))
        });
        let loss = |weights: &Weights| {
            let float = Float::new(weights, &net).expect("the weights fit");
            let error = |(sample, target): (&Sample, &f32)| {
                sigmoid(defined_logit(&float, &sample.position)) - f64::from(*target)
            };
            let squares = samples.iter().zip(&targets[..]).map(|it| error(it).powi(2));
            squares.sum::<f64>() / samples.len() as f64
        };
        let step = 1e-4;
        let here = loss(&weights);
        for (loss, _) in &computed {
            assert!((f64::from(*loss) - here).abs() < 1e-6, "{net}: {loss}, by definition {here}");
        }
        let mut telling = 0;
        for array in net.list_arrays() {
            let found = computed.each_ref().map(|(_, gradients)| &gradients.0[&array.name]);
            for array_found in found {
                assert_eq!(array_found.shape, array.shape, "{net}: {}", array.name);
            }
            let some = |place: &usize| found[1].values[*place] != 0.0 || place.is_multiple_of(97);
            // A few dozen of each array.
            let places: Vec<usize> = (0..array.len()).filter(some).collect();
            for place in places.iter().step_by(places.len().div_ceil(40)) {
                let value = weights.0[&array.name].values[*place];
                let at = |moved: f32| {
                    let mut weights = weights.clone();
                    weights.0.get_mut(&array.name).expect("it is there").values[*place] = moved;
                    loss(&weights)
                };
                let slope = |moved: f32| (at(moved) - here) / (f64::from(moved) - f64::from(value));
                let (above, below) = (slope(value + step), slope(value - step));
                let right = (above + below) / 2.0;
                // A kink lies between two sides that differ, and one of them is right.
                let kink = (above - below).abs() / 2.0;
                for (found, what) in found.iter().zip(["plain", "fused"]) {
                    let found = f64::from(found.values[*place]);
                    let near = |side: f64| (found - side).abs() < 1e-7 + 2e-3 * side.abs();
                    assert!(
                        near(right) || kink > 1e-3 * right.abs() && (near(above) || near(below)),
                        "{what}, seed {seed}, {net}, {}[{place}]: {found}, difference {right}, kink {kink}",
                        array.name
                    );
                }
                telling += usize::from(right.abs() > 1e-5 && kink < 0.05 * right.abs());
            }
        }
        assert!(telling > 10, "{net}: only {telling} numbers tell a right gradient from a wrong");
    }
}

#[test]
fn same_bits_for_any_threads() {
    for (seed, precision) in NETS.zip([Precision::F32, Precision::Mixed].into_iter().cycle()) {
        let net = drawn::net(seed, 70);
        let weights = drawn::weights(&net, seed);
        let batch: Arc<Batch> = Arc::new(games::batch(&net, 2000, seed));
        same_for_threads(&[2, 3, 8], &format!("seed {seed}, {net}"), || {
            let model = model(&net, &weights, fused(SimdLevel::detect_fastest(), precision));
            let (loss, gradients) =
                model.compute_gradients(&batch.inputs, Aim::Targets(&batch.results));
            (loss.to_bits(), bits(&gradients))
        });
    }
}

#[test]
fn transposed_tensors_are_read_right() {
    let net = Architecture::simple(Perspectives::Plain, 6, Activation::ReLU);
    let batch = games::lists(Perspectives::Plain).encode_samples(&games::samples(20, 3));
    let Model::Net(mut net) = model(&net, &drawn::weights(&net, 4), fastest()) else { panic!() };
    let before = to_host(net.logits(&batch.inputs));
    let set = net.sets.remove(0);
    let weight = set.weight.map(|weight| {
        let device = weight.device();
        let transposed: TensorData = weight.transpose().into_data();
        Tensor::<2>::from_data(transposed, &device).transpose()
    });
    net.sets.push(SetRows { weight, ..set });
    assert_eq!(before, to_host(net.logits(&batch.inputs)));
}
