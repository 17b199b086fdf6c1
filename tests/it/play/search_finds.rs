//! Known results of searches, and their limits.

use std::sync::atomic::{AtomicBool, Ordering};

use nnuance::score::Score;
use nnuance::search::{
    Limits, MAX_DEPTH, SearchGame, SearchResult, SearchSettings, SearchTerms, Searcher,
    static_exchange,
};

use crate::play::search_walks::KIWIPETE;
use crate::support::kit::*;

const SCALE: f64 = 200.0;

fn material() -> SearchTerms {
    SearchTerms::new(HceEvaluator::new(&HceWeights::material_only()))
}

fn game(fen: &str, moves: &str) -> SearchGame {
    let mut game = SearchGame::new(Position::from_fen(fen).unwrap().to_chess().unwrap());
    for word in moves.split_whitespace() {
        game.play_move(word.parse::<UciMove>().unwrap().to_move(game.chess()).unwrap());
    }
    game
}

/// Result of a new searcher, and its number of iterations.
fn ask(game: &SearchGame, limits: Limits) -> (SearchResult, usize) {
    ask_for_mate(game, limits, None)
}

fn ask_for_mate(game: &SearchGame, limits: Limits, moves: Option<i32>) -> (SearchResult, usize) {
    let (mut iterations, stop) = (0, AtomicBool::new(false));
    let question = SearchSettings { limits, scale: SCALE };
    let mut watch = |found: &SearchResult| {
        iterations += 1;
        let ends = moves.is_some_and(|moves| found.score == Score::Mate(moves));
        stop.store(ends, Ordering::Relaxed);
    };
    let found =
        Searcher::new(2).search_position(game, &mut material(), &question, &stop, &mut watch);
    (found, iterations)
}

fn depth(depth: u32) -> Limits {
    Limits { depth: Some(depth), ..Limits::default() }
}

fn nodes(nodes: u64) -> Limits {
    Limits { nodes: Some(nodes), ..Limits::default() }
}

fn best(found: &SearchResult) -> String {
    let best = found.pv.first().map(|best| best.to_uci(CastlingMode::Standard).to_string());
    best.unwrap_or_default()
}

#[test]
fn mates_are_found_and_counted() {
    let mates = [
        ("7k/8/6K1/8/8/8/8/R7 w - - 0 1", 1, "a1a8"),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2, "a1a6"),
        ("r1bq2r1/b4pk1/p1pp1p2/1p2pP2/1P2P1PB/3P4/1PPQ2P1/R3K2R w KQ - 0 1", 2, "d2h6"),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 3, "f6a6"),
        ("7R/r1p1q1pp/3k4/1p1n1Q2/3N4/8/1PP2PPP/2B3K1 w - - 1 1", 4, "h8d8"),
        // Several moves do here; Stockfish 15.1 finds none that is faster.
        ("8/8/2k5/8/8/8/8/K5RR w - - 0 1", 5, ""),
    ];
    for (fen, moves, first) in mates {
        let (found, _) = ask_for_mate(&game(fen, ""), nodes(4_000_000), Some(moves));
        assert_eq!(found.score, Score::Mate(moves), "{fen} {found:?}");
        assert_eq!(found.pv.len(), 2 * moves as usize - 1, "{fen}");
        if first.is_empty() {
            continue;
        }
        assert_eq!(best(&found), first, "{fen}");
        // The mated side has the same score.
        let after = game(fen, first);
        let (found, _) = ask(&after, nodes(500_000));
        assert_eq!(found.score, Score::Mate(1 - moves), "{fen} after {first}");
    }
}

#[test]
fn finished_games_have_no_move() {
    for (fen, score) in [
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Score::Centipawns(0)),
        ("R6k/8/6K1/8/8/8/8/8 b - - 0 1", Score::Mate(0)),
    ] {
        let (found, iterations) = ask(&game(fen, ""), depth(5));
        assert_eq!((found.score, found.pv.len()), (score, 0), "{fen}");
        assert_eq!((found.nodes, iterations), (0, 0));
    }
}

#[test]
fn draws_by_rule_are_zero() {
    let zero = Score::Centipawns(0);
    // A rook ahead, but the next quiet move is the fiftieth; mate comes before that.
    let (found, _) = ask(&game("8/8/8/3k4/8/8/7R/3K4 w - - 99 90", ""), depth(6));
    assert_eq!(found.score, zero);
    let (found, _) = ask(&game("8/8/8/3k4/8/8/7R/3K4 w - - 9 90", ""), depth(6));
    assert!(found.score.to_centipawns() > 400, "{found:?}");
    let (found, _) = ask(&game("7k/8/6K1/8/8/8/8/R7 w - - 99 90", ""), depth(4));
    assert_eq!(found.score, Score::Mate(1));
    // Kings alone.
    let (found, _) = ask(&game("8/8/4k3/8/8/8/3pK3/8 w - - 0 1", ""), depth(6));
    assert_eq!((found.score, &best(&found)[..]), (zero, "e2d2"));
}

#[test]
fn repetitions_follow_the_score() {
    let twice = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    let behind = game("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1", twice);
    assert_eq!(behind.count_occurrences(), 3);
    for half_moves in [1, 3, 6] {
        let (found, _) = ask(&behind, depth(half_moves));
        assert_eq!((found.score, &best(&found)[..]), (Score::Centipawns(0), "g1f3"));
    }
    let ahead = game("rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", twice);
    let (found, _) = ask(&ahead, depth(6));
    assert!(found.score.to_centipawns() > 500 && best(&found) != "g1f3", "{found:?}");
    // A move of a pawn, and nothing before it can come again.
    let mut fresh = behind.clone();
    fresh.play_move("e2e4".parse::<UciMove>().unwrap().to_move(fresh.chess()).unwrap());
    assert_eq!(fresh.count_occurrences(), 1);
}

#[test]
fn searches_are_deterministic() {
    for fen in [KIWIPETE, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"] {
        let game = game(fen, "");
        for limits in [depth(7), nodes(20_000)] {
            assert_eq!(ask(&game, limits), ask(&game, limits));
        }
        // A cleared searcher equals a new one.
        let question = SearchSettings { limits: nodes(20_000), scale: SCALE };
        let stop = AtomicBool::new(false);
        let mut searcher = Searcher::new(2);
        let search = |searcher: &mut Searcher| {
            searcher.search_position(&game, &mut material(), &question, &stop, &mut |_| ())
        };
        let first = search(&mut searcher);
        assert_ne!(search(&mut searcher), first, "what was found before helps");
        searcher.clear_memory();
        assert_eq!(search(&mut searcher), first);
    }
}

#[test]
fn limits_are_kept() {
    let game = game(KIWIPETE, "");
    for most in [0, 1, 2, 10, 100, 1000, 12_345] {
        let (found, _) = ask(&game, nodes(most));
        assert_eq!(found.nodes, most);
        assert!(found.pv.first().is_some_and(|best| game.chess().is_legal(*best)));
    }
    let (found, iterations) = ask(&game, depth(5));
    assert_eq!((found.depth, iterations), (5, 5));
    assert!(found.seldepth >= 5);
    // Soft: the iteration that passes the limit is finished.
    let (soft, iterations) = ask(&game, Limits { soft_nodes: Some(5000), ..Limits::default() });
    assert!(soft.nodes >= 5000 && iterations == soft.depth as usize);
    assert!(ask(&game, depth(soft.depth - 1)).0.nodes < 5000);
    let question = SearchSettings { limits: Limits::default(), scale: SCALE };
    let is_stopped = AtomicBool::new(true);
    let found = Searcher::new(1).search_position(
        &game,
        &mut material(),
        &question,
        &is_stopped,
        &mut |_| (),
    );
    assert!(found.nodes == 0 && !found.pv.is_empty());
    // A position with few moves reaches the deepest iteration.
    let (found, _) = ask(&self::game("8/8/8/8/8/p1k5/P7/K7 w - - 98 90", ""), Limits::default());
    assert_eq!(found.depth, MAX_DEPTH);
}

/// Pawns, minor pieces, rooks and queens count 100, 300, 500 and 900.
const EXCHANGES: [(&str, &str, i32); 16] = [
    // No recapture.
    ("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", 100),
    // Knight for pawn: rook and queen stand behind, but so do knight, bishop and queen.
    ("1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "d3e5", -200),
    // Quiet moves: to a safe square, and to one that a pawn attacks.
    ("4k3/8/3p4/8/8/8/8/R3K3 w - - 0 1", "a1a5", 0),
    ("4k3/8/3p4/8/8/8/8/4K2R w - - 0 1", "h1h5", 0),
    ("3k4/8/3p4/8/8/8/4R3/4K3 w - - 0 1", "e2e5", -500),
    // Defended once, attacked once: rook for rook.
    ("3rk3/8/8/3r4/8/8/3R4/4K3 w - - 0 1", "d2d5", 0),
    // The second rook stands behind the first.
    ("3rk3/8/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 100),
    ("3rk3/3r4/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", -400),
    // The king captures undefended pieces only.
    ("8/8/3k4/3p4/8/8/3R4/4K3 w - - 0 1", "d2d5", -400),
    ("8/8/3k4/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 100),
    // A pawn captures first.
    ("4k3/2n1p3/3q4/8/4N3/8/8/4K3 w - - 0 1", "e4d6", 600),
    // In passing, and back.
    ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 100),
    ("4k3/2p5/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 0),
    // Promotions, alone and to a defended square.
    ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", 800),
    ("1r6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", -100),
    // Castling cannot be captured.
    ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1h1", 0),
];

#[test]
fn exchanges_match_hand_counts() {
    for (fen, word, expected) in EXCHANGES {
        let chess = Position::from_fen(fen).unwrap().to_chess().unwrap();
        let played = word.parse::<UciMove>().unwrap().to_move(&chess).unwrap();
        assert_eq!(static_exchange(&chess, played), expected, "{fen} {word}");
        // The same with colours swapped.
        let flipped = Position::from_fen(fen).unwrap().flip_colours().to_chess().unwrap();
        let played = played.to_mirrored();
        assert_eq!(static_exchange(&flipped, played), expected, "{fen} {word}, flipped");
    }
}
