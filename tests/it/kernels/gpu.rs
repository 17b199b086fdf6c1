//! The fused operations of GPUs against the plain ones of the CPU: values, gradients, training,
//! bits. On a machine without a GPU, a software emulation will do.

use nnuance::batch::{ActiveRows, BatchInputs, Indices};
use nnuance::model::DEFAULT_BUDGET;

use crate::support::kit::*;

pub const GPU: Compute = Compute::Gpu { budget: DEFAULT_BUDGET };

pub fn with_budget(budget: usize) -> Compute {
    Compute::Gpu { budget }
}

#[track_caller]
pub fn gpu() -> Option<Device> {
    let device = Backend::Wgpu.first_device();
    let what = device.as_ref().err().map(ToString::to_string).unwrap_or_default();
    need::found("gpu", &what, device.is_ok()).then(|| device.expect("it is there"))
}

pub fn net(views: Perspectives, hidden: usize, activation: Activation) -> (Architecture, Weights) {
    let net = Architecture::simple(views, hidden, activation);
    let mut weights = initial_weights(&net, 4);
    drawn::shake(&mut weights, 0.2, 7);
    (net, weights)
}

/// Returns a factor of the usual bound: powers and logarithms of a GPU are less exact.
pub fn room(aim: Aim) -> f64 {
    match aim.loss_inputs().map(|inputs| inputs.loss.shape) {
        Some(LossShape::Power | LossShape::CrossEntropy) => 100.0,
        _ => 1.0,
    }
}

fn check(what: &str, got: &(f32, Weights), right: &(f32, Weights)) {
    check_within(what, got, right, 1.0);
}

pub fn check_within(what: &str, got: &(f32, Weights), right: &(f32, Weights), room: f64) {
    let apart = f64::from((got.0 / right.0 - 1.0).abs());
    assert!(apart < room * 1e-5, "{what}: loss {} for {}", got.0, right.0);
    for (name, array) in &right.1.0 {
        let apart = distance(&got.1.0[name].values, &array.values);
        // A single number may be the difference of many large ones.
        let bound = if array.values.len() == 1 { 1e-4 } else { 1e-5 };
        assert!(apart < room * bound, "{what}: {name} is {apart:e} off");
    }
}

pub fn batch(views: Perspectives, positions: usize, seed: u64) -> Batch {
    games::lists(views).encode_samples(&games::samples(positions, seed))
}

#[test]
fn gradients_and_logits_equal_plain_ones() {
    let Some(gpu) = gpu() else { return };
    // One or two perspectives, few and many columns, unused columns, partly filled tiles.
    for (i, hidden) in [33, 1, 300, 2100].into_iter().enumerate() {
        for views in Perspectives::ALL {
            for activation in of_accumulators() {
                if i > 0 && (views, activation) != (Perspectives::Perspective, Activation::SCReLU) {
                    continue;
                }
                let (net, weights) = net(views, hidden, activation);
                let sizes: &[usize] = if hidden > 1000 { &[17] } else { &[1, 16, 97] };
                for &positions in sizes {
                    let batch = batch(views, positions, 5);
                    let what = format!("{} {hidden} {activation:?} {positions}", views.name());
                    let plain = model_on(&flex(), &net, &weights, Compute::Plain);
                    let fused = model_on(&gpu, &net, &weights, GPU);
                    let compute =
                        |model: &Model, aim: Aim| model.compute_gradients(&batch.inputs, aim);
                    let [got, right] =
                        [&fused, &plain].map(|it| compute(it, Aim::Targets(&batch.results)));
                    check(&what, &got, &right);
                    let upstream = games::forces(positions);
                    let [got, right] =
                        [&fused, &plain].map(|it| (1.0, compute(it, Aim::Upstream(&upstream)).1));
                    check(&what, &got, &right);
                    // The error of a single decided position is all rounding.
                    if positions > 1 {
                        games::for_each_aim(&batch.results, |aim| {
                            let [mut got, mut right] = [&fused, &plain].map(|it| compute(it, aim));
                            if aim.loss_inputs().is_none() {
                                (got.0, right.0) = (1.0, 1.0);
                            }
                            let what = format!("{what} {:?}", aim.loss_inputs());
                            check_within(&what, &got, &right, room(aim));
                        });
                    }
                    let [got, right] =
                        [&fused, &plain].map(|model| to_host(model.logits(&batch.inputs)));
                    assert!(distance(&got, &right) < 1e-5, "{what}");
                }
            }
        }
    }
}

/// In tests new memory is NaN, so that reading it before a write shows.
#[test]
fn memory_of_tests_is_spoilt() {
    const { assert!(cfg!(debug_assertions)) };
}

#[test]
fn nan_shows_in_the_loss() {
    let Some(gpu) = gpu() else { return };
    for activation in of_accumulators() {
        let (net, mut weights) = net(Perspectives::Perspective, 33, activation);
        let biases = weights.0.get_mut("accumulator.bias").expect("it has biases");
        biases.values[7] = f32::NAN;
        let batch = batch(Perspectives::Perspective, 40, 3);
        let model = model_on(&gpu, &net, &weights, GPU);
        let (loss, _) = model.compute_gradients(&batch.inputs, Aim::Targets(&batch.results));
        assert!(loss.is_nan(), "{activation:?}: {loss}");
        assert!(to_host(model.logits(&batch.inputs)).iter().all(|logit| logit.is_nan()));
    }
}

/// Lists that no game has: without pieces, of any inputs, with one input in almost all.
#[test]
fn any_lists_in_any_parts() {
    let Some(gpu) = gpu() else { return };
    let (positions, perspectives, width) = (2500, 2, 32);
    let indices = any_lists(positions * perspectives, width, 1).concat();
    let (net, weights) = net(Perspectives::Perspective, 20, Activation::SCReLU);
    let active = listed::active(&net, indices, width);
    let results: Vec<f32> = (0..positions).map(|i| [0.0, 0.5, 1.0][i % 3]).collect();
    for budget in [DEFAULT_BUDGET, 0, 20 * 2 * 4 * 1000] {
        let count = if budget == 0 { 100 } else { positions };
        let indices = Indices::U16(near(&active)[..count * perspectives * width].to_vec());
        let inputs = BatchInputs::Active(ActiveRows { indices, ..active.clone() });
        let [got, right] =
            [(&gpu, with_budget(budget)), (&flex(), fastest())].map(|(device, compute)| {
                let model = model_on(device, &net, &weights, compute);
                model.compute_gradients(&inputs, Aim::Targets(&results[..count]))
            });
        check(&format!("{budget} bytes"), &got, &right);
    }
}

#[test]
fn more_positions_than_cubes() {
    let Some(gpu) = gpu() else { return };
    let (positions, width) = ((1 << 15) * 16 + 40, 2);
    let indices = (0..positions * width).map(|i| (i * 7919 % 769) as u16).collect();
    let (net, weights) = net(Perspectives::Plain, 1, Activation::CReLU);
    let inputs = BatchInputs::Active(listed::active(&net, indices, width));
    let [got, right] = [(&gpu, GPU), (&flex(), fastest())].map(|(device, compute)| {
        to_host(model_on(device, &net, &weights, compute).logits(&inputs))
    });
    assert!(distance(&got, &right) < 1e-5);
}

/// Draws lists of up to `width` inputs, each of one of the king buckets.
fn any_lists(lists: usize, width: usize, kings: usize) -> Vec<Vec<u16>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut list = |number: usize| {
        let first = 768 * random.random_range(0..kings) as u16;
        let mut inputs: Vec<u16> = Vec::new();
        for entry in 0..number % (width + 1) {
            let often = entry == 0 && !number.is_multiple_of(5);
            inputs.push(first + if often { 700 } else { random.random_range(0..768) });
        }
        inputs.sort_unstable();
        inputs.dedup();
        inputs.resize(width, 768 * kings as u16);
        inputs
    };
    (0..lists).map(&mut list).collect()
}

/// Integers sum exactly in any order, so a list too many or too few shows. Lists exceed 64 strips
/// of the usual length; with king buckets, most strips are partly filled.
#[test]
fn gradients_of_inputs() {
    let Some(gpu) = gpu() else { return };
    let (positions, perspectives, width, hidden) = (40_000, 2, 6, 3);
    let ranks = std::array::from_fn::<u8, 64, _>(|square| square as u8 / 16);
    let kings = Kings::new(false, &ranks);
    for kings in [Kings::NONE, kings.expect("four buckets")] {
        let net = Architecture { activation: Activation::ReLU, ..net_of_kings(kings, hidden) };
        let mut weights = initial_weights(&net, 4);
        for (name, array) in &mut weights.0 {
            // Accumulators are positive; gradients are upstream gradients times the perspective's
            // number.
            let value = |i: usize| match &name[..] {
                "accumulator.bias" => 1.0,
                "output.weight" => (1 + i / hidden) as f32,
                _ => 0.0,
            };
            array.values = (0..array.values.len()).map(value).collect();
        }
        let lists = any_lists(positions * perspectives, width, net.row_count() / 768);
        let upstream: Vec<f32> = (0..positions).map(|i| (i % 7) as f32 - 2.0).collect();
        let mut right = vec![0.0; net.row_count() * hidden];
        for (number, list) in lists.iter().enumerate() {
            let gradient = upstream[number / perspectives] * (1 + number % perspectives) as f32;
            for input in list.iter().filter(|input| usize::from(**input) < net.row_count()) {
                let row = &mut right[usize::from(*input) * hidden..][..hidden];
                row.iter_mut().for_each(|sum| *sum += gradient);
            }
        }
        let active = listed::active(&net, lists.concat(), width);
        let inputs = BatchInputs::Active(active);
        // In one part, and in parts of which the last is small.
        for budget in [DEFAULT_BUDGET, 4 * hidden * perspectives * 13_328] {
            let model = model_on(&gpu, &net, &weights, with_budget(budget));
            let gradients = model.compute_gradients(&inputs, Aim::Upstream(&upstream)).1;
            assert!(gradients.0["accumulator.weight"].values == right, "{net}, {budget} bytes");
        }
    }
}

#[test]
fn bench_has_stages() {
    if gpu().is_none() {
        return;
    }
    let mut bench = nnuance();
    bench.args(["bench", "--device", "wgpu", "--hidden", "32", "--batch", "128", "--json"]);
    bench.args(["--seconds", "0.1", "--data", SCORED]);
    let net = &json(&mut bench)["nets"][0];
    let stages = net["stages"].as_array().expect("stages");
    let times = stages.iter().map(|stage| stage[1].as_f64().expect("milliseconds"));
    assert!(stages.len() == 6 && times.into_iter().all(|time| time > 0.0), "{net}");
}
