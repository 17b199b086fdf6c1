//! Piece values of exported nets.

use std::path::Path;
use std::process::Command;

use nnuance::export::{self, Given, Manifest, PieceValues};
use nnuance::hce::{HceEvaluator, HceWeights};
use nnuance::inspect::{Options, inspect, worth};
use nnuance::sample::Position;

use crate::games;

const NET: &str = "nets/quickstart-32.bin";

fn positions(count: u64) -> Vec<Position> {
    games::recorded(count).iter().map(|sample| sample.position).collect()
}

#[test]
fn material_is_worth_what_it_says() {
    let material = HceEvaluator::new(&HceWeights::material());
    let found = worth(&positions(300), |position| material.evaluate(position));
    for (found, wanted) in found.into_iter().zip([100.0, 320.0, 330.0, 500.0, 900.0]) {
        assert!((found.expect("all pieces occur") - wanted).abs() < 1e-9, "{found:?} {wanted}");
    }
    let bare = Position::from_fen("8/8/3k4/8/8/3K4/8/8 w - - 0 80").expect("two kings");
    assert_eq!(worth(&[bare], |_| 7.0), [None; 5]);
    assert_eq!(worth(&[], |_| 7.0), [None; 5]);
}

/// The inspector finds the same in another way: from floats, with the insides of the net.
#[test]
fn the_inspector_agrees() {
    let net = export::load(Path::new(NET), &Given::default()).expect("a net").net;
    let samples = games::recorded(400);
    let positions: Vec<Position> = samples.iter().map(|sample| sample.position).collect();
    let found = worth(&positions, |position| net.evaluate(position).into());
    let weights = export::dequantise(&net);
    let options = Options { positions: 400, hce: None };
    let inspected =
        inspect(&weights, net.architecture(), net.scales(), &samples, &options, &|_| {});
    let values = inspected.expect("an inspection").values;
    for (found, bands) in found.into_iter().zip(values) {
        let (sum, count) = bands.into_iter().flatten().fold((0.0, 0), |(sum, count), value| {
            (sum + value.mean * value.count as f64, count + value.count)
        });
        let mean = sum / count as f64;
        assert!((found.expect("all pieces occur") - mean).abs() < 2.0, "{found:?} {mean}");
    }
}

#[test]
fn an_export_says_what_pieces_are_worth() {
    let folder = tempfile::tempdir().expect("a folder");
    let exported = |name: &str, options: &[&str]| -> (Manifest, String) {
        let path = folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
        let output = command.args(["export", NET, "-o"]).arg(&path).args(options).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        let manifest = export::load(&path, &Given::default()).expect("a net").manifest;
        (manifest.expect("a manifest"), said)
    };
    let queen = |manifest: &Manifest| -> (f64, PieceValues) {
        let values = manifest.piece_values.clone().expect("values");
        (values.queen.expect("a queen"), values)
    };
    // Without positions those of the start position.
    let (plain, said) = exported("plain.bin", &["--scale", "400"]);
    let (at_400, values) = queen(&plain);
    assert_eq!((values.positions, &values.on[..]), (1, "the start position"));
    assert!(said.contains(&format!("queen {at_400:.0} (taken off")), "{said}");
    let (narrow, _) = exported("narrow.bin", &["--scale", "126"]);
    let (at_126, _) = queen(&narrow);
    assert!((at_400 / at_126 - 400.0 / 126.0).abs() < 0.02, "{at_400} {at_126}");

    let data = ["--data", "data/selfplay_sf151_scored.txt"];
    let (told, _) = exported("told.bin", &data);
    let (_, values) = queen(&told);
    assert!(values.positions > 1000 && values.pawn.is_some(), "{values:?}");
    let matching = [&["--match-scale", "material"][..], &data].concat();
    let (matched, _) = exported("matched.bin", &matching);
    let factor = matched.matched.expect("a factor").factor;
    let scale = (f64::from(told.scales.scale) * factor).round();
    assert_eq!(f64::from(matched.scales.scale), scale);
}
