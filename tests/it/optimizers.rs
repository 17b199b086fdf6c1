//! Optimisers against steps that other programs took, and what is learnt in the place of the weights
//! that take them.
//!
//! The figures come from PyTorch 2.15 (AdamW, Adam, RAdam, SGD), lion-pytorch 0.2.5 and
//! schedulefree 1.4.1, all in 64 bits; Ranger is PyTorch's RAdam with Lookahead written around it
//! from its paper.

use std::collections::BTreeMap;

use burn::module::{Module as _, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use nnuance::architecture::Architecture;
use nnuance::config::Config;
use nnuance::model::{Backend, Compute, Device, Kind, Level, Model, Precision};
use nnuance::train::optimizer::Averaged;

use crate::drawn;

/// The array whose numbers are followed.
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
const GOLDEN: [(&str, [f64; 5]); 7] = [
    ("adamw", [0.459130387, -0.272309451, 0.764454340, -0.969614573, 0.160173569]),
    ("adam", [0.441519792, -0.262234551, 0.738528828, -0.936796765, 0.014958321]),
    ("radam", [0.489384033, -0.252902554, 0.747641597, -0.985235413, 0.123569946]),
    ("ranger", [0.494166319, -0.251374439, 0.748353497, -0.991684866, 0.124250183]),
    ("lion", [0.470311957, -0.270401733, 0.732515656, -0.995843810, 0.134641052]),
    ("schedule-free", [0.478953152, -0.253871063, 0.749216232, -0.981767774, 0.147525628]),
    ("sgd", [0.457238480, -0.244619837, 0.718290188, -0.939922880, 0.118367265]),
];

/// What schedule-free AdamW has learnt by then.
const MEAN: [f64; 5] = [0.479035942, -0.254004342, 0.749854670, -0.982034410, 0.147754494];

fn config(lines: &str) -> Config {
    let text = format!(
        "version = 3\ndata.files = [\"games.vf\"]\nschedule = {{ epochs = 1, learning_rate = 1.0 \
         }}\nnet = {{ inputs = \"plain\", hidden = 5 }}\n[optimizer]\nclip = 0.0\n{lines}"
    );
    Config::parse(&text, "golden", &[]).expect("a config")
}

fn net() -> Architecture {
    config("").architecture().expect("a net").clone()
}

fn model(device: &Device, compute: Compute) -> Model {
    let mut weights = drawn::weights(&net(), 1);
    weights.insert(ARRAY, &[5], START.to_vec());
    Model::new(&Kind::Net(net()), &weights, &device.clone().autodiff(), compute).expect("a net")
}

/// Parameters by their names.
fn ids(model: &Model) -> BTreeMap<String, ParamId> {
    #[derive(Default)]
    struct Ids {
        path: Vec<String>,
        found: BTreeMap<String, ParamId>,
    }

    impl ModuleVisitor for Ids {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.to_string());
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }

        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.found.insert(self.path.join("."), param.id);
        }
    }

    let mut ids = Ids::default();
    model.visit(&mut ids);
    ids.found
}

fn computes() -> Vec<Compute> {
    let fused = |level| Compute::Fused { level, precision: Precision::F32 };
    Level::available().into_iter().map(fused).chain([Compute::Plain]).collect()
}

fn followed(model: &Model) -> Vec<f32> {
    model.weights().0[ARRAY].values.clone()
}

/// Each optimiser takes the steps that others took, fused and plainly.
pub fn check(device: &Device, compute: Compute) {
    for (name, right) in GOLDEN {
        let settings = config(&format!("name = \"{name}\"\nweight_decay = 0.1")).optimizer.clone();
        let mut model = model(device, compute);
        let ids = ids(&model);
        let (_, id) = ids.iter().find(|(name, _)| name.ends_with(ARRAY)).expect("its name");
        let gradients = |step| {
            let mut gradients = GradientsParams::new();
            gradients.register(*id, Tensor::<1>::from_data(gradient(step), device));
            gradients
        };
        let mut optimizer = settings.build(compute);
        for step in 1..=16 {
            model = optimizer.step(rate(step), model, gradients(step));
        }
        let near = |found: &[f32], right: [f64; 5], what: &str| {
            for (found, right) in found.iter().zip(right) {
                let error = (f64::from(*found) - right).abs();
                assert!(error < 2e-6, "{compute:?}, {name}, {what}: {found} for {right}");
            }
        };
        near(&followed(&model), right, "parameters");
        if let Some(learnt) = optimizer.learnt(&model) {
            near(&followed(&learnt), MEAN, "mean");
            near(&followed(&model), right, "parameters behind the mean");
        }
    }
}

#[test]
fn steps_match_other_trainers() {
    let device = Backend::Flex.device().expect("flex is always there");
    for compute in computes() {
        check(&device, compute);
    }
}

/// Shares of a mean are those of its definition: weights `d^(t - i)` over their sum, or equal ones.
#[test]
fn means_match_their_weights() {
    let values: Vec<f64> = (1..=40).map(|i| f64::from(i * i % 17)).collect();
    let walked = |of: Averaged| {
        let steps = values.len() as u64;
        values.iter().zip(1..).fold(f64::NAN, |mean, (value, step)| {
            match of.share(step, steps, 0) {
                Some(1.0) => *value,
                Some(share) => mean + share * (value - mean),
                None => mean,
            }
        })
    };
    let weighed = |weight: &dyn Fn(usize) -> f64| {
        let (sum, all) = values
            .iter()
            .enumerate()
            .fold((0.0, 0.0), |(sum, all), (i, value)| (sum + weight(i) * value, all + weight(i)));
        sum / all
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} for {b}");
    near(walked(Averaged::Decaying(0.9)), weighed(&|i| 0.9_f64.powi(39 - i as i32)));
    near(walked(Averaged::Decaying(0.0)), values[39]);
    near(walked(Averaged::Last(0.25)), weighed(&|i| f64::from(i >= 30)));
    near(walked(Averaged::Last(1.0)), weighed(&|_| 1.0));
    assert!(Averaged::Last(0.25).share(30, 40, 0).is_none());
    assert_eq!(Averaged::Last(0.25).share(31, 40, 0), Some(1.0));
    // A run whose length changed in step 35 averages what came behind that.
    assert_eq!(Averaged::Last(0.25).share(36, 40, 35), Some(1.0));
    assert_eq!(Averaged::Last(0.25).share(38, 40, 35), Some(1.0 / 3.0));
}
