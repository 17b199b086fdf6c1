//! Ten losses of a net of pieces and threats, computed here in f64 from the rows of the sets alone.

use nnuance::architecture::NetArray;
use rayon::prelude::*;

use crate::runs::by_hand::{Entry, train_slowly};
use crate::runs::golden::DATA;
use crate::runs::parity::check_losses;
use crate::support::kit::*;

const N: usize = 16;

/// Losses of an independent program, in f64.
pub const LOSSES: [f64; 10] = [
    0.0826268, 0.0817294, 0.0807400, 0.0790246, 0.0761408, 0.0719778, 0.0669908, 0.0617879,
    0.0566293, 0.0517110,
];

pub fn net() -> Architecture {
    let kings = Kings::new(true, &[]).expect("mirrored");
    net_of_sets(&["pieces", "threats"], kings, N)
}

fn hash(i: usize) -> f64 {
    f64::from((i as u32).wrapping_mul(2_654_435_761)) / f64::from(1u32 << 31) / 2.0 - 0.5
}

/// Start weights of the rows `[rows, N]`, the bias `[N]` and the output `[2 N + 1]`, in one list.
pub fn start(rows: usize) -> Vec<f64> {
    let of_row = |i: usize| if i < 768 * N { 0.1 * hash(i) } else { 0.05 * hash(i) };
    let weights = (0..rows * N).map(of_row);
    let bias = (0..N).map(|j| 0.1 + 0.1 * hash(j + 7));
    let output = (0..2 * N).map(|k| 0.4 * hash(k + 1));
    let rounded = |value: f64| f64::from(value as f32);
    weights.chain(bias).chain(output).map(rounded).chain([0.0]).collect()
}

#[test]
fn ten_losses_with_threats() {
    if !need::shared(DATA) {
        return;
    }
    let net = net();
    let rows = net.inputs.row_count();
    let mut plan = ReadPlan::new(vec![DATA.into()]);
    plan.reading.scores = true;
    let samples = collect_samples(&plan, None, &|_| ()).unwrap();
    assert_eq!(samples.len(), 16_273);
    let entry = |sample: &Sample| {
        let lists = net.inputs.active_rows(&sample.position);
        let list = |view: usize| lists[view].repeated_rows().map(|row| row as usize).collect();
        let score = f64::from(sample.score.expect("a score"));
        Entry::new([0, 1].map(list), score, sample.result.into())
    };
    let entries: Vec<Entry> = samples.par_iter().map(entry).collect();
    let longest = entries.iter().flat_map(|it| &it.lists).map(Vec::len).max();
    assert_eq!(longest, Some(76));

    let batches = std::iter::repeat_n(&entries[..], LOSSES.len());
    let losses = train_slowly(start(rows), [rows, N], batches, false);
    for (loss, right) in losses.iter().zip(LOSSES) {
        assert!((loss - right).abs() < 2e-6, "{loss:.7}, expected {right:.7}");
    }
}

pub fn check(backend: Backend, compute: Compute, apart: f64) {
    if !need::shared(DATA) {
        return;
    }
    let net = net();
    let mut left: &[f64] = &start(net.inputs.row_count());
    let mut weights = Weights::default();
    for array @ NetArray { name, shape, .. } in &net.list_arrays() {
        let values = left.split_off(..array.len()).expect("a number each");
        weights.insert(name, shape, values.iter().map(|value| *value as f32).collect());
    }
    check_losses("threats", (&net, weights), (backend, compute), &LOSSES, apart);
}

#[test]
fn trained_losses_with_threats() {
    for compute in computes() {
        check(Backend::Flex, compute, 2e-6);
    }
    for level in SimdLevel::list_available() {
        check(Backend::Flex, fused(level, Precision::Mixed), 1e-4);
    }
    #[cfg(feature = "ndarray")]
    check(Backend::NdArray, Compute::Plain, 1e-5);
}
