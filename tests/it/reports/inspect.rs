//! Inspection of nets: against the definition in f64, hand-made nets, and the quickstart's net.

use nnuance::inspect::{Inspection, ROLES, inspect_weights};
use shakmaty::Role;

use crate::support::kit::*;

const NETS: std::ops::Range<u64> = 0..16;

fn look(weights: &Weights, net: &Architecture, samples: &[Sample]) -> Inspection {
    inspect_weights(weights, net, Scales::default(), samples, 5000).expect("an inspection")
}

/// A perspective net of CReLU whose arrays are given by functions.
fn by_hand(
    hidden: usize,
    row: impl Fn(usize, usize) -> f32,
    bias: impl Fn(usize) -> f32,
) -> (Architecture, Weights) {
    let net = Architecture::simple(Perspectives::Perspective, hidden, Activation::CReLU);
    let mut weights = Weights::default();
    let rows = (0..768 * hidden).map(|i| row(i / hidden, i % hidden)).collect();
    weights.insert("accumulator.weight", &[768, hidden], rows);
    weights.insert("accumulator.bias", &[hidden], (0..hidden).map(bias).collect());
    weights.insert("output.weight", &[2 * hidden], vec![0.5; 2 * hidden]);
    weights.insert("output.bias", &[1], vec![0.0]);
    (net, weights)
}

fn moments(values: &[f64]) -> [f64; 2] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
    [mean, variance.sqrt()]
}

fn close(found: f64, right: f64, what: &str) {
    let error = (found - right).abs();
    assert!(error < 0.02 + 2e-5 * right.abs(), "{what}: {found}, by definition {right}");
}

/// The position without the piece at a place of [`Position::pieces`].
fn without(position: &Position, place: usize) -> Position {
    let nibbles = u128::from_le_bytes(position.nibbles());
    let below = (1 << (4 * place)) - 1;
    let left = nibbles & below | nibbles >> 4 & !below;
    let square = position.pieces().nth(place).map_or(0, |piece| 1 << piece.square as u32);
    let turn = position.turn_and_ep() & 128 | 64;
    Position::of_board_and_turn(position.occupied() & !square, left.to_le_bytes(), turn)
}

#[test]
fn piece_values_equal_differences() {
    let samples = games::samples(120, 1);
    let nets: Vec<Architecture> = NETS.map(|seed| drawn::net(seed, 40)).collect();
    let of_sets = net_of_sets(&["attack-counts", "pieces", "threat-kinds"], Kings::NONE, 8);
    for (seed, net) in (0..).zip(nets.into_iter().chain([of_sets])) {
        let weights = drawn::weights(&net, seed);
        let found = look(&weights, &net, &samples);
        let float = Float::new(&weights, &net).expect("the weights fit");
        let mut all = vec![Vec::new(); ROLES.len()];
        for Sample { position, .. } in &samples {
            for (place, piece) in position.pieces().enumerate().filter(|it| it.1.role != Role::King)
            {
                let worth = float.logit(position) - float.logit(&without(position, place));
                let worth = 400.0 * if piece.color == position.turn() { worth } else { -worth };
                all[piece.role as usize - 1].push(worth);
            }
        }
        for (bands, worths) in found.values.iter().zip(&all) {
            let known = || bands.iter().flatten();
            let count = known().map(|it| it.count).sum::<u64>() as f64;
            assert_eq!(count, worths.len() as f64);
            let [mean, spread] = moments(worths);
            let sum: f64 = known().map(|it| it.mean * it.count as f64).sum();
            close(sum / count, mean, &format!("{net}"));
            let squares = |it: &nnuance::inspect::PieceValue| it.spread.powi(2) + it.mean.powi(2);
            let squares: f64 = known().map(|it| squares(it) * it.count as f64).sum();
            close((squares / count - mean * mean).sqrt(), spread, &format!("{net}"));
        }
    }
}

/// For a net with attacks of pawns only; Black's pawn attacks two queens.
#[test]
fn values_of_rows_equal_differences() {
    let net = net_of_sets(&["pieces", "threat-kinds"], Kings::NONE, 8);
    let mut weights = drawn::weights(&net, 3);
    let rows = &mut weights.0.get_mut("threat-kinds.weight").expect("an array").values;
    rows.fill(0.0);
    let [own, enemy] = [10, 12 * 6 + 4];
    rows[8 * own..][..8].fill(0.3);
    rows[8 * enemy..][..8].fill(0.1);
    let position = Position::from_fen("7k/8/8/3p4/2Q1Q1q1/8/8/K7 w - - 0 1").expect("legal");
    let sample = Sample { position, ..games::samples(1, 1)[0] };
    let found = look(&weights, &net, &[sample]);
    let with = Float::new(&weights, &net).expect("its weights").logit(&position);
    weights.0.get_mut("threat-kinds.weight").expect("an array").values.fill(0.0);
    let without = Float::new(&weights, &net).expect("its weights").logit(&position);
    let words = "own pawns attack enemy queens";
    let row = found.rows.iter().find(|it| it.row == words).expect("a row");
    assert_eq!(row.active, 1.0);
    close(row.mean, -400.0 * (with - without) / 2.0, words);
    assert!(with != without && found.to_text().contains(words));
}

/// The use of the last neurons is the standard deviation of their contributions.
#[test]
fn use_is_the_spread_of_contributions() {
    let samples = games::samples(80, 2);
    for seed in NETS {
        let net = drawn::net(seed, 40);
        let weights = drawn::weights(&net, seed);
        let found = look(&weights, &net, &samples);
        let float = Float::new(&weights, &net).expect("the weights fit");
        let last = found.layers.last().expect("a layer");
        let number = net.head.len().saturating_sub(1);
        let layer = net.head.last();
        // Where values are combined, a weight has more than one contribution.
        let mut parts = [layer, Some(&net.output)].into_iter().flatten();
        let is_combined = parts.any(|it| it.multiply.or(it.add).or(it.subtract).is_some());
        if is_combined || net.output.columns.is_some() {
            continue;
        }
        let taken = net.inputs_of_layer(net.head.len());
        let before = taken.iter().take_while(|layer| **layer != number);
        let start: usize = before.map(|layer| net.layer_width(*layer)).sum();
        let width = layer.map(|_| net.layer_width(number));
        let end = width.map_or(usize::MAX, |width| start + width);
        for neuron in
            last.neurons.iter().filter(|it| it.neuron < net.outputs_of_perspective()).take(3)
        {
            let mut without = weights.clone();
            let output = &mut without.0.get_mut("output.weight").expect("an array").values;
            let width = output.len() / net.buckets;
            let each = layer.and_then(|it| it.size).unwrap_or(net.outputs_of_perspective());
            for (place, weight) in output.iter_mut().enumerate() {
                let place = place % width;
                if (start..end).contains(&place) && (place - start) % each == neuron.neuron {
                    *weight = 0.0;
                }
            }
            let less = Float::new(&without, &net).expect("the weights fit");
            let is_in_bucket = |position: &&Position| {
                !net.has_layers() || net.bucket_of(position) == neuron.bucket
            };
            let positions = samples.iter().map(|it| &it.position).filter(is_in_bucket);
            let lost = positions.map(|position| {
                let sign = 400.0 * f64::from(net.inputs.sign_of_output(position));
                sign * (float.logit(position) - less.logit(position))
            });
            let lost: Vec<f64> = lost.collect();
            close(neuron.usage, moments(&lost)[1], &format!("{net}, neuron {}", neuron.neuron));
        }
    }
}

#[test]
fn dead_and_saturated_neurons_are_counted() {
    let samples = games::samples(3000, 6);
    // Dead; saturated; both kings, so the sum is 2; own queens.
    let row = |input: usize, neuron: usize| {
        f32::from(match neuron {
            2 => input % 384 / 64 == 5,
            3 => input / 64 == 4,
            _ => false,
        })
    };
    let (net, weights) = by_hand(4, row, |i| [-10.0, 5.0, 0.0, 0.0][i]);
    let found = look(&weights, &net, &samples);
    let layer = &found.layers[0];
    assert_eq!((layer.count_dead(), layer.count_saturated()), (1, 2));
    let queens = samples.iter().flat_map(|it| Color::ALL.map(|side| (it.position, side)));
    let queens = queens.filter(|(position, side)| {
        let board = position.to_board();
        (board.queens() & board.by_color(*side)).any()
    });
    let without = 1.0 - queens.count() as f64 / (2.0 * samples.len() as f64);
    assert_eq!(layer.neurons[3].zero_share, without);
    assert_eq!(found.maps[0].neuron, 3);
    assert_eq!(found.maps[0].boards[4], vec![1.0; 64]);
}

#[test]
fn same_bits_for_any_threads() {
    let samples = games::samples(3000, 13);
    let net = drawn::net(3, 40);
    let weights = drawn::weights(&net, 3);
    same_for_threads(&[3], "inspect", || {
        let found = inspect_weights(&weights, &net, Scales::default(), &samples, 2000);
        serde_json::to_string(&found.expect("an inspection")).expect("JSON")
    });
}

#[test]
fn bad_weights_are_named() {
    let (net, mut weights) = by_hand(2, |_, _| 0.1, |_| 0.0);
    let samples = games::samples(10, 18);
    weights.0.get_mut("output.weight").expect("an array").values[1] = f32::NAN;
    let found = inspect_weights(&weights, &net, Scales::default(), &samples, 10);
    assert!(found.expect_err("bad input").to_string().contains("output.weight[1]"));
}

#[test]
fn quickstart_net_values_pieces_in_order() {
    let folder = Workdir::empty();
    let page = folder.path("net.html");
    let command = || {
        let mut command = nnuance();
        command.args(["inspect", QUICKSTART, "--positions", "4000"]);
        command.args(["--data", GAMES]);
        command
    };
    let [text, _] = said(command().arg("-o").arg(&page));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let html = fs::read_to_string(&page).expect("a page");
    stands_alone(&html);
    assert_eq!(html.matches("data:image/png").count(), 10);
    let found = json(command().arg("--json"));
    let value = |role: usize, band: usize| found["values"][role][band]["mean"].as_f64();
    for band in 0..3 {
        let values: Vec<f64> = (0..5).map(|role| value(role, band).expect("a value")).collect();
        assert!(values[0] > 0.0 && values[1] > values[0] && values[2] > values[0], "{values:?}");
        assert!(values[3] > values[1].max(values[2]) && values[4] > values[3], "{values:?}");
    }
}
