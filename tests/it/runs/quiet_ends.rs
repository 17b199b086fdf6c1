//! Positions evaluated at the ends of their quiescence searches.

use nnuance::export;
use nnuance::loader::Prepare as _;
use nnuance::net::Accumulator;
use nnuance::run::objective::{QuietEnds, QuietSearcher};
use nnuance::search::{Evaluate, Quiescence, SearchTerms, static_exchange};

use crate::support::kit::*;

const INFINITE: i32 = 40_000;

/// The definition: the better of standing pat and the best capture or promotion that loses nothing
/// in exchanges. None if a position on the path is in check, or has no move.
fn slowly(chess: &Chess, value: &mut dyn FnMut(&Position) -> i32) -> Option<i32> {
    if chess.is_check() || chess.is_insufficient_material() || chess.legal_moves().is_empty() {
        return None;
    }
    let mut best = value(&Position::from_chess(chess));
    for played in chess.legal_moves() {
        let noisy = played.is_capture() || played.is_promotion();
        let strange = played.promotion().is_some_and(|role| role != shakmaty::Role::Queen);
        if !noisy || strange || static_exchange(chess, played) < 0 {
            continue;
        }
        let mut after = chess.clone();
        after.play_unchecked(played);
        best = best.max(-slowly(&after, value)?);
    }
    Some(best)
}

fn positions() -> Vec<Position> {
    let samples = collect_samples(&ReadPlan::new(vec![NOTATED.into()]), None, &|_| ()).unwrap();
    let real = samples.iter().step_by(29).map(|sample| sample.position);
    real.chain(playouts::positions(2000, 9).into_iter().step_by(5)).collect()
}

/// Without futility pruning the search equals the definition, as its score does its end's.
fn ends_are_right(evaluation: &mut dyn Evaluate, value: &mut dyn FnMut(&Position) -> i32) {
    let (mut compared, mut moved, mut decided) = (0, 0, 0);
    for (scale, position) in positions().iter().flat_map(|it| [(1e6, it), (160.0, it)]) {
        let Ok(chess) = position.to_chess() else { continue };
        let end = Quiescence::new(scale).find_quiet_end(&chess, evaluation).unwrap();
        if end.is_decided {
            decided += 1;
            continue;
        }
        assert_eq!(end.score, end.sign() * value(&end.position), "{position:?} {end:?}");
        assert_eq!(end.sign() == 1, end.position.turn() == position.turn());
        moved += i32::from(end.plies > 0);
        if scale == 1e6
            && let Some(score) = slowly(&chess, value)
        {
            assert_eq!(end.score, score, "{position:?} {end:?}");
            compared += 1;
        }
    }
    assert!(compared > 300 && moved > 200 && decided < compared, "{compared} {moved} {decided}");
}

#[test]
fn scores_are_those_of_leaves() {
    let weights = HceWeights::of_list(nnuance::hce::terms::built_in_list(), 400.0);
    let evaluator = HceEvaluator::new(&weights);
    let mut value = |position: &Position| evaluator.evaluate(position).round() as i32;
    ends_are_right(&mut SearchTerms::new(evaluator.clone()), &mut value);
    let net = export::load_net(QUICKSTART.as_ref()).unwrap().net;
    let start = Position::from_chess(&Chess::new());
    ends_are_right(&mut Accumulator::new(&net, &start), &mut |position| net.evaluate(position));
}

#[test]
fn capture_explosion_is_bounded() {
    // Queens that can take each other in any order.
    let fen = "qqqk4/qqq5/8/8/8/8/QQQ5/QQQK4 w - - 0 1";
    let chess = Position::from_fen(fen).unwrap().to_chess().unwrap();
    let mut terms = SearchTerms::new(HceEvaluator::new(&HceWeights::material_only()));
    let end = Quiescence::new(160.0).find_quiet_end(&chess, &mut terms);
    assert!(end.is_none_or(|end| end.score.abs() < INFINITE));
}

fn config(model: &str, wdl: f64, rest: &str) -> String {
    format!(
        "version = 3\nseed = 3\n\
         [data]\nfiles = [\"{GAMES}\"]\nlimit = 6000\nheld_out = 0.2\n\
         {model}\n\
         [target]\nscale = 160\nwdl = {wdl:?}\nlearn = \"quiescence\"\n\
         {rest}\n"
    )
}

/// None is rare: that is counted in the original positions.
const TERMS: &str = "[terms]\nrare = 0\n\
                     tune = [\"material\", \"mobility\", \"king.safety\", \"tempo\"]";
const NET: &str = "[net]\ninputs = \"perspective\"\nmirror = false\nstart_size = 1.0\nhidden = 16";
const DIRECT: &str = "[optimizer]\nname = \"gauss-newton\"\n[schedule]\nepochs = 6";
const STEPS: &str = "[schedule]\nepochs = 11\nbatch = 700\nlearning_rate = 0.01\nvalidations = 12";

#[test]
fn round_equals_a_run_on_leaves() {
    let folder = Workdir::empty();
    let text = config(TERMS, 1.0, DIRECT).replace("epochs = 6", "epochs = 1");
    let text = text.replace("held_out = 0.2", "held_out = 0");
    let out = folder.path("quiet");
    said(&mut train(&folder.write("run.toml", &text), &out));
    let (_, recipe) = recipe::open_checkpoint(&out.join("last.safetensors")).unwrap();
    let round = checkpoint(&out, "round.safetensors");
    assert_eq!(round.state.step, 0);
    let ends = QuietEnds(QuietSearcher::from_weights(&recipe, &round.weights).unwrap());

    let plan = plan_first_positions(GAMES, 6000);
    let samples = collect_samples(&plan, None, &|_| ()).unwrap();
    let end = |(sample, rows): (&Sample, Vec<(Position, f64)>)| {
        let (position, _) = rows[0];
        let same = position.turn() == sample.position.turn();
        Sample { position, ..if same { *sample } else { games::turned(sample) } }
    };
    let quiet: Vec<Sample> = samples.iter().zip(ends.prepare_rows(&samples)).map(end).collect();
    let turned = |(one, other): &(&Sample, &Sample)| one.position.turn() != other.position.turn();
    assert!(samples.iter().zip(&quiet).filter(turned).count() > 500);
    let line = |sample: &Sample| {
        let white = sample.position.turn().is_white();
        let of_white = if white { *sample } else { games::turned(sample) };
        let Sample { position, result, score, .. } = of_white;
        format!("{} | {} | {result:.1}\n", position.to_fen(), score.unwrap())
    };
    let file = folder.path("quiet.txt");
    fs::write(&file, quiet.iter().map(line).collect::<String>()).unwrap();

    let given = text.replace("learn = \"quiescence\"", "");
    let given = given.replace(GAMES, file.to_str().unwrap());
    let other = folder.path("given");
    said(&mut train(&folder.write("run.toml", &given), &other));
    let weights = |out: &Path| checkpoint(out, "last.safetensors").weights;
    assert!(weights(&out) == weights(&other));
}

#[test]
fn killed_and_resumed_with_any_threads() {
    killed_and_resumed(&config(TERMS, 1.0, DIRECT), 3);
    killed_and_resumed(&config(TERMS, 0.5, STEPS), 2);
    killed_and_resumed(&config(NET, 0.5, STEPS), 3);
    let windows = config(NET, 0.5, STEPS).replace("[net]", "window = 2048\n[net]");
    killed_and_resumed(&windows, 2);
    for model in [TERMS, NET] {
        same_for_any_threads(&config(model, 0.5, &STEPS.replace("11", "3")));
    }
}
