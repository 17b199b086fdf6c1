//! Evaluations that learn which moves were played.

use nnuance::batch::{MoveChoices, TermBatch as Rows, probability_of_first};
use nnuance::evaluation::Evaluation;
use nnuance::hce;
use nnuance::loader::{PositionWeights, Preparation, Prepare};
use nnuance::run::objective::{Moves, QuietSearcher};
use nnuance::search::{Quiescence, SearchTerms};
use nnuance::train::direct::normal::Equations;
use nnuance::train::direct::problem::{Goal, Problem};

use crate::formats::registry::read;
use crate::support::kit::*;
use crate::support::term_positions::{ALL, LINEAR, Shape, newton, pieces, point, values};

/// One position with these earlier values, seen by the side that moved.
fn choice(before: &[f64], force: Option<f64>) -> MoveChoices {
    MoveChoices {
        ends: vec![before.len() as u32],
        signs: vec![1; before.len()],
        searched_values: before.to_vec(),
        variance_factor: 1.3,
        ..MoveChoices::new(force, 160.0)
    }
}

const FORCES: [Option<f64>; 2] = [Some(10.0), None];

#[test]
fn force_lifts_the_played_move() {
    // The best of the others is 25 ahead, half of half a pawn.
    let before = [10.0, 35.0, 0.0, -20.0, 5.0];
    let choices = MoveChoices { variance_factor: 1.0, ..choice(&before, Some(10.0)) };
    let verdict = choices.position_loss(0, &before, 1.0);
    let expected = [-5.0, 5.0 / 3.0, 5.0 / 3.0, 5.0 / 3.0, 0.0].map(|it| it * 2.0 / 3600.0);
    assert!(distance_of(&verdict.gradients, &expected) < 1e-15, "{verdict:?}");
}

fn distance_of(one: &[f64], other: &[f64]) -> f64 {
    largest(one.iter().zip(other).map(|(one, other)| (one - other).abs()))
}

#[test]
fn slopes_equal_finite_differences() {
    let mut dice = Dice::new(1);
    for (size, force) in [3, 4, 9, 40].into_iter().flat_map(|it| FORCES.map(|force| (it, force))) {
        let mut values: Vec<f64> = (0..size).map(|_| dice.about(80.0)).collect();
        let before: Vec<f64> = values.iter().map(|value| value + dice.about(20.0)).collect();
        let choices = choice(&before, force);
        let found = choices.position_loss(0, &values, 1.0).gradients;
        for row in 0..size {
            let (step, value) = (1e-4, values[row]);
            let mut loss = |value: f64| {
                values[row] = value;
                choices.position_loss(0, &values, 1.0).loss
            };
            let slope = (loss(value + step) - loss(value - step)) / (2.0 * step);
            values[row] = value;
            assert!((slope - found[row]).abs() < 1e-7, "{row} of {size}: {slope} {}", found[row]);
        }
    }
}

fn samples() -> Vec<Sample> {
    let samples = read(NOTATED).unwrap().into_iter();
    samples.filter(|sample| sample.played.is_some()).step_by(17).take(300).collect()
}

fn weights() -> HceWeights {
    HceWeights::of_list(hce::terms::built_in_list(), 400.0)
}

fn moves(force: Option<f64>) -> Moves {
    let evaluation = Evaluation::from_terms(&weights());
    Moves { searcher: QuietSearcher { evaluation, scale: 160.0 }, force }
}

#[test]
fn rows_are_quiescence_leaves() {
    let samples = samples();
    let (mut taught, mut bounded) = (0, 0);
    for (sample, mut rows) in samples.iter().zip(moves(Some(1.0)).prepare_rows(&samples)) {
        let chess = sample.position.to_chess().unwrap();
        let played = sample.played.unwrap().legal_move(&chess).unwrap();
        let evaluator = HceEvaluator::new(&weights());
        let mut terms = SearchTerms::new(evaluator.clone());
        let mut quiescence = Quiescence::new(160.0);
        let root = quiescence.find_quiet_end(&chess, &mut terms).unwrap();
        let all = quiescence.moves(&chess, &mut terms).unwrap();
        let (end, value) = rows.pop().unwrap();
        if root.is_decided {
            assert!(rows.is_empty() && end == sample.position);
            continue;
        }
        assert_eq!(end, root.position);
        assert!((value - f64::from(root.score)).abs() <= 0.5);
        let near = |score: i32| (score - root.score).abs() <= 50;
        let (_, own) = all.iter().find(|(other, _)| *other == played).unwrap();
        let mut ends = vec![own];
        ends.extend(all.iter().filter(|(other, _)| *other != played).map(|(_, end)| end));
        ends.retain(|end| !end.is_decided && near(end.score));
        if sample.result != 1.0 || own.is_decided || !near(own.score) || ends.len() < 2 {
            assert!(rows.is_empty());
            continue;
        }
        let ends: Vec<Position> = ends.iter().map(|end| end.position).collect();
        assert_eq!(rows.iter().map(|(end, _)| *end).collect::<Vec<_>>(), ends);
        for (end, value) in rows {
            let sign = if end.turn() == sample.position.turn() { 1.0 } else { -1.0 };
            assert_eq!(value, sign * evaluator.evaluate(&end));
        }
        taught += 1;
        bounded += usize::from(ends.len() < all.len());
    }
    assert!(taught > 30 && bounded > 20, "{taught} {bounded}");
}

fn batch(encoder: &Encoder, force: Option<f64>) -> Batch {
    let preparation = Preparation {
        samples: Arc::new(samples()),
        weighing: PositionWeights::default(),
        encoder: encoder.clone(),
        by: Arc::new(moves(force)),
        variance_factor: 1.2,
        whole: None,
        window: 1000,
    };
    preparation.encode_all()
}

#[test]
fn row_signs_follow_the_mover() {
    let net = |views| Encoder::for_net(&Architecture::simple(views, 8, Activation::SCReLU));
    let samples = samples();
    let searched = moves(None).prepare_rows(&samples);
    for encoder in [net(Perspectives::Plain), net(Perspectives::Perspective), games::all_terms()] {
        let by_turn = matches!(&encoder, Encoder::Net(net, _) if net.perspective_count() == 2);
        let batch = batch(&encoder, None);
        let choices = batch.choices.clone().unwrap();
        assert_eq!((choices.ends.len(), batch.len()), (samples.len(), samples.len()));
        for (i, (sample, rows)) in samples.iter().zip(&searched).enumerate() {
            assert_eq!(choices.move_rows(i).len(), rows.len());
            let eyes = |end: &Position| {
                if by_turn { end.turn() } else { Color::White }
            };
            for ((end, value), row) in rows.iter().zip(choices.move_rows(i)) {
                let same = sample.position.turn() == eyes(end);
                assert_eq!(choices.signs[row], if same { 1 } else { -1 });
                assert_eq!(choices.searched_values[row], *value);
            }
            // Results belong to the position's own row.
            let same = sample.position.turn() == eyes(&rows.last().unwrap().0);
            assert_eq!(batch.results[i], if same { sample.result } else { 1.0 - sample.result });
        }
    }
}

/// Positions with moves, made of rows of terms that had the values `before` for White.
fn played(pieces: &[Arc<Rows>], before: &[f64], force: Option<f64>, seed: u64) -> MoveChoices {
    let mut dice = Dice::new(seed);
    let mut choices = MoveChoices::new(force, 160.0);
    let mut behind = 0;
    for piece in pieces {
        let end = behind + piece.len();
        while behind < end {
            behind = end.min(behind + [1, 3, 4, 7, 12, 30][dice.below(6)]);
            if end - behind == 1 {
                behind = end;
            }
            choices.ends.push(behind as u32);
        }
    }
    choices.signs = (0..behind).map(|_| [-1, 1][dice.below(2)]).collect();
    let signed = before.iter().zip(&choices.signs).map(|(value, sign)| value * f64::from(*sign));
    choices.searched_values = signed.collect();
    choices
}

fn with<T>(shape: Shape, force: Option<f64>, seed: u64, act: impl FnOnce(&Problem) -> T) -> T {
    let pieces = pieces(shape, 3000, seed);
    let before = values(&pieces, &point(shape, 30.0, seed + 1));
    let choices = played(&pieces, &before, force, seed);
    act(&Problem::new(&pieces, shape.terms(), Goal::Moves(&choices)).unwrap())
}

#[test]
fn normal_equations_equal_finite_differences() {
    for (shape, force) in [LINEAR, ALL].into_iter().flat_map(|it| FORCES.map(|force| (it, force))) {
        with(shape, force, 3, |problem| {
            let start = point(shape, 30.0, 9);
            let equations = Equations::of(problem, &start).unwrap();
            assert!((equations.loss / problem.loss(&start) - 1.0).abs() < 1e-12);
            let at = |number: usize, step: f64| {
                let mut there = start.clone();
                there.0[number] += step;
                there
            };
            for number in 0..start.0.len() {
                let [up, down] = [1e-4, -1e-4].map(|step| problem.loss(&at(number, step)));
                let (slope, found) = ((up - down) / 2e-4, equations.gradient[number]);
                assert!((slope - found).abs() < 1e-7, "{number}: {slope} {found}");
                if shape.safety > 0 {
                    continue;
                }
                // Of linear terms the second derivatives are right as well.
                let [up, down] = [1e-3, -1e-3]
                    .map(|step| Equations::of(problem, &at(number, step)).unwrap().gradient);
                for (other, (up, down)) in up.iter().zip(&down).enumerate().take(number + 1) {
                    let (bend, found) = ((up - down) / 2e-3, equations.hessian.get(number, other));
                    assert!((bend - found).abs() < 1e-9, "{number} {other}: {bend} {found}");
                }
            }
            same_for_threads(&[3], "equations", || Equations::of(problem, &start).unwrap());
        });
    }
}

/// Nowatzyk's check: without forces, an evaluation that is its own oracle gives its own weights.
#[test]
fn own_oracle_returns_the_weights() {
    let pieces = pieces(LINEAR, 3000, 11);
    let truth = point(LINEAR, 60.0, 12);
    let choices = played(&pieces, &values(&pieces, &truth), Some(0.0), 11);
    let problem = Problem::new(&pieces, LINEAR.terms(), Goal::Moves(&choices)).unwrap();
    let solver = || newton(vec![true; truth.0.len()]);

    // No step is taken from itself.
    let mut same = truth.clone();
    let stepped = solver().step(&problem, &mut same).unwrap();
    assert!(stepped.converged && same == truth);

    // From anywhere else the steps lead there.
    let mut there = point(LINEAR, 60.0, 13);
    for _ in 0..6 {
        let mut newton = solver();
        newton.damping = 1e-12;
        newton.step(&problem, &mut there).unwrap();
    }
    let furthest = distance_of(&there.0, &truth.0);
    assert!(furthest < 1e-6, "{furthest}");
}

fn config(model: &str, target: &str, rest: &str) -> String {
    format!(
        "version = 3\nseed = 3\n\
         [data]\nfiles = [\"{NOTATED}\"]\nlimit = 4000\nheld_out = 0.3\nfilter.min_ply = 16\n\
         {model}\n\
         [target]\nscale = 160\nlearn = \"moves\"\n{target}\n\
         {rest}\n"
    )
}

const TERMS: &str = "[terms]\nrare = 5\nstart = \"material\"\n\
                     tune = [\"material\", \"mobility\", \"king.safety\", \"tempo\"]";
const NET: &str = "[net]\ninputs = \"perspective\"\nmirror = false\nstart_size = 1.0\nhidden = 16";
const STRONG: &str = "force = 300";
const DIRECT: &str = "[optimizer]\nname = \"gauss-newton\"\n[schedule]\nepochs = 4";
const STEPS: &str = "[schedule]\nepochs = 4\nbatch = 100\nlearning_rate = 0.002\nvalidations = 6";

#[test]
fn training_finds_more_moves() {
    for (model, target, rest) in [(TERMS, STRONG, DIRECT), (TERMS, "", DIRECT), (NET, "", STEPS)] {
        let run = Run::new(&config(model, target, rest), "2");
        let missed = column(&run.out, "train_loss");
        let [first, last] = [missed[0], missed[missed.len() - 1]];
        assert!(missed.len() > 3 && last < first - 0.003, "{model} {target}: {missed:?}");
    }
}

#[test]
fn killed_and_resumed_with_any_threads() {
    killed_and_resumed(&config(TERMS, STRONG, DIRECT), 2);
    killed_and_resumed(&config(NET, "", STEPS), 2);
    let windows = config(NET, "", STEPS).replace("[net]", "window = 300\n[net]");
    killed_and_resumed(&windows, 2);
    same_for_any_threads(&config(TERMS, STRONG, DIRECT));
    same_for_any_threads(&config(NET, "", STEPS));
}

#[test]
fn equal_moves_share_their_places() {
    assert_eq!(probability_of_first(&[3.0, 1.0, 2.0]), 1.0);
    assert_eq!(probability_of_first(&[3.0, 3.0, 3.0, 2.0]), 1.0 / 3.0);
    assert_eq!(probability_of_first(&[3.0, 3.5, 3.0]), 0.0);
}

#[test]
fn ranks_are_those_of_the_search() {
    let args = ["compare", "--moves", "--json", "material", "--data", NOTATED, "--all"];
    let report = json(nnuance().args(args));
    let samples = read(NOTATED).unwrap();
    let mut material = SearchTerms::new(HceEvaluator::new(&HceWeights::material_only()));
    let mut quiescence = Quiescence::new(200.0);
    let (mut first, mut positions) = (0.0, 0);
    for sample in &samples {
        let Sample { position, result, ply, played, .. } = sample;
        let chess = position.to_chess().unwrap();
        let moves = chess.legal_moves();
        if *result != 1.0 || ply.unwrap() < 16 || moves.len() < 2 {
            continue;
        }
        let wanted = played.unwrap().legal_move(&chess).unwrap();
        let mut score = |played| {
            let mut after = chess.clone();
            after.play_unchecked(played);
            -quiescence.find_quiet_end(&after, &mut material).unwrap().score
        };
        let right = score(wanted);
        let scores: Vec<i32> = moves.iter().map(|&played| score(played)).collect();
        if scores.iter().all(|&score| score <= right) {
            first += 1.0 / scores.iter().filter(|&&score| score == right).count() as f64;
        }
        positions += 1;
    }
    assert!(positions > 500, "{positions}");
    assert_eq!(report["positions"].as_u64(), Some(positions));
    let share = report["evaluations"][0]["first"]["mean"].as_f64().unwrap();
    assert!((share - first / positions as f64).abs() < 1e-9);
}
