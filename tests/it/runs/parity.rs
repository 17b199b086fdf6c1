//! Ten losses of deeper nets from the regression tests of the trainer bullet (at 4e9317ff): every
//! batch is the whole file, and the starting weights are bullet's.

use crate::nets::integers::parity;
use crate::runs::golden::{DATA, losses_of};
use crate::support::kit::*;

const POSITIONS: usize = 16_273;

pub const LOSSES: [(u32, [f64; 10]); 3] = [
    (
        2,
        [
            0.023325, 0.022835, 0.019173, 0.015500, 0.011506, 0.010698, 0.008695, 0.006884,
            0.006471, 0.005311,
        ],
    ),
    (
        3,
        [
            0.041118, 0.037584, 0.034000, 0.030229, 0.026835, 0.023389, 0.020297, 0.017434,
            0.015116, 0.013149,
        ],
    ),
    (
        5,
        [
            0.082193, 0.082175, 0.082084, 0.081734, 0.081457, 0.080504, 0.079651, 0.078435,
            0.077258, 0.075470,
        ],
    ),
];

/// The first losses of a test are bullet's, up to `apart`; skipped without its files.
pub fn check((test, right): (u32, [f64; 10]), (backend, compute): (Backend, Compute), apart: f64) {
    let path = format!("../shared/data/parity/bullet_test{test}.wgts");
    if !need::shared(&path) || !need::shared(DATA) {
        return;
    }
    let net = parity(test);
    let bytes = fs::read(&path).expect("it is there");
    let source = import_weights(&bytes, &Hints { net: net.clone(), ..Hints::default() });
    let weights = source.expect("bullet's weights are read").weights;
    let order = PassOrder { window: POSITIONS, batch: POSITIONS, ..PassOrder::default() };
    let plan = StreamPlan::new(ReadPlan::new(vec![DATA.into()]), order);
    let found = losses_of(plan, (&net, weights), (backend, compute), false);
    assert_eq!(found.len(), right.len());
    for (found, right) in found.iter().zip(right) {
        let error = (found - right).abs();
        assert!(error < apart, "test{test}, {compute:?}: {found:.7}, bullet has {right}");
    }
}

#[test]
fn losses_are_those_of_bullet() {
    for test in LOSSES {
        computes().for_each(|compute| check(test, (Backend::Flex, compute), 2e-6));
        #[cfg(feature = "ndarray")]
        check(test, (Backend::NdArray, Compute::Plain), 1e-5);
    }
}
