//! Boards as text.

use nnuance::report::board::{Signs, board};

#[test]
fn boards() {
    let fen = "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 2";
    let facts = ["White to move".to_string(), "+35 cp".to_string()];
    let expected = "\
8  r . . . k . . r    White to move
7  . . . . . . . .    +35 cp
6  . . . . . . . .
5  . . . p P . . .
4  . . . . . . . .
3  . . . . . . . .
2  . . . . . . . .
1  R . . . K . . R
   a b c d e f g h
";
    assert_eq!(board(fen, Signs::Letters, &facts).unwrap(), expected);
    let pieces = board(fen, Signs::Pieces, &[]).unwrap();
    assert!(pieces.starts_with("8  ♜ . . . ♚ . . ♜\n") && pieces.contains("1  ♖ . . . ♔ . . ♖\n"));
    assert!(pieces.contains("5  . . . ♟ ♙ . . .\n"));
    let many: Vec<String> = (0..12).map(|i| format!("fact {i}")).collect();
    let long = board(fen, Signs::Letters, &many).unwrap();
    assert!(long.ends_with("                      fact 11\n") && long.lines().count() == 12);
    for wrong in ["", "9/8 w", "x7 w", "8/8/8/8/8/8/8/8/8 w", "pppppppp1 w"] {
        assert!(board(wrong, Signs::Letters, &[]).is_none(), "{wrong}");
    }
}
