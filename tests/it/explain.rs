//! Evaluations taken apart: the parts add up to the whole.

use nnuance::export::golden;
use nnuance::hce::{HceEvaluator, HceWeights, explain};
use nnuance::sample::Position;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::games;

/// Start values, material, and random ones that move everything in all directions.
fn weights() -> Vec<HceWeights> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut wild = HceWeights { tempo: 11.25, ..HceWeights::default() };
    for value in wild.values.iter_mut().flatten() {
        *value = random.random_range(-90.0..90.0);
    }
    let tempo = HceWeights { tempo: 17.5, ..HceWeights::default() };
    let unscaled = HceWeights { scale_factor: false, ..wild.clone() };
    vec![HceWeights::default(), HceWeights::material(), tempo, wild, unscaled]
}

fn positions() -> Vec<Position> {
    let mut positions = games::positions(4000, 11);
    positions.extend(games::recorded(4000).iter().map(|sample| sample.position));
    positions.extend(golden::FENS.map(|fen| Position::from_fen(fen).unwrap()));
    for fen in [
        "8/5k2/4b3/3p4/8/2PB4/4K3/8 w - - 0 50",
        "8/5k2/8/8/8/2B1N3/4K3/6r1 b - - 0 50",
        "4k3/8/3qn3/8/8/8/3Q4/4K3 w - - 0 50",
    ] {
        positions.push(Position::from_fen(fen).unwrap());
    }
    positions
}

#[test]
fn groups_and_terms_add_up_to_the_evaluation() {
    let (mut scaled, mut crossed, mut dangers) = (0, 0, 0);
    for weights in weights() {
        let evaluator = HceEvaluator::new(&weights);
        for position in positions() {
            let explanation = explain(&weights, &position);
            let total = evaluator.evaluate(&position);
            let white = position.turn().fold_wb(total, -total);
            let near = |found: f64, expected: f64, what: &str| {
                let off = (found - expected).abs();
                assert!(off < 1e-9, "{what}: {found}, not {expected}, at {}", position.fen());
            };
            near(explanation.total, total, "total");
            near(explanation.white_total, white, "for White");
            near(explanation.groups.iter().map(|group| group.white_cp).sum(), white, "groups");
            for group in explanation.groups.iter().filter(|group| group.name != "tempo") {
                let [middlegame, endgame] = group.white_phases;
                let [m, e] = explanation.shares;
                near(m * middlegame + e * endgame, group.white_cp, &group.name);
            }
            // The terms of one sort are their groups.
            let of =
                |kind: &'static str| explanation.terms.iter().filter(move |term| term.kind == kind);
            let linear: f64 = of("normal").map(|term| term.white_cp.unwrap()).sum();
            let named = |name: &str| {
                let group = explanation.groups.iter().find(|group| group.name == name);
                group.map_or(0.0, |group| group.white_cp)
            };
            let rest = ["safety", "complexity", "scale_factor", "tempo"].map(named);
            near(linear, white - rest.iter().sum::<f64>(), "terms");
            let sum: f64 =
                of("complexity").map(|term| f64::from(term.white_count) * term.weights[1]).sum();
            near(explanation.complexity, sum, "complexity");
            let danger = of("safety").map(|term| f64::from(term.black_count) * term.weights[0]);
            near(explanation.danger[1].sum[0], danger.sum(), "danger");
            scaled += usize::from(explanation.xi < 128 && named("scale_factor") != 0.0);
            crossed += usize::from(explanation.adjustment.abs() != explanation.complexity.abs());
            dangers += usize::from(explanation.danger[0].white_cp < 0.0);
        }
    }
    assert!(scaled > 0 && crossed > 100 && dangers > 1000, "{scaled} {crossed} {dangers}");
}

#[test]
fn a_term_is_shown_with_its_counts_and_its_share() {
    let mut weights = HceWeights::material();
    weights.tempo = 10.0;
    let position = Position::from_fen("4k3/pp6/8/8/8/8/PPP5/R3K3 b - - 0 1").unwrap();
    let explanation = explain(&weights, &position);
    let names: Vec<&str> = explanation.terms.iter().map(|term| &term.name[..]).collect();
    assert_eq!(names, ["material.pawn", "material.rook"]);
    assert_eq!((explanation.terms[0].white_count, explanation.terms[0].black_count), (3, 2));
    assert_eq!(explanation.terms[0].white_cp, Some(100.0));
    let groups: Vec<(&str, f64)> =
        explanation.groups.iter().map(|group| (&group.name[..], group.white_cp)).collect();
    assert_eq!(groups, [("material", 600.0), ("tempo", -10.0)]);
    assert_eq!((explanation.white_total, explanation.total), (590.0, -590.0));
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["groups"][1]["name"], "tempo");
}
