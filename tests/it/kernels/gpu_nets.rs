//! Nets of every kind on a GPU against plain modules on the CPU: gradients, losses, bits.

use burn::tensor::Tensor;
use nnuance::features;
use nnuance::model::LossGradients;
use nnuance::model::ops::take_step;
use nnuance::train::optimizer::{OptimizerName, OptimizerSettings};

use rand::prelude::*;

use crate::kernels::gpu::{GPU, check_within, gpu, room, with_budget};
use crate::kernels::steps::RULES;
use crate::support::kit::*;
use crate::{kernels::layers, kernels::optimizers, nets::graphs};

/// Nets with the seed of their draw: with and without buckets, a factoriser, a head, and
/// piece-square values; and heads whose layers are not a chain.
fn nets() -> Vec<(Architecture, u64)> {
    let mut kinds = BTreeSet::new();
    let drawn = (0..1000).map(|seed| (drawn::net(seed, 40), seed));
    let mut nets: Vec<_> = drawn
        .filter(|(net, _)| {
            kinds.insert((net.buckets > 1, net.inputs.factorised, net.is_deep(), net.psqt))
        })
        .collect();
    assert_eq!(kinds.len(), 16);
    nets.extend(graphs::HEADS.map(|head| (graphs::net(head, "skip = true"), 3)));
    // The largest possible number of rows.
    let mut largest = net_of_kings(kings_in_turn(false, 64), 8);
    largest.inputs.factorised = true;
    nets.push((Architecture { buckets: 3, ..largest }, 0));
    nets
}

/// Nets of each feature set, and of several: with factors, repeated rows, king buckets, of 16 and
/// of 32 bits.
fn nets_of_sets() -> Vec<(Architecture, u64)> {
    let squares: Vec<u8> = (0..32).map(|square| square / 4).collect();
    let kings = Kings::new(true, &squares).expect("the buckets have no gaps");
    let net = |names: &[&str], kings, factorised, pairwise| {
        let mut net = net_of_sets(names, kings, 6);
        net.inputs.factorised = factorised;
        let head = if pairwise { vec![Layer::new(3, Activation::Dual)] } else { Vec::new() };
        let (activation, psqt) = (Activation::CReLU, names.len() == 3);
        Architecture { activation, buckets: 4, pairwise, head, psqt, ..net }
    };
    let mut nets = vec![
        (net(&["threat-kinds", "attack-counts"], Kings::NONE, false, false), 1),
        (net(&["pieces", "threats"], kings, true, true), 2),
        (net(&["pieces", "threats", "pawn-pairs"], kings, true, false), 3),
    ];
    nets.extend(features::set_names().iter().map(|name| (net(&[name], kings, false, true), 4)));
    nets
}

#[test]
fn gradients_equal_the_plain_ones() {
    let Some(gpu) = gpu() else { return };
    for (net, seed) in nets().into_iter().chain(nets_of_sets()) {
        let (weights, batch) = (drawn::weights(&net, seed), games::batch(&net, 70, seed));
        let plain = model_on(&flex(), &net, &weights, Compute::Plain);
        let right = plain.compute_gradients(&batch.inputs, Aim::Targets(&batch.results));
        // In one part, and in parts of 16 positions.
        for compute in [GPU, with_budget(0)] {
            let fused = model_on(&gpu, &net, &weights, compute);
            let got = fused.compute_gradients(&batch.inputs, Aim::Targets(&batch.results));
            let again = fused.compute_gradients(&batch.inputs, Aim::Targets(&batch.results));
            assert_eq!((got.0.to_bits(), bits(&got.1)), (again.0.to_bits(), bits(&again.1)));
            check_within(&format!("{net} {compute:?}"), &got, &right, 1.0);
            let [got, right] = [&fused, &plain].map(|it| to_host(it.logits(&batch.inputs)));
            assert!(distance(&got, &right) < 1e-5, "{net}");
            games::for_each_aim(&batch.results, |aim| {
                let [got, right] =
                    [&fused, &plain].map(|it| it.compute_gradients(&batch.inputs, aim));
                let (apart, room) = (f64::from((got.0 / right.0 - 1.0).abs()), room(aim));
                let what = format!("{net} {compute:?} {aim:?}");
                assert!(aim.loss_inputs().is_none() || apart < room * 1e-5, "{what}");
                assert_close(&what, &got.1, &right.1, room * 1e-4);
            });
        }
    }
}

#[test]
fn steps_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    optimizers::check(&gpu, GPU);
}

/// The kernels of all rules against the formulas on tensors.
#[test]
fn steps_equal_the_formulas() {
    let Some(gpu) = gpu() else { return };
    for rule in RULES {
        let states = rule.at(1).state_count();
        let run = |device: &Device, level: Option<SimdLevel>| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
            let mut tensor = |size: f32| {
                let values: Vec<f32> = (0..1000).map(|_| rng.random_range(-size..size)).collect();
                Tensor::<1>::from_data(&values[..], device)
            };
            let mut arrays = (tensor(0.5), vec![tensor(1e-30); states]);
            for step in 1..=20 {
                let (p, states) = arrays;
                arrays = take_step(p, tensor(1e-3), states, rule.at(step), level);
            }
            let (p, states) = arrays;
            [p].into_iter().chain(states).map(to_host).collect::<Vec<_>>()
        };
        let (right, got) = (run(&flex(), None), run(&gpu, Some(SimdLevel::Portable)));
        for (got, right) in got.iter().zip(&right) {
            assert!(distance(got, right) < 1e-5, "{rule:?}");
        }
    }
}

#[test]
fn arrays_have_clips_and_rates() {
    let Some(gpu) = gpu() else { return };
    layers::check(&gpu, GPU);
}

#[test]
fn steps_of_every_net() {
    let Some(gpu) = gpu() else { return };
    let settings =
        OptimizerSettings { clip: 1.98, ..OptimizerSettings::default_of(OptimizerName::AdamW) };
    let nets = nets().into_iter().chain(nets_of_sets().into_iter().take(3));
    for (net, seed) in nets.filter(|(net, _)| net.buckets > 1) {
        let steps = if net.psqt { 100 } else { 10 };
        let train = |device: &Device, compute| {
            let mut model = model_on(device, &net, &drawn::weights(&net, seed), compute);
            let mut optimizer = settings.build_optimizer(compute);
            let mut losses = Vec::new();
            for step in 0..steps {
                let batch = games::batch(&net, 50, step % 10);
                let LossGradients { loss, gradients, touched } =
                    model.loss_gradients(&batch.inputs, Aim::Targets(&batch.results));
                losses.push(to_host(loss)[0]);
                model = optimizer.step_model(1e-3, model, gradients, &touched);
            }
            (losses, model.to_weights())
        };
        let (right, _) = train(&flex(), Compute::Plain);
        let (got, end) = train(&gpu, GPU);
        for (step, (got, right)) in got.iter().zip(&right).enumerate() {
            assert!((got - right).abs() < 1e-5, "{net}, step {}: {got} for {right}", step + 1);
        }
        let (again, same) = train(&gpu, GPU);
        assert_eq!((got, bits(&end)), (again, bits(&same)), "{net}");
    }
}
