//! Counts of terms written by hand from the descriptions in the table of terms.

use nnuance::hce::terms::GROUPS;
use nnuance::hce::{Phase, Trace, evaluate_terms};

use crate::support::kit::*;

/// FENs without their counters, and terms with White's count and Black's.
const CASES: &str = "
# The enemy king stands on the way.
# Twelve squares less e2.
4k3/8/8/8/8/8/4P3/4K3 w: material.pawn 1 0, psqt.pawn.e2 1 0, psqt.king.e1 1 1,
    mobility.king.4 1 1, pawns.isolated.e 1 0, pawns.passed.free.safe.2 1 0,
    pawns.passed.own.2.2 1 0, pawns.passed.other.5.2 1 0, pawns.passed.path 0 0, king.pawns.0 1 1,
    king.defenders.1 1 0, king.defenders.0 0 1, king.shelter.own.e.2 1 0,
    king.shelter.own.e.none 0 1, king.shelter.beside.d.none 1 1, king.storm.free.d.7 0 1,
    space.centre 11 12, space.restricted 0 0, complexity.pawns 1 0, complexity.ending 1 0,
    complexity.flanks 0 0, complexity.constant 1 0, king.safety.constant 0 0
8/8/8/1k6/8/8/7P/K7 w: pawns.passed.runner 1 0, pawns.passed.path 1 0
# One move earlier the king steps into the square.
8/8/8/1k6/8/8/7P/K7 b: pawns.passed.runner 0 0
4k3/8/8/8/8/8/8/N3K3 w: mobility.knight.2 1 0, knights.closed.0 1 0
4k3/8/8/8/8/8/8/B3K3 w: mobility.bishop.7 1 0, bishops.diagonal 1 0
4k3/8/8/8/8/8/8/R3K3 w: mobility.rook.10 1 0, rooks.open 1 0, rooks.closed.0 1 0,
    rooks.trapped 0 0, rooks.seventh 0 0
4k3/8/8/8/8/8/8/Q3K3 w: mobility.queen.17 1 0, queens.distance.5 1 0
4k3/8/8/8/8/8/1PP5/4K3 w: pawns.phalanx.2 2 0, pawns.supported.3 0 0
4k3/8/8/8/2P5/2P5/8/4K3 w: pawns.doubled.alone 1 0, pawns.isolated.c 2 0,
    pawns.passed.free.safe.4 1 0, pawns.passed.free.safe.3 0 0, pawns.passed.blocked.safe.3 0 0
4k3/8/8/8/2P5/1PP5/8/4K3 w: pawns.doubled.together 1 0, pawns.doubled.alone 0 0,
    pawns.phalanx.3 2 0, pawns.supported.4 1 0, pawns.passed.supported.4 1 0
# b5 is Black's rank 4.
4k3/8/8/1p6/3P4/2P5/8/4K3 w: pawns.backward.open.3 1 0, pawns.supported.4 1 0,
    pawns.isolated.b 0 1, pawns.candidate.now.3 0 0
4k3/8/1p6/8/1PP5/8/8/4K3 w: pawns.candidate.now.4 1 0
4k3/8/8/1p6/8/2P5/1P6/4K3 w: pawns.candidate.later.3 1 0
4k3/8/8/8/P7/8/8/R3K3 w: pawns.passed.rook.own 1 0
4k3/8/8/8/P7/8/8/r3K3 w: pawns.passed.rook.other 1 0
4k3/8/8/n7/P7/8/8/4K3 w: pawns.passed.blocked.safe.4 1 0
# Black's d3 is its rank 6, and White's king attacks d2.
4k3/8/8/8/8/3p4/8/4K3 w: pawns.passed.free.attacked.6 0 1
4k3/8/8/4N3/3P4/8/8/4K3 w: knights.outpost.centre.defended 1 0
4k3/8/3p4/8/N7/8/8/4K3 w: knights.outpost.side.alone 1 0
4k3/1p6/8/8/N7/8/8/4K3 w: knights.outpost.side.alone 0 0
4k3/8/8/B7/8/8/8/4K3 w: bishops.outpost.side.alone 1 0
4k3/8/8/8/4P3/4N3/8/4K3 w: knights.behind 1 0
4k3/8/8/8/4P3/4B3/8/4K3 w: bishops.behind 1 0, bishops.pawns 0 0
4k3/8/8/3p4/3P4/8/8/2B1K3 w: bishops.pawns 1 0, bishops.rammed 1 0, bishops.pair 0 0
4k3/8/8/8/8/8/8/2B1KB2 w: bishops.pair 1 0
4k3/p7/8/8/8/8/8/R3K3 w: rooks.half 1 0, rooks.open 0 0
4k3/R7/8/8/8/8/8/4K3 w: rooks.seventh 1 0
4k3/8/8/8/8/8/6PP/5K1R w: rooks.trapped 1 0
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w: rooks.closed.8 2 2, knights.closed.8 2 2,
    complexity.flanks 1 0
k3r3/8/8/8/4N3/8/8/K3Q3 w: queens.exposed 1 0
4k3/8/8/3n4/4P3/8/8/4K3 w: threats.pawn.knight 1 0, threats.hanging 1 0, threats.push 0 0
4k3/8/8/3n4/8/4P3/8/4K3 w: threats.push 1 0, threats.minor.pawn 0 1
4k3/8/8/3r4/8/2N5/8/4K3 w: threats.minor.rook 1 0
3qk3/8/8/8/8/8/8/3RK3 w: threats.rook.queen 1 0, threats.queen 0 1, threats.overloaded 1 1,
    threats.hanging 0 0
8/8/8/4k3/8/8/1p6/K7 w: threats.king 1 0
# Either king reaches d2, e2 and f2.
8/8/8/8/8/4k3/8/4K3 w: space.restricted 3 3
# a2 and b2, which the king alone defends.
# a8, f1, g1, h1 and g7.
4k3/8/8/8/8/8/6q1/K7 w: king.safety.constant 1 0, king.safety.attackers.queen 1 0,
    king.safety.attacks 2 0, king.safety.weak 2 0, king.safety.check.queen 5 0,
    king.safety.queenless 0 0, king.safety.shelter.a.none 1 0, king.safety.shelter.c.none 1 0,
    king.safety.storm.free.2 0 0
# Level with the king or ahead of it, and no own pawn below.
3rr1k1/8/8/8/8/8/p1P5/1K6 w: king.storm.free.a.2 1 0
1r2k3/8/8/8/8/1r6/p7/1K6 w: king.safety.storm.free.2 1 0, king.safety.queenless 1 0
8/8/8/8/8/1k6/8/K7 w: mobility.king.1 1 0
# a1, a2, a3 and b3.
rr2k3/8/8/8/8/1p6/1P6/K7 w: king.safety.attackers.rook 2 0, king.safety.attacks 4 0,
    king.safety.queenless 1 0, king.safety.shelter.b.2 1 0, king.safety.storm.blocked.3 1 0,
    king.safety.storm.free.3 0 0, king.storm.blocked.b.3 1 0
";
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
            let term = crate::support::kit::term_named(name);
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
