#!/usr/bin/env bash
# Surprise: FENs of the crate chess give the square of the pawn, so other programs lose en passant.
# Packages: crate chess 3.2.0; PyPI chess 1.11.2 (python-chess); Debian stockfish 15.1-4
# Behaviour: after 1. e4 a6 2. e5 d5 `Board::to_string` ends with `KQkq d5 0 1`: the square of the
#   pawn instead of the square behind it, and move counters that are always 0 and 1. The crate
#   accepts both squares as the same board, so a round trip passes. python-chess and Stockfish
#   accept the FEN, ignore the square, and miss exd6: labels, book lines and perft counts belong to
#   another position. Without a possible capture the field is `-` and right.
# Guess: d6, as FEN defines it.
# Seen: chess:         rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d5 0 1
#   round trip:    the same board, 31 moves
#   python-chess:  30 moves, exd6 among them: False
#   Stockfish:     30 moves
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

python3 -m venv env
env/bin/pip install -q chess==1.11.2
apt-get -qq download stockfish=15.1-4 2>apt.log || { cat apt.log; exit 2; }
dpkg -x stockfish_*.deb .

mkdir src
cat >Cargo.toml <<'EOF'
[package]
name = "write"
version = "0.0.0"
edition = "2021"

[dependencies]
chess = "=3.2.0"
EOF
cat >src/main.rs <<'EOF'
use std::str::FromStr;

use chess::{Board, ChessMove, MoveGen};

fn main() {
    let mut board = Board::default();
    for uci in ["e2e4", "a7a6", "e4e5", "d7d5"] {
        board = board.make_move_new(ChessMove::from_str(uci).unwrap());
    }
    let fen = board.to_string();
    let back = Board::from_str(&fen).unwrap();
    let same = if back == board { "the same board" } else { "another board" };
    println!("{fen}\n{same}, {} moves", MoveGen::new_legal(&back).len());
}
EOF
CARGO_TARGET_DIR=$dir/target cargo run -q >written
fen=$(head -1 written)

cat >read.py <<'EOF'
import sys

import chess

board = chess.Board(sys.argv[1])
captures = chess.Move.from_uci("e5d6") in board.legal_moves
print(f"{board.legal_moves.count()} moves, exd6 among them: {captures}")
EOF
{
    echo "chess:         $fen"
    echo "round trip:    $(tail -1 written)"
    echo "python-chess:  $(env/bin/python read.py "$fen")"
    printf 'position fen %s\ngo perft 1\nquit\n' "$fen" | usr/games/stockfish >perft.log
    echo "Stockfish:     $(sed -n 's/^Nodes searched: //p' perft.log) moves"
} | tee seen

cat >expected <<'EOF'
chess:         rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d5 0 1
round trip:    the same board, 31 moves
python-chess:  30 moves, exd6 among them: False
Stockfish:     30 moves
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
