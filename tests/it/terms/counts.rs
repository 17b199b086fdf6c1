//! Counts of terms written by hand from the descriptions in the table of terms.

use nnuance::hce::terms::GROUPS;
use nnuance::hce::{Phase, Trace, evaluate_terms};

use crate::support::kit::*;

/// FENs without their counters, and terms with White's count and Black's.
const CASES: &str = include_str!("../fixtures/counts.txt");

/// The index of a term's group, which has the longest name with which the term's begins.
fn group_of_term(name: &str) -> usize {
    let groups = GROUPS.iter().enumerate().filter(|(_, group)| name.starts_with(group.name));
    groups.max_by_key(|(_, group)| group.name.len()).unwrap().0
}

#[test]
fn counts_made_by_hand() {
    let mut seen = [false; GROUPS.len()];
    let mut wrong = Vec::new();
    let cases = CASES.replace(",\n", ",");
    for case in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (fen, counts) = case.split_once(':').unwrap();
        let mut trace = Trace::default();
        evaluate_terms(&Position::from_fen(fen).unwrap(), &mut trace);
        for count in counts.split(',') {
            let [name, white, black] = count.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("{count}")
            };
            let term = term_named(name);
            let right = [white, black].map(|it| it.parse::<i32>().unwrap());
            seen[group_of_term(name)] |= right != [0, 0];
            let found = [Color::White, Color::Black].map(|colour| trace.term_count(term, colour));
            if found != right {
                wrong.push(format!("{fen}: {name} is {found:?}, not {right:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (group, seen) in GROUPS.iter().zip(seen) {
        assert!(seen, "{} has no count made by hand", group.name);
    }
}

#[test]
fn endgames_are_scaled() {
    for (fen, factor) in [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w", 128),
        ("4k3/pp6/8/8/8/8/PPP5/4K3 w", 128),
        // Opposite bishops; the same with a knight, a rook; with three pawns more; equal ones.
        ("4kb2/pp6/8/8/8/8/PPP5/4KB2 w", 64),
        ("4kbn1/pp6/8/8/8/8/PPP5/4KBN1 w", 96),
        ("4kb1r/pp6/8/8/8/8/PPP5/4KB1R w", 104),
        ("4kbnr/pp6/8/8/8/8/PPP5/4KBNR w", 128),
        ("4kb2/8/8/8/8/8/PPP5/4KB2 w", 128),
        ("2b1k3/pp6/8/8/8/8/PPP5/4KB2 w", 128),
        // A queen against two rooks, and against one.
        ("r2qk2r/8/8/8/8/8/PPP5/4K3 w", 128),
        ("r3k2r/p7/8/8/8/8/PPP5/3QK3 w", 88),
        ("r3k3/p7/8/8/8/8/PPP5/3QK3 w", 128),
        // No pawns and no more than a minor piece ahead.
        ("4k3/8/8/8/8/8/8/2B1K3 w", 16),
        ("4k3/8/8/8/8/8/8/1NN1K3 w", 16),
        ("3bk3/8/8/8/8/8/8/R3K3 w", 16),
        ("4k3/8/8/8/8/8/8/R3K3 w", 128),
        ("4k3/ppp5/8/8/8/8/8/2B1K3 w", 128),
    ] {
        let position = Position::from_fen(fen).unwrap();
        for position in [position, position.flip_colours()] {
            let phase = Phase::from_position(&position);
            assert_eq!(phase.scale_factor, factor, "{fen}");
            let [_, endgame] = phase.phase_shares();
            assert_eq!(endgame, f64::from(phase.endgame) / 256.0 * f64::from(factor) / 128.0);
            assert_eq!(f64::from(endgame as f32), endgame);
        }
    }
}
