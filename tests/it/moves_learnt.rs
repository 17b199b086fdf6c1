//! Evaluations that learn which moves were played.

use std::collections::BTreeMap;
use std::sync::Arc;

use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::batch::{Batch, Choices as Rows};
use nnuance::config::Sides;
use nnuance::hce::terms::TERMS as TERMS_IN_ALL;
use nnuance::hce::{self, HceEvaluator, HceWeights, Term};
use nnuance::loader::{Choose, Chosen, Encoder, Part, Plan, collect};
use nnuance::loss::sigmoid;
use nnuance::model::{
    Aim, Backend, Compute, Evaluation, HceShape, Kind, Level, Model, Precision, initial, to_host,
};
use nnuance::run::{Choices, QuietEnds};
use nnuance::sample::{Position, Sample};
use nnuance::search::{Quiescence, Terms};
use nnuance::terms::Kind as TermKind;
use nnuance::train::direct::newton::Newton;
use nnuance::train::direct::normal::Equations;
use nnuance::train::direct::problem::{Goal, Played, Problem, ProblemError};
use nnuance::train::force::{FIVE_AHEAD, Force, HALF_PAWN};
use nnuance::train::moves::{Moves, Objective, Oracle};
use rayon::prelude::*;

use crate::largest::{distance, largest};
use crate::problems::{ALL, Dice, LINEAR, Shape, pieces, point, values, with_threads};
use crate::tuning::{killed_and_resumed, log, refused, said, train, written};

/// Whole games, with their moves.
const GAMES: &str = "data/selfplay_sf151_200games.pgn";

fn moves(objective: Objective, force: Force) -> Moves {
    Moves { objective, temperature: 60.0, scale: 160.0, value: 0.0, force, strength: 10.0 }
}

/// Every objective, that of least squares with every force.
fn objectives() -> Vec<Moves> {
    let squares = Force::ALL.map(|force| moves(Objective::LeastSquares, force));
    let others = [Objective::Softmax, Objective::Logistic];
    let others = others.map(|objective| moves(objective, Force::default()));
    squares.into_iter().chain(others).collect()
}

#[test]
fn forces_are_as_strong_as_they_are_said_to_be() {
    for force in Force::ALL {
        assert_eq!(force.at(HALF_PAWN, FIVE_AHEAD as usize), 1.0, "{force:?}");
        // Nothing pulls where the move stands first, but for what always does.
        let first = f64::from(u8::from(force == Force::Constant));
        assert_eq!(force.at(0.0, 0), first, "{force:?}");
    }
    let at = |force: Force, miss| force.at(miss, 3);
    assert_eq!(at(Force::Linear, 100.0), 2.0);
    assert_eq!(at(Force::SquareRoot, 200.0), 2.0);
    assert_eq!(at(Force::Logarithm, 150.0), 2.0);
    assert_eq!(at(Force::Quadratic, 100.0), 4.0);
    assert_eq!(at(Force::Reciprocal, 150.0), 0.5);
    assert_eq!(at(Force::Rank, 1.0), 0.6);
    assert!(at(Force::Reciprocal, 1.0) > at(Force::Reciprocal, 2.0));
}

#[test]
fn the_force_pulls_the_move_up_and_the_others_down() {
    let moves = moves(Objective::LeastSquares, Force::Linear);
    // The best of the others is 25 ahead, half of half a pawn.
    let before = [10.0, 35.0, 0.0, -20.0, 5.0];
    let verdict = moves.judge(&before, Some(Oracle { before: &before, stretch: 1.0 }));
    let force = 5.0;
    assert_eq!(moves.force_on(&before[..4]), force);
    let t = moves.temperature;
    let expected = [-force, force / 3.0, force / 3.0, force / 3.0].map(|it| 2.0 * it / (t * t));
    for (slope, expected) in verdict.slopes.iter().zip(expected) {
        assert!((slope - expected).abs() < 1e-15, "{slope} {expected}");
    }
    assert!(verdict.slopes[4].abs() < 1e-15, "the forces on moves add up to nothing");
    assert_eq!((verdict.base, verdict.count), (4, 4.0));
}

#[test]
fn slopes_are_those_of_finite_differences() {
    let mut dice = Dice::new(1);
    for moves in objectives() {
        for size in [3, 4, 9, 40] {
            let mut values: Vec<f64> = (0..size).map(|_| dice.about(80.0)).collect();
            let before: Vec<f64> = values.iter().map(|value| value + dice.about(20.0)).collect();
            let oracle = Some(Oracle { before: &before[..], stretch: 1.3 });
            let verdict = moves.judge(&values, oracle);
            assert!(verdict.slopes.iter().sum::<f64>().abs() < 1e-12);
            for row in 0..size {
                let (step, value) = (1e-4, values[row]);
                let mut loss = |value: f64| {
                    values[row] = value;
                    moves.judge(&values, oracle).loss
                };
                let slope = (loss(value + step) - loss(value - step)) / (2.0 * step);
                values[row] = value;
                let found = verdict.slopes[row];
                assert!((slope - found).abs() < 1e-7, "{moves:?} {row} of {size}: {slope} {found}");
            }
        }
    }
}

#[test]
fn values_too_large_for_an_exponential_have_losses() {
    for objective in [Objective::Softmax, Objective::Logistic] {
        let moves = moves(objective, Force::default());
        let far = moves.judge(&[-1e6, 1e6, 0.0], None);
        assert!((far.loss - 2e6 / 60.0).abs() < 1.0 && far.slopes.iter().all(|it| it.is_finite()));
        let near = moves.judge(&[1e6, -1e6, 0.0], None);
        assert!(near.loss.abs() < 1e-9 && near.slopes.iter().all(|it| it.is_finite()));
    }
}

fn samples() -> Vec<Sample> {
    let samples = collect(&Plan::reading(vec![GAMES.into()]), Part::All, &|_| ()).unwrap();
    let known = samples.into_iter().filter(|sample| sample.played.is_some());
    known.step_by(37).take(150).collect()
}

fn weights() -> HceWeights {
    HceWeights::of_list(hce::terms::list(), 400.0)
}

fn choices(sides: Sides, bound: Option<f64>) -> Choices {
    let ends = Arc::new(QuietEnds::of_terms(HceEvaluator::new(&weights()), 160.0));
    Choices { ends, sides, bound }
}

/// The ends behind moves are those of the search of quiescence, that of the played move first.
#[test]
fn ends_are_those_of_quiescence() {
    let samples = samples();
    let (mut bounded, mut silent) = (0, 0);
    for bound in [None, Some(50.0)] {
        let found = choices(Sides::Both, bound).choose(&samples);
        assert_eq!(found.len(), samples.len());
        for (sample, choice) in samples.iter().zip(&found) {
            let chess = sample.position.to_chess().unwrap();
            let played = sample.played.unwrap().legal_move(&chess).unwrap();
            let mut terms = Terms::new(HceEvaluator::new(&weights()));
            let mut quiescence = Quiescence::new(160.0);
            let root = quiescence.end(&chess, &mut terms).unwrap();
            let all = quiescence.moves(&chess, &mut terms).unwrap();
            let teaches =
                |score: i32| bound.is_none_or(|it| f64::from(score - root.score).abs() <= it);
            let (_, own) = all.iter().find(|(other, _)| *other == played).unwrap();
            let mut ends = vec![own];
            ends.extend(all.iter().filter(|(other, _)| *other != played).map(|(_, end)| end));
            ends.retain(|end| !end.is_decided && teaches(end.score));
            let ahead = all.iter().filter(|(_, end)| end.score > own.score).count() as u32;
            let level = all.iter().filter(|(_, end)| end.score == own.score).count() as u32 - 1;
            assert_eq!(choice.place, Some([ahead, level, all.len() as u32]));
            assert!(root.is_decided || choice.root == root.position);
            if own.is_decided || !teaches(own.score) || ends.len() < 2 {
                assert!(choice.ends.is_empty());
                silent += 1;
                continue;
            }
            let ends: Vec<Position> = ends.iter().map(|end| end.position).collect();
            assert_eq!(choice.ends, ends);
            bounded += usize::from(ends.len() < all.len());
        }
    }
    assert!(bounded > 50 && silent > 3, "{bounded} {silent}");
    let winners = choices(Sides::Winner, None).choose(&samples);
    for (sample, choice) in samples.iter().zip(winners) {
        assert!(sample.result == 1.0 || choice.ends.is_empty() && choice.place.is_none());
    }
}

fn terms_encoder() -> Encoder {
    crate::games::all_terms()
}

fn batch(encoder: &Encoder) -> Batch {
    let samples = samples();
    let by = choices(Sides::Both, None);
    Chosen::of(samples.par_iter(), encoder, &by, &|_| ()).encode(encoder)
}

/// A row's sign turns what the model says into what it says to who chose.
#[test]
fn rows_are_seen_by_who_chose() {
    let encoders = [games_net(Views::Plain), games_net(Views::Perspective), terms_encoder()];
    let samples = samples();
    let searched = choices(Sides::Both, None).choose(&samples);
    for encoder in encoders {
        let batch = batch(&encoder);
        let rows = batch.choices.clone().unwrap();
        assert_eq!(rows.iter().len(), samples.len());
        assert_eq!(batch.len(), samples.len());
        for ((sample, choice), range) in samples.iter().zip(&searched).zip(rows.iter()) {
            let ends = choice.ends.iter().chain([&choice.root]);
            assert_eq!(range.len(), choice.ends.len() + 1);
            for (end, row) in ends.zip(range) {
                let mover_is_white = sample.position.turn().is_white();
                let seen_by_white = match &encoder {
                    Encoder::Net(net, _) if net.views() == 2 => end.turn().is_white(),
                    _ => true,
                };
                let sign = if mover_is_white == seen_by_white { 1 } else { -1 };
                assert_eq!(rows.signs[row], sign);
            }
        }
        // Results go with the position's own row.
        for ((sample, choice), result) in samples.iter().zip(&searched).zip(&batch.results[..]) {
            let seen_by_white = !matches!(&encoder, Encoder::Net(net, _) if net.views() == 2);
            let eyes = if seen_by_white { shakmaty::Color::White } else { choice.root.turn() };
            let right =
                if sample.position.turn() == eyes { sample.result } else { 1.0 - sample.result };
            assert_eq!(*result, right);
        }
    }
}

fn games_net(views: Views) -> Encoder {
    Encoder::net(&Architecture::simple(views, 8, Activation::SCReLU))
}

fn model(kind: &Kind, weights: &nnuance::weights::Weights, compute: Compute) -> Model {
    let device = Backend::Flex.device().expect("flex is always there").autodiff();
    Model::new(kind, weights, &device, compute).expect("the weights fit")
}

/// What a batch is to make small, slowly: a mean over choices, or pairs, and one over positions.
fn slowly(moves: &Moves, rows: &Rows, logits: &[f32], before: &[f32], targets: &[f32]) -> f64 {
    let (mut loss, mut count, mut value) = (0.0, 0.0, 0.0);
    for (range, target) in rows.iter().zip(targets) {
        value += (sigmoid(logits[range.end - 1].into()) - f64::from(*target)).powi(2);
        if range.len() > 2 {
            let seen = |logits: &[f32]| -> Vec<f64> {
                let rows =
                    range.clone().map(|row| f64::from(logits[row]) * f64::from(rows.signs[row]));
                rows.map(|logit| logit * moves.scale).collect()
            };
            let before = seen(before);
            let oracle = Oracle { before: &before[..], stretch: 1.2 };
            let verdict = moves.judge(&seen(logits), Some(oracle));
            loss += verdict.loss;
            count += verdict.count;
        }
    }
    loss / count + moves.value * value / targets.len() as f64
}

fn terms_model() -> (Kind, nnuance::weights::Weights) {
    let shape = HceShape { terms: TERMS_IN_ALL, scale: 160.0, tempo: true };
    let mut weights = weights();
    for (value, kind) in weights.values.iter_mut().zip(Term::all().map(Term::kind)) {
        if kind == TermKind::Complexity {
            *value = [0.0; 2];
        }
    }
    (Kind::Hce(shape), weights.to_weights())
}

/// The gradients of whole models, by the fused operations and by the plain ones.
#[test]
fn gradients_are_those_of_finite_differences() {
    let net = Architecture::simple(Views::Perspective, 8, Activation::SCReLU);
    let (terms, of_terms) = terms_model();
    let nets = (Kind::Net(net.clone()), initial(&net, 5));
    let kinds: Vec<TermKind> = Term::all().map(Term::kind).collect();
    for (encoder, (kind, weights)) in
        [(Encoder::net(&net), nets), (terms_encoder(), (terms, of_terms))]
    {
        let batch = batch(&encoder);
        let rows = batch.choices.clone().unwrap();
        let logits = |weights: &nnuance::weights::Weights, compute| {
            to_host(model(&kind, weights, compute).logits(&batch.inputs))
        };
        let mut other = weights.clone();
        for array in other.0.values_mut() {
            array
                .values
                .iter_mut()
                .enumerate()
                .for_each(|(i, it)| *it *= 1.0 + 0.1 * (i % 3) as f32);
        }
        let fused = Compute::Fused { level: Level::detect(), precision: Precision::F32 };
        let before = logits(&other, fused);
        for mut moves in objectives() {
            moves.value = 0.7;
            let now = logits(&weights, fused);
            let oracle = Some(Oracle { before: &before[..], stretch: 1.2 });
            let pulled = moves.pull(&rows, &now, &batch.results, oracle);
            let loss =
                |weights| slowly(&moves, &rows, &logits(weights, fused), &before, &batch.results);
            let [plain, fused] = [Compute::Plain, fused].map(|compute| {
                model(&kind, &weights, compute)
                    .gradients(&batch.inputs, Aim::Forces(&pulled.forces))
                    .1
            });
            for (name, array) in &plain.0 {
                let apart = distance(&fused.0[name].values, &array.values);
                assert!(apart < 1e-4, "{moves:?}: {name} is {apart:e} off");
            }
            // Along the gradient itself, where the most is to be seen.
            let (mut there, mut back) = (weights.clone(), weights.clone());
            let mut square = 0.0;
            let slopes = plain.0.values().flat_map(|it| &it.values);
            let most = largest(slopes.map(|slope| f64::from(slope.abs())));
            let reach = if matches!(kind, Kind::Net(_)) { 3e-4 } else { 0.03 };
            let step = (reach / most) as f32;
            for (name, array) in &plain.0 {
                if name.ends_with("start") {
                    continue;
                }
                for (i, slope) in array.values.iter().enumerate() {
                    // What turns its sign where the endgame's value does has no derivative there.
                    if name == "terms.change" && kinds[i / 2] == TermKind::Complexity {
                        continue;
                    }
                    there.0.get_mut(name).unwrap().values[i] += step * slope;
                    back.0.get_mut(name).unwrap().values[i] -= step * slope;
                    square += f64::from(*slope).powi(2);
                }
            }
            let rise = (loss(&there) - loss(&back)) / (2.0 * f64::from(step));
            assert!((rise / square - 1.0).abs() < 0.02, "{moves:?}: {rise} {square}");
        }
    }
}

/// Positions with moves, made of rows of terms.
fn played(pieces: &[Arc<nnuance::batch::Terms>], seed: u64) -> Rows {
    let mut dice = Dice::new(seed);
    let mut rows = Rows::default();
    let mut behind = 0;
    for piece in pieces {
        let end = behind + piece.len();
        while behind < end {
            behind = end.min(behind + [1, 3, 4, 7, 12, 30][dice.below(6)]);
            if end - behind == 1 {
                behind = end;
            }
            rows.ends.push(behind as u32);
        }
    }
    rows.signs = (0..behind).map(|_| [-1, 1][dice.below(2)]).collect();
    rows
}

fn with<T>(
    shape: Shape,
    moves: &Moves,
    seed: u64,
    act: impl FnOnce(&Problem, &[Arc<nnuance::batch::Terms>]) -> T,
) -> T {
    let pieces = pieces(shape, 3000, seed);
    let choices = played(&pieces, seed);
    let before = values(&pieces, &point(shape, 30.0, seed + 1));
    let oracle = Some(Oracle { before: &before[..], stretch: 1.0 });
    let targets = vec![0.7; choices.ends.len()];
    let goal = Goal::Moves(Played { moves, choices: &choices, oracle, targets: &targets });
    act(&Problem::new(&pieces, shape.terms(), goal).unwrap(), &pieces)
}

#[test]
fn normal_equations_are_those_of_finite_differences() {
    for mut moves in objectives() {
        for value in [0.0, 0.5] {
            moves.value = value;
            with(LINEAR, &moves, 3, |problem, _| {
                let start = point(LINEAR, 30.0, 9);
                let equations = Equations::of(problem, &start).unwrap();
                let loss = problem.loss(&start);
                assert!((equations.loss / loss - 1.0).abs() < 1e-12);
                let at = |number: usize, step: f64| {
                    let mut there = start.clone();
                    *there.get_mut(number).unwrap() += step;
                    there
                };
                for number in 0..start.len() {
                    let [up, down] = [1e-3, -1e-3].map(|step| problem.loss(&at(number, step)));
                    let slope = (up - down) / 2e-3;
                    let found = equations.gradient[number];
                    assert!((slope - found).abs() < 1e-9, "{moves:?} {number}: {slope} {found}");
                    if value > 0.0 {
                        continue;
                    }
                    // Of linear terms the second derivatives are right as well.
                    let [up, down] = [1e-3, -1e-3]
                        .map(|step| Equations::of(problem, &at(number, step)).unwrap().gradient);
                    for (other, (up, down)) in up.iter().zip(&down).enumerate().take(number + 1) {
                        let bend = (up - down) / 2e-3;
                        let found = equations.hessian.get(number, other);
                        assert!(
                            (bend - found).abs() < 1e-9,
                            "{moves:?} {number} {other}: {bend} {found}"
                        );
                    }
                }
            });
        }
    }
}

#[test]
fn gradients_of_all_kinds_of_terms_are_those_of_finite_differences() {
    for moves in objectives() {
        with(ALL, &moves, 5, |problem, _| {
            let start = point(ALL, 30.0, 9);
            let equations = Equations::of(problem, &start).unwrap();
            for number in 0..start.len() {
                let [up, down] = [1e-5, -1e-5].map(|step| {
                    let mut there = start.clone();
                    *there.get_mut(number).unwrap() += step;
                    problem.loss(&there)
                });
                let (slope, found) = ((up - down) / 2e-5, equations.gradient[number]);
                assert!((slope - found).abs() < 1e-6, "{moves:?} {number}: {slope} {found}");
            }
        });
    }
}

/// Nowatzyk's check: an evaluation that is its own oracle, with no force, gives its own weights.
#[test]
fn an_evaluation_as_its_own_oracle_returns_its_weights() {
    let moves = Moves { strength: 0.0, ..moves(Objective::LeastSquares, Force::Linear) };
    let pieces = pieces(LINEAR, 3000, 11);
    let choices = played(&pieces, 11);
    let truth = point(LINEAR, 60.0, 12);
    let before = values(&pieces, &truth);
    let oracle = Some(Oracle { before: &before[..], stretch: 1.0 });
    let goal = Goal::Moves(Played { moves: &moves, choices: &choices, oracle, targets: &[] });
    let problem = Problem::new(&pieces, LINEAR.terms(), goal).unwrap();
    let newton = || Newton::new(vec![true; truth.len()]);

    // From itself no step is taken.
    let mut same = truth.clone();
    let stepped = newton().step(&problem, &mut same).unwrap();
    assert!(stepped.converged && same == truth);

    // And from anywhere else the way leads there.
    let mut there = point(LINEAR, 60.0, 13);
    for _ in 0..6 {
        let mut newton = newton();
        newton.damping = 1e-12;
        newton.step(&problem, &mut there).unwrap();
    }
    let furthest = largest(there.iter().zip(truth.iter()).map(|(one, other)| (one - other).abs()));
    assert!(furthest < 1e-6, "{furthest}");

    let strong = Moves { strength: 10.0, ..moves };
    let goal = Goal::Moves(Played { moves: &strong, choices: &choices, oracle, targets: &[] });
    let problem = Problem::new(&pieces, LINEAR.terms(), goal).unwrap();
    let mut moved = truth.clone();
    newton().step(&problem, &mut moved).unwrap();
    assert!(moved != truth);
}

#[test]
fn equations_have_the_same_bits_for_any_number_of_threads() {
    for moves in
        [moves(Objective::Softmax, Force::Linear), moves(Objective::LeastSquares, Force::Rank)]
    {
        with(ALL, &moves, 7, |problem, _| {
            let start = point(ALL, 30.0, 9);
            let [one, other] = [1, 3]
                .map(|threads| with_threads(threads, || Equations::of(problem, &start).unwrap()));
            assert!(one == other);
        });
    }
}

#[test]
fn rows_of_a_position_lie_in_one_piece() {
    let pieces = pieces(LINEAR, 900, 2);
    let rows = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let choices = Rows { ends: vec![rows as u32], signs: vec![1; rows] };
    let moves = moves(Objective::Softmax, Force::Linear);
    let goal = Goal::Moves(Played { moves: &moves, choices: &choices, oracle: None, targets: &[] });
    let cut = Problem::new(&pieces, LINEAR.terms(), goal).map(|_| ());
    assert_eq!(cut, Err(ProblemError::Cut(0)));
}

fn config(model: &str, moves: &str, rest: &str) -> String {
    format!(
        "version = 1\nseed = 3\n\
         [data]\nfiles = [\"{GAMES}\"]\nlimit = 4000\nheld_out = 0.3\nfilter.min_ply = 16\n\
         [model]\n{model}\n\
         [target]\nscale = 160\nwdl = 0.5\nlearn = \"moves\"\n{moves}\n\
         {rest}\n"
    )
}

const TERMS: &str = "inputs = \"hce\"\nrare = 5\nstart = \"material\"\n\
                     tune = [\"material\", \"mobility\", \"king.safety\", \"tempo\"]";
const NET: &str = "inputs = \"perspective\"\nhidden = 16";
const SQUARES: &str =
    "resolve_every = 1\n[target.moves]\nobjective = \"least squares\"\nstrength = 300";
const SOFTMAX: &str = "resolve_every = 1.5\n[target.moves]\nobjective = \"softmax\"";
const MIXED: &str =
    "resolve_every = 1.5\n[target.moves]\nobjective = \"logistic\"\nvalue = 1\nsides = \"both\"";
const DIRECT: &str = "[optimizer]\nname = \"gauss-newton\"\n[schedule]\nepochs = 4";
const STEPS: &str = "[schedule]\nepochs = 4\nbatch = 100\nlearning_rate = 0.002\nvalidations = 6";

/// The rows of `moves.csv` on some games: the share of moves that is put first.
fn first(out: &std::path::Path, games: &str) -> BTreeMap<u64, f64> {
    let text = std::fs::read_to_string(out.join("moves.csv")).unwrap();
    let rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|cells| cells[1] == games);
    rows.map(|cells| (cells[0].parse().unwrap(), cells[4].parse().unwrap())).collect()
}

#[test]
fn terms_and_nets_find_more_moves_the_more_they_learn() {
    for (model, moves, rest, gain) in [
        (TERMS, SQUARES, DIRECT, 0.005),
        (TERMS, SOFTMAX, DIRECT, 0.005),
        (NET, SOFTMAX, STEPS, 0.05),
        (NET, MIXED, STEPS, 0.02),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let [told, notes] = said(&mut train(&written(&folder, &config(model, moves, rest)), &out));
        let rows = first(&out, "training");
        let (begin, end) = (rows.values().next().unwrap(), rows.values().next_back().unwrap());
        assert!(end - begin > gain, "{model} {moves}: {rows:?}");
        assert_eq!(rows.len(), first(&out, "validation").len());
        assert!(told.contains("put first") && notes.contains("are put first"), "{told} {notes}");
        assert!(log(&out).len() > 3);
    }
}

#[test]
fn runs_on_moves_killed_and_resumed_end_with_the_same_bits() {
    killed_and_resumed(&config(TERMS, SQUARES, DIRECT), 2);
    killed_and_resumed(&config(NET, SOFTMAX, STEPS), 2);
    let windows = config(NET, MIXED, STEPS).replace("[model]", "data.window = 700\n[model]");
    killed_and_resumed(&windows.replace("data.window", "window"), 2);
    killed_and_resumed(&config(TERMS, MIXED, STEPS), 2);
}

#[test]
fn threads_do_not_show() {
    for (model, moves, rest) in [(TERMS, SQUARES, DIRECT), (NET, SOFTMAX, STEPS)] {
        let folder = tempfile::tempdir().unwrap();
        let path = written(&folder, &config(model, moves, rest));
        let [one, other] = ["1", "3"].map(|threads| {
            let out = folder.path().join(threads);
            said(train(&path, &out).args(["--threads", threads]));
            let moves = std::fs::read(out.join("moves.csv")).unwrap();
            (std::fs::read(out.join("last.safetensors")).unwrap(), log(&out), moves)
        });
        assert!(one == other, "{model}");
    }
}

/// With no force nothing moves, in the program as in the equations.
#[test]
fn without_a_force_the_weights_stay() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let text = config(TERMS, &SQUARES.replace("300", "0"), DIRECT);
    let [told, _] = said(&mut train(&written(&folder, &text), &out));
    assert!(told.contains("the weights of the start"), "{told}");
    let last = nnuance::train::checkpoint::Checkpoint::read(&out.join("last.safetensors")).unwrap();
    let change = last.weights.0["terms.change"].values.iter();
    assert!(largest(change.map(|it| f64::from(it.abs()))) < 1e-3);
}

#[test]
fn games_that_teach_no_moves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let refused_on = |path: &str, limit: &str| {
        let text = config(TERMS, SQUARES, DIRECT).replace(GAMES, path);
        let text = text.replace("held_out = 0.3", "held_out = 0").replace("4000", limit);
        refused(&text.replace("filter.min_ply = 16\n", ""))
    };
    let line = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 | 20 | 1.0\n";
    let plain = refused_on(&file("plain.txt", &line.repeat(300)), "4000");
    assert!(plain.contains("knows the move") && plain.contains("PGN"), "{plain}");
    let games = std::fs::read_to_string(GAMES).unwrap();
    let drawn = games.replace("1-0", "1/2-1/2").replace("0-1", "1/2-1/2");
    let drawn = refused_on(&file("drawn.pgn", &drawn), "4000");
    assert!(drawn.contains("all games were drawn") && drawn.contains("both"), "{drawn}");
    let few = refused_on(GAMES, "90");
    assert!(few.contains("100 are the least"), "{few}");
    for refused in [plain, drawn, few] {
        let errors = refused.lines().filter(|line| line.starts_with("error"));
        assert_eq!(errors.count(), 1, "{refused}");
    }
}

#[test]
fn settings_of_moves_that_say_nothing_are_refused() {
    for (moves, why) in [
        ("[target.moves]\ntemperature = 0", "above 0"),
        ("[target.moves]\nbound = -1", "above 0"),
        ("[target.moves]\nforce = \"linear\"", "least squares"),
        ("[target.moves]\nforce = \"cubic\"", "quadratic"),
        ("position = \"quiescence\"", "always judged"),
        ("loss = \"absolute\"", "positions alone"),
    ] {
        let text = refused(&config(TERMS, moves, DIRECT));
        assert!(text.contains(why), "{moves}: {text}");
    }
    let local = DIRECT.replace("gauss-newton", "local-search");
    assert!(refused(&config(TERMS, SQUARES, &local)).contains("gauss-newton can"));
    let values = config(TERMS, "[target.moves]", DIRECT).replace("learn = \"moves\"", "");
    assert!(refused(&values).contains("goes with `learn = \"moves\"`"));
}
