//! Clips, learning rates and weight decays of single arrays, on every path of an optimiser.

use nnuance::train::optimizer::{ModelOptimizer, OptimizerName, OptimizerSettings};

use crate::support::kit::*;

const CONFIG: &str = r#"[net]
inputs = "perspective"
start_size = 1.0
king_buckets = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
factorised = true
hidden = 12
activation = "crelu"
pairwise = true
head = [{ size = 5, activation = "dual" }, { size = 3, activation = "screlu" }, { size = 1 }]
skip = true
output_buckets = 4
"#;

const LAYERS: &str = r#"[optimizer.layers]
accumulator = { rate = 0.25 }
"accumulator.weight".decay = 0.0
factoriser = { clip = 0.06, decay = 2.5 }
head = { clip = 0.11, rate = 3.0 }
"head.1".clip = 0.09
"head.1.bias".rate = 0.5
"output.weight" = { clip = 0 }
"#;

const DECAYS: [(&str, f64); 2] = [("accumulator.weight", 0.0), ("factoriser.weight", 2.5)];

/// Clip and rate of each array; the clip of the others is 0.15.
const HELD: [(&str, f64, f64); 9] = [
    ("accumulator.weight", 0.15, 0.25),
    ("accumulator.bias", 0.15, 0.25),
    ("factoriser.weight", 0.06, 1.0),
    ("head.0.weight", 0.11, 3.0),
    ("head.0.bias", 0.11, 3.0),
    ("head.1.weight", 0.09, 3.0),
    ("head.1.bias", 0.09, 0.5),
    ("output.weight", 0.0, 1.0),
    ("output.bias", 0.15, 1.0),
];

pub fn config(layers: &str, optimizer: &str, clip: f64) -> Config {
    let optimizer = format!("[optimizer]\nclip = {clip:?}\n{optimizer}\n");
    config_with(&[CONFIG, &optimizer, layers].concat()).expect("a config")
}

/// Number of steps: the lookahead of Ranger comes after six.
fn steps(settings: &OptimizerSettings) -> u64 {
    if settings.name == OptimizerName::Ranger { 8 } else { 4 }
}

/// A net, and gradients that do not depend on the steps.
struct Walk<'a> {
    net: Architecture,
    device: &'a Device,
    compute: Compute,
}

impl Walk<'_> {
    fn model(&self) -> Model {
        let weights = drawn::weights(&self.net, 5);
        model_on(self.device, &self.net, &weights, self.compute)
    }

    fn steps(
        &self,
        mut optimizer: ModelOptimizer,
        mut model: Model,
        seeds: std::ops::Range<u64>,
        rate: f64,
    ) -> (ModelOptimizer, Model) {
        let still = self.model();
        for seed in seeds {
            let batch = games::batch(&self.net, 60, seed);
            let results = still.loss_gradients(&batch.inputs, Aim::Targets(&batch.results));
            model = optimizer.step_model(rate, model, results.gradients, &results.touched);
        }
        (optimizer, model)
    }

    fn weights(&self, settings: &OptimizerSettings, rate: f64) -> Weights {
        self.steps(settings.build_optimizer(self.compute), self.model(), 0..steps(settings), rate)
            .1
            .to_weights()
    }
}

pub const OPTIMIZERS: [&str; 8] = [
    "name = \"adamw\"",
    "name = \"adamw\"\nbias_correction = false",
    "name = \"adam\"\nweight_decay = 0.01",
    "name = \"radam\"",
    "name = \"ranger\"",
    "name = \"adagrad\"",
    "name = \"sgd\"",
    "name = \"sgd\"\nbeta1 = 0.0",
];

/// Each array steps as if all had its clip, rate and decay, with the same bits; also when resumed.
pub fn check(device: &Device, compute: Compute) {
    for optimizer in OPTIMIZERS {
        let rate = if optimizer.contains("sgd") { 4.0 } else { 0.02 };
        let config_with = |layers, clip| config(layers, optimizer, clip);
        let net = config_with("", 0.0).architecture().expect("a net").clone();
        let walk = Walk { net, device, compute };
        let settings = config_with(LAYERS, 0.15).optimizer.clone();
        let stepped = walk.weights(&settings, rate);
        let before = walk.model().to_weights();
        assert_eq!(stepped.0.len(), HELD.len());
        for (name, clip, factor) in HELD {
            let what = format!("{compute:?}, {optimizer}: {name}");
            let mut alone = config_with("", clip).optimizer.clone();
            let decay = DECAYS.iter().find(|(it, _)| *it == name);
            alone.weight_decay = decay.map_or(alone.weight_decay, |(_, decay)| *decay);
            let alone = walk.weights(&alone, rate * factor);
            assert!(stepped.0[name] == alone.0[name], "{what}: other bits");
            let size = |weights: &Weights| {
                largest(weights.0[name].values.iter().map(|it| f64::from(it.abs())))
            };
            let bound = if clip == 0.0 { 2.0 } else { f64::from(clip as f32) };
            assert!(size(&stepped) <= bound, "{what} is up to {}", size(&stepped));
            let few = name == "output.bias";
            assert!(clip == 0.0 || few || size(&before) > bound, "{what} needs no clip");
        }
        let (first, model) =
            walk.steps(settings.build_optimizer(compute), walk.model(), 0..2, rate);
        let state = first.to_bytes().expect("a record");
        let second =
            settings.build_optimizer(compute).load_state(&state, device).expect("its own record");
        let (_, resumed) = walk.steps(second, model, 2..steps(&settings), rate);
        assert!(
            resumed.to_weights() == stepped,
            "{compute:?}, {optimizer}: other bits when resumed"
        );
    }
}

#[test]
fn arrays_have_settings_of_their_own() {
    computes().for_each(|compute| check(&flex(), compute));
    for level in SimdLevel::list_available() {
        check(&flex(), fused(level, Precision::Mixed));
    }
    #[cfg(feature = "ndarray")]
    check(&Backend::NdArray.first_device().expect("it is built in"), Compute::Plain);
}
