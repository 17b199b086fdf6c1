//! What the book shows is what the program has: the examples of formats are read, and the figures
//! of the shipped net are those of its manifest.

use std::fs;

use nnuance::format::Format;
use serde_json::Value;

use crate::formats::exhaust;

#[test]
fn the_examples_of_formats_are_read() {
    let page = fs::read_to_string("docs/formats.md").unwrap();
    let mut shown = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let Some(format) = Format::named(section.lines().next().unwrap()) else { continue };
        let Some((_, rest)) = section.split_once("```text\n") else { continue };
        let example = rest.split("```").next().unwrap();
        // A table of nothing but its head.
        if format.name == "pedantic" {
            continue;
        }
        let (samples, faults) = exhaust(format, example.as_bytes());
        assert!(faults == 0 && !samples.is_empty(), "{}: {example}", format.name);
        shown.push(format.name);
    }
    assert_eq!(shown, ["text", "epd", "hce", "plain"]);
}

/// With a comma after each three digits from the right.
fn grouped(number: &Value) -> String {
    let digits = number.as_i64().unwrap().unsigned_abs().to_string();
    let parts: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    let parts = parts.iter().map(|part| String::from_utf8_lossy(part).into_owned());
    let sign = if number.as_i64().unwrap() < 0 { "-" } else { "" };
    format!("{sign}{}", parts.collect::<Vec<_>>().join(","))
}

#[test]
fn the_figures_of_the_shipped_net_are_those_of_its_manifest() {
    let manifest = fs::read_to_string("nets/quickstart-32.json").unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let bound = |sums: &str, end: &str| grouped(&manifest["proof"][sums][end]);
    let proof = format!(
        "For `nets/quickstart-32.bin` accumulators stay within {} and {}, on the way within {} and {}.",
        bound("accumulator", "least"),
        bound("accumulator", "most"),
        bound("intermediate", "least"),
        bound("intermediate", "most"),
    );
    assert!(fs::read_to_string("docs/nets.md").unwrap().contains(&proof), "docs/nets.md: {proof}");
    let error = &manifest["float_error"];
    let [mean, most] = ["mean_cp", "max_cp"].map(|key| error[key].as_f64().unwrap());
    let positions = grouped(&error["positions"]);
    let costs =
        format!("{mean:.1} cp on average, {most:.0} cp at most, over {positions} positions");
    let results = fs::read_to_string("docs/results.md").unwrap();
    assert!(results.contains(&costs), "docs/results.md: {costs}");
}
