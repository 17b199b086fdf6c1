//! Any bytes, through the reader that the first of them chooses.

#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "each target takes one of them")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::reader(data));
