//! Nets that know while they learn what an export will make of them.

use std::sync::Mutex;

use burn::tensor::{Tensor, TensorData};
use nnuance::architecture::{Architecture, PIECES, Part};
use nnuance::batch::Batch;
use nnuance::export::{Float, Manifest, dequantise, quantise};
use nnuance::loader::Encoder;
use nnuance::log::Row;
use nnuance::loss::{Loss, sigmoid};
use nnuance::model::rounding::{round, round_there};
use nnuance::model::{
    Aim, Backend, Compute, Device, Evaluation, Kind, Level, Model, Precision, Rounding, to_host,
};
use nnuance::progress::Progress;
use nnuance::run::rounding::rounding;
use nnuance::sample::Sample;
use nnuance::scales::Scales;
use nnuance::train::checkpoint::Checkpoint;
use nnuance::train::optimizer::{self, Averaged, Name};
use nnuance::train::ranks::Alone;
use nnuance::train::schedule::Schedule;
use nnuance::train::target::{Promise, targets};
use nnuance::train::{self, Rounded, Settings, Training};
use nnuance::weights::Weights;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::program::{Workdir, nnuance, said};
use crate::runs::CONFIG;
use crate::{drawn, games};

/// A net as it is trained, its weights, and scales at which all of them fit.
struct Case {
    net: Architecture,
    weights: Weights,
    scales: Scales,
}

/// Each kind of net with each format of its head, usual scales and coarse ones. Many weights lie
/// half way between two integers, or as near to that as floats can.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for drawn in drawn::TWENTY.iter() {
        let (net, weights) = drawn::floats(drawn.seed);
        for of in &drawn.nets {
            for [qa, qb] in [[of.scales().qa, of.scales().qb], [64, 16], [100, 7]] {
                let scales = Scales { qa, qb, ..of.scales() };
                let mut weights = weights.clone();
                at_halves(&mut weights, &net, scales, drawn.seed);
                cases.push(Case { net: net.clone(), weights, scales });
            }
        }
    }
    assert!(cases.len() > 75);
    cases
}

fn at_halves(weights: &mut Weights, net: &Architecture, scales: Scales, seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let factors = rounding(net, scales).0;
    for array in net.arrays() {
        let Some(factor) = factors.get(&array.part) else { continue };
        for value in &mut weights.0.get_mut(&array.name).unwrap().values {
            if random.random_range(0..3) > 0 {
                continue;
            }
            let half = (f64::from(*value) * f64::from(*factor)).floor() + 0.5;
            let near = (half / f64::from(*factor)) as f32;
            *value = [near, near.next_up(), near.next_down()][random.random_range(0..3)];
        }
    }
}

/// What an export's integers stand for: the slow way.
fn exported(case: &Case) -> Weights {
    dequantise(&quantise(&case.weights, &case.net, case.scales).expect("the weights fit"))
}

fn model(net: &Architecture, weights: &Weights, device: &Device, compute: Compute) -> Model {
    let kind = Kind::Net(net.clone());
    Model::new(&kind, weights, &device.clone().autodiff(), compute).expect("the weights fit")
}

fn places() -> Vec<(Device, Compute)> {
    let fused = |level| Compute::Fused { level, precision: Precision::F32 };
    let device = |backend: Backend| backend.device().expect("it is there");
    let backends = [
        Backend::Flex,
        #[cfg(feature = "ndarray")]
        Backend::NdArray,
    ];
    let plain = backends.map(|it| (device(it), Compute::Plain));
    let fused = Level::available().into_iter().map(|it| (device(Backend::Flex), fused(it)));
    plain.into_iter().chain(fused).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|it| it.to_bits()).collect()
}

/// The arrays that an export writes to the last digit, and nothing that king buckets share.
fn are_exported(rounded: &Weights, right: &Weights, net: &Architecture) {
    for array in net.arrays() {
        let values = &rounded.0[&array.name].values;
        match array.part {
            Part::Factoriser => assert!(values.iter().all(|it| it.to_bits() == 0), "{net}"),
            _ => {
                let right = &right.0[&array.name].values;
                assert!(bits(values) == bits(right), "{net}: {}", array.name);
            }
        }
    }
}

#[test]
fn rounded_weights_equal_the_export() {
    for case in cases() {
        let Case { net, weights, scales } = &case;
        let (right, rounding) = (exported(&case), rounding(net, *scales));
        let rounded = rounding.weights(weights, net).unwrap();
        are_exported(&rounded, &right, net);
        // Rounded once more they are the same, so that a run may start from a net.
        assert!(rounding.weights(&rounded, net).unwrap() == rounded, "{net}");
        for (device, compute) in places() {
            let model = model(net, weights, &device, compute);
            are_exported(&model.rounded(&rounding).weights(), &right, net);
            assert!(model.weights() == *weights, "what is rounded stays as it was");
        }
    }
}

/// The obvious way, one number after the other.
#[test]
fn halves_are_rounded_away_from_zero() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    for factor in [1, 3, 7, 16, 64, 100, 181, 255, 16_320, 32_767, 32_767 * 32_767] {
        let scale = f64::from(factor);
        let mut values: Vec<f32> = vec![0.0, -0.0, f32::MIN_POSITIVE, 1e-40, f32::INFINITY];
        for integer in -300..300 {
            let near = ((f64::from(integer) + 0.5) / scale) as f32;
            values.extend([near, near.next_up(), near.next_down(), -near]);
        }
        // More than a thread takes at a time.
        values.extend((0..40_000).map(|_| random.random_range(-2.0_f32..2.0)));
        let right = values.iter().map(|it| ((f64::from(*it) * scale).round() / scale + 0.0) as f32);
        let right: Vec<f32> = right.collect();
        let mut found = values.clone();
        round(&mut found, factor);
        assert!(bits(&found) == bits(&right), "times {factor}");
        // Tensors know f32 only: they may miss by one where that cannot tell a half.
        let tensor = Tensor::<1>::from_data(
            TensorData::new(values.clone(), [values.len()]),
            &Backend::Flex.device().unwrap(),
        );
        let there = to_host(round_there(tensor, factor));
        for ((value, there), right) in values.iter().zip(there).zip(&right) {
            if !value.is_finite() || f64::from(factor) > 40_000.0 {
                continue;
            }
            let product = f64::from(*value) * scale;
            let from_half = (product.abs().fract() - 0.5).abs();
            let same = (f64::from(there) - f64::from(*right)).abs() * scale < 0.01;
            assert!(same || from_half < 1e-6 * product.abs().max(1.0), "{value} * {factor}");
        }
    }
    let mut wrong = [f32::NAN, 1.0];
    round(&mut wrong, 255);
    assert!(wrong[0].is_nan(), "a run that diverged must show it");
}

fn loss(net: &Architecture, weights: &Weights, samples: &[Sample], targets: &[f32]) -> f64 {
    let float = Float::new(weights, net).expect("the weights fit");
    let error = |(sample, target): (&Sample, &f32)| {
        let sign = f64::from(net.inputs.sign(&sample.position));
        sigmoid(sign * float.logit(&sample.position)) - f64::from(*target)
    };
    samples.iter().zip(targets).map(|it| error(it).powi(2)).sum::<f64>() / samples.len() as f64
}

/// Loss and gradients are those of the exported weights; what king buckets share has the sum of
/// theirs. So differences of the loss there are what the unrounded weights follow.
#[test]
fn gradients_equal_those_of_exported_weights() {
    for (i, case) in cases().into_iter().enumerate() {
        let Case { net, weights, scales } = &case;
        let right = exported(&case);
        let merged = net.merged();
        let samples = games::samples(24, i as u64);
        let batch = Encoder::net(net).encode(&samples);
        let targets = targets(&batch, 0.3, &[Promise::scale(400.0).into()]);
        let by_definition = loss(&merged, &right, &samples, &targets);
        let integers = quantise(weights, net, *scales).unwrap();
        let float = Float::new(&right, &merged).unwrap();
        for (device, compute) in places().into_iter().skip(i % 2).step_by(2) {
            let seen = model(net, weights, &device, compute).rounded(&rounding(net, *scales));
            let (loss, found) = seen.gradients(&batch.inputs, Aim::Targets(&targets));
            let apart = (f64::from(loss) - by_definition).abs();
            assert!(apart < 1e-5 * by_definition, "{net}, {compute:?}: {loss}, {by_definition}");
            let there = model(&merged, &right, &device, compute);
            let (_, right) = there.gradients(&batch.inputs, Aim::Targets(&targets));
            for (name, array) in &right.0 {
                // The plain path adds up other products where there is a factoriser.
                let same = bits(&array.values) == bits(&found.0[name].values);
                assert!(same, "{net}, {compute:?}: {name}");
            }
            if let Some(shared) = net.array(Part::Factoriser) {
                let rows = &right.0[&Part::Accumulator.name()].values;
                let size = PIECES * net.hidden;
                for (place, found) in found.0[&shared.name].values.iter().enumerate() {
                    let of_buckets = rows[place..].iter().step_by(size);
                    let sum: f64 = of_buckets.clone().map(|it| f64::from(*it)).sum();
                    let size: f64 = of_buckets.map(|it| f64::from(it.abs())).sum();
                    assert!((f64::from(*found) - sum).abs() <= 1e-6 * size, "{net}: {place}");
                }
            }
            // The integers themselves differ by what they cut off, and by inputs of a byte.
            let logits = to_host(seen.logits(&batch.inputs));
            for (sample, logit) in samples.iter().zip(logits) {
                let sign = f64::from(net.inputs.sign(&sample.position));
                let right = float.logit(&sample.position);
                let apart = (sign * f64::from(logit) - right).abs();
                assert!(apart < 1e-4 * (1.0 + right.abs()), "{net}: {logit}, {right}");
                if !net.is_deep() {
                    let cp = f64::from(integers.evaluate(&sample.position));
                    let apart = (cp - f64::from(scales.scale) * right).abs();
                    let cut = 1.1 + f64::from(scales.scale) / f64::from(scales.qa * scales.qb);
                    assert!(apart < cut + 1e-4 * right.abs(), "{net}: {cp}, {right}");
                }
            }
        }
    }
}

/// Rows of a log.
#[derive(Default)]
struct Rows(Mutex<Vec<Row>>);

impl Progress for Rows {
    fn row(&self, row: &Row) {
        self.0.lock().unwrap().push(*row);
    }
}

fn settings(steps: u64, rounded: Option<Rounded>, optimizer: optimizer::Settings) -> Settings {
    Settings {
        steps,
        learning_rate: Schedule::constant(0.05),
        wdl: Schedule::constant(0.3),
        worths: vec![Promise::scale(400.0).into()],
        loss: Loss::SQUARED,
        optimizer,
        rounded,
        validate_every: 1,
        checkpoint_every: 100,
        patience: None,
        keep: None,
        earlier: Vec::new(),
    }
}

/// The rows of a run on one batch again and again, which also validates, and its last weights.
fn run(case: &Case, settings: &Settings, batch: &Batch, place: &(Device, Compute)) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let (device, compute) = place;
    let job = Training {
        kind: Kind::Net(case.net.clone()),
        compute: *compute,
        device,
        settings,
        folder: folder.path(),
        held_out: std::slice::from_ref(batch),
        until: u64::MAX,
        ranks: &Alone,
    };
    let start = Checkpoint { weights: case.weights.clone(), ..Checkpoint::default() };
    let rows = Rows::default();
    let batches = std::iter::repeat_with(|| Ok::<_, std::io::Error>(batch.clone()));
    let (_, last) = train::run(&job, start, batches, &rows).expect("a run");
    Run { rows: rows.0.into_inner().unwrap(), last: last.weights }
}

struct Run {
    rows: Vec<Row>,
    last: Weights,
}

fn descent() -> optimizer::Settings {
    optimizer::Settings { beta1: 0.0, ..optimizer::Settings::usual(Name::Sgd) }
}

/// The unrounded weights go down the gradients of the rounded ones, and what validates is the loss
/// of what would be exported.
#[test]
fn straight_through_step() {
    for (i, case) in cases().iter().enumerate().step_by(3) {
        let Case { net, weights, scales } = case;
        let place = &places()[i % places().len()];
        let batch = Encoder::net(net).encode(&games::samples(60, i as u64));
        let rounding = rounding(net, *scales);
        let rounded = Some(Rounded { rounding: rounding.clone(), after: 0 });
        let Run { rows, last } = run(case, &settings(1, rounded, descent()), &batch, place);
        let seen = model(net, weights, &place.0, place.1).rounded(&rounding);
        let targets = targets(&batch, 0.3, &[Promise::scale(400.0).into()]);
        let (loss, gradients) = seen.gradients(&batch.inputs, Aim::Targets(&targets));
        assert_eq!(rows[1].train_loss, Some(loss.into()), "{net}");
        for (name, array) in &last.0 {
            let (start, slope) = (&weights.0[name].values, &gradients.0[name].values);
            for ((end, start), slope) in array.values.iter().zip(start).zip(slope) {
                let right = start - 0.05 * slope;
                assert!((end - right).abs() <= 1e-6 * start.abs().max(0.1), "{net}, {name}");
            }
        }
        let after = Case { net: net.clone(), weights: last, scales: *scales };
        for (row, case) in rows.iter().zip([case, &after]) {
            let right =
                self::loss(&net.merged(), &exported(case), &games::samples(60, i as u64), &targets);
            let found = row.held_out_loss.expect("positions validate");
            assert!((found - right).abs() < 1e-5 * right, "{net}: {found}, {right}");
        }
    }
}

/// Before its last part a run takes the steps of one that knows of no rounding, whatever its
/// optimiser learns; and then it goes its own way.
#[test]
fn rounding_begins_at_its_step() {
    let usual = optimizer::Settings::usual;
    let averaged = |average| optimizer::Settings { average: Some(average), ..usual(Name::AdamW) };
    let optimizers = [
        descent(),
        usual(Name::AdamW),
        usual(Name::Ranger),
        usual(Name::ScheduleFree),
        averaged(Averaged::Decaying(0.5)),
        averaged(Averaged::Last(0.5)),
    ];
    let place = places().pop().unwrap();
    for (i, case) in cases().iter().enumerate().step_by(11) {
        let batch = Encoder::net(&case.net).encode(&games::samples(100, i as u64));
        let optimizer = &optimizers[i / 11 % optimizers.len()];
        let coarse = Scales { qa: 8, qb: 4, ..case.scales };
        let of = |after: Option<u64>| {
            let rounding = rounding(&case.net, coarse);
            let rounded = after.map(|after| Rounded { rounding, after });
            let settings = settings(6, rounded, optimizer.clone());
            let losses = |run: &Run| run.rows.iter().map(|it| it.train_loss).collect::<Vec<_>>();
            let run = run(case, &settings, &batch, &place);
            (losses(&run), run.last)
        };
        let (plain, last) = of(None);
        assert!(of(Some(6)) == (plain.clone(), last.clone()), "{}", case.net);
        let (rounded, moved) = of(Some(4));
        // A row has the loss of the step before it.
        assert_eq!(rounded[..5], plain[..5], "{}", case.net);
        assert!(rounded[5] != plain[5] && moved != last, "{}", case.net);
    }
}

/// An export takes the scales that a run was trained for, unless others are given.
#[test]
fn export_takes_the_trained_scales() {
    let work = Workdir::new(CONFIG);
    said(&mut work.train("run", &["net.rounded_last=0.5", "net.qa=64", "net.qb=16"]));
    let manifest = |net: &str| -> Manifest {
        serde_json::from_str(&work.text(&net.replace(".bin", ".json"))).expect("JSON")
    };
    let scales = Scales { qa: 64, qb: 16, scale: 126, ..Scales::default() };
    assert_eq!(manifest("run/net.bin").scales, scales);
    let export = |from: &str, to: &str, args: &[&str]| {
        said(nnuance().arg("export").arg(work.path(from)).arg("-o").arg(work.path(to)).args(args));
    };
    export("run", "same.bin", &[]);
    assert!(work.bytes("same.bin") == work.bytes("run/net.bin"));
    export("run", "other.bin", &["--qa", "255"]);
    assert_eq!(manifest("other.bin").scales, Scales { qa: 255, ..scales });
    // From the floats beside the net.
    export("same.safetensors", "again.bin", &[]);
    assert!(work.bytes("again.bin") == work.bytes("same.bin"));
    // Without rounding the keys are those of the export alone.
    said(&mut work.train("plain", &["net.qb=32"]));
    assert_eq!(manifest("plain/net.bin").scales.qb, 32);
}

/// So that tests ask for what runs ask for.
#[test]
fn float_arrays_are_not_rounded() {
    for drawn in drawn::TWENTY.iter() {
        for net in &drawn.nets {
            let Rounding(factors) = rounding(&drawn.net, net.scales());
            for stored in net.stored() {
                let factor = factors.get(&stored.array.part).copied();
                assert_eq!(factor, stored.factor(net.scales()), "{}", stored.array.name);
            }
        }
    }
}
