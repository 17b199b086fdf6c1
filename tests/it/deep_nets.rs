//! Nets of every kind in training: the plain modules against the definition, the fused operations
//! against the plain ones, gradients against differences, bits against the number of threads.

use std::sync::Arc;

use nnuance::architecture::Architecture;
use nnuance::batch::Batch;
use nnuance::export::Float;
use nnuance::loader::Encoder;
use nnuance::model::{Backend, Compute, Evaluation, Kind, Level, Model, Precision, to_host};
use nnuance::sample::Sample;
use nnuance::train::target::targets;
use nnuance::weights::Weights;

use crate::{drawn, games};

/// Seeds of the nets that are drawn.
const NETS: std::ops::Range<u64> = 0..24;

fn model(net: &Architecture, weights: &Weights, compute: Compute) -> Model {
    let device = Backend::Flex.device().expect("flex is always there").autodiff();
    Model::new(&Kind::Net(net.clone()), weights, &device, compute).expect("the weights fit")
}

fn fused(level: Level, precision: Precision) -> Compute {
    Compute::Fused { level, precision }
}

/// `|a - b| / |b|` over all values together.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let apart: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(a - b))).sum();
    let size: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    if apart == 0.0 { 0.0 } else { (apart / size).sqrt() }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[test]
fn the_plain_modules_compute_the_definition() {
    for seed in NETS {
        let net = drawn::net(seed, 40);
        let weights = drawn::weights(&net, seed);
        let samples = games::samples(40, seed);
        let batch = Encoder::net(&net).encode(&samples);
        let logits = to_host(model(&net, &weights, Compute::Plain).logits(&batch.inputs));
        let float = Float::new(&weights, &net).expect("the weights fit");
        for (sample, logit) in samples.iter().zip(logits) {
            let sign = f64::from(net.inputs.sign(&sample.position));
            let right = sign * float.logit(&sample.position);
            let error = (f64::from(logit) - right).abs();
            assert!(error < 1e-4 * (1.0 + right.abs()), "{net}: {logit}, by definition {right}");
        }
    }
}

#[test]
fn the_fused_operations_equal_the_plain_ones() {
    for seed in NETS {
        let net = drawn::net(seed, 100);
        let weights = drawn::weights(&net, seed);
        let batch =
            Encoder::net(&net).encode(&games::samples([1, 70, 300][seed as usize % 3], seed));
        let targets = targets(&batch, 0.4, 300.0);
        let plain = model(&net, &weights, Compute::Plain);
        let (loss, gradients) = plain.gradients(&batch, &targets);
        let logits = to_host(plain.logits(&batch.inputs));
        for level in Level::available() {
            let what = format!("seed {seed}, {}, {net}", level.name());
            let fused = model(&net, &weights, fused(level, Precision::F32));
            let apart = distance(&to_host(fused.logits(&batch.inputs)), &logits);
            assert!(apart < 1e-5, "{what}: logits differ by {apart:.1e}");
            let (fused_loss, found) = fused.gradients(&batch, &targets);
            assert!((fused_loss - loss).abs() < 1e-5 * loss, "{what}: {fused_loss}, plain {loss}");
            for (name, array) in &gradients.0 {
                let apart = distance(&found.0[name].values, &array.values);
                assert!(apart < 1e-4, "{what}: gradients of {name} differ by {apart:.1e}");
            }
            // What the memory of a model holds from before does not count.
            let again = fused.gradients(&batch, &targets);
            assert!(again == (fused_loss, found), "{what}: the second time is another");
        }
    }
}

#[test]
fn mixed_precision_is_near() {
    for seed in NETS {
        let net = drawn::net(seed, 100);
        let weights = drawn::weights(&net, seed);
        let batch = Encoder::net(&net).encode(&games::samples(200, seed));
        let targets = targets(&batch, 0.4, 300.0);
        let of = |precision| {
            model(&net, &weights, fused(Level::detect(), precision)).gradients(&batch, &targets)
        };
        let ((loss, gradients), (mixed_loss, found)) = (of(Precision::F32), of(Precision::Mixed));
        assert!((mixed_loss - loss).abs() < 3e-3 * loss, "{net}: {mixed_loss} of {loss}");
        for (name, array) in &gradients.0 {
            let apart = distance(&found.0[name].values, &array.values);
            assert!(apart < 0.1, "seed {seed}, {net}: gradients of {name} differ by {apart:.1e}");
        }
    }
}

#[test]
fn gradients_equal_central_differences() {
    for seed in NETS {
        let net = drawn::net(seed, 8);
        let weights = drawn::weights(&net, seed);
        let samples = games::samples(12, seed);
        let batch = Encoder::net(&net).encode(&samples);
        let targets = targets(&batch, 0.3, 400.0);
        let compute = fused(Level::detect(), Precision::F32);
        let (_, gradients) = model(&net, &weights, compute).gradients(&batch, &targets);
        let loss = |weights: &Weights| {
            let float = Float::new(weights, &net).expect("the weights fit");
            let error = |(sample, target): (&Sample, &f32)| {
                let sign = f64::from(net.inputs.sign(&sample.position));
                sigmoid(sign * float.logit(&sample.position)) - f64::from(*target)
            };
            let squares = samples.iter().zip(&targets[..]).map(|it| error(it).powi(2));
            squares.sum::<f64>() / samples.len() as f64
        };
        let step = 1e-3;
        let mut moving = 0;
        for array in net.arrays() {
            let found = &gradients.0[&array.name];
            assert_eq!(found.shape, array.shape, "{net}: {}", array.name);
            let some = |place: &usize| found.values[*place] != 0.0 || place.is_multiple_of(97);
            // A few dozen of each array.
            let places: Vec<usize> = (0..array.len()).filter(some).collect();
            for place in places.iter().step_by(places.len().div_ceil(40)) {
                let value = weights.0[&array.name].values[*place];
                let at = |moved: f32| {
                    let mut weights = weights.clone();
                    weights.0.get_mut(&array.name).expect("it is there").values[*place] = moved;
                    loss(&weights)
                };
                let (up, down) = (value + step, value - step);
                let right = (at(up) - at(down)) / (f64::from(up) - f64::from(down));
                // Where the two sides differ a kink lies between.
                let kink = ((at(up) - at(value)) - (at(value) - at(down))).abs() / f64::from(step);
                let error = (f64::from(found.values[*place]) - right).abs();
                assert!(
                    error < 1e-6 + 2e-3 * right.abs() + kink,
                    "seed {seed}, {net}, {}[{place}]: {}, difference {right}, kink {kink}",
                    array.name,
                    found.values[*place]
                );
                moving += usize::from(found.values[*place] != 0.0);
            }
        }
        assert!(moving > 10, "{net}: only {moving} numbers have a gradient");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (seed, precision) in NETS.zip([Precision::F32, Precision::Mixed].into_iter().cycle()) {
        let net = drawn::net(seed, 70);
        let weights = drawn::weights(&net, seed);
        let batch: Arc<Batch> = Arc::new(Encoder::net(&net).encode(&games::samples(2000, seed)));
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("threads can be had").install(|| {
                let model = model(&net, &weights, fused(Level::detect(), precision));
                let (loss, gradients) = model.gradients(&batch, &batch.results);
                let bits =
                    |values: &[f32]| values.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
                let arrays = gradients.0.values().map(|array| bits(&array.values));
                (loss.to_bits(), arrays.collect::<Vec<_>>())
            })
        };
        let one = bits(1);
        for threads in [2, 3, 8] {
            assert!(bits(threads) == one, "seed {seed}, {net}: {threads} threads differ from one");
        }
    }
}
