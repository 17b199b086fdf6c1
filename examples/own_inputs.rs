//! All of `nnuance`, with a feature set of one's own: how far each piece is from the king.
//!
//! ```sh
//! cargo run --release --example own_inputs -- train configs/net-2-mirrored.toml \
//!     --set 'net.sets=["pieces", "king-distance"]'
//! ```

use std::process::ExitCode;

use nnuance::App;
use nnuance::features::{Board, FeatureSet, KINDS, Perspective, Rows};
use nnuance::shakmaty::{Color, Role};

/// Row `8 * kind + distance` for each piece but the kings.
struct KingDistance;

impl FeatureSet for KingDistance {
    fn name(&self) -> &str {
        "king-distance"
    }

    fn row_count(&self) -> usize {
        96
    }

    fn max_active(&self) -> usize {
        30
    }

    fn has_repeats(&self) -> bool {
        true // two own pawns may be equally far away
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let seen = Perspective::mirrored_by_king(board, perspective);
        let king = board.king_square(perspective);
        for piece in board.pieces().filter(|piece| piece.role != Role::King) {
            rows.push(8 * seen.piece_kind(piece) as u32 + king.distance(piece.square));
        }
    }

    fn describe_row(&self, row: u32) -> String {
        format!("{} {} from the king", KINDS[row as usize / 8], row % 8)
    }
}

fn main() -> ExitCode {
    App::new().features(KingDistance).run()
}
