//! The fields of a manifest, and the scale fitted to results.

use nnuance::export;
use nnuance::report::fit::loss;

use crate::kit::*;

#[test]
fn book_lists_all_fields() {
    let net = export::load(Path::new("nets/quickstart-32.bin")).unwrap();
    let fields = serde_json::to_value(net.manifest.unwrap()).unwrap();
    let mut fields: Vec<String> = fields.as_object().unwrap().keys().cloned().collect();
    let page = fs::read_to_string("docs/nets.md").unwrap();
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
fn fitted_scale_minimises_the_loss() {
    let net = export::load(Path::new("nets/quickstart-32.bin")).unwrap().net;
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
