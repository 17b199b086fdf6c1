//! The Burn models against slow, obvious models in f64: values, gradients, symmetries.

use nnuance::batch::{BatchInputs, TermBatch};
use nnuance::features::input_index;
use nnuance::model::HceShape;
use nnuance::train::target::blend_targets;

use crate::support::kit::*;

const HIDDEN: usize = 5;

/// Nets of every kind, with random weights that reach all segments of an activation.
fn nets() -> Vec<(Encoder, ModelKind, Weights)> {
    let mut nets = Vec::new();
    for views in Perspectives::ALL {
        for activation in of_accumulators() {
            let net = Architecture::simple(views, HIDDEN, activation);
            let mut weights = initial_weights(&net, 7);
            drawn::shake(&mut weights, 0.3, nets.len() as u64);
            nets.push((Encoder::for_net(&net), ModelKind::Net(net), weights));
        }
    }
    let simple = Architecture::simple(Perspectives::Perspective, 6, Activation::CReLU);
    let head = vec![Layer::new(3, Activation::SCReLU)];
    let net = Architecture { pairwise: true, head, skip: true, ..simple };
    let mut weights = initial_weights(&net, 7);
    drawn::shake(&mut weights, 0.3, 5);
    nets.push((Encoder::for_net(&net), ModelKind::Net(net), weights));
    nets
}

fn hce() -> (Encoder, ModelKind, Weights) {
    let mut weights = HceWeights::default().to_weights();
    drawn::shake(&mut weights, 30.0, 3);
    let shape = HceShape { terms: TERMS, scale: 170.0, tempo: true };
    (games::all_terms(), ModelKind::Hce(shape), weights)
}

/// Nets of either point of view that are trained together with terms.
fn sums() -> Vec<(Encoder, ModelKind, Weights)> {
    let (terms, kind, weights) = hce();
    let (Encoder::Hce(terms), ModelKind::Hce(shape)) = (terms, kind) else { panic!("terms") };
    let joined = |views| {
        let net = Architecture::simple(views, HIDDEN, Activation::SCReLU);
        let mut both = initial_weights(&net, 7);
        drawn::shake(&mut both, 0.3, 11);
        both.0.extend(weights.0.clone());
        (Encoder::Sum(net.clone().into(), terms.clone()), ModelKind::Sum(net, shape), both)
    };
    vec![joined(Perspectives::Perspective), joined(Perspectives::Plain)]
}

/// Computes the logits of positions from the definitions, in f64.
fn reference(
    kind: &ModelKind,
    weights: &Weights,
    inputs: &BatchInputs,
    samples: &[Sample],
) -> Vec<f64> {
    let values = |name: &str| -> Vec<f64> {
        weights.0[name].values.iter().map(|value| f64::from(*value)).collect()
    };
    match (kind, inputs) {
        (ModelKind::Net(net), _) => {
            let float = Float::new(weights, net).expect("the weights fit");
            let logit = |it: &Sample| {
                f64::from(net.inputs.sign_of_output(&it.position)) * float.logit(&it.position)
            };
            samples.iter().map(logit).collect()
        }
        (ModelKind::Hce(HceShape { scale, .. }), BatchInputs::Terms(pieces)) => {
            let sum = |name: &str| -> Vec<f64> {
                let [start, change] =
                    ["start", "change"].map(|part| values(&format!("{name}.{part}")));
                start.iter().zip(change).map(|(start, change)| start + change).collect()
            };
            let (values, tempo) = (sum("terms"), sum("tempo")[0]);
            let pairs: Vec<[f64; 2]> =
                values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
            let position = |piece: &TermBatch, row: usize| {
                let shares = [piece.middlegame[row], piece.endgame[row]].map(f64::from);
                let white = piece.sum_row(row, &pairs).white_centipawns(shares);
                (white + f64::from(piece.turn[row]) * tempo) / f64::from(*scale)
            };
            let rows =
                pieces.iter().flat_map(|piece| (0..piece.len()).map(move |row| (piece, row)));
            rows.map(|(piece, row)| position(piece, row)).collect()
        }
        (ModelKind::Sum(net, shape), BatchInputs::Both(_, pieces)) => {
            let net_logits = reference(&ModelKind::Net(net.clone()), weights, inputs, samples);
            let terms = BatchInputs::Terms(pieces.clone());
            let base_logits = reference(&ModelKind::Hce(*shape), weights, &terms, samples);
            let turns = pieces.iter().flat_map(|piece| &piece.turn);
            let sign = |turn: &i8| match net.inputs.perspectives.point_of_view() {
                PointOfView::White => 1.0,
                PointOfView::SideToMove => f64::from(*turn),
            };
            let rows = net_logits.iter().zip(base_logits).zip(turns);
            rows.map(|((logit, base), turn)| logit + base * sign(turn)).collect()
        }
        _ => unreachable!("a net takes lists, terms take terms"),
    }
}

fn reference_loss(inputs: LossInputs, logits: Vec<f64>) -> f64 {
    let LossInputs { targets, base, weights: factors, loss, .. } = inputs;
    let position_loss = |(i, logit): (usize, f64)| {
        let (t, base) = (f64::from(targets[i]), base.get(i).map_or(0.0, |base| f64::from(*base)));
        let error = sigmoid(logit + base) - t;
        let cost = match loss.shape {
            LossShape::Squared => error.powi(2),
            LossShape::Power => error.abs().powf(loss.power),
            LossShape::CrossEntropy => {
                let p = sigmoid(logit + base);
                -t * p.ln() - (1.0 - t) * (1.0 - p).ln()
            }
        };
        let factor = factors.get(i).map_or(1.0, |factor| f64::from(*factor));
        cost * factor * if error > 0.0 { 1.0 + loss.asymmetry } else { 1.0 }
    };
    logits.into_iter().enumerate().map(position_loss).sum::<f64>() / targets.len() as f64
}

#[test]
fn logits_equal_the_definition() {
    for (encoder, kind, weights) in nets().into_iter().chain([hce()]).chain(sums()) {
        let samples = games::samples(300, 1);
        let batch = encoder.encode_samples(&samples);
        let model = model_of(&kind, &weights, &flex(), Compute::Plain);
        let logits = to_host(model.logits(&batch.inputs));
        let right = reference(&kind, &weights, &batch.inputs, &samples);
        for (logit, expected) in logits.iter().zip(right) {
            let error = (f64::from(*logit) - expected).abs();
            assert!(error < 2e-5 * (1.0 + expected.abs()), "{kind:?}: {logit} {expected}");
        }
    }
}

#[test]
fn gradients_equal_central_differences() {
    for (encoder, kind, weights) in nets().into_iter().chain([hce()]).chain(sums()) {
        check_gradients(encoder, kind, weights, (Compute::Plain, 0.4), Loss::SQUARED);
    }
    for loss in games::LOSSES {
        for (encoder, kind, weights) in [hce(), nets().remove(0)].into_iter().chain(sums()) {
            check_gradients(encoder, kind, weights, (fastest(), 0.0), loss);
        }
    }
}

/// Computes the mean of the activations that enter the first map of a deep net, by definition.
fn mean_activation(kind: &ModelKind, weights: &Weights, samples: &[Sample]) -> f64 {
    let (ModelKind::Net(net) | ModelKind::Sum(net, _)) = kind else { return 0.0 };
    if !net.is_deep() {
        return 0.0;
    }
    let float = Float::new(weights, net).expect("its weights");
    let activations =
        samples.iter().map(|it| float.first_inputs(&float.accumulators(&it.position)));
    let means = activations.map(|it| it.iter().sum::<f64>() / it.len() as f64);
    means.sum::<f64>() / samples.len() as f64
}

fn check_gradients(
    encoder: Encoder,
    kind: ModelKind,
    weights: Weights,
    (compute, sparsity): (Compute, f32),
    loss: Loss,
) {
    let samples = games::samples(24, 2);
    let batch = encoder.encode_samples(&samples);
    let targets = blend_targets(&batch, 0.3, &[SourceTarget::new(win_rate(400.0), None)]);
    let base = match kind {
        ModelKind::Net(_) | ModelKind::Sum(..) => games::bases(batch.len()),
        ModelKind::Hce(_) => Vec::new(),
    };
    let factors = games::weights(batch.len());
    let weighed = if loss == Loss::SQUARED { &[][..] } else { &factors };
    let loss_inputs =
        LossInputs { targets: &targets, base: &base, weights: weighed, loss, sparsity };
    let model = model_of(&kind, &weights, &flex(), compute);
    let (got, gradients) = model.compute_gradients(&batch.inputs, Aim::Losses(loss_inputs));
    let loss_of = |weights: &Weights| {
        let penalty = f64::from(sparsity) * mean_activation(&kind, weights, &samples);
        reference_loss(loss_inputs, reference(&kind, weights, &batch.inputs, &samples)) + penalty
    };
    let expected = loss_of(&weights);
    assert!((f64::from(got) - expected).abs() < 1e-6, "{kind:?}, {loss:?}: {got} {expected}");

    // The weights are f32, so the step is the actual difference of the two neighbours.
    let mut moving = 0;
    // A start is never trained.
    for (name, array) in weights.0.iter().filter(|(name, _)| !name.ends_with(".start")) {
        // Centipawns of terms, or weights of a net.
        let step = if name.ends_with(".change") { 1e-2 } else { 1e-4 };
        for index in 0..array.values.len() {
            let value = array.values[index];
            let loss_at = |moved: f32| {
                let mut weights = weights.clone();
                weights.0.get_mut(name).expect("it stands there").values[index] = moved;
                loss_of(&weights)
            };
            let derivative = gradients.0[name].values[index];
            if derivative == 0.0 && index % 7 != 0 {
                // Most inputs are inactive in a small batch; a seventh of them will do.
                continue;
            }
            let (up, down) = (value + step, value - step);
            let expected = (loss_at(up) - loss_at(down)) / (f64::from(up) - f64::from(down));
            let error = (f64::from(derivative) - expected).abs();
            assert!(
                error < 1e-7 + 1e-3 * expected.abs(),
                "{kind:?}, {loss:?}: {name}[{index}] {derivative}, difference {expected}"
            );
            moving += usize::from(derivative != 0.0);
        }
    }
    assert!(moving > 100, "{kind:?}: only {moving} parameters have a gradient");
}

#[test]
fn lists_hold_every_piece() {
    for position in games::positions(500, 6) {
        let turn = position.turn();
        let cases: [(Perspectives, &[Color]); 3] = [
            (Perspectives::Plain, &[Color::White]),
            (Perspectives::SideToMove, &[turn]),
            (Perspectives::Perspective, &[turn, !turn]),
        ];
        for (views, colors) in cases {
            let mut lists = vec![0; 32 * colors.len()];
            Architecture::simple(views, 1, Activation::ReLU)
                .inputs
                .write_rows(&position, &mut lists);
            for (list, color) in lists.chunks_exact(32).zip(colors) {
                let pieces = position.pieces().map(|piece| input_index(*color, piece) as u16);
                let padding = std::iter::repeat(768);
                let expected: Vec<u16> = pieces.chain(padding).take(32).collect();
                assert_eq!(list, expected, "{position:?}");
            }
        }
    }
}
