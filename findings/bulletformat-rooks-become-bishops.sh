#!/usr/bin/env bash
# Surprise: rooks that may castle become bishops in a conversion between two data formats.
# Packages: crates viriformat 3.0.0, bulletformat 1.8.0
# Behaviour: marlinformat writes a rook that may still castle as piece type 6. The conversion of
#   bulletformat maps 6 to 2, the bishop; the rook is 3. viriformat's direct conversion is right. So
#   the same games give two data sets that differ only while castling is possible. Sizes, scores,
#   results and all later positions agree, and no error is reported.
# Guess: four rooks in both.
# Seen: viriformat to bulletformat: 4 rooks, 4 bishops
#   viriformat to marlinformat to bulletformat: 0 rooks, 8 bishops
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

mkdir src
cat >Cargo.toml <<'EOF'
[package]
name = "convert"
version = "0.0.0"
edition = "2024"

[dependencies]
bulletformat = "=1.8.0"
viriformat = "=3.0.0"
EOF
cat >src/main.rs <<'EOF'
use bulletformat::{ChessBoard, DataLoader, chess::MarlinFormat, convert_from_bin};
use viriformat::chess::board::Board;

const ROOK: u8 = 3;
const BISHOP: u8 = 2;

fn pieces(board: &ChessBoard) -> String {
    let count = |kind| board.into_iter().filter(|(piece, _)| piece & 7 == kind).count();
    format!("{} rooks, {} bishops", count(ROOK), count(BISHOP))
}

fn main() {
    let start = Board::default();
    let direct = start.to_bulletformat(1, 0).unwrap();
    println!("viriformat to bulletformat: {}", pieces(&direct));

    std::fs::write("marlin.bin", start.to_marlinformat(0, 1, 0).as_bytes()).unwrap();
    convert_from_bin::<MarlinFormat, ChessBoard>("marlin.bin", "bullet.bin", 1).unwrap();
    let name = "viriformat to marlinformat to bulletformat";
    DataLoader::<ChessBoard>::new("bullet.bin", 1)
        .unwrap()
        .map_positions(|board| println!("{name}: {}", pieces(board)));
}
EOF
CARGO_TARGET_DIR=$dir/target cargo run -q | grep rooks | tee seen

cat >expected <<'EOF'
viriformat to bulletformat: 4 rooks, 4 bishops
viriformat to marlinformat to bulletformat: 0 rooks, 8 bishops
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
