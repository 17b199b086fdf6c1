//! Any bytes as the head of a file: no recogniser panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nnuance::format::ALL;

fuzz_target!(|data: &[u8]| {
    for format in ALL {
        (format.recognises)(data);
    }
});
