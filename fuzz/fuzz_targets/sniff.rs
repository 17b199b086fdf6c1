//! Any bytes as the head of a file.

#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "each target takes one of them")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::sniff(data));
