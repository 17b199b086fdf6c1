//! Boards and tables of evaluations as text.

use nnuance::report::{Opinion, opinions, worths};
use nnuance::sample::Position;

fn letters(fen: &str) -> [Option<char>; 64] {
    Position::from_fen(fen).unwrap().letters()
}

#[test]
fn values_stand_below_their_men() {
    let pieces = letters("4k3/8/8/8/8/8/4P3/R3K3 w - - 0 1");
    let mut values = [None; 64];
    values[0] = Some(511.6);
    values[12] = Some(-0.3);
    let text = worths(&pieces, &values);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 25);
    assert_eq!(lines[18], "2     .     .     .     .     P     .     .     .");
    assert_eq!(lines[19], "                              0");
    assert_eq!(lines[21], "1     R     .     .     .     K     .     .     .");
    assert_eq!(lines[22], "   +512");
    assert_eq!(lines[24], "      a     b     c     d     e     f     g     h");
}

#[test]
fn no_value_is_too_wide_for_a_line() {
    let values: Vec<f64> = vec![1e300, -1e300, 1e9, f64::NAN, f64::INFINITY, -12_345_678.0, 1e-320];
    let values: [_; 64] = std::array::from_fn(|i| Some(values[i % values.len()]));
    let pieces = [Some('Q'); 64];
    for line in worths(&pieces, &values).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn models_stand_side_by_side() {
    let list = [
        Opinion { name: "net".to_string(), cp: -40.0, scale: Some(400.0) },
        Opinion { name: "hce".to_string(), cp: 12.34, scale: None },
    ];
    let expected = "\
evaluation  cp, side to move  cp, White  expected result
----------  ----------------  ---------  ---------------
net                    -40.0      +40.0            0.475
hce                    +12.3      -12.3                -
";
    assert_eq!(opinions(&list, false).to_string(), expected);
}
