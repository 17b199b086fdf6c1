//! The fused operation for handcrafted terms against sums and derivatives, row by row in f64.

use nnuance::batch::{TermBatch, TermColumn, TermRows};
use nnuance::model::ops::cpu::{
    SimdLevel, TermsGradients, TermsJob, terms_gradients, terms_logits,
};
use nnuance::sums::Sums;
use rand::prelude::*;

use crate::support::games::LOSSES;
use crate::support::kit::*;

const TERMS: usize = 50;

#[derive(Clone)]
struct Case {
    pieces: Vec<Arc<TermBatch>>,
    targets: Vec<f32>,
    weights: Vec<f32>,
    tempo: f32,
    scale: f32,
    loss: Loss,
    /// Weights of the losses; empty: all 1.
    counts: Vec<f32>,
}

struct Right {
    logits: Vec<f64>,
    loss: f64,
    terms: Vec<f64>,
    tempo: f64,
    /// The norm of the gradient if nothing cancelled.
    size: f64,
}

fn job(case: &Case, level: SimdLevel) -> TermsJob<'_> {
    let Case { pieces, targets, scale, loss, counts, .. } = case;
    let loss_inputs =
        LossInputs { weights: counts, loss: *loss, ..LossInputs::with_squared_error(targets) };
    TermsJob { pieces, aim: Aim::Losses(loss_inputs), scale: *scale, tempo: true, level }
}

fn random(sizes: &[usize], entries: usize, frozen: bool, seed: u64) -> Case {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut piece = |&size: &usize| {
        let mut piece = TermBatch::default();
        for row in 0..size {
            let (terms, counts) = (0..TERMS as u16, -3i8..=3);
            let mut list = |max_entries: usize| -> Vec<(u16, i8)> {
                (0..rng.random_range(0..=max_entries))
                    .map(|_| (rng.random_range(terms.clone()), rng.random_range(counts.clone())))
                    .filter(|(_, count)| *count != 0)
                    .collect()
            };
            let (normal, safety, black, complexity) =
                (list(entries), list(entries / 4), list(entries), list(entries / 8));
            piece.normal.push(row, normal.into_iter());
            let black = black.iter().map(|(_, count)| *count).chain(std::iter::repeat(0));
            let both =
                safety.iter().zip(black).map(|(&(term, white), black)| (term, [white, black]));
            piece.safety.push(row, both);
            piece.complexity.push(row, complexity.into_iter());
            let share: f32 = rng.random_range(0.0..=1.0);
            piece.middlegame.push(share);
            piece.endgame.push((1.0 - share) * rng.random_range(0.5..=1.0));
            piece.turn.push(if rng.random() { 1 } else { -1 });
            if frozen {
                let mut sum = || rng.random_range(-100.0..100.0);
                piece.frozen.normal.push([sum(), sum()]);
                piece.frozen.safety.push([sum(), sum(), sum(), sum()]);
                piece.frozen.complexity.push(sum());
            }
        }
        Arc::new(piece)
    };
    let pieces = sizes.iter().map(&mut piece).collect();
    let positions = sizes.iter().sum();
    Case {
        pieces,
        targets: (0..positions).map(|_| rng.random_range(0.0..=1.0)).collect(),
        weights: (0..2 * TERMS).map(|_| rng.random_range(-60.0..60.0)).collect(),
        tempo: 12.5,
        scale: 170.0,
        loss: LOSSES[seed as usize % LOSSES.len()],
        counts: if seed % 4 < 2 { Vec::new() } else { games::weights(positions) },
    }
}

fn both<C: Copy>(
    rows: &TermRows<C>,
    row: usize,
    weights: &[f64],
    frozen: [f64; 2],
    count: impl Fn(C) -> i8,
) -> [f64; 2] {
    rows.entries_of_row(row).fold(frozen, |[mg, eg], (term, counted)| {
        let count = f64::from(count(counted));
        [mg + weights[2 * term] * count, eg + weights[2 * term + 1] * count]
    })
}

impl Case {
    fn sums(&self, piece: &TermBatch, row: usize, weights: &[f64]) -> Sums {
        let frozen = &piece.frozen;
        let wide = |pair: &[f32]| [f64::from(pair[0]), f64::from(pair[1])];
        let normal = frozen.normal.get(row).map_or([0.0; 2], |frozen| wide(frozen));
        let white = frozen.safety.get(row).map_or([0.0; 2], |frozen| wide(&frozen[..2]));
        let black = frozen.safety.get(row).map_or([0.0; 2], |frozen| wide(&frozen[2..]));
        let complexity = frozen.complexity.get(row).map_or(0.0, |&frozen| f64::from(frozen));
        Sums {
            normal: both(&piece.normal, row, weights, normal, |count| count),
            safety: [
                both(&piece.safety, row, weights, white, |count| count[0]),
                both(&piece.safety, row, weights, black, |count| count[1]),
            ],
            complexity: both(&piece.complexity, row, weights, [0.0, complexity], |count| count)[1],
        }
    }

    fn right(&self, weights: &[f64], tempo: f64) -> Right {
        let mut targets = self.targets.iter();
        let (mut logits, mut loss) = (vec![], 0.0);
        let (mut tempo_gradient, mut tempo_size) = (0.0, 0.0);
        let (mut terms, mut sizes) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
        let mut add = |term: usize, k: usize, gradient: f64| {
            terms[2 * term + k] += gradient;
            sizes[2 * term + k] += gradient.abs();
        };
        for piece in &self.pieces {
            for row in 0..piece.len() {
                let sums = self.sums(piece, row, weights);
                let shares = [piece.middlegame[row], piece.endgame[row]].map(f64::from);
                let turn = f64::from(piece.turn[row]);
                let scale = f64::from(self.scale);
                let logit = (sums.white_centipawns(shares) + tempo * turn) / scale;
                let target = f64::from(*targets.next().unwrap());
                let count = self.counts.get(logits.len()).map_or(1.0, |count| f64::from(*count));
                logits.push(logit);
                loss += count * self.loss.value_at(logit, target);
                let upstream = count * self.loss.derivative(logit, target) / scale;
                tempo_gradient += upstream * turn;
                tempo_size += upstream.abs();
                let derivatives = sums.derivatives(shares);
                for (term, count) in piece.normal.entries_of_row(row) {
                    let count = f64::from(count);
                    (0..2).for_each(|k| add(term, k, upstream * derivatives.normal[k] * count));
                }
                for (term, [white, black]) in piece.safety.entries_of_row(row) {
                    let [by_white, by_black] = derivatives.safety;
                    let (white, black) = (f64::from(white), f64::from(black));
                    (0..2).for_each(|k| {
                        add(term, k, upstream * (by_white[k] * white + by_black[k] * black));
                    });
                }
                for (term, count) in piece.complexity.entries_of_row(row) {
                    add(term, 1, upstream * derivatives.complexity * f64::from(count));
                }
            }
        }
        let positions = logits.len() as f64;
        terms.iter_mut().for_each(|gradient| *gradient /= positions);
        let size = norm(sizes.iter().chain([&tempo_size]).map(|size| size / positions));
        Right { logits, loss: loss / positions, terms, tempo: tempo_gradient / positions, size }
    }

    fn by_term(&self) -> Self {
        let by_term = |piece: &Arc<TermBatch>| {
            let columns = TermColumn::from_terms(piece);
            Arc::new(TermBatch { columns, ..TermBatch::clone(piece) })
        };
        Case { pieces: self.pieces.iter().map(by_term).collect(), ..self.clone() }
    }

    fn check(&self, level: SimdLevel) {
        let weights: Vec<f64> = self.weights.iter().map(|&weight| f64::from(weight)).collect();
        let right = self.right(&weights, f64::from(self.tempo));
        let job = job(self, level);
        let TermsGradients { loss, terms, tempo } = terms_gradients(&self.weights, self.tempo, job);
        let what = format!("{} {:?}", level.name(), self.loss);
        assert!((loss - right.loss).abs() <= 1e-5 * right.loss, "{what}: {loss} {}", right.loss);
        let all = terms.iter().chain([&tempo]).zip(right.terms.iter().chain([&right.tempo]));
        let error = norm(all.map(|(&got, right)| f64::from(got) - right));
        let size = norm(right.terms.iter().copied()).max(right.size / 10.0);
        assert!(error <= 1e-5 * size, "{what}: off by {error} of {size}");
        let none = TermsJob { aim: Aim::Targets(&[]), tempo: false, ..job };
        let logits = terms_logits(&self.weights, self.tempo, none);
        assert_eq!(logits.len(), right.logits.len());
        for (got, right) in logits.iter().zip(&right.logits) {
            assert!((f64::from(*got) - right).abs() < 1e-4, "{what}: {got} for {right}");
        }
        let still = terms_gradients(&self.weights, self.tempo, TermsJob { tempo: false, ..job });
        assert_eq!(still, TermsGradients { loss, terms, tempo: 0.0 }, "{what}");
    }
}

fn norm(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(|number| number * number).sum::<f64>().sqrt()
}

#[test]
fn every_level_matches_the_formula() {
    let shapes: [&[usize]; 6] =
        [&[1], &[0, 3, 0], &[255, 256, 257], &[1023, 1, 1025], &[4096, 700, 4096], &[20_000]];
    for level in SimdLevel::list_available() {
        for (i, sizes) in shapes.iter().enumerate() {
            for (entries, frozen) in [(0, true), (20, false), (300, true)] {
                for seed in 0..4 {
                    let case = random(sizes, entries, frozen, 10 * i as u64 + seed);
                    case.check(level);
                    case.by_term().check(level);
                }
            }
        }
    }
}

/// One position with sums and shares that floats represent exactly.
fn single(normal: [f32; 2], safety: [f32; 4], complexity: f32) -> Case {
    let mut piece = TermBatch::default();
    piece.normal.push(0, [(0, 1)].into_iter());
    piece.safety.push(0, [(1, [1, 0]), (2, [0, 1])].into_iter());
    piece.complexity.push(0, [(3, 1)].into_iter());
    piece.middlegame = vec![0.5];
    piece.endgame = vec![0.25];
    piece.turn = vec![-1];
    let [white_mg, white_eg, black_mg, black_eg] = safety;
    let [mg, eg] = normal;
    Case {
        pieces: vec![Arc::new(piece)],
        targets: vec![0.75],
        weights: vec![mg, eg, white_mg, white_eg, black_mg, black_eg, 7.0, complexity],
        tempo: 4.0,
        scale: 128.0,
        loss: Loss::SQUARED,
        counts: Vec::new(),
    }
}

#[test]
fn kinks_match_the_formula() {
    let sides = [[0.0; 4], [40.0, 40.0, 0.0, 0.0], [-40.0, -40.0, 40.0, 20.0]];
    for level in SimdLevel::list_available() {
        for safety in sides {
            for eg in [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0] {
                for complexity in [-4.0, -3.0, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0] {
                    let case = single([32.0, eg], safety, complexity);
                    case.check(level);
                    case.by_term().check(level);
                }
            }
        }
    }
    // Where the value is 0 or just reaches 0 the endgame weight changes; beyond, it does not.
    let endgame = |eg, complexity| {
        let case = single([32.0, eg], [0.0; 4], complexity);
        terms_gradients(&case.weights, case.tempo, job(&case, SimdLevel::detect_fastest())).terms
    };
    assert!(endgame(0.0, -1.0)[1] != 0.0 && endgame(0.0, -1.0)[7] == 0.0);
    assert!(endgame(2.0, -2.0)[1] != 0.0 && endgame(2.0, -2.0)[7] != 0.0);
    assert!(endgame(2.0, -2.5)[1] == 0.0 && endgame(2.0, -2.5)[7] == 0.0);
}

#[test]
fn same_bits_for_any_threads() {
    let case = random(&[0, 4096, 77, 9000, 4096, 4096], 40, true, 6);
    let cases = [case.by_term(), case];
    let levels = SimdLevel::list_available().into_iter();
    for (level, case) in levels.flat_map(|level| cases.iter().map(move |case| (level, case))) {
        same_for_threads(&[2, 3, 8], level.name(), || {
            let job = job(case, level);
            let TermsGradients { loss, terms, tempo } =
                terms_gradients(&case.weights, case.tempo, job);
            let terms: Vec<u32> = terms.iter().map(|gradient| gradient.to_bits()).collect();
            let logits = terms_logits(&case.weights, case.tempo, job);
            (loss.to_bits(), terms, tempo.to_bits(), logits)
        });
    }
}

#[test]
fn extreme_and_nan_weights() {
    for level in SimdLevel::list_available() {
        for loss in LOSSES {
            for size in [-1e9, 1e9, f32::NAN] {
                let case = Case { loss, ..single([size, 1.0], [0.0; 4], 0.0) };
                let TermsGradients { loss: got, terms, tempo } =
                    terms_gradients(&case.weights, case.tempo, job(&case, level));
                assert_eq!(got.is_nan(), size.is_nan(), "{}", level.name());
                if !size.is_nan() {
                    // The gradient of cross entropy does not vanish.
                    let bound = if loss.shape == LossShape::CrossEntropy { 1.0 } else { 1e-30 };
                    assert!(terms.iter().chain([&tempo]).all(|gradient| gradient.abs() < bound));
                }
            }
        }
    }
}
