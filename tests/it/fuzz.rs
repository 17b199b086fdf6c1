//! The fuzz targets on stable Rust: their corpus, whole and with a few bytes changed.

#[path = "../../fuzz/targets.rs"]
pub mod targets;

use nnuance::format::ALL;
use nnuance::sample::mix;

use crate::games;

#[test]
fn targets_hold_on_their_corpus() {
    let corpus = targets::corpus(&games::recorded(40));
    assert_eq!(corpus.len(), ALL.len());
    for (from, (_, bytes)) in corpus.iter().enumerate() {
        for seed in 0..60 {
            let mut bytes = bytes.clone();
            // The first is as it was.
            for change in 0..seed.min(4) {
                let random = mix(seed, change);
                let at = (random >> 8) as usize % bytes.len();
                bytes[at] ^= 1 << (random & 7);
            }
            targets::sniff(&bytes);
            targets::reader(&[&[from as u8], &bytes[..]].concat());
            let to = (seed as usize % ALL.len()) as u8;
            targets::round_trip(&[&[from as u8, to], &bytes[..]].concat());
        }
    }
}
