//! The examples of formats in the book are read.

use std::fs;

use nnuance::format::Format;

use crate::formats::exhaust;

#[test]
fn examples_of_formats_are_read() {
    let page = fs::read_to_string("docs/formats.md").unwrap();
    let mut shown = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let Ok(format) = Format::named(section.lines().next().unwrap()) else { continue };
        let Some((_, rest)) = section.split_once("```text\n") else { continue };
        let example = rest.split("```").next().unwrap();

        let (samples, faults) = exhaust(format, example.as_bytes());
        assert!(faults == 0 && !samples.is_empty(), "{}: {example}", format.name);
        shown.push(format.name);
    }
    assert_eq!(shown, ["text", "epd", "plain"]);
}
