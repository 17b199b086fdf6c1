//! How often evaluations put the move first that was played.

use nnuance::hce::{HceEvaluator, HceWeights};
use nnuance::loader::{Part, Plan, collect};
use nnuance::report::found;
use nnuance::report::found::{PLACES, Place, Ranked};
use nnuance::report::groups::Groups;
use nnuance::sample::Sample;
use nnuance::search::{Quiescence, Terms};
use serde_json::Value;
use shakmaty::Position as _;

use crate::tuning::{complaint, nnuance, said};

const GAMES: &str = "data/selfplay_sf151_200games.pgn";

fn places(of: &[(u32, u32, u32)]) -> Vec<Place> {
    of.iter().map(|&(ahead, level, of)| Place { ahead, level, of }).collect()
}

#[test]
fn places_are_shared_by_moves_of_the_same_score() {
    let place = Place { ahead: 1, level: 2, of: 10 };
    // Second, third or fourth.
    assert_eq!(
        [1, 2, 3, 4, 5].map(|count| place.among_first(count)),
        [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0, 1.0]
    );
    assert_eq!(place.mean(), 3.0);
}

#[test]
fn who_says_the_same_of_all_moves_finds_what_chance_does() {
    let same = places(&[(0, 19, 20), (0, 29, 30), (0, 3, 4), (0, 1, 2)].repeat(20));
    let right = places(&[(0, 0, 20), (0, 0, 30), (2, 0, 4), (0, 1, 2)].repeat(20));
    let groups = Groups::new((0..80).map(|i| i / 2));
    let named = |name: &str, places| Ranked { name: name.into(), doubt: None, places };
    let found = found(vec![named("same", same), named("right", right)], &groups, "games");
    let [right, same] = &found.evaluations[..] else { panic!("two evaluations") };
    assert_eq!((&right.name[..], &same.name[..]), ("right", "same"));
    assert_eq!(same.first.mean, found.by_chance.first.mean);
    assert_eq!(same.histogram, found.by_chance.histogram);
    let expected = (1.0 / 20.0 + 1.0 / 30.0 + 1.0 / 4.0 + 1.0 / 2.0) / 4.0;
    assert!((same.first.mean - expected).abs() < 1e-12);
    assert!((right.first.mean - 2.5 / 4.0).abs() < 1e-12);
    for one in [right, same] {
        assert_eq!(one.histogram.len(), PLACES.len() + 1);
        assert!((one.histogram.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
    assert!(found.sentences[0].starts_with("right finds more of the moves than same"));
    let text = found.text();
    assert!(text.starts_with("right finds more") && text.contains("chance"), "{text}");
}

fn compared(args: &[&str]) -> (Value, String) {
    let [told, notes] = said(nnuance().args(["compare", "--moves", "--json"]).args(args));
    (serde_json::from_str(&told).unwrap(), notes)
}

/// Against a look at each position, move by move.
#[test]
fn moves_are_found_as_the_quiescence_search_ranks_them() {
    let (told, _) = compared(&["material", "--data", GAMES, "--all"]);
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
    let (both, _) = compared(&["material", "--data", GAMES, "--all", "--both-sides"]);
    assert!(both["positions"].as_u64().unwrap() > positions + 400);
}

#[test]
fn what_knows_no_moves_is_refused() {
    let refused = |args: &[&str]| complaint(nnuance().args(["compare", "--moves"]).args(args));
    let text = ["material", "--data", "data/selfplay_sf151_scored.txt"];
    assert!(refused(&text).contains("knows the move that was played"));
    assert!(refused(&["score", "--data", GAMES]).contains("score"));
    assert!(refused(&["material", "--data", GAMES, "--deep"]).contains("cannot be used with"));
}
