//! All of `nnuance`, with a feature set of one's own: how far each piece is from the king.
//!
//! ```sh
//! cargo run --release --example own_inputs -- train configs/net-2-mirrored.toml \
//!     --set 'net.sets=["pieces", "king-distance"]'
//! ```

use std::process::ExitCode;

use nnuance::App;
use nnuance::features::{Board, FeatureSet};
use nnuance::shakmaty::{Color, Role};

/// Row `48 * (0 own, 1 other) + 8 * role + distance` for each piece but the kings.
struct KingDistance;

impl FeatureSet for KingDistance {
    fn name(&self) -> &str {
        "king-distance"
    }

    fn rows(&self) -> usize {
        96
    }

    fn max_active(&self) -> usize {
        30
    }

    fn repeats(&self) -> bool {
        true // two own pawns may be equally far away
    }

    fn active(&self, board: &Board, perspective: Color, rows: &mut Vec<u32>) {
        let king = board.king(perspective);
        for piece in board.pieces().filter(|piece| piece.role != Role::King) {
            let side = u32::from(piece.color != perspective);
            let role = piece.role as u32 - 1;
            rows.push(48 * side + 8 * role + king.distance(piece.square));
        }
    }

    fn describe(&self, row: u32) -> String {
        let side = ["own", "opposing"][row as usize / 48];
        let role = Role::ALL[row as usize % 48 / 8];
        format!("{side} {role:?} {} from the king", row % 8).to_lowercase()
    }
}

fn main() -> ExitCode {
    App::new().features(KingDistance).run()
}
