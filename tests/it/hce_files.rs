//! Handcrafted weights as files and tensors.

use nnuance::hce::{Term, terms};
use nnuance::terms::{Kind, TermEntry, TermList};

use crate::hce::{PESTO, odd_weights};
use crate::kit::*;

#[test]
fn files_and_tensors_keep_the_weights() {
    for weights in [odd_weights(), HceWeights::default(), HceWeights::from_json(PESTO).unwrap()] {
        let text = weights.to_json();
        assert_eq!(HceWeights::from_json(&text).unwrap(), weights, "{text}");
        let list = weights.list.clone();
        let mut tensors = weights.to_weights();
        let back = HceWeights::from_weights(&tensors, list.clone(), weights.scale, true).unwrap();
        // Tensors do not include the scale factor.
        let told = HceWeights { source: None, scale_factor: true, ..weights.clone() };
        assert!(back == told);
        let change = &mut tensors.0.get_mut("terms.change").unwrap().values;
        assert!(change.iter().all(|change| *change == 0.0));
        change[3] = 0.1;
        tensors.0.get_mut("tempo.change").unwrap().values[0] = 2.0;
        let back = HceWeights::from_weights(&tensors, list, weights.scale, true).unwrap();
        assert_eq!(back.values[1][1], weights.values[1][1] + f64::from(0.1_f32));
        assert_eq!(back.tempo, weights.tempo + 2.0);
    }
    let mut weights = HceWeights::zero(400.0);
    weights.tempo = -0.004;
    let a8 = Term::named("psqt.rook.a8").unwrap().index();
    weights.values[a8] = [1.2345, -7.0];
    let rounded = weights.clone().rounded(2);
    assert_eq!((rounded.tempo, rounded.values[a8]), (0.0, [1.23, -7.0]));
    // Rank 8 comes first: the value is in the first row, far left.
    let text = weights.to_json();
    let rook = text.split("\"psqt\"").nth(1).unwrap().split("\"rook\": {\n").nth(1).unwrap();
    assert!(rook.trim_start().starts_with("\"mg\": [\n        [1.2345, "), "{rook}");
    HceWeights::from_weights(&Default::default(), terms::list(), 400.0, true).unwrap_err();
}

#[test]
fn wrong_files_are_named() {
    let mut weights = HceWeights::default();
    // Tables of zeros are left out.
    weights.values[Term::named("psqt.king.e1").unwrap().index()] = [1.0, 1.0];
    let good = weights.to_json();
    for (from, to, expected) in [
        ("\"format\"", "\"form\"", "missing field `format`"),
        ("\"tempo\"", "\"temp\"", "unknown key `temp`"),
        ("\"pawn\": { \"mg\"", "\"pawm\": { \"mg\"", "`material.pawn.mg` is missing"),
        ("\"pawn\": { \"mg\"", "\"pawm\": { \"eg\": 0 }, \"pawn\": { \"mg\"", "`material.pawm.eg`"),
        ("[0, 0, 0, 0, 0, 0, 0, 0]", "[0, 0]", "`psqt.pawn.c8.mg` is missing"),
        ("[0, 0,", "[0, null,", "`psqt.pawn.b8.mg` is missing or wrong"),
        ("\"tempo\"", "\"terms\": \"own\", \"tempo\"", "own terms; name the run folder instead"),
        ("\"tempo\"", "\"terms\": \"?\", \"tempo\"", "unknown key `terms`"),
        ("{", "[", "not a JSON"),
        ("[0, 0,", "[0, 0, 0,", "unknown key `psqt.pawn.mg.0.8`"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = HceWeights::from_json(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
    assert!(HceWeights::from_json("[]").is_err());
    let text = "{ \"format\": \"nnuance-hce\", \"version\": 1, \"scale\": 100 }";
    assert_eq!(HceWeights::from_json(text).unwrap(), HceWeights::zero(100.0));
}

#[test]
fn own_terms_are_written_only() {
    let entry = |name: &str, start| TermEntry {
        name: name.to_string(),
        kind: Kind::Normal,
        start,
        counts: String::new(),
    };
    // A name may itself be the prefix of another.
    let terms = vec![entry("pawn", [90.0, 120.5]), entry("pawn.passed", [5.0, -6.0])];
    let list = Arc::new(TermList { terms, tempo: 7.0 });
    let weights = HceWeights::of_list(list, 300.0);
    assert!(!weights.is_ours() && HceWeights::default().is_ours());
    let text = weights.to_json();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["terms"], "own");
    assert_eq!(value["tempo"], 7);
    assert_eq!(value["pawn"]["eg"], 120.5);
    assert_eq!(value["pawn"]["passed"]["eg"], -6);
    HceWeights::from_json(&text).unwrap_err();
}
