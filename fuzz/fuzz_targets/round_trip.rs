//! What one format yields, written as another.

#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "each target takes one of them")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::round_trip(data));
