//! Terms and the net on top of them, trained together.

use nnuance::export::{self, StoredEvaluation};

use crate::runs::base;
use crate::support::kit::*;

fn terms_in(folder: &Workdir) -> (String, HceWeights) {
    let mut weights = HceWeights { scale: 150.0, ..HceWeights::default() };
    let pairs = weights.list.terms.iter().zip(&mut weights.values);
    pairs.filter(|(term, _)| term.name.starts_with("king")).for_each(|(_, pair)| *pair = [0.0; 2]);
    (folder.write("terms.json", weights.to_json()), weights)
}

fn config(terms: &str, inputs: &str, epochs: usize) -> String {
    base::config(terms, "wdl = 0.3", epochs)
        .replace("\"perspective\"", &format!("\"{inputs}\""))
        .replace("[target]", "tune_base = true\n[target]")
        .replace("learning_rate = 0.01", "learning_rate = 0.004")
}

/// The loss of centipawns, against targets of 30 % the result and 70 % the score.
pub fn loss(values: impl Iterator<Item = f64>, samples: &[Sample], scale: f64) -> f64 {
    let error = |(cp, it): (f64, &Sample)| {
        let score = sigmoid(f64::from(it.score.unwrap()) / 126.0);
        (sigmoid(cp / scale) - 0.3 * f64::from(it.result) - 0.7 * score).powi(2)
    };
    values.zip(samples).map(error).sum::<f64>() / samples.len() as f64
}

#[test]
fn both_parts_learn_and_are_exported() {
    let folder = Workdir::empty();
    let (path, before) = terms_in(&folder);
    // Of outputs for the side to move, and for White.
    for inputs in ["perspective", "plain"] {
        let out = folder.path(inputs);
        said(&mut train(&folder.write("run.toml", config(&path, inputs, 5)), &out));
        let text = fs::read_to_string(out.join("base.json")).unwrap();
        let after = HceWeights::from_json(&text).unwrap();
        let mut moved = 0;
        for (before, after) in before.values.iter().zip(&after.values) {
            // Terms with zero weight are not trained.
            assert!(*before != [0.0; 2] || *after == [0.0; 2]);
            moved += usize::from(before != after);
        }
        assert!(moved > 100, "{moved}");
        assert_eq!((after.scale, after.scale_factor), (before.scale, before.scale_factor));

        // The run began with the original terms, and its loss is that of the sum.
        let (best, found) = recipe::open_checkpoint(&out.join("best.safetensors")).unwrap();
        let plan = data_plan::read_plan(&found.config);
        let samples = collect_samples(&plan, Some(Subset::Validation), &|_| ()).unwrap();
        let evaluator = HceEvaluator::new(&before);
        let values = samples.iter().map(|it| evaluator.evaluate(&it.position));
        let alone = loss(values, &samples, 150.0);
        let first = column(&out, "validation_loss")[0];
        assert!((alone / first - 1.0).abs() < 1e-5, "{alone} {first}");
        let net = export::load_net(&out.join("net.bin")).unwrap();
        let evaluator = HceEvaluator::new(&after);
        let sum = |it: &Sample| {
            f64::from(net.net.evaluate(&it.position)) + evaluator.evaluate(&it.position).round()
        };
        let sum = loss(samples.iter().map(sum), &samples, 150.0);
        let reported = best.state.best.unwrap().loss;
        assert!(
            (sum / reported - 1.0).abs() < 0.01 && reported < 0.98 * alone,
            "{sum} {reported} {alone}"
        );

        // The manifest has the trained terms.
        let base = net.manifest.unwrap().provenance.base.unwrap();
        assert_eq!((&base.below, &base.sha256), (&StoredEvaluation::Terms(text), &None));
        assert_eq!(found.base.unwrap(), base);
        let again = folder.path("again.bin");
        said(program::export(&out, &again).arg("--overwrite"));
        let bytes = |path: &Path| fs::read(path).unwrap();
        assert_eq!(bytes(&again), bytes(&out.join("net.bin")));
        let manifest = export::load_net(&again).unwrap().manifest.unwrap();
        assert_eq!(manifest.provenance.base.unwrap(), base);
    }
}

/// The terms have their own learning rate, and resuming covers both parts.
#[test]
fn terms_have_their_own_rate() {
    let folder = Workdir::empty();
    let (path, before) = terms_in(&folder);
    let (first, second) = (folder.path("first"), folder.path("second"));
    let config = config(&path, "perspective", 2);
    let slow = "\n[optimizer.layers]\nterms = { rate = 1e-60 }\ntempo = { rate = 1e-60 }\n";
    said(&mut train(&folder.write("run.toml", format!("{config}{slow}")), &first));
    let text = fs::read_to_string(first.join("base.json")).unwrap();
    assert_eq!(HceWeights::from_json(&text).unwrap().values, before.round_values(2).values);

    let mut on = train(&folder.write("run.toml", &config), &second);
    for (key, value) in [("start", first.clone()), ("base", first.join("base.json"))] {
        on.args(["--set", &format!("net.{key}=\"{}\"", value.display())]);
    }
    said(&mut on);
    let end = smallest(column(&first, "validation_loss"));
    let begin = column(&second, "validation_loss")[0];
    assert!((begin / end - 1.0).abs() < 1e-4, "{begin} {end}");
}

#[test]
fn killed_and_resumed_with_terms() {
    let folder = Workdir::empty();
    killed_and_resumed(&config(&terms_in(&folder).0, "perspective", 8), 2);
}
