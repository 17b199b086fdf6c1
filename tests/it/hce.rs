//! Handcrafted terms: the trace is the score, colours are equal, files say what is wrong.

use nnuance::batch::Terms;
use nnuance::hce::{
    Evaluator, HceWeights, Phase, Score, Term, Trace, encode, evaluate, terms::TERMS,
};
use nnuance::sample::Position;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::{Chess, Color, Position as _};

pub const PESTO: &str = include_str!("fixtures/pesto.json");

/// The positions of random games.
fn positions(games: u64) -> Vec<Position> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut positions = Vec::new();
    for _ in 0..games {
        let mut chess = Chess::default();
        for _ in 0..200 {
            positions.push(Position::from_chess(&chess));
            let moves = chess.legal_moves();
            if moves.is_empty() {
                break;
            }
            chess.play_unchecked(moves[random.next_u64() as usize % moves.len()]);
        }
    }
    positions
}

/// Weights that no two terms share.
fn odd_weights() -> HceWeights {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut weights = HceWeights::zero(173.5);
    let mut draw = || (random.next_u64() % 2001) as f64 / 4.0 - 250.0;
    Term::all().for_each(|term| weights.set(term, [draw(), draw()]));
    weights.tempo = 12.25;
    weights.source = Some("drawn \"by\" lot".to_string());
    weights
}

#[test]
fn every_term_has_its_name_and_start() {
    assert_eq!(TERMS, 5 + 6 * 64);
    for (i, term) in Term::all().enumerate() {
        assert_eq!((term.index(), Term::new(i)), (i, Some(term)));
        assert_eq!(Term::named(&term.name()), Some(term));
    }
    assert_eq!(Term::new(TERMS), None);
    let knight = Term::named("material.knight").unwrap();
    assert_eq!(knight.start(), [320, 320]);
    assert_eq!(Term::material(shakmaty::Role::Knight), Some(knight));
    assert_eq!(Term::material(shakmaty::Role::King), None);
    let e4 = Term::psqt(shakmaty::Role::Knight, shakmaty::Square::E4);
    assert_eq!((e4.name().as_str(), e4.start()), ("psqt.knight.e4", [0, 0]));
}

#[test]
fn phase_runs_from_0_to_256() {
    let rho = |fen: &str| Phase::of(&Position::from_fen(fen).unwrap()).rho();
    assert_eq!(rho("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), 0);
    assert_eq!(rho("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1"), 256);
    // lambda = 4 + 1: (256 * 19 + 12) / 24 = 203.17
    assert_eq!(rho("4k3/8/8/8/8/8/8/2Q1KN2 w - - 0 1"), 203);
    // Nine queens a side are no more than all pieces.
    assert_eq!(rho("qqqqkqqq/8/8/8/8/8/8/QQQQKQQQ w - - 0 1"), 0);
}

#[test]
fn trace_times_weights_is_the_score() {
    let weights = odd_weights();
    let integers = weights.integers();
    for position in positions(30) {
        let mut trace = Trace::default();
        evaluate(&position, &mut trace);
        let mut score = Score::new(&integers);
        evaluate(&position, &mut score);
        let mut sums = [0; 2];
        for term in Term::all() {
            let count = trace.count(term, Color::White) - trace.count(term, Color::Black);
            sums[0] += count * integers[term.index()][0];
            sums[1] += count * integers[term.index()][1];
        }
        assert_eq!(score.sums(), sums, "{position:?}");
        let phase = Phase::of(&position);
        let exact = phase.middlegame() * f64::from(sums[0]) + phase.endgame() * f64::from(sums[1]);
        assert_eq!(score.white(phase), exact.trunc() as i32, "{position:?}");
    }
}

#[test]
fn a_batch_holds_the_evaluation() {
    let weights = odd_weights();
    let tensors = weights.to_weights();
    let matrix = tensors.get("terms.weight", &[TERMS, 2]).unwrap();
    let tempo = f64::from(tensors.get("terms.tempo", &[1]).unwrap()[0]);
    let fast = Evaluator::new(&weights);
    let positions = positions(30);
    let mut batch = Terms::default();
    positions.iter().for_each(|position| encode(position, &mut batch));
    assert_eq!(batch.offsets.len(), positions.len() + 1);
    for (i, position) in positions.iter().enumerate() {
        let entries = batch.offsets[i] as usize..batch.offsets[i + 1] as usize;
        assert!(batch.term[entries.clone()].is_sorted_by(|a, b| a < b), "{position:?}");
        let mut white = tempo * f64::from(batch.turn[i]);
        for entry in entries {
            let count = f64::from(batch.coefficient[entry]);
            assert_ne!(count, 0.0);
            let row = 2 * usize::from(batch.term[entry]);
            white += count
                * (f64::from(batch.middlegame[i]) * f64::from(matrix[row])
                    + f64::from(batch.endgame[i]) * f64::from(matrix[row + 1]));
        }
        let stm = white * f64::from(batch.turn[i]);
        assert!((weights.evaluate(position) - stm).abs() < 1e-9, "{position:?}");
        assert!((fast.evaluate(position) - stm).abs() < 1e-9, "{position:?}");
    }
}

#[test]
fn colours_are_equal() {
    let weights = odd_weights();
    let fast = Evaluator::new(&weights);
    for position in positions(20) {
        let flipped = position.flipped();
        let gap = weights.evaluate(&position) - weights.evaluate(&flipped);
        assert!(gap.abs() < 1e-9, "{position:?}");
        assert!((fast.evaluate(&position) - fast.evaluate(&flipped)).abs() < 1e-9);
        let [mut batch, mut other] = [Terms::default(), Terms::default()];
        encode(&position, &mut batch);
        encode(&flipped, &mut other);
        other.coefficient.iter_mut().for_each(|count| *count = -*count);
        other.turn.iter_mut().for_each(|turn| *turn = -*turn);
        assert_eq!(batch, other, "{position:?}");
    }
}

#[test]
fn a_known_position_by_hand() {
    // White: Ke1 Pe2; Black: Ke8. No pieces: endgame only.
    let position = Position::from_fen("4k3/8/8/8/8/8/4P3/4K3 b - - 0 1").unwrap();
    let pesto = HceWeights::from_json(PESTO).unwrap();
    // Pawn 94, e2 13; the kings stand alike and cancel.
    assert_eq!(pesto.evaluate(&position), -107.0);
    assert_eq!(HceWeights::material().evaluate(&position), -100.0);
    let start = Position::from_fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    let mut tempo = HceWeights::default();
    tempo.tempo = 9.0;
    assert_eq!(tempo.evaluate(&start.unwrap()), 9.0);
}

#[test]
fn files_and_tensors_keep_the_weights() {
    for weights in [odd_weights(), HceWeights::default(), HceWeights::from_json(PESTO).unwrap()] {
        let text = weights.to_json();
        assert_eq!(HceWeights::from_json(&text).unwrap(), weights, "{text}");
        let mut back = HceWeights::from_weights(&weights.to_weights(), weights.scale).unwrap();
        back.source = weights.source.clone();
        assert_eq!(back, weights);
    }
    let mut weights = HceWeights::zero(400.0);
    weights.tempo = -0.004;
    let a8 = Term::named("psqt.rook.a8").unwrap();
    weights.set(a8, [1.2345, -7.0]);
    let rounded = weights.clone().rounded(2);
    assert_eq!((rounded.tempo, rounded.get(a8)), (0.0, [1.23, -7.0]));
    // Rank 8 comes first: the value stands in the first row, far left.
    let text = weights.to_json();
    let rook = text.split("\"rook\": {\n").nth(1).unwrap();
    assert!(rook.trim_start().starts_with("\"mg\": [\n        [1.2345, "), "{rook}");
    let error = HceWeights::from_weights(&Default::default(), 400.0).unwrap_err().to_string();
    assert!(error.contains("terms.weight is missing"), "{error}");
}

#[test]
fn wrong_files_say_what_is_wrong() {
    let good = HceWeights::default().to_json();
    for (from, to, expected) in [
        ("\"format\"", "\"form\"", "unknown key `form`"),
        ("nnuance-hce", "other", "`format` is \"other\", expected \"nnuance-hce\""),
        ("\"version\": 1", "\"version\": 2", "`version` is 2, expected 1"),
        ("rank 8 first", "rank 1 first", "`order` is"),
        ("\"scale\": 400", "\"scale\": 0", "`scale` is 0.0, expected centipawns above 0"),
        ("\"scale\": 400,", "", "`scale` is missing"),
        ("\"tempo\": 0", "\"tempo\": \"x\"", "`tempo` is \"x\", expected a number"),
        ("\"pawn\": { \"mg\"", "\"pawm\": { \"mg\"", "unknown key `material.pawm`"),
        ("\"pawn\": { \"mg\": 100, \"eg\": 100 },", "", "`material.pawn` is missing"),
        ("\"mg\": 320,", "", "`material.knight.mg` is missing"),
        ("[0, 0, 0, 0, 0, 0, 0, 0]", "[0, 0]", "`psqt.pawn.mg[0]` is a list of 2, expected"),
        ("[0, 0,", "[0, null,", "`psqt.pawn.mg[0][1]` is null, expected a number"),
        ("\"psqt\": {", "\"psqt\": 7, \"x\": {", "unknown key `x`"),
        ("{", "[", "not JSON"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = HceWeights::from_json(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
    let error = HceWeights::from_json("[]").unwrap_err().to_string();
    assert_eq!(error, "`the file` is a list of 0, expected an object { ... }");
    let text = "{ \"format\": \"nnuance-hce\", \"version\": 1, \"scale\": 100 }";
    assert_eq!(HceWeights::from_json(text).unwrap(), HceWeights::zero(100.0));
}

#[test]
fn a_file_that_is_none_says_so_once() {
    let text = HceWeights::default().to_json().replacen("\"scale\":", "\"scale\"", 1);
    let error = anyhow::Error::from(HceWeights::from_json(&text).unwrap_err());
    let said = format!("{error:#}");
    assert_eq!(said.matches(" at line ").count(), 1, "{said}");
    let manifest = std::fs::read_to_string("nets/quickstart-32.json").unwrap();
    let error = HceWeights::from_json(&manifest).unwrap_err().to_string();
    assert_eq!(error, "this is the manifest of a net; name the .bin");
}
