//! `nnuance uci`: dialogue with an interface.

use nnuance::interface::{Budget, Clock};

use crate::support::kit::*;

fn talk(evaluation: &str, lines: &[&str]) -> Vec<String> {
    let input = lines.join("\n") + "\n";
    let output = feed_command(nnuance().args(["uci", evaluation]), input.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_string).collect()
}

fn bests(said: &[String]) -> Vec<&str> {
    let best = |line: &String| line.starts_with("bestmove");
    said.iter().filter(|line| best(line)).map(|line| line.split(' ').nth(1).unwrap()).collect()
}

/// Output for each depth, without times.
fn timeless(said: &[String]) -> Vec<[String; 2]> {
    let of = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        let place = |name: &str| words.iter().position(|word| *word == name);
        let (nodes, pv) = (place("nodes").unwrap(), place("pv").unwrap());
        [words[..nodes + 2].join(" "), words[pv..].join(" ")]
    };
    said.iter().filter(|line| line.starts_with("info depth")).map(of).collect()
}

#[test]
fn identification() {
    let said = talk(QUICKSTART, &["uci", "isready", "quit"]);
    assert!(said[0].starts_with("id name nnuance "), "{said:?}");
    assert_eq!(said[said.len() - 2..], ["uciok", "readyok"]);
}

/// Any change of the search changes these counts: of pruning, of the table, of where repetitions end.
#[test]
fn nodes_of_known_searches() {
    for (fen, nodes) in [
        ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 31_338),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4_133),
        ("8/8/4k3/3p4/3P4/4K3/2R5/4r3 w - - 20 60", 9_601),
    ] {
        let position = format!("position fen {fen}");
        let twice = [&position, "go depth 9", "ucinewgame", &position, "go depth 9"];
        for evaluation in [QUICKSTART, "material"] {
            let depths = timeless(&talk(evaluation, &twice));
            let (once, again) = depths.split_at(depths.len() / 2);
            assert_eq!(once, again);
            let [last, _] = again.last().expect("a depth");
            let known = last.ends_with(&format!(" nodes {nodes}"));
            assert!(known || evaluation == QUICKSTART, "{last}");
        }
    }
}

/// Wherever a search is stopped, its last line begins with the move that is played.
#[test]
fn best_move_is_last_pv() {
    let position = "position fen r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 9";
    let mut changed = 0;
    for nodes in (50..3000).step_by(61) {
        let said = talk(QUICKSTART, &[position, &format!("go nodes {nodes}")]);
        let lines = said.iter().filter_map(|line| line.split_once(" pv "));
        let moves: Vec<&str> = lines.map(|(_, pv)| pv.split(' ').next().unwrap()).collect();
        assert_eq!(moves.last(), bests(&said).first(), "{said:?}");
        changed += moves.windows(2).filter(|two| two[0] != two[1]).count();
    }
    assert!(changed > 10, "{changed}");
}

#[test]
fn castling_in_both_notations() {
    let fen = "position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1 moves";
    let said = talk("material", &[&format!("{fen} e1g1"), "d"]);
    assert!(said[0].starts_with("4k3/8/8/8/8/8/8/5RK1 b"), "{said:?}");
    let chess960 = ["setoption name UCI_Chess960 value true", &format!("{fen} e1h1"), "d"];
    let said = talk("material", &chess960);
    assert!(said[0].starts_with("4k3/8/8/8/8/8/8/5RK1 b"), "{said:?}");
}

#[test]
fn clocks_and_stops_end_a_search() {
    for lines in [
        &["position startpos", "go movetime 30", "isready"][..],
        &["go wtime 500 btime 500 winc 10 binc 10"],
        &["go infinite", "stop"],
        &["go infinite"],
        &["go infinite", "quit"],
    ] {
        assert_eq!(bests(&talk(QUICKSTART, lines)).len(), 1);
    }
}

#[test]
fn wrong_commands_change_nothing() {
    let lines = [
        "position startpos moves e2e4",
        "position startpos moves e2e5",
        "position fen nonsense",
        "setoption name Hash value 0",
        "setoption name Nonsense value 1",
        "what is this",
        "d",
    ];
    let said = talk("material", &lines);
    assert!(said.len() == 5 && said[..4].iter().all(|line| line.starts_with("info string ")));
    assert!(said[4].starts_with("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq"));
}

/// The protocol has no refusal of a search: whatever the arguments, there is a move.
#[test]
fn any_go_is_answered() {
    for (side, arguments) in [
        ("", "btime 3000"),
        ("moves e2e4", "wtime 3000"),
        ("", "movestogo 20 btime 3000"),
        ("", "winc 100 binc 100 btime 3000"),
        ("", "wtime 1000.5 btime 1000.5"),
        ("", "movetime 10.0"),
        ("", "movetime -100"),
        ("", "wtime btime 1000"),
        ("", "movetime nan depth 3"),
        ("", "nodes many depth 3"),
        ("", "nodes 18446744073709551616"),
        ("", "movetime 1e30"),
        ("", "wtime -1e30 btime 5"),
        // More than a search reaches within a day: the end of input stops them.
        ("", "nodes 1000000000000"),
        ("", "depth 100"),
        ("", "movetime 99999999999999"),
        ("moves e2e4", "wtime 1000 btime 9223372036854775807"),
    ] {
        let position = format!("position startpos {side}");
        let said = talk("material", &[position.trim(), &format!("go {arguments}")]);
        assert_eq!(bests(&said).len(), 1, "{arguments}: {said:?}");
    }
}

#[test]
fn budgets_stay_within_the_clock() {
    for time in [0, 1, 10, 100, 1_000, 60_000, 3_600_000] {
        for increment in [0, 10, 1_000, 30_000] {
            for moves_to_go in [None, Some(1), Some(2), Some(40)] {
                for overhead in [0, 10, 500] {
                    let clock = Clock { time, increment, moves_to_go };
                    let Budget { soft, hard } = clock.divide_time(overhead);
                    assert!((1..=hard).contains(&soft), "{clock:?}");
                    assert!(hard <= time.saturating_sub(overhead).max(1), "{clock:?}");
                }
            }
        }
    }
}

#[test]
fn searchmoves_are_the_only_ones() {
    for moves in ["a2a3", "h2h4 b1a3", "a2a3 e2e5"] {
        let go = format!("go depth 3 searchmoves {moves}");
        let said = talk("material", &["position startpos", &go, "go depth 2", "quit"]);
        let best = bests(&said);
        assert!(moves.contains(best[0]) && best.len() == 2, "{said:?}");
    }
}
