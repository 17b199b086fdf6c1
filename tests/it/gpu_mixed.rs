//! Mixed precision on a GPU against that of the CPU.

use nnuance::architecture::{Activation, Architecture, Layer, LayerActivation, Views};
use nnuance::batch::Inputs;
use nnuance::loader::Encoder;
use nnuance::model::{
    Aim, Compute, Device, Evaluation, Kind, Level, Model, Precision, ROOM, initial, to_host,
};
use nnuance::weights::Weights;

use crate::gpu::{bits, flex, gpu};
use crate::gpu_pairs::Positions;
use crate::largest::distance;
use crate::{drawn, games};

const MIXED: Compute = Compute::Gpu { room: ROOM, precision: Precision::Mixed };

fn on_cpu() -> Compute {
    Compute::Fused { level: Level::detect(), precision: Precision::Mixed }
}

fn model(net: &Architecture, weights: &Weights, device: &Device, compute: Compute) -> Model {
    let kind = Kind::Net(net.clone());
    Model::new(&kind, weights, &device.clone().autodiff(), compute).expect("the weights fit")
}

/// Odd and even numbers of neurons, more than a cube has units for, more than are written out; output
/// buckets, and a layer.
fn nets() -> Vec<Architecture> {
    let simple = |hidden| Architecture::simple(Views::Perspective, hidden, Activation::SCReLU);
    let layer = Layer { size: 4, activation: LayerActivation::ReLU };
    let sizes = [1, 33, 64, 600, 5000].map(simple);
    let others = [
        Architecture::simple(Views::SideToMove, 40, Activation::ReLU),
        Architecture { buckets: 3, ..simple(31) },
        Architecture { buckets: 2, head: vec![layer], ..simple(17) },
    ];
    sizes.into_iter().chain(others).collect()
}

fn weights(net: &Architecture) -> Weights {
    let mut weights = initial(net, 3);
    drawn::shake(&mut weights, 0.2, 7);
    weights
}

/// Weights are the same integers, so that outputs differ as in 32 bits. Gradients of accumulators
/// are rounded by up to a 256th part, and those of the CPU by less; sums of many are closer.
#[test]
fn mixed_precision_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for net in nets() {
        let weights = weights(&net);
        let batch =
            Encoder::net(&net).encode(&games::samples(if net.hidden > 1000 { 60 } else { 700 }, 5));
        let [got, right] = [(&gpu, MIXED), (&flex(), on_cpu())]
            .map(|(device, compute)| model(&net, &weights, device, compute));
        let logits = [&got, &right].map(|it| to_host(it.logits(&batch.inputs)));
        assert!(distance(&logits[0], &logits[1]) < 1e-5, "{net}");
        let aim = Aim::Targets(&batch.results);
        let [of_gpu, of_cpu] = [&got, &right].map(|it| it.gradients(&batch.inputs, aim));
        assert!((of_gpu.0 / of_cpu.0 - 1.0).abs() < 1e-5, "{net}");
        for (name, array) in &of_cpu.1.0 {
            let apart = distance(&of_gpu.1.0[name].values, &array.values);
            assert!(apart < 2e-3, "{net}: {name} is {apart:e} off");
        }
        let again = got.gradients(&batch.inputs, aim);
        assert_eq!(bits(&of_gpu.1), bits(&again.1), "{net}");
    }
}

/// Rows of pairs are sums of rounded rows, so that outputs are the same with and without pairs.
#[test]
fn pairs_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let net = Architecture::simple(Views::Perspective, 40, Activation::SCReLU);
    let weights = weights(&net);
    let Positions { active, plans, .. } = Positions::new(&net);
    let targets: Vec<f32> = (0..active.len()).map(|it| (it % 9) as f32 / 8.0).collect();
    let planned = Inputs::Planned(plans);
    let [got, right] = [(&gpu, MIXED), (&flex(), on_cpu())].map(|(device, compute)| {
        let model = model(&net, &weights, device, compute);
        model.gradients(&planned, Aim::Targets(&targets))
    });
    assert!((got.0 / right.0 - 1.0).abs() < 1e-5, "{} for {}", got.0, right.0);
    for (name, array) in &right.1.0 {
        let apart = distance(&got.1.0[name].values, &array.values);
        assert!(apart < 2e-3, "{name} is {apart:e} off");
    }
}

/// What is beyond the range counts as its end.
#[test]
fn weights_are_held_within_the_range() {
    let Some(gpu) = gpu() else { return };
    let net = Architecture::simple(Views::Perspective, 6, Activation::ReLU);
    let mut weights = weights(&net);
    let accumulator = weights.0.get_mut("accumulator.weight").expect("it has weights");
    accumulator.values.iter_mut().for_each(|weight| *weight *= 40.0);
    let batch = Encoder::net(&net).encode(&games::samples(50, 5));
    let logits = |compute| to_host(model(&net, &weights, &gpu, compute).logits(&batch.inputs));
    let mixed = logits(MIXED);
    assert!(mixed.iter().all(|logit| logit.is_finite()));
    assert!(distance(&mixed, &logits(crate::gpu::GPU)) > 0.1);
}

/// Integers are numbers, and a training that diverged must show all the same.
#[test]
fn what_is_no_number_shows_in_the_loss() {
    let Some(gpu) = gpu() else { return };
    for net in nets().into_iter().filter(|net| net.hidden < 100) {
        for name in ["accumulator.weight", "accumulator.bias"] {
            for wrong in [f32::NAN, f32::INFINITY] {
                let mut weights = weights(&net);
                *weights.0.get_mut(name).expect("it is there").values.last_mut().expect("some") =
                    wrong;
                let batch = Encoder::net(&net).encode(&games::samples(40, 3));
                let model = model(&net, &weights, &gpu, MIXED);
                let (loss, _) = model.gradients(&batch.inputs, Aim::Targets(&batch.results));
                assert!(loss.is_nan(), "{net}, {name}: {loss}");
                let inputs: &Inputs = &batch.inputs;
                assert!(to_host(model.logits(inputs)).iter().all(|logit| logit.is_nan()));
            }
        }
    }
}
