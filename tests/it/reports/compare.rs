//! `nnuance compare` against figures of an independent program.

use nnuance::progress::SilentProgress;
use nnuance::report::fit::{fit_scale, mean_loss};
use nnuance::run::{Evaluator, Host};

use crate::support::kit::*;

const RECORDS: &str = "../shared/data/formats/bullet_batch.bf";

/// Mean squared errors at 400 cp and at the best scale, and that scale where it was published.
const FIGURES: [(&str, &str, &str, Option<f64>); 9] = [
    ("constant", ".157735", ".157735", None),
    ("material", ".108430", ".102708", Some(204.0)),
    ("pesto.json", ".107537", ".102202", Some(212.0)),
    ("score", ".067816", ".067313", Some(340.0)),
    ("leorik-1HL.bin", ".103757", ".103418", Some(446.0)),
    ("leorik-16HL.bin", ".097657", ".096303", None),
    ("leorik-32HL.bin", ".095764", ".094407", None),
    ("leorik-128HL.bin", ".090935", ".090121", None),
    ("leorik-256HL.bin", ".090170", ".089289", None),
];

#[test]
fn figures_of_known_evaluations() {
    if !need::shared(RECORDS) {
        return;
    }
    let nets = ["1", "16", "32", "128", "256"];
    let nets = nets.map(|n| format!("../shared/data/nets/leorik-{n}HL.bin"));
    let pesto = "tests/it/fixtures/pesto.json";
    let names: Vec<&str> = ["constant", "material", "score", pesto]
        .into_iter()
        .chain(nets.iter().map(String::as_str))
        .collect();
    let samples = collect_samples(&ReadPlan::new(vec![RECORDS.into()]), None, &|_| ()).unwrap();
    let results: Vec<f64> = samples.iter().map(|sample| sample.result.into()).collect();
    let host = Host { device: Device::flex(), compute: Compute::Plain, listener: &SilentProgress };
    for name in &names {
        let evaluator = Evaluator::open_evaluation(name, &host).unwrap();
        let figures = FIGURES.iter().find(|it| it.0 == evaluator.name);
        let (_, fixed, fitted, scale) = figures.expect("a figure");
        let digits = |loss: f64| format!("{loss:.6}")[1..].to_string();
        let Some(cp) = evaluator.predict_samples(&samples, &[]).unwrap().cp else {
            let mean = results.iter().sum::<f64>() / results.len() as f64;
            let squares: f64 = results.iter().map(|it| (it - mean).powi(2)).sum();
            assert_eq!(digits(squares / results.len() as f64), *fitted);
            continue;
        };
        let found = fit_scale(&cp, &results).scale.expect("a scale");
        assert_eq!(digits(mean_loss(&cp, &results, 400.0)), *fixed, "{name}");
        assert_eq!(digits(mean_loss(&cp, &results, found)), *fitted, "{name}");
        if let Some(scale) = scale {
            // The published scales are coarser; their losses agree to six digits.
            assert!((found - scale).abs() <= 1.01, "{name}: {found}, published {scale}");
        }
    }
    let arguments = ["--data", RECORDS, "--json"];
    let comparison = json(nnuance().arg("compare").args(names).args(arguments));
    // One neuron beats PeSTO at 400 cp, and loses at fitted scales. Games are unknown.
    let pairs = comparison["pairs"].as_array().expect("a list");
    let mut all = pairs.iter();
    let pair = all.find(|it| it["better"] == "pesto.json" && it["worse"] == "leorik-1HL.bin");
    let pair = pair.expect("the fitted order");
    assert!((pair["z"].as_f64().expect("a number") - 4.1).abs() < 0.3, "{pair}");
    assert_eq!(pair["difference"]["interval_is_lower_bound"], true);
    assert!(pairs.iter().all(|pair| pair["decided"] == false));
}

/// A binpack whose games are known but for a few chains of one position.
#[test]
fn ladder_of_nets_on_games() {
    if !need::shared(GAMES) {
        return;
    }
    let nets = [16, 32, 128, 256].map(|n| format!("../shared/data/nets/leorik-{n}HL.bin"));
    let rest = ["--json", "--min-ply", "16", "--skip-in-check", "--skip-captures", "--data", GAMES];
    let comparison = json(nnuance().arg("compare").args(nets).args(rest));
    assert_eq!(comparison["games_known"], true);
    let names = comparison["evaluations"].as_array().expect("a list").iter();
    let names: Vec<&Value> = names.map(|one| &one["name"]).collect();
    let expected = [256, 128, 32, 16].map(|n| format!("leorik-{n}HL.bin"));
    assert_eq!(names, expected.each_ref());
    let pairs = comparison["pairs"].as_array().expect("a list");
    for two in expected.windows(2) {
        let of = |it: &&Value| it["better"] == two[0] && it["worse"] == two[1];
        assert_eq!(pairs.iter().find(of).expect("a pair")["decided"], true, "{two:?}");
    }
}

const GAMES: &str = "../shared/data/formats/nnue-pytorch_small.binpack";
