//! Any bytes, through the target that `NNUANCE_TARGET` names.

#![no_main]

use std::env;
use std::sync::LazyLock;

#[allow(dead_code, reason = "the corpus is given to it")]
mod targets;

static TARGET: LazyLock<targets::Target> = LazyLock::new(|| {
    let wanted = env::var("NNUANCE_TARGET").expect("NNUANCE_TARGET names a target");
    let mut all = targets::TARGETS.into_iter();
    all.find(|(name, _)| *name == wanted).expect("NNUANCE_TARGET names a target")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (TARGET.1)(data);
});
