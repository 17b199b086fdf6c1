//! Terms before and after training.

use nnuance::report::terms::{TermResult, effective_values, format_csv};
use nnuance::terms::TermKind;

fn result(name: &str, start: [f64; 2], tuned: [f64; 2], error: Option<f64>) -> TermResult {
    TermResult {
        name: name.to_string(),
        kind: TermKind::Normal,
        count: Some(7),
        start,
        tuned,
        error: error.map(|error| [error; 2]),
        held: None,
    }
}

#[test]
fn csv_holds_every_number() {
    let first = result("m.a", [100.0, -0.01], [102.25, -0.01], Some(0.5));
    let mut complexity =
        TermResult { name: "c,\"x\"".into(), kind: TermKind::Complexity, ..first.clone() };
    complexity.tuned[0] = 101.0;
    let held = TermResult { held: Some("rare"), error: None, tuned: first.start, ..first.clone() };
    let csv = format_csv(&[first, complexity, held]);
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(lines[0], "m.a,normal,7,100,-0.01,102.25,-0.01,2.25,0,0.5,0.5,");
    assert_eq!(lines[1], "\"c,\"\"x\"\"\",complexity,7,,-0.01,,-0.01,,0,,0.5,");
    assert_eq!(lines[2], "m.a,normal,7,100,-0.01,100,-0.01,0,0,,,rare");
}

#[test]
fn effective_values_match_the_definition() {
    let terms = [
        (result("material.pawn", [100.0; 2], [80.0, 100.0], None), 1000.0),
        (result("psqt.pawn.a2", [0.0; 2], [-10.0, 20.0], None), 750.0),
        (result("psqt.pawn.e4", [0.0; 2], [30.0, 0.0], None), 250.0),
        (result("pawns.doubled", [-8.0; 2], [-20.0, -40.0], None), 100.0),
        (result("threats.pawn", [50.0; 2], [90.0, 90.0], None), 300.0),
        (result("king.pawns.1", [50.0; 2], [90.0, 90.0], None), 300.0),
        (result("material.rook", [500.0; 2], [400.0, 600.0], None), 10.0),
        (result("rooks.open", [20.0; 2], [40.0, 0.0], None), 5.0),
    ];
    let values = effective_values(terms.iter().map(|(term, times)| (term, *times)));
    let [pawn, rook] = &values[..] else { panic!("{values:?}") };
    // 80 - 10 * .75 + 30 * .25 - 20 * .1, and 100 + 20 * .75 - 40 * .1
    assert!((pawn.tuned[0] - 78.0).abs() < 1e-9 && (pawn.tuned[1] - 111.0).abs() < 1e-9);
    assert_eq!((rook.role, rook.tuned), ("rook", [420.0, 600.0]));
}
