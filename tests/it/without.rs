//! Positions without one of their pieces, against the FEN text without the letter.

use nnuance::sample::Position;
use shakmaty::{Role, Square};

use crate::games;

/// The FEN of a position without the piece on a square, put together as text. Castling is written
/// with the files of the rooks, so that no other rook takes the right over.
fn text(position: &Position, gone: Square) -> String {
    let mut board = String::new();
    for rank in (0..8).rev() {
        let mut empty = 0;
        for file in 0..8 {
            let square = Square::new(8 * rank + file);
            match position.pieces().find(|piece| piece.square == square && square != gone) {
                None => empty += 1,
                Some(piece) => {
                    board.push_str(&if empty > 0 { empty.to_string() } else { String::new() });
                    empty = 0;
                    let letter = piece.role.char();
                    board.push(piece.color.fold_wb(letter.to_ascii_uppercase(), letter));
                }
            }
        }
        board.push_str(&if empty > 0 { empty.to_string() } else { String::new() });
        board.push_str(if rank > 0 { "/" } else { "" });
    }
    let castling: String = position
        .pieces()
        .filter(|piece| piece.castles && piece.square != gone)
        .map(|piece| {
            let file = piece.square.file().char();
            piece.color.fold_wb(file.to_ascii_uppercase(), file)
        })
        .collect();
    let castling = if castling.is_empty() { "-".to_string() } else { castling };
    let turn = position.turn().char();
    let ep = position.ep_square().map_or("-".to_string(), |square| square.to_string());
    let (half, full) = (position.halfmove(), position.fullmove());
    format!("{board} {turn} {castling} {ep} {half} {full}")
}

#[test]
fn removed_piece_equals_removed_letter() {
    let mut positions = games::positions(3000, 7);
    for fen in [
        "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
        "rnbqkbnr/ppp1pppp/8/8/3pP3/2N5/PPPP1PPP/R1BQKBNR b KQkq e3 0 3",
        // Two pawns may take: one of them may go.
        "rnbqkbnr/ppp1p1pp/8/4PpP1/8/8/PPPP1P1P/RNBQKBNR w KQkq f6 0 4",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        // Rooks beside those that castle.
        "1r2k1rr/8/8/8/8/8/8/RR2K1R1 w AGbh - 3 30",
    ] {
        positions.push(Position::from_fen(fen).unwrap());
    }
    let (mut equal, mut en_passant, mut castling) = (0, [0, 0], 0);
    for position in &positions {
        for square in Square::ALL {
            let piece = position.pieces().find(|piece| piece.square == square);
            let Some(piece) = piece.filter(|piece| piece.role != Role::King) else {
                assert_eq!(position.without(square), None);
                continue;
            };
            let without = position.without(square).expect("a piece that is no king");
            let fen = text(position, square);
            castling += usize::from(piece.castles);
            if position.ep_square().is_some() {
                en_passant[usize::from(without.ep_square().is_some())] += 1;
            }
            match Position::from_fen(&fen) {
                Ok(expected) => {
                    assert_eq!(without, expected, "{fen}");
                    equal += 1;
                }
                // The text can only be refused for a check that the piece had stopped.
                Err(_) => {
                    let other =
                        Position::of_board(without.occupied(), without.nibbles(), !without.turn());
                    assert!(other.in_check(), "{fen}");
                }
            }
        }
    }
    assert!(equal > 50_000 && castling > 1000, "{equal} {castling}");
    assert!(en_passant.iter().all(|count| *count > 10), "{en_passant:?}");
}
