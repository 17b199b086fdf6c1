//! PGN: scores in comments.

use crate::formats::read_bytes;
use crate::pgn::game;

fn scores(moves: &str) -> Vec<Option<i16>> {
    let samples = read_bytes(game(moves).as_bytes()).unwrap();
    samples.iter().map(|sample| sample.score).collect()
}

#[test]
fn scores_of_tournament_programs() {
    // The mover's, of the position before the move.
    for (comment, score) in [
        ("+0.35/12 0.10s", Some(35)),
        ("-0.35/12", Some(-35)),
        ("0.00/29 5.3s, Draw by adjudication", Some(0)),
        ("12.5/9", Some(1250)),
        ("+0.3/9", Some(30)),
        ("-1.005/3", Some(-101)),
        ("+M5/20 1.0s", Some(31_995)),
        ("-M4/20", Some(-31_996)),
        ("+M0/20", Some(31_999)),
        ("-320.00/20", Some(-31_999)),
        ("+99999999999999999999.0/20", Some(31_999)),
        ("-M99999999999/20", Some(-31_000)),
        ("book", None),
        ("1/2 was offered", None),
        ("12/20", None),
        ("+0.35", None),
        ("e4 +0.35/12", None),
    ] {
        let found = scores(&format!("1. e4 e5 {{{comment}}} 2. Nf3"));
        assert_eq!(found, [None, score, None], "{comment}");
        let found = scores(&format!("1. e4 e5 2. Nf3 {{{comment}}} Nc6"));
        assert_eq!(found, [None, None, score, None], "{comment}");
    }
}

#[test]
fn scores_of_tcec() {
    // White's, of the position before the move.
    for (comment, white) in [
        ("d=26, sd=40, mt=161000, s=21, n=35, pv=Nb3 Be7, tb=0, wv=1.04, R50=49,", Some(104)),
        ("wv=-0.13", Some(-13)),
        ("d=9, wv=M12, R50=3", Some(31_988)),
        ("d=9, wv=-M12,", Some(-31_988)),
        ("d=9, wv=#-3,", Some(-31_997)),
        ("d=9, wv=#7,", Some(31_993)),
        ("d=9,wv=0.00,", Some(0)),
        ("book, mb=+0+0+0+0+0,", None),
        ("pwv=1.04", None),
        ("wv=none", None),
    ] {
        let found = scores(&format!("1. e4 {{{comment}}} e5 2. Nf3"));
        assert_eq!(found, [white, None, None], "{comment}");
        let found = scores(&format!("1. e4 e5 {{{comment}}} 2. Nf3"));
        assert_eq!(found, [None, white.map(|white| -white), None], "{comment}");
    }
}

#[test]
fn scores_of_lichess() {
    // White's, of the position after the move.
    for (comment, score) in [
        ("[%eval 0.17]", 17),
        ("[%eval -1.5,30]", -150),
        (" [%clk 0:10:00] [%eval 0.2] ", 20),
        ("[%eval 0.17] [%clk 0:05:00] Better is Nc3.", 17),
        // White mates with the fifth of its moves, so after nine half-moves.
        ("[%eval #5]", 31_991),
        // Black mates, but White moves before each of its moves.
        ("[%eval #-5]", -31_990),
    ] {
        let found = scores(&format!("1. e4 e5 {{{comment}}} 2. Nf3"));
        assert_eq!(found, [None, None, Some(score)], "{comment}");
        let found = scores(&format!("{{{comment}}} 1. e4 e5"));
        assert_eq!(found, [Some(score), None], "{comment}");
    }
    for (comment, score) in
        [("[%eval 0.17]", -17), ("[%eval #5]", -31_990), ("[%eval #-5]", 31_991)]
    {
        let found = scores(&format!("1. e4 {{{comment}}} e5 2. Nf3 {{{comment}}}"));
        assert_eq!(found, [None, Some(score), None], "{comment}");
    }
    // Of a position that has both, the search of who moved counts; variations have no say.
    let found = scores("1. e4 {[%eval 0.3]} e5 {+0.1/9} (1... c5 {[%eval 0.5]} {+9.0/9}) 2. Nf3");
    assert_eq!(found, [None, Some(10), None]);
    let found = scores("1. e4 (1. d4 d5) {[%eval 0.3]} e5 $1 {book} 2. Nf3");
    assert_eq!(found, [None, Some(-30), None]);
}
