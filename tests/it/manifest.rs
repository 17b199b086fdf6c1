//! What a manifest says of a net's centipawns.

use std::path::Path;

use nnuance::export::{self, FittedScale, Given, Manifest, MatchedTo};
use nnuance::report::fit::loss;
use nnuance::sample::Position;

use crate::games;

#[test]
fn manifests_from_before_stay_readable() {
    let path = Path::new("tests/it/fixtures/0.1/quickstart-32.bin");
    let text = std::fs::read_to_string(path.with_extension("json")).unwrap();
    assert!(!text.contains("fitted_scale") && !text.contains("\"matched\""));
    let manifest = export::load(path, &Given::default()).unwrap().manifest.unwrap();
    assert_eq!((&manifest.fitted_scale, &manifest.matched), (&None, &None));
    let checks = export::verify(path, None).unwrap();
    assert!(checks.len() >= 6 && checks.iter().all(|check| check.passed), "{checks:?}");

    let fitted = FittedScale { centipawns: 417.5, positions: 9, on: "held-out games".to_string() };
    let matched = MatchedTo { sha256: manifest.sha256.clone(), factor: 0.59 };
    let told = Manifest { fitted_scale: Some(fitted), matched: Some(matched), ..manifest };
    let json = serde_json::to_string(&told).unwrap();
    assert_eq!(serde_json::from_str::<Manifest>(&json).unwrap(), told);
}

/// The table in the book names every field of a manifest, and no other.
#[test]
fn the_book_has_all_fields() {
    let net = export::load(Path::new("nets/quickstart-32.bin"), &Given::default()).unwrap();
    let fields = serde_json::to_value(net.manifest.unwrap()).unwrap();
    let mut fields: Vec<String> = fields.as_object().unwrap().keys().cloned().collect();
    let page = std::fs::read_to_string("docs/nets.md").unwrap();
    let section = page.split("\n## The manifest\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let first = rows.map(|row| row.split('|').nth(1).unwrap());
    let mut named: Vec<String> =
        first.flat_map(|names| names.split('`').skip(1).step_by(2).map(String::from)).collect();
    fields.sort();
    named.sort();
    assert_eq!(named, fields);
}

#[test]
fn the_fitted_scale_predicts_the_results_best() {
    let net = export::load(Path::new("nets/quickstart-32.bin"), &Given::default()).unwrap().net;
    let samples = games::recorded(20_000);
    let value = |position: &Position| net.evaluate(position);
    let fitted = export::fitted_scale(value, &samples, "the first games").unwrap();
    assert_eq!((fitted.positions, &fitted.on[..]), (20_000, "the first games"));
    let cp: Vec<f64> = samples.iter().map(|sample| net.evaluate(&sample.position).into()).collect();
    let results: Vec<f64> = samples.iter().map(|sample| sample.result.into()).collect();
    let at = |factor: f64| loss(&cp, &results, factor * fitted.centipawns);
    assert!(at(1.0) < at(0.99) && at(1.0) < at(1.01), "{fitted:?}");
    assert!((100.0..300.0).contains(&fitted.centipawns), "{fitted:?}");
    assert_eq!(export::fitted_scale(value, &[], "nothing"), None);
}
