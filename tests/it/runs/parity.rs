//! Ten losses of deeper nets from the regression tests of the trainer bullet (at 4e9317ff): every
//! batch is the whole file, and the starting weights are bullet's.

use crate::nets::integers::parity;
use crate::runs::golden::{DATA, losses_of};
use crate::support::kit::*;

const POSITIONS: usize = 16_273;

/// Tests, and their losses in millionths.
pub const LOSSES: [(u32, [u32; 10]); 3] = [
    (2, [23_325, 22_835, 19_173, 15_500, 11_506, 10_698, 8695, 6884, 6471, 5311]),
    (3, [41_118, 37_584, 34_000, 30_229, 26_835, 23_389, 20_297, 17_434, 15_116, 13_149]),
    (5, [82_193, 82_175, 82_084, 81_734, 81_457, 80_504, 79_651, 78_435, 77_258, 75_470]),
];

/// The first losses of a test are bullet's, up to `apart`; skipped without its files.
pub fn check((test, right): (u32, [u32; 10]), place: (Backend, Compute), apart: f64) {
    let path = format!("../shared/data/parity/bullet_test{test}.wgts");
    if !need::shared(&path) || !need::shared(DATA) {
        return;
    }
    let net = parity(test);
    let bytes = fs::read(&path).expect("it is there");
    let source = import_weights(&bytes, &Hints { net: net.clone(), ..Hints::default() });
    let weights = source.expect("bullet's weights are read").weights;
    let right = right.map(|loss| f64::from(loss) / 1e6);
    check_losses(&format!("test{test}"), (&net, weights), place, &right, apart);
}

/// The losses of ten steps on all positions are these, up to `apart`.
pub fn check_losses(
    what: &str,
    model: (&Architecture, Weights),
    place: (Backend, Compute),
    right: &[f64],
    apart: f64,
) {
    let order = PassOrder { window: POSITIONS, batch: POSITIONS, ..PassOrder::default() };
    let plan = StreamPlan::new(ReadPlan::new(vec![DATA.into()]), order);
    let found = losses_of(plan, model, place, false);
    assert_eq!(found.len(), right.len());
    for (found, right) in found.iter().zip(right) {
        let error = (found - right).abs();
        assert!(error < apart, "{what}, {:?}: {found:.7}, expected {right:.7}", place.1);
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
