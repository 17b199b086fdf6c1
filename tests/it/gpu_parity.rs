//! Ten losses of bullet's deeper nets, and of a net with threats, on a GPU.

use crate::gpu::{GPU, gpu};
use crate::kit::*;
use crate::parity::{LOSSES, check};
use crate::parity_threats;

#[test]
fn losses_equal_bullet() {
    if gpu().is_none() {
        return;
    }
    for test in LOSSES {
        check(test, (Backend::Wgpu, GPU), 1e-5);
    }
}

#[test]
fn losses_with_threats() {
    if gpu().is_some() {
        parity_threats::check(Backend::Wgpu, GPU, 1e-5);
    }
}
