//! The fused operations against Burn's plain ones: values, gradients, steps, bits.

use burn::tensor::{Tensor, TensorData};
use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::batch::{Active, Batch, Inputs};
use nnuance::model::{Aim, Backend, Compute, Evaluation, Kind, Level, Model, Precision};
use nnuance::train::optimizer::{Name, Optimizer, Settings};
use nnuance::weights::Weights;

use crate::largest::distance;
use crate::{drawn, games};

fn fused(level: Level) -> Compute {
    Compute::Fused { level, precision: Precision::F32 }
}

fn model(kind: &Kind, weights: &Weights, compute: Compute) -> Model {
    let device = Backend::Flex.device().expect("flex is always there").autodiff();
    Model::new(kind, weights, &device, compute).expect("the weights fit")
}

/// A net with random weights that reach all parts of an activation.
fn net(views: Views, hidden: usize, activation: Activation, seed: u64) -> (Kind, Weights) {
    let net = Architecture::simple(views, hidden, activation);
    let weights = drawn::weights(&net, seed);
    (Kind::Net(net), weights)
}

/// Boards with 0 to 32 pieces.
#[test]
fn any_number_of_pieces() {
    let (views, places) = (2, 32);
    // A dense matrix counts an input once, so that none may occur twice in a list.
    let input = |position: usize, view: usize, place: usize| match place < position {
        true => ((97 * position + 31 * view + 23 * place) % 768) as u16,
        false => 768,
    };
    let lists = (0..33).flat_map(|position| (0..views).map(move |view| (position, view)));
    let indices = lists
        .flat_map(|(position, view)| (0..places).map(move |place| input(position, view, place)));
    let indices = indices.collect();
    let batch = Batch {
        inputs: Inputs::Active(Active { rows: 768, views, places, indices, buckets: vec![] }),
        results: (0..33).map(|i| [0.0, 0.5, 1.0][i % 3]).collect(),
        scores: [].into(),
        choices: None,
        base: [].into(),
        weights: [].into(),
        sources: [].into(),
    };
    let (kind, weights) = net(Views::Perspective, 20, Activation::SCReLU, 3);
    let of = |compute| {
        let model = model(&kind, &weights, compute);
        model.gradients(&batch.inputs, Aim::Targets(&batch.results)).0
    };
    for level in Level::available() {
        assert!((of(fused(level)) / of(Compute::Plain) - 1.0).abs() < 1e-5, "{}", level.name());
    }
}

fn rule(name: Name, bias_correction: bool, clip: f64) -> Settings {
    Settings { bias_correction, clip, weight_decay: 0.02, ..Settings::usual(name) }
}

/// Weights after some steps.
fn steps(mut optimizer: Optimizer, compute: Compute) -> (Optimizer, Weights) {
    let (kind, weights) = net(Views::Perspective, 19, Activation::SCReLU, 9);
    let mut model = model(&kind, &weights, compute);
    for seed in 0..5 {
        let batch = games::lists(Views::Perspective).encode(&games::samples(40, seed));
        let gradients = model.slope(&batch.inputs, Aim::Targets(&batch.results)).gradients;
        model = optimizer.step(0.01, model, gradients);
    }
    (optimizer, model.weights())
}

#[test]
fn steps_of_adam() {
    for level in Level::available() {
        for (name, correction) in [(Name::AdamW, true), (Name::AdamW, false), (Name::Adam, true)] {
            for clip in [0.0, 0.3] {
                let rule = rule(name, correction, clip);
                // Both with the plain gradients: only the step differs. Where a gradient is all
                // but zero, its rounding decides on a whole step, so the bound is wider here.
                let plain = steps(rule.build(Compute::Plain), Compute::Plain).1;
                let fused = steps(rule.build(fused(level)), Compute::Plain).1;
                for (tensor, array) in &plain.0 {
                    let apart = distance(&fused.0[tensor].values, &array.values);
                    assert!(apart < 1e-4, "{rule:?}: {tensor} is {apart:e} off");
                }
            }
        }
    }
}

#[test]
fn transposed_tensors_are_read_right() {
    // Parameters that come from a transposed tensor.
    let (kind, weights) = net(Views::Plain, 6, Activation::ReLU, 4);
    let batch = games::lists(Views::Plain).encode(&games::samples(20, 3));
    let Model::Net(mut net) = model(&kind, &weights, fused(Level::detect())) else {
        unreachable!()
    };
    let before: Vec<f32> = net.logits(&batch.inputs).into_data().try_into_vec().expect("f32");
    net.accumulator.weight = net.accumulator.weight.map(|weight| {
        let device = weight.device();
        let transposed: TensorData = weight.transpose().into_data();
        Tensor::<2>::from_data(transposed, &device).transpose()
    });
    let after: Vec<f32> = net.logits(&batch.inputs).into_data().try_into_vec().expect("f32");
    assert_eq!(before, after);
}
