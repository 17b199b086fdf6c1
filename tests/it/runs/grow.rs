//! Nets that start from smaller ones.

use nnuance::run::train::grow::grow_weights;

use crate::support::kit::*;

fn net(text: &str) -> Architecture {
    let form: NetForm = toml::from_str(text).expect("the form of a net");
    Architecture::try_from(form).expect("a net")
}

fn logits(net: &Architecture, weights: &Weights, seed: u64) -> Vec<f64> {
    let batch = games::batch(net, 300, seed);
    let logits = to_host(model(net, weights, Compute::Plain).logits(&batch.inputs));
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

#[test]
fn larger_nets_evaluate_alike() {
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
            format!("{SIMPLE}\n{KINGS}\npsqt = true\noutput_buckets = 2"),
            format!("{wider}\n{FINER}\npsqt = true\noutput_buckets = 8"),
        ),
        (DEEP.into(), format!("{}\noutput_buckets = 4", DEEP.replace("hidden = 8", "hidden = 12"))),
    ];
    for (seed, (small, large)) in (1..).zip(pairs) {
        let (small, large) = (net(&small), net(&large));
        let weights = drawn::weights(&small, seed);
        let grown = grow_weights(&weights, &small, &large, seed).expect("it is larger");
        let [before, after] = [(&small, &weights), (&large, &grown)];
        let [before, after] = [before, after].map(|(net, weights)| logits(net, weights, seed));
        let apart = largest(before.iter().zip(&after).map(|(a, b)| (a - b).abs()));
        assert!(apart < 1e-5, "{small} to {large}: {apart}");
        let spread = largest(before.iter().map(|it| (it - before[0]).abs()));
        assert!(spread > 1e-3, "{small} evaluates all positions alike");
        for array in large.list_arrays() {
            assert_eq!(grown.0[&array.name].shape, array.shape);
        }
        if small == large {
            assert!(grown == weights);
        }
    }
}

#[test]
fn new_sets_change_nothing() {
    let sets = |of: &str, names: &str| net(&format!("{of}\nsets = [{names}]"));
    let wider = SIMPLE.replace("hidden = 6", "hidden = 9");
    let small = sets(&format!("{SIMPLE}\n{KINGS}"), "'pieces', 'pawn-pairs'");
    let large = sets(
        &format!("{wider}\n{FINER}\noutput_buckets = 2"),
        "'pieces', 'pawn-pairs', 'threat-kinds', 'threats'",
    );
    let weights = drawn::weights(&small, 3);
    let grown = grow_weights(&weights, &small, &large, 3).expect("it is larger");
    let before = Float::new(&weights, &small).expect("its weights");
    let after = Float::new(&grown, &large).expect("its weights");
    let mut logits = Vec::new();
    for position in games::positions(200, 3) {
        logits.push(before.logit(&position));
        let apart = (before.logit(&position) - after.logit(&position)).abs();
        assert!(apart < 1e-9, "{apart}");
    }
    assert!(logits.iter().any(|it| (it - logits[0]).abs() > 1e-3));
    for others in ["'pawn-pairs', 'pieces'", "'pieces'", "'pieces', 'threat-kinds', 'pawn-pairs'"] {
        let others = sets(&format!("{SIMPLE}\n{KINGS}"), others);
        assert!(grow_weights(&weights, &small, &others, 3).is_err(), "{others}");
    }
}

#[test]
fn unfit_nets_are_refused() {
    let cases = [
        (SIMPLE.replace("'perspective'", "'side-to-move'"), SIMPLE.into()),
        (SIMPLE.replace("true", "false"), SIMPLE.into()),
        (SIMPLE.replace("= 6", "= 7"), SIMPLE.into()),
        (SIMPLE.replace("screlu", "crelu"), SIMPLE.into()),
        (format!("{SIMPLE}\n{FINER}"), format!("{SIMPLE}\n{KINGS}")),
        (format!("{SIMPLE}\noutput_buckets = 8"), SIMPLE.into()),
        (DEEP.into(), DEEP.replace("size = 3", "size = 4")),
        (DEEP.into(), DEEP.replace("dual", "relu")),
        (DEEP.into(), DEEP.replace("skip = true", "skip = false")),
    ];
    for (small, large) in cases {
        let (small, large) = (net(&small), net(&large));
        assert!(
            grow_weights(&drawn::weights(&small, 1), &small, &large, 1).is_err(),
            "{small} to {large}"
        );
    }
}

const CONFIG: &str = r#"version = 3
data.files = ["data/selfplay_sf151_scored.txt"]
net = { inputs = "perspective", hidden = 8, mirror = false, start_size = 1.0 }
target.score_scale = 300
schedule = { epochs = 4, batch = 1024, learning_rate = 0.005, validations = 2 }
"#;

/// A run begins with the final loss of the smaller net.
#[test]
fn run_continues_with_a_larger_net() {
    let folder = Workdir::empty();
    let config = folder.write("run.toml", CONFIG);
    let train = |out: &str, set: &[&str]| {
        let mut command = program::train(&config, &folder.path(out));
        command.args(set.iter().flat_map(|set| ["--set", set]));
        command
    };
    let losses = |folder: &Path| column(folder, "validation_loss");
    said(&mut train("small", &[]));
    let best = smallest(losses(&folder.path("small")));
    let start = format!("net.start={:?}", folder.path("small").to_string_lossy());
    said(&mut train("large", &[&start, "net.hidden=24", "net.output_buckets=4"]));
    let [first, rest @ ..] = &losses(&folder.path("large"))[..] else { panic!("no losses") };
    assert!((first - best).abs() < 2e-7, "{first} after {best}");
    assert!(rest.iter().any(|loss| loss < first));
    program::complaint(&mut train("smaller", &[&start, "net.hidden=4"]));
    assert!(!folder.path("smaller").exists());
}
