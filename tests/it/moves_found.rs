//! How often evaluations put the move first that was played.

use nnuance::batch::first;
use nnuance::hce::{HceEvaluator, HceWeights};
use nnuance::loader::{Part, Plan, collect};
use nnuance::sample::Sample;
use nnuance::search::{Quiescence, Terms};
use shakmaty::Position as _;

use crate::program::{json, nnuance};

const GAMES: &str = "data/selfplay_sf151_200games.pgn";

#[test]
fn equal_moves_share_their_places() {
    assert_eq!(first(&[3.0, 1.0, 2.0]), 1.0);
    assert_eq!(first(&[3.0, 3.0, 3.0, 2.0]), 1.0 / 3.0);
    assert_eq!(first(&[3.0, 3.5, 3.0]), 0.0);
}

/// Against each position searched move by move.
#[test]
fn ranks_are_those_of_the_search() {
    let args = ["compare", "--moves", "--json", "material", "--data", GAMES, "--all"];
    let told = json(nnuance().args(args));
    let samples = collect(&Plan::reading(vec![GAMES.into()]), Part::All, &|_| ()).unwrap();
    let mut material = Terms::new(HceEvaluator::new(&HceWeights::material()));
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
            -quiescence.end(&after, &mut material).unwrap().score
        };
        let right = score(wanted);
        let scores: Vec<i32> = moves.iter().map(|&played| score(played)).collect();
        if scores.iter().all(|&score| score <= right) {
            first += 1.0 / scores.iter().filter(|&&score| score == right).count() as f64;
        }
        positions += 1;
    }
    assert!(positions > 500, "{positions}");
    assert_eq!(told["positions"].as_u64(), Some(positions));
    let share = told["evaluations"][0]["first"]["mean"].as_f64().unwrap();
    assert!((share - first / positions as f64).abs() < 1e-9);
}
