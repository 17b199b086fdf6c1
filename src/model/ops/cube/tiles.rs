//! The positions of each cube.

use std::ops::Range;

use super::form::TILE;

/// The positions of a batch in tiles of one output bucket each, part by part.
///
/// With one bucket the tiles follow one another. With several, those of a part come by bucket, and
/// a table names their positions.
pub(super) struct Tiles {
    /// `[tiles, 1 + TILE]`: the bucket of each and its positions, [`NONE`] where there are fewer;
    /// empty where there is one bucket.
    pub table: Vec<u32>,
    pub parts: Vec<Part>,
    /// The tiles of each bucket, `[buckets, parts]`; those of one bucket are one range.
    pub runs: Vec<Range<usize>>,
}

/// Some positions of a batch, and their tiles.
pub(super) struct Part {
    pub positions: Range<usize>,
    pub tiles: Range<usize>,
}

/// No position.
pub(super) const NONE: u32 = u32::MAX;

impl Tiles {
    /// # Panics
    /// When a position has no bucket, or one beyond the last.
    pub fn new(chosen: &[u8], buckets: usize, batch: usize, part: usize) -> Self {
        let part = part.min(batch).next_multiple_of(TILE).max(TILE);
        let firsts = (0..batch.max(1)).step_by(part);
        let parts = firsts.map(|first| first..batch.min(first + part));
        if buckets == 1 {
            let parts = parts.map(|positions| {
                let tiles = positions.start / TILE..positions.end.div_ceil(TILE);
                Part { positions, tiles }
            });
            let runs = std::iter::once(0..batch.div_ceil(TILE)).collect();
            return Self { table: Vec::new(), parts: parts.collect(), runs };
        }
        let (mut table, mut runs) = (Vec::new(), vec![Vec::new(); buckets]);
        let mut next = 0;
        let parts = parts.map(|positions| {
            let first = next;
            let mut members = vec![Vec::new(); buckets];
            for position in positions.clone() {
                members[usize::from(chosen[position])].push(position as u32);
            }
            for (bucket, members) in members.into_iter().enumerate() {
                let begin = next;
                for tile in members.chunks(TILE) {
                    next += 1;
                    table.push(bucket as u32);
                    table.extend(tile);
                    table.resize(next * (1 + TILE), NONE);
                }
                runs[bucket].push(begin..next);
            }
            Part { positions, tiles: first..next }
        });
        let parts = parts.collect();
        Self { table, parts, runs: runs.concat() }
    }

    /// The number of all tiles.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |part| part.tiles.end)
    }
}
