//! A net in an engine: its accumulators follow the moves of a search.
//!
//! ```sh
//! cargo run --release --example evaluate -- nets/quickstart-32.bin
//! ```

use std::path::Path;

use anyhow::{Context, Result};
use nnuance::export::load_net;
use nnuance::features::DirtyPieces;
use nnuance::net::{Accumulator, Evaluate as _};
use nnuance::sample::Position;
use nnuance::shakmaty::{Chess, Position as _};

/// The value of a position for the side to move, with the best moves of both sides.
fn search(chess: &Chess, accumulator: &mut Accumulator, depth: u32) -> i32 {
    if depth == 0 || chess.is_game_over() {
        return if chess.is_checkmate() { -30_000 } else { accumulator.value() };
    }
    let mut best = i32::MIN;
    for played in chess.legal_moves() {
        let mut after = chess.clone();
        after.play_unchecked(played);
        let moved = DirtyPieces::from_move(chess.turn(), &played);
        accumulator.play_move(Some(&moved), &Position::from_chess(&after));
        best = best.max(-search(&after, accumulator, depth - 1));
        accumulator.undo_move();
    }
    best
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("name a net")?;
    let net = load_net(Path::new(&path))?.net;
    let chess = Chess::default();
    let mut accumulator = Accumulator::new(&net, &Position::from_chess(&chess));
    println!("{}: {} cp at once", net.architecture(), accumulator.value());
    println!("{} cp after three half-moves", search(&chess, &mut accumulator, 3));
    Ok(())
}
