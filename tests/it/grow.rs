//! Nets that start from smaller ones.

use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use nnuance::architecture::{Architecture, Form};
use nnuance::loader::Encoder;
use nnuance::model::{Backend, Compute, Evaluation as _, Kind, Model, to_host};
use nnuance::run::train::grow::grow;
use nnuance::weights::Weights;

use crate::largest::{largest, smallest};
use crate::{drawn, games};

fn net(text: &str) -> Architecture {
    let form: Form = toml::from_str(text).expect("the form of a net");
    Architecture::try_from(form).expect("a net")
}

fn logits(net: &Architecture, weights: &Weights, seed: u64) -> Vec<f64> {
    let device = Backend::Flex.device().expect("flex is always there");
    let model = Model::new(&Kind::Net(net.clone()), weights, &device, Compute::Plain);
    let batch = Encoder::net(net).encode(&games::samples(300, seed));
    let logits = to_host(model.expect("its weights").logits(&batch.inputs));
    logits.into_iter().map(f64::from).collect()
}

const SIMPLE: &str = "inputs = 'perspective'\nmirror = true\nhidden = 6\nactivation = 'screlu'";

/// Files a and h, and the others, of each rank.
const KINGS: &str = "king_buckets = [0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, \
                     0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1]";

const FINER: &str = "king_buckets = [0, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 2, \
                     0, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 2, 3, 1, 1, 2]";

const DEEP: &str = "inputs = 'perspective'\nhidden = 8\nactivation = 'crelu'\npairwise = true\nskip = true\n\
                    head = [{ size = 3, activation = 'dual' }, { size = 2, activation = 'screlu' }, \
                    { size = 1 }]";

/// What a net has grown into says what it said, on any position.
#[test]
fn a_net_that_has_grown_says_the_same() {
    let wider = SIMPLE.replace("hidden = 6", "hidden = 17");
    let pairs = [
        (SIMPLE.to_string(), SIMPLE.to_string()),
        (SIMPLE.to_string(), wider.clone()),
        (SIMPLE.to_string(), format!("{wider}\n{KINGS}\noutput_buckets = 8")),
        (format!("{SIMPLE}\n{KINGS}"), format!("{wider}\n{FINER}")),
        (format!("{SIMPLE}\noutput_buckets = 4"), format!("{wider}\noutput_buckets = 8")),
        (
            "inputs = 'plain'\nhidden = 3\nactivation = 'relu'".into(),
            "inputs = 'plain'\nhidden = 5\nactivation = 'relu'\noutput_buckets = 2".into(),
        ),
        (DEEP.into(), DEEP.replace("hidden = 8", "hidden = 20")),
        (
            DEEP.into(),
            DEEP.replace("size = 3", "size = 7").replace("size = 2", "size = 9")
                + "\noutput_buckets = 4",
        ),
    ];
    for (seed, (small, large)) in (1..).zip(pairs) {
        let (small, large) = (net(&small), net(&large));
        let weights = drawn::weights(&small, seed);
        let grown = grow(&weights, &small, &large, seed).expect("it is larger");
        let [said, says] = [(&small, &weights), (&large, &grown)];
        let [said, says] = [said, says].map(|(net, weights)| logits(net, weights, seed));
        let apart = largest(said.iter().zip(&says).map(|(a, b)| (a - b).abs()));
        assert!(apart < 1e-5, "{small} to {large}: {apart}");
        let spread = largest(said.iter().map(|it| (it - said[0]).abs()));
        assert!(spread > 1e-3, "{small} says the same of all positions");
        for array in large.arrays() {
            assert_eq!(grown.0[&array.name].shape, array.shape);
        }
        if small == large {
            assert!(grown == weights);
        }
    }
}

#[test]
fn what_would_say_something_else_is_refused() {
    let cases = [
        (SIMPLE.replace("'perspective'", "'side-to-move'"), SIMPLE.into(), "side-to-move inputs"),
        (SIMPLE.replace("true", "false"), SIMPLE.into(), "does not see mirrored views"),
        (SIMPLE.replace("= 6", "= 7"), SIMPLE.into(), "it has 7 neurons, which are more"),
        (SIMPLE.replace("screlu", "crelu"), SIMPLE.into(), "another activation"),
        (format!("{SIMPLE}\n{FINER}"), format!("{SIMPLE}\n{KINGS}"), "king bucket 1 joins several"),
        (format!("{SIMPLE}\noutput_buckets = 8"), SIMPLE.into(), "output bucket 0 joins several"),
        (DEEP.into(), DEEP.replace("size = 3", "size = 2"), "its layer 0 is larger"),
        (DEEP.into(), DEEP.replace("dual", "relu"), "another activation"),
        (DEEP.into(), DEEP.replace("skip = true", "skip = false"), "other layers"),
    ];
    for (small, large, words) in cases {
        let (small, large) = (net(&small), net(&large));
        let weights = drawn::weights(&small, 1);
        let said = grow(&weights, &small, &large, 1).expect_err("another net").to_string();
        assert!(said.contains(words), "{small} to {large}: {said}");
    }
}

const CONFIG: &str = r#"version = 1
data.files = ["data/selfplay_sf151_scored.txt"]
model = { inputs = "perspective", hidden = 8 }
target.score_scale = 300
schedule = { epochs = 4, batch = 1024, learning_rate = 0.005, validations = 2 }
"#;

/// The validation losses of a run.
fn losses(folder: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(folder.join("log.csv")).expect("a log");
    let column = |line: &str| line.split(',').nth(3).expect("a column").parse().expect("a loss");
    text.lines().skip(1).map(column).collect()
}

/// A run begins where the smaller one ended, whatever its net has more.
#[test]
fn a_run_goes_on_with_a_larger_net() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("run.toml"), CONFIG).expect("a config");
    let train = |out: &str, set: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
        command.arg("train").arg(at("run.toml")).arg("--out").arg(at(out));
        command.args(set.iter().flat_map(|set| ["--set", set]));
        command.assert()
    };
    train("small", &[]).success();
    let best = smallest(losses(&at("small")));
    let start = format!("model.start={:?}", at("small").to_string_lossy());
    let large = train("large", &[&start, "model.hidden=24", "model.output_buckets=4"]).success();
    let said = String::from_utf8_lossy(&large.get_output().stderr).into_owned();
    assert!(said.contains("it says the same until it learns more"), "{said}");
    let [first, rest @ ..] = &losses(&at("large"))[..] else { panic!("no losses") };
    assert!((first - best).abs() < 2e-7, "{first} after {best}");
    assert!(rest.iter().any(|loss| loss < first));
    let refused = train("smaller", &[&start, "model.hidden=4"]).failure();
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("it has 8 neurons, which are more"), "{said}");
    assert!(!at("smaller").exists());
}
