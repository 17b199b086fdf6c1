//! The fuzz targets on stable Rust: their corpus, whole and changed at random.

#[path = "../../../fuzz/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/targets.rs"]
pub mod targets;

use nnuance::format::ALL;

#[test]
fn targets_hold_on_their_corpus() {
    for (name, target) in targets::TARGETS {
        let corpus = targets::corpus(name);
        assert!(corpus.iter().filter(|file| target(file)).count() > 0, "{name}");
        // Lists of all terms and files that are cut take milliseconds.
        for seed in 0..if ["hce", "journal"].contains(&name) { 200 } else { 2000 } {
            target(&mutate::mutated(&corpus, seed));
        }
    }
}

#[test]
fn every_format_has_a_file() {
    let corpus = targets::corpus("formats");
    assert!((0..ALL.len()).all(|it| corpus.iter().any(|file| usize::from(file[0]) == it)));
}
