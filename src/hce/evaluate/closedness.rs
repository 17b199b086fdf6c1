//! How closed a position is.

use super::squares::*;

/// 0 to 8: half the pawns, two for every pair that ram each other, less two for every file
/// without pawns.
pub fn closedness(up: u64, down: u64) -> usize {
    let pawns = up | down;
    let rammed = number((up << 8) & down);
    let open = (0..8).filter(|i| pawns & file(*i) == 0).count() as i32;
    (number(pawns) / 2 + 2 * rammed - 2 * open).clamp(0, 8) as usize
}
