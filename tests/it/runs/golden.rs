//! Ten losses of bullet's regression test, also reproduced by an independent program.

use std::sync::Mutex;

use nnuance::train::optimizer::{self, OptimizerName};
use nnuance::train::ranks::SingleRank;
use nnuance::train::schedule::{RunSchedule, Span, Stages};
use nnuance::train::{self, Training, TrainingSettings};

use crate::support::kit::*;

pub const DATA: &str = "../shared/data/formats/bullet_batch.bf";

pub const SEED: u64 = 198_273_612;

pub const LOSSES_32: [f64; 10] = [
    0.082653, 0.080619, 0.079777, 0.077698, 0.074388, 0.071109, 0.068145, 0.064095, 0.060137,
    0.056420,
];

/// Stores the loss of every step, from the rows of the log, since a GPU reports it no earlier.
#[derive(Default)]
pub struct Losses(pub Mutex<Vec<f64>>);

impl Progress for Losses {
    fn report_validation(&self, row: &LogRow) {
        self.0.lock().unwrap().extend(row.train_loss);
    }
}

/// Where a run trains, and with what operations.
type Place = (Backend, Compute);

/// The losses of ten steps; none where the data is absent.
pub fn losses(hidden: usize, place: Place, bias_correction: bool) -> Option<Vec<f64>> {
    let order = PassOrder { window: 10_000, ..PassOrder::default() };
    let plan = StreamPlan::new(ReadPlan::new(vec![DATA.into()]), order);
    need::shared(DATA).then(|| losses_on(plan, hidden, place, bias_correction))
}

/// The losses of ten steps on positions in their order, from weights that a seed gives.
pub fn losses_on(plan: StreamPlan, hidden: usize, place: Place, bias_correction: bool) -> Vec<f64> {
    let net = Architecture::simple(Perspectives::Perspective, hidden, Activation::SCReLU);
    losses_of(plan, (&net, initial_weights(&net, SEED)), place, bias_correction)
}

pub fn constant(value: f64) -> RunSchedule {
    let span = Span { steps: 1, batch: 1, superbatch: 1, epoch: 1 };
    Stages::constant(value).fit_to_span(&span).unwrap()
}

pub fn settings(steps: u64, bias_correction: bool) -> TrainingSettings {
    TrainingSettings {
        steps,
        learning_rate: constant(1e-3),
        wdl: constant(0.2),
        source_targets: vec![SourceTarget::new(win_rate(400.0), None)],
        loss: Loss::SQUARED,
        sparsity: 0.0,
        rounding: None,
        optimizer: optimizer::OptimizerSettings {
            bias_correction,
            clip: 1.98,
            ..optimizer::OptimizerSettings::default_of(OptimizerName::AdamW)
        },
        validate_every: 1,
        checkpoint_every: 100,
        patience: None,
        keep: None,
        earlier: Vec::new(),
    }
}

/// A run of a net to its end, without validation.
pub fn training<'a>(
    net: &Architecture,
    (compute, device): (Compute, &'a Device),
    settings: &'a TrainingSettings,
    folder: &'a Path,
) -> Training<'a> {
    let (kind, held_out) = (ModelKind::Net(net.clone()), &[]);
    Training {
        kind,
        compute,
        device,
        settings,
        folder,
        held_out,
        until: u64::MAX,
        ranks: &SingleRank,
    }
}

/// The losses of ten steps of a net from its first weights, on positions in their order.
pub fn losses_of(
    mut plan: StreamPlan,
    (net, weights): (&Architecture, Weights),
    (backend, compute): Place,
    bias_correction: bool,
) -> Vec<f64> {
    plan.order.shuffle = false;
    plan.read.reading.scores = true;
    let settings = settings(10, bias_correction);
    let folder = Workdir::empty();
    let device = backend.first_device().expect("it is there");
    let job = training(net, (compute, &device), &settings, folder.root_path());
    let start = Checkpoint { weights, ..Checkpoint::default() };
    let losses = Losses::default();
    train::train_model(&job, start, Stream::new(plan, Encoder::for_net(net), 0), &losses)
        .expect("a run");
    losses.0.into_inner().unwrap()
}

#[test]
fn ten_losses_with_32_neurons() {
    for compute in computes() {
        let Some(losses) = losses(32, (Backend::Flex, compute), false) else { return };
        let six_digits = |losses: &[f64]| format!("{losses:.6?}");
        assert_eq!(six_digits(&losses), six_digits(&LOSSES_32), "{compute:?}");
    }
}

#[cfg(feature = "ndarray")]
#[test]
fn ndarray_agrees_within_a_hundred_thousandth() {
    let Some(losses) = losses(32, (Backend::NdArray, Compute::Plain), false) else { return };
    for (step, (loss, expected)) in losses.iter().zip(LOSSES_32).enumerate() {
        assert!((loss - expected).abs() < 1e-5, "step {}: {loss}, expected {expected}", step + 1);
    }
}

#[test]
fn last_losses() {
    for compute in computes() {
        for (hidden, bias_correction, last) in
            [(128, false, "0.044886"), (32, true, "0.078233"), (128, true, "0.076287")]
        {
            let place = (Backend::Flex, compute);
            let Some(losses) = losses(hidden, place, bias_correction) else { return };
            assert_eq!(format!("{:.6}", losses[9]), last, "{hidden} neurons, {compute:?}");
        }
    }
}
