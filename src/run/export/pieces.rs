//! What the pieces are worth in the centipawns of an evaluation.

use crate::export::PieceValues;
use crate::inspect::worth;
use crate::sample::{Position, Sample};

/// Positions that are enough for averages of whole centipawns.
const POSITIONS: usize = 2000;

/// The values on some of the positions, at equal distances; without any in the start position.
pub fn values(
    value: impl Fn(&Position) -> i32 + Sync,
    samples: &[Sample],
    on: &str,
) -> PieceValues {
    let step = samples.len().div_ceil(POSITIONS).max(1);
    let mut positions: Vec<Position> =
        samples.iter().step_by(step).map(|sample| sample.position).collect();
    let mut on = on.to_string();
    if positions.is_empty() {
        positions.extend(Position::from_fen(START));
        on = "the start position".into();
    }
    let [pawn, knight, bishop, rook, queen] = worth(&positions, |position| value(position).into());
    let positions = positions.len() as u64;
    PieceValues { pawn, knight, bishop, rook, queen, positions, on }
}

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
