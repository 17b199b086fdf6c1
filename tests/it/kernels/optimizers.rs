//! Optimisers against steps of other programs.
//!
//! Figures of PyTorch 2.15 in 64 bits; Ranger is its RAdam with the paper's Lookahead.

use burn::tensor::Tensor;
use nnuance::model::{TensorGradients, TouchedRows};

use crate::support::kit::*;

const ARRAY: &str = "accumulator.bias";

const START: [f32; 5] = [0.5, -0.25, 0.75, -1.0, 0.125];

fn gradient(step: u64) -> [f32; 5] {
    std::array::from_fn(|i| {
        let whole = ((step as i32 * 7 + i as i32 * 13) % 11 - 5) as f32 / 16.0;
        if i < 4 { whole } else { whole / 1024.0 }
    })
}

fn rate(step: u64) -> f64 {
    0.02 / (1.0 + step as f64 / 4.0)
}

/// After 16 steps.
const GOLDEN: [(&str, [f64; 5]); 5] = [
    ("adamw", [0.459130387, -0.272309451, 0.764454340, -0.969614573, 0.160173569]),
    ("adam", [0.441519792, -0.262234551, 0.738528828, -0.936796765, 0.014958321]),
    ("radam", [0.489384033, -0.252902554, 0.747641597, -0.985235413, 0.123569946]),
    ("ranger", [0.494166319, -0.251374439, 0.748353497, -0.991684866, 0.124250183]),
    ("sgd", [0.457238480, -0.244619837, 0.718290188, -0.939922880, 0.118367265]),
];

fn config(lines: &str) -> Config {
    let net = "net = { inputs = \"plain\", hidden = 5 }\n[optimizer]\nclip = 0.0\n";
    config_with(&[net, lines].concat()).expect("a config")
}

fn net() -> Architecture {
    config("").architecture().expect("a net").clone()
}

fn model(device: &Device, compute: Compute) -> Model {
    let mut weights = drawn::weights(&net(), 1);
    weights.insert(ARRAY, &[5], START.to_vec());
    model_on(device, &net(), &weights, compute)
}

pub fn check(device: &Device, compute: Compute) {
    for (name, right) in GOLDEN {
        let settings = config(&format!("name = \"{name}\"\nweight_decay = 0.1")).optimizer.clone();
        let mut model = model(device, compute);
        let Model::Net(parts) = &model else { panic!("it is a net") };
        let id = parts.bias.id;
        let gradients =
            |step| TensorGradients::from([(id.val(), Tensor::from_data(gradient(step), device))]);
        let mut optimizer = settings.build_optimizer(compute);
        for step in 1..=16 {
            model =
                optimizer.step_model(rate(step), model, gradients(step), &TouchedRows::default());
        }
        for (got, right) in model.to_weights().0[ARRAY].values.iter().zip(right) {
            let error = (f64::from(*got) - right).abs();
            assert!(error < 2e-6, "{compute:?}, {name}: {got} for {right}");
        }
    }
}

#[test]
fn steps_match_other_trainers() {
    computes().for_each(|compute| check(&flex(), compute));
}
