//! Training with rounded weights: what is rounded, and which gradients step what.

use nnuance::architecture::ArrayKind;
use nnuance::export::dequantise_net;
use nnuance::net::{StoredArray, stored_arrays};
use nnuance::progress::SilentProgress;
use nnuance::train::optimizer::{self, OptimizerName};
use nnuance::train::{self, Rounding, TrainError, TrainingSettings};

use crate::runs::golden;
use crate::support::kit::*;
use crate::support::random_nets::TWENTY;

fn units(net: &Net) -> Vec<(ArrayKind, Vec<f32>)> {
    let arrays = stored_arrays(net.architecture(), net.scales()).into_iter();
    let arrays = arrays.filter(|it| !it.factors.is_empty());
    let units = |it: StoredArray| it.factors.iter().map(|factor| *factor as f32).collect();
    arrays.map(|it| (it.array.kind, units(it))).collect()
}

#[test]
fn rounded_weights_are_those_of_the_file() {
    for drawn in TWENTY.iter() {
        let (trained, weights) = drawn::floats(drawn.seed);
        let model = model(&trained, &weights, fastest());
        for net in &drawn.nets {
            let rounded = model.round_weights(&units(net)).to_weights();
            let [merged, before] = [&rounded, &weights]
                .map(|weights| Float::new(weights, &trained).unwrap().into_weights());
            let stored = stored_arrays(net.architecture(), net.scales());
            for (name, right) in dequantise_net(net).0 {
                let array = stored.iter().find(|it| it.array.name == name).unwrap();
                let values = merged.0[&name].values.iter().zip(&before.0[&name].values);
                for (place, ((found, before), right)) in values.zip(right.values).enumerate() {
                    let unit = array.factor_at(place);
                    // Products in 32 bits may fall on the other side of a half.
                    let is_half = ((f64::from(*before) * unit).abs().fract() - 0.5).abs() < 1e-3;
                    let apart = (found - right).abs();
                    assert!(apart < 1e-6 || is_half, "{trained}: {name}: {found} {right}");
                }
            }
        }
    }
}

/// From its first step on, the gradients of rounded weights step the weights themselves.
#[test]
fn gradients_of_rounded_weights_step_the_weights() {
    const RATE: f64 = 0.5;
    let (net, weights) = drawn::floats(TWENTY[3].seed);
    let integers = &TWENTY[3].nets[0];
    let batch = games::batch(&net, 200, 4);
    let from = 3;
    let settings = TrainingSettings {
        learning_rate: golden::constant(RATE),
        wdl: golden::constant(1.0),
        rounding: Some(Rounding { from, units: units(integers) }),
        optimizer: optimizer::OptimizerSettings {
            beta1: 0.0,
            ..optimizer::OptimizerSettings::default_of(OptimizerName::Sgd)
        },
        ..golden::settings(5, false)
    };
    for compute in [Compute::Plain, fastest()] {
        let folder = Workdir::empty();
        let device = Device::flex();
        let job = golden::training(&net, (compute, &device), &settings, folder.root_path());
        let start = Checkpoint { weights: weights.clone(), ..Checkpoint::default() };
        let batches = std::iter::repeat_with(|| Ok::<_, TrainError>(batch.clone()));
        let (_, end) = train::train_model(&job, start, batches, &SilentProgress).unwrap();
        let mut right = weights.clone();
        for step in 1..=5 {
            let model = model(&net, &right, compute);
            let model = if step < from { model } else { model.round_weights(&units(integers)) };
            let (_, gradients) =
                model.compute_gradients(&batch.inputs, Aim::Targets(&batch.results));
            for (name, gradient) in gradients.0 {
                let values = &mut right.0.get_mut(&name).unwrap().values;
                for (value, gradient) in values.iter_mut().zip(gradient.values) {
                    *value -= (RATE * f64::from(gradient)) as f32;
                }
            }
        }
        for (name, right) in right.0 {
            for (found, right) in end.weights.0[&name].values.iter().zip(right.values) {
                assert!((found - right).abs() < 1e-6, "{net}: {name}: {found} {right}");
            }
        }
    }
}

#[test]
fn killed_and_resumed_with_rounded_weights() {
    let config = format!(
        "version = 3\nseed = 4\n[data]\nfiles = [{GAMES:?}]\nlimit = 6000\nheld_out = 0.1\n\
         [net]\ninputs = \"perspective\"\nhidden = 16\nqat = 0.4\n[target]\nwdl = 0.3\n\
         [schedule]\nepochs = 4\nbatch = 512\nlearning_rate = 0.004\n"
    );
    killed_and_resumed(&config, 2);
}
