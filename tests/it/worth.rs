//! Piece values of exported nets.

use nnuance::export::{self, Given, Manifest};
use nnuance::hce::{HceEvaluator, HceWeights};
use nnuance::inspect::worth;
use nnuance::sample::Position;

use crate::games;
use crate::program::{nnuance, said};

const NET: &str = "nets/quickstart-32.bin";

fn positions(count: u64) -> Vec<Position> {
    games::recorded(count).iter().map(|sample| sample.position).collect()
}

#[test]
fn material_has_its_values() {
    let material = HceEvaluator::new(&HceWeights::material());
    let found = worth(&positions(300), |position| material.evaluate(position));
    for (found, wanted) in found.into_iter().zip([100.0, 320.0, 330.0, 500.0, 900.0]) {
        assert!((found.expect("all pieces occur") - wanted).abs() < 1e-9, "{found:?} {wanted}");
    }
    let bare = Position::from_fen("8/8/3k4/8/8/3K4/8/8 w - - 0 80").expect("two kings");
    assert_eq!(worth(&[bare], |_| 7.0), [None; 5]);
    assert_eq!(worth(&[], |_| 7.0), [None; 5]);
}

#[test]
fn exports_have_piece_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let exported = |name: &str, options: &[&str]| -> Manifest {
        let path = folder.path().join(name);
        said(nnuance().args(["export", NET, "-o"]).arg(&path).args(options));
        export::load(&path, &Given::default()).expect("a net").manifest.expect("a manifest")
    };
    let values = |manifest: &Manifest| manifest.piece_values.clone().expect("values");
    // Without data those of the start position.
    let plain = values(&exported("plain.bin", &["--scale", "400"]));
    let narrow = values(&exported("narrow.bin", &["--scale", "126"]));
    assert_eq!(plain.positions, 1);
    let factor = plain.queen.expect("a queen") / narrow.queen.expect("a queen");
    assert!((factor - 400.0 / 126.0).abs() < 0.02, "{factor}");
    let data = ["--data", "data/selfplay_sf151_scored.txt"];
    let told = exported("told.bin", &data);
    assert!(values(&told).positions > 1000 && values(&told).pawn.is_some());
    let matched = exported("matched.bin", &[&["--match-scale", "material"][..], &data].concat());
    let factor = matched.matched.expect("a factor").factor;
    let scale = (f64::from(told.scales.scale) * factor).round();
    assert_eq!(f64::from(matched.scales.scale), scale);
}
