//! `nnuance match`: evaluations against each other.

use serde_json::Value;

use crate::program::{json, nnuance};

fn told(arguments: &[&str]) -> Value {
    json(nnuance().arg("match").args(arguments))
}

const NET: &str = "nets/quickstart-32.bin";
const SHORT: [&str; 5] = ["--pairs", "32", "--nodes", "100", "--json"];

#[test]
fn same_match_for_any_threads() {
    let once = told(&[&[NET, "material", "--threads", "1"], &SHORT[..]].concat());
    let again = told(&[&[NET, "material", "--threads", "3"], &SHORT[..]].concat());
    assert_eq!(once, again);
    let verdict = &once["verdicts"][0];
    assert_eq!(verdict["decided"], true, "{once}");
    assert_eq!(verdict["weaker"], "material");
    assert_eq!(once["meetings"][0]["pairs"], 32);
}

/// The fake engine answers at once and badly; a program that plays like this loses.
#[test]
fn programs_take_part_and_clocks_run() {
    let fake = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir().unwrap();
    // A match has no arguments for programs: a script has.
    let script = folder.path().join("fake");
    let words = crate::engine::FAKE.join(" ");
    std::fs::write(&script, format!("#!/bin/sh\nexec '{}' {words}\n", fake.display())).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = script.to_string_lossy().into_owned();
    for pace in [&["--nodes", "60"][..], &["--time", "1+0.01"], &["--movetime", "2"]] {
        let told =
            told(&[&["material", "--engine", &script, "--pairs", "4", "--json"], pace].concat());
        assert_eq!(told["meetings"][0]["players"][1], "fake", "{told}");
        assert_eq!(told["meetings"][0]["pairs"], 4);
        assert_eq!(told["failed"], 0);
        assert_eq!(told["late"], 0);
    }
    // Now and then it ends by itself: it has lost, and goes on with the next game.
    let told =
        told(&["material", "--engine", &script, "--option", "Crash=97", "--pairs", "6", "--json"]);
    assert_eq!(told["meetings"][0]["pairs"], 6);
    assert!(told["failed"].as_u64() > Some(0), "{told}");
}
