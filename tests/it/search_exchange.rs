//! What captures win: exchanges counted by hand.

use nnuance::sample::Position;
use nnuance::search::exchange;
use shakmaty::uci::UciMove;

/// Pawns, minor pieces, rooks and queens count 100, 300, 500 and 900.
const EXCHANGES: [(&str, &str, i32); 16] = [
    // Nobody takes back.
    ("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", 100),
    // Knight for pawn: rook and queen stand behind, but so do knight, bishop and queen.
    ("1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "d3e5", -200),
    // Quiet moves: to where nobody takes, and to where a pawn does.
    ("4k3/8/3p4/8/8/8/8/R3K3 w - - 0 1", "a1a5", 0),
    ("4k3/8/3p4/8/8/8/8/4K2R w - - 0 1", "h1h5", 0),
    ("3k4/8/3p4/8/8/8/4R3/4K3 w - - 0 1", "e2e5", -500),
    // Guarded once, attacked once: rook for rook.
    ("3rk3/8/8/3r4/8/8/3R4/4K3 w - - 0 1", "d2d5", 0),
    // The second rook stands behind the first.
    ("3rk3/8/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 100),
    ("3rk3/3r4/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", -400),
    // The king takes back what nobody guards, and not what somebody does.
    ("8/8/3k4/3p4/8/8/3R4/4K3 w - - 0 1", "d2d5", -400),
    ("8/8/3k4/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", 100),
    // A pawn takes first, whoever else could.
    ("4k3/2n1p3/3q4/8/4N3/8/8/4K3 w - - 0 1", "e4d6", 600),
    // In passing, and back.
    ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 100),
    ("4k3/2p5/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 0),
    // Promotions, alone and into a guard.
    ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", 800),
    ("1r6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", -100),
    // Castling meets nobody.
    ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1h1", 0),
];

#[test]
fn exchanges_match_hand_counts() {
    for (fen, word, expected) in EXCHANGES {
        let chess = Position::from_fen(fen).unwrap().to_chess().unwrap();
        let played = word.parse::<UciMove>().unwrap().to_move(&chess).unwrap();
        assert_eq!(exchange(&chess, played), expected, "{fen} {word}");
        // The same with colours swapped.
        let flipped = Position::from_fen(fen).unwrap().flipped().to_chess().unwrap();
        let played = played.to_mirrored();
        assert_eq!(exchange(&flipped, played), expected, "{fen} {word}, flipped");
    }
}
