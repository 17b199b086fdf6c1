//! All of `nnuance`, with a filter, weights of positions and output buckets of one's own:
//!
//! ```sh
//! cargo run --release --example own_filter -- train configs/quickstart-net.toml \
//!     --set 'data.filter.own=["no-early-draws"]' --set target.weights.own=late-games \
//!     --set net.output_buckets=by-queens
//! ```

use std::process::ExitCode;

use nnuance::App;
use nnuance::sample::{Position, Sample};
use nnuance::shakmaty::Role;

/// Draws that were agreed on say little about their positions.
fn is_played_out(sample: &Sample) -> bool {
    sample.result != 0.5 || sample.ply.is_none_or(|ply| ply >= 40)
}

/// Positions of late games weigh more; the largest weight is 1.
fn lateness(sample: &Sample) -> f64 {
    1.0 - sample.position.piece_count() as f64 / 64.0
}

fn queens(position: &Position) -> usize {
    position.pieces().filter(|piece| piece.role == Role::Queen).count()
}

fn main() -> ExitCode {
    App::new()
        .filter("no-early-draws", is_played_out)
        .weight("late-games", lateness)
        .output_buckets("by-queens", 3, queens)
        .run()
}
