//! Independent slow evaluation, training and comparison, from FENs and the bytes of files alone.

use crate::runs::golden::{SEED, losses_on};
use crate::support::kit::*;

/// A position from its FEN: pieces as square (a1 = 0), whether white, kind (pawn = 0).
struct Board {
    pieces: Vec<(usize, bool, usize)>,
    white_moves: bool,
}

fn board(fen: &str) -> Board {
    let (ranks, rest) = fen.split_once(' ').unwrap();
    let mut pieces = Vec::new();
    for (row, rank) in ranks.split('/').enumerate() {
        let mut file = 0;
        for letter in rank.chars() {
            match letter.to_digit(10) {
                Some(empty) => file += empty as usize,
                None => {
                    let kind = "pnbrqk".find(letter.to_ascii_lowercase()).unwrap();
                    pieces.push((8 * (7 - row) + file, letter.is_ascii_uppercase(), kind));
                    file += 1;
                }
            }
        }
    }
    Board { pieces, white_moves: rest.starts_with('w') }
}

impl Board {
    /// The active inputs of the side to move and of the other side, as `docs/nets.md` has them.
    fn inputs(&self) -> [Vec<usize>; 2] {
        [self.white_moves, !self.white_moves].map(|white| {
            let index = |&(square, of_white, kind): &(usize, bool, usize)| {
                let square = if white { square } else { square ^ 56 };
                384 * usize::from(of_white != white) + 64 * kind + square
            };
            self.pieces.iter().map(index).collect()
        })
    }
}

/// Centipawns of a `(768 -> N)x2 -> 1` net with SCReLU and the usual scales, from its bytes.
fn evaluate(bytes: &[u8], hidden: usize, scale: i64, board: &Board) -> i64 {
    let number = |at: usize| i64::from(i16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]));
    let (bias, output) = (768 * hidden, 769 * hidden);
    let mut sum = 0;
    for (view, inputs) in board.inputs().iter().enumerate() {
        for neuron in 0..hidden {
            let rows: i64 = inputs.iter().map(|input| number(input * hidden + neuron)).sum();
            let active = (rows + number(bias + neuron)).clamp(0, 255);
            sum += active * active * number(output + view * hidden + neuron);
        }
    }
    (sum / 255 + number(output + 2 * hidden)) * scale / (255 * 64)
}

fn file_of_a_net(hidden: usize, seed: u64) -> Vec<u8> {
    let numbers = 771 * hidden + 1;
    let number = |at: usize| {
        // Weights up to 1.98, as trainers clip them.
        let most = if at < 769 * hidden { 504 } else { 126 };
        (mix_hash(seed, at as u64) % (2 * most + 1)) as i16 - most as i16
    };
    let mut bytes: Vec<u8> = (0..numbers).flat_map(|at| number(at).to_le_bytes()).collect();
    let padding = bytes.len().next_multiple_of(64) - bytes.len();
    bytes.extend(b"bullet".iter().cycle().take(padding));
    bytes
}

#[test]
fn nets_evaluate_to_the_same_centipawns() {
    for hidden in [1, 16, 33, 128] {
        let bytes = file_of_a_net(hidden, 5);
        let net = Net::read(&bytes, &Hints::default()).unwrap();
        assert_eq!(net.architecture().hidden, hidden);
        for position in games::positions(300, 8) {
            let fen = position.to_fen();
            let by_hand = evaluate(&bytes, hidden, 400, &board(&fen));
            assert_eq!(i64::from(net.evaluate(&position)), by_hand, "N = {hidden}: {fen}");
        }
        assert!(net.to_bytes() == bytes);
        let source = import_weights(&bytes, &Hints::default()).unwrap();
        let again = nnuance::export::quantise(&source.weights, &source.architecture, source.scales);
        assert!(again.unwrap().to_bytes() == bytes);
    }
}

pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The active rows of the side to move and of the other side, and the target.
pub struct Entry {
    pub lists: [Vec<usize>; 2],
    pub target: f64,
}

impl Entry {
    /// With a score and a result of the side to move.
    pub fn new(lists: [Vec<usize>; 2], score: f64, result: f64) -> Self {
        Self { lists, target: 0.2 * result + 0.8 * sigmoid(score / 400.0) }
    }
}

/// Entries of lines `FEN | centipawns | result` of White.
fn entries(count: usize) -> Vec<Entry> {
    let text = fs::read_to_string(SCORED).unwrap();
    let entry = |line: &str| {
        let [fen, score, result] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!() };
        let (score, result): (f64, f64) = (score.parse().unwrap(), result.parse().unwrap());
        let board = board(fen);
        match board.white_moves {
            true => Entry::new(board.inputs(), score, result),
            false => Entry::new(board.inputs(), -score, 1.0 - result),
        }
    };
    text.lines().take(count).map(entry).collect()
}

/// Steps of AdamW in 64 bits, one weight after the other: the losses of the batches. The weights are
/// those of the rows, their biases, and the output's from both perspectives with its bias.
pub fn train_slowly<'a>(
    mut weights: Vec<f64>,
    [rows, hidden]: [usize; 2],
    batches: impl Iterator<Item = &'a [Entry]>,
    bias_correction: bool,
) -> Vec<f64> {
    let (bias, output) = (rows * hidden, (rows + 1) * hidden);
    let last = output + 2 * hidden;
    let (mut means, mut squares) = (vec![0.0; last + 1], vec![0.0; last + 1]);
    // The rule has its decays in 32 bits.
    let [beta1, beta2] = [0.9_f32, 0.999].map(f64::from);
    let mut losses = Vec::new();
    for (step, batch) in (1..).zip(batches) {
        let (mut loss, mut gradient) = (0.0, vec![0.0; last + 1]);
        for Entry { lists, target } in batch {
            let sums = lists.each_ref().map(|list| {
                let mut sums = weights[bias..output].to_vec();
                for row in list {
                    let numbers = &weights[row * hidden..][..hidden];
                    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
                }
                sums
            });
            let mut y = weights[last];
            for (view, sums) in sums.iter().enumerate() {
                for (neuron, sum) in sums.iter().enumerate() {
                    y += weights[output + view * hidden + neuron] * sum.clamp(0.0, 1.0).powi(2);
                }
            }
            let expected = sigmoid(y);
            loss += (expected - target).powi(2) / batch.len() as f64;
            let slope = 2.0 * (expected - target) * expected * (1.0 - expected);
            let slope = slope / batch.len() as f64;
            gradient[last] += slope;
            for (view, (list, sums)) in lists.iter().zip(&sums).enumerate() {
                let mut slopes = vec![0.0; hidden];
                for (neuron, &sum) in sums.iter().enumerate() {
                    let at = output + view * hidden + neuron;
                    gradient[at] += slope * sum.clamp(0.0, 1.0).powi(2);
                    if sum > 0.0 && sum < 1.0 {
                        slopes[neuron] = slope * weights[at] * 2.0 * sum;
                    }
                    gradient[bias + neuron] += slopes[neuron];
                }
                for row in list {
                    let numbers = &mut gradient[row * hidden..][..hidden];
                    numbers.iter_mut().zip(&slopes).for_each(|(number, slope)| *number += slope);
                }
            }
        }
        losses.push(loss);
        let [of_mean, of_square] = match bias_correction {
            true => [1.0 - beta1.powi(step), 1.0 - beta2.powi(step)],
            false => [1.0; 2],
        };
        for at in 0..=last {
            means[at] = beta1 * means[at] + (1.0 - beta1) * gradient[at];
            squares[at] = beta2 * squares[at] + (1.0 - beta2) * gradient[at].powi(2);
            weights[at] *= 1.0 - 1e-3 * 0.01;
            let root = (squares[at] / of_square).sqrt() + 1e-8;
            weights[at] = (weights[at] - 1e-3 * means[at] / of_mean / root).clamp(-1.98, 1.98);
        }
    }
    losses
}

/// The losses of ten steps from the weights of a seed.
fn train(hidden: usize, batch: usize, bias_correction: bool) -> Vec<f64> {
    let net = Architecture::simple(Perspectives::Perspective, hidden, Activation::SCReLU);
    let start = initial_weights(&net, SEED);
    let arrays = ["accumulator.weight", "accumulator.bias", "output.weight", "output.bias"];
    let values = arrays.iter().flat_map(|name| &start.0[*name].values);
    let weights = values.map(|value| f64::from(*value)).collect();
    train_slowly(weights, [768, hidden], entries(10 * batch).chunks(batch), bias_correction)
}

#[test]
fn losses_of_ten_steps() {
    for (hidden, bias_correction) in [(32, false), (32, true), (5, false)] {
        let right = train(hidden, 200, bias_correction);
        let order = PassOrder { batch: 200, window: 2000, ..PassOrder::default() };
        let plan = || StreamPlan::new(ReadPlan::new(vec![SCORED.into()]), order);
        for compute in computes() {
            let got = losses_on(plan(), hidden, (Backend::Flex, compute), bias_correction);
            let apart = largest(got.iter().zip(&right).map(|(got, right)| (got - right).abs()));
            assert!(got.len() == 10 && apart < 1e-6, "{compute:?}: {apart:e}: {got:?}, {right:?}");
        }
    }
}
