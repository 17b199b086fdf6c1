//! Positions for tests: random legal games from a seed.

use crate::support::kit::*;

pub fn positions(count: usize, seed: u64) -> Vec<Position> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut positions = Vec::new();
    while positions.len() < count {
        let mut chess = Chess::new();
        for _ in 0..200 {
            positions.push(Position::from_chess(&chess));
            let moves = chess.legal_moves();
            if moves.is_empty() || chess.is_insufficient_material() {
                break;
            }
            chess.play_unchecked(moves[random.random_range(0..moves.len())]);
        }
    }
    positions.truncate(count);
    positions
}

pub fn samples(count: usize, seed: u64) -> Vec<Sample> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(!seed);
    let mut sample = |position| Sample {
        result: [0.0, 0.5, 1.0][random.random_range(0..3)],
        score: Some(random.random_range(-600..600)),
        ..Sample::from_position(position)
    };
    // Every other position of longer games, so that few pieces occur too.
    positions(4 * count, seed).into_iter().step_by(4).map(&mut sample).collect()
}

pub fn batch(net: &Architecture, count: usize, seed: u64) -> Batch {
    Encoder::for_net(net).encode_samples(&samples(count, seed))
}

/// The same position with the result and score of the other side.
pub fn turned(sample: &Sample) -> Sample {
    let score = sample.score.map(|score| -score);
    Sample { result: 1.0 - sample.result, score, ..*sample }
}

pub fn lists(views: Perspectives) -> Encoder {
    Encoder::for_net(&Architecture::simple(views, 1, Activation::SCReLU))
}

pub fn all_terms() -> Encoder {
    Encoder::Hce(Arc::new(TermsEncoder {
        coding: Coding::new(&[true; TERMS], true),
        chosen: TermSelection::all(TERMS),
        weights: vec![[0.0; 2]; TERMS],
    }))
}

pub fn recorded(count: u64) -> Vec<Sample> {
    let plan = plan_first_positions(GAMES, count);
    collect_samples(&plan, None, &|_| ()).unwrap()
}

/// Lines of FEN, score and result with other scores and results; None leaves a line out.
pub fn changed_lines(change: impl Fn(usize, &str, i32, f32) -> Option<(i32, f32)>) -> String {
    let text = fs::read_to_string(SCORED).expect("it is in the repository");
    let lines = text.lines().enumerate().filter_map(|(number, line)| {
        let [fen, score, result] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let [score, result] = [score, result].map(|it| it.parse::<f32>().expect(line));
        let (score, result) = change(number, fen, score as i32, result)?;
        Some(format!("{fen} | {score} | {result:.1}\n"))
    });
    lines.collect()
}

/// Targets from 0 to 1 in turn.
pub fn eighths(positions: usize) -> Vec<f32> {
    (0..positions).map(|it| (it % 9) as f32 / 8.0).collect()
}

/// Forces of many sizes and both directions, as many as there are positions.
pub fn forces(positions: usize) -> Vec<f32> {
    let force = |i: usize| [0.5, -1.0, 0.0, 3.0, -0.01][i % 5] * (1.0 + (i % 7) as f32);
    (0..positions).map(force).collect()
}

pub const CROSS_ENTROPY: Loss = Loss { shape: LossShape::CrossEntropy, ..Loss::SQUARED };

pub const fn power_loss(power: f64) -> Loss {
    Loss { shape: LossShape::Power, power, ..Loss::SQUARED }
}

pub const LOSSES: [Loss; 5] = [
    Loss::SQUARED,
    power_loss(2.5),
    CROSS_ENTROPY,
    Loss { asymmetry: 0.4, ..Loss::SQUARED },
    Loss { asymmetry: -0.5, ..power_loss(1.7) },
];

pub fn weights(positions: usize) -> Vec<f32> {
    (0..positions).map(|i| [1.0, 0.25, 0.0, 2.5, 0.75, 1.5][i % 6]).collect()
}

pub fn for_each_aim(targets: &[f32], mut act: impl FnMut(Aim)) {
    let count = targets.len();
    let (forces, bases, weights) = (forces(count), bases(count), weights(count));
    act(Aim::Upstream(&forces));
    act(Aim::Losses(LossInputs { base: &bases, ..LossInputs::with_squared_error(targets) }));
    let loss = CROSS_ENTROPY;
    let (base, sparsity) = (&bases[..], 0.3);
    act(Aim::Losses(LossInputs { targets, base, weights: &weights, loss, sparsity }));
    for (i, loss) in LOSSES.into_iter().enumerate() {
        let base = if i % 2 == 0 { &bases[..] } else { &[] };
        let weights = if i % 3 == 1 { &weights[..] } else { &[] };
        let sparsity = if i % 2 == 1 { 0.5 } else { 0.0 };
        act(Aim::Losses(LossInputs { targets, base, weights, loss, sparsity }));
    }
}

pub fn bases(positions: usize) -> Vec<f32> {
    forces(positions).iter().map(|force| force / 4.0).collect()
}
