//! The ten losses of bullet's deeper nets on a GPU; where that is software, they take a minute.

use nnuance::model::Backend;

use crate::gpu::{GPU, gpu};
use crate::parity::{LOSSES, check};

#[test]
fn losses_equal_bullet() {
    if gpu().is_none() {
        return;
    }
    for test in LOSSES {
        check(test, (Backend::Wgpu, GPU), 1e-5);
    }
}
