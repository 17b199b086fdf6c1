//! PGN: games of Chess960.

use nnuance::format::pgn::FORMAT;
use nnuance::sample::Position;
use shakmaty::Position as _;

use crate::formats::{read_as, read_bytes, write};

/// Start, moves, and the position after them, all by python-chess 1.11.2.
const CHESS960: [(&str, &str, &str); 3] = [
    (
        "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1",
        "1. d3 g5 2. Nf3 b6 3. Qf4 f6 4. Ne5 Ne6 5. b3 N8g7 6. Qxf6 a6 7. f3 Be4 8. Nf2 Qd8 9. \
         O-O-O c5 10. d4 Qe8 11. e3 Bg6 12. Ned3 h5 13. h4 a5 14. Qf7+ Qxf7 15. e4 O-O-O 16. Nb2 \
         gxh4 17. f4 Qe8 18. c4 d6 19. a4 Ng5 20. e5 d5",
        "1bkrq2r/4p1n1/1p4b1/p1ppP1np/P1PP1P1p/1P6/1N3NP1/BBKR3R w - - 0 21",
    ),
    (
        "rbbqknnr/pppppppp/8/8/8/8/PPPPPPPP/RBBQKNNR w KQkq - 0 1",
        "1. e3 Nf6 2. a3 Ne6 3. h3 O-O 4. e4 Ne8 5. b4 Nf6 6. d4 b6 7. Be3 Nh5 8. Bd2 a5 9. Nh2 \
         Nhf4 10. Ba2 a4 11. Bxe6 Nxe6 12. Nhf3 Nf4 13. Ng5 b5 14. Bc1 d5 15. Ne6 f6 16. Qd3 c5 \
         17. Bb2 dxe4 18. O-O-O Ba6 19. Qb3 cxd4 20. Qc4 Qd7",
        "rb3rk1/3qp1pp/b3Np2/1p6/pPQppn2/P6P/1BP2PP1/2KR2NR w - - 2 21",
    ),
    (
        "rkbbnrqn/pppppppp/8/8/8/8/PPPPPPPP/QNRNKRBB w FCfa - 0 1",
        "1. Ndc3 Nf6 2. O-O-O Ne4 3. b4 e5 4. a3 Nd6 5. e4 Nb5 6. Na4 g6 7. Nb2 Bf6 8. a4 a5 9. \
         Nc3 Na7 10. d4 Qg7 11. h3 c5 12. dxe5 c4 13. e6 h5 14. exd7 h4 15. e5 Qh7 16. b5 Bxd7 17. \
         Qa2 O-O-O 18. Qb3 cxb3 19. Na2 Be8 20. Bh2 b6",
        "2krbr1n/n4p1q/1p3bp1/pP2P3/P6p/1p5P/NNP2PPB/2KR1R1B w - - 0 21",
    ),
];

#[test]
fn chess960_castles_by_either_notation() {
    for (start, moves, end) in CHESS960 {
        for variant in ["", "Chess960", "chess 960", "fischerandom", "Fischerandom"] {
            let tags = format!("[Result \"0-1\"]\n[FEN \"{start}\"]\n[Variant \"{variant}\"]\n");
            let text = format!("{tags}\n{moves} 0-1\n");
            let samples = read_bytes(text.as_bytes()).unwrap();
            assert_eq!(samples.len(), 40);
            let castles =
                samples.iter().filter(|sample| sample.played.unwrap().is_castling()).count();
            assert_eq!(castles, 2);
            let last = samples.last().unwrap();
            let mut chess = last.position.to_chess().unwrap();
            chess.play_unchecked(last.played.unwrap().legal_move(&chess).unwrap());
            assert_eq!(Position::from_chess(&chess).fen(), end);

            // The start written is one that says where the rooks are.
            let written = String::from_utf8(write(&FORMAT, &samples).unwrap()).unwrap();
            assert_eq!(read_as(&FORMAT, written.as_bytes()).unwrap(), samples);
            let unusual = !start.starts_with("rbbqknnr");
            assert_eq!(written.contains("[Variant \"Chess960\"]"), unusual, "{written}");
        }
    }
}

#[test]
fn unusual_king_is_written_as_chess960() {
    let text = "[FEN \"rkbqnbnr/pppppppp/8/8/8/8/PPPPPPPP/RKBQNBNR w HAha - 0 1\"]\n\n1. d3 0-1";
    let samples = read_bytes(text.as_bytes()).unwrap();
    let written = String::from_utf8(write(&FORMAT, &samples).unwrap()).unwrap();
    assert!(written.contains("[Variant \"Chess960\"]\n[SetUp \"1\"]\n"), "{written}");
}
