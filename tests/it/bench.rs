//! `nnuance bench` as a program sees it.

use assert_cmd::Command;
use serde_json::Value;

/// Every number in a tree, with its path.
fn numbers(path: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => found.push((path.to_string(), number.as_f64().unwrap())),
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                numbers(&format!("{path}/{place}"), value, found);
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                numbers(&format!("{path}/{key}"), value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn all_figures_are_there() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["bench", "--hidden", "8", "--seconds", "0.3", "--batch", "2048", "--json"]);
    command.args(["--data", "data/selfplay_sf151_scored.txt"]);
    let output = command.assert().success().get_output().clone();
    let figures: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut found = Vec::new();
    numbers("", &figures, &mut found);
    for (path, number) in &found {
        assert!(*number > 0.0, "{path} is {number}");
    }
    let speeds = found.iter().filter(|(path, _)| path.ends_with("/positions_per_second"));
    assert_eq!(speeds.count(), 2 + 2 * 2, "load, encode, and two for each net: {figures}");
    assert_eq!(figures["positions"], 30_000);
}
