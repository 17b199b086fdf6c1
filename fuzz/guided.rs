//! Any bytes, through the target that the first of them chooses.

#![no_main]

#[allow(dead_code, reason = "the corpus is given to it")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    (targets::TARGETS[usize::from(choice) % targets::TARGETS.len()].1)(data);
});
