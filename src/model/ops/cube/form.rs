//! Assignment of a net to the units of a GPU, and of a batch to its cubes.

use std::ops::Range;

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use crate::architecture::Curve;

/// Constants of the kernel of positions, for each of which it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KernelForm {
    pub rows: usize,
    pub perspectives: usize,
    /// Entries per list.
    pub width: usize,
    /// Whether entries have 32 bits, not 16.
    pub wide: bool,
    pub curve: Curve,
    pub buckets: usize,
    pub spread: UnitLayout,
}

/// Assignment of the hidden layer to the units of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct UnitLayout {
    pub hidden: usize,
    /// Units per cube: a multiple of 32, as GPUs work in steps of 32 or 64.
    pub units: usize,
    /// Columns of the hidden layer per unit: `unit`, `unit + units`, ...
    pub columns: usize,
}

/// Maximum units of a cube that WGSL guarantees.
pub(super) const UNITS: usize = 256;
/// Inputs of a list that are loaded side by side, so that their latencies overlap.
pub(super) const ABREAST: usize = 4;
/// Positions that a cube processes in turn, summing their gradients of biases and output.
pub(super) const TILE: usize = 16;
/// Cubes in a row of the grid: WGSL guarantees 65,535.
const ROW: usize = 1 << 15;

impl UnitLayout {
    pub fn new(hidden: usize) -> Self {
        let columns = hidden.div_ceil(UNITS);
        let units = hidden.div_ceil(columns).next_multiple_of(32);
        Self { hidden, units, columns }
    }

    pub fn cube_size(&self) -> CubeDim {
        CubeDim::new_1d(self.units as u32)
    }

    /// Whether loops over a unit's columns are unrolled, with values in registers.
    pub fn is_unrolled(&self) -> bool {
        self.columns <= 8
    }
}

impl KernelForm {
    /// Returns the entries per list, rounded up so that inputs can be loaded side by side.
    pub fn padded_width(&self) -> usize {
        self.width.next_multiple_of(ABREAST)
    }

    /// Returns the number of sums of a tile: gradients of output weights, biases and the output's
    /// bias, and the loss.
    pub fn sum_count(&self) -> usize {
        (self.perspectives + 1) * self.spread.hidden + 2
    }
}

/// Grid of a launch of at least `cubes` cubes, numbered by [`CUBE_POS`]; those beyond are idle.
pub(super) fn launch_grid(cubes: usize) -> CubeCount {
    let rows = cubes.div_ceil(ROW).max(1);
    CubeCount::Static(cubes.div_ceil(rows).max(1) as u32, rows as u32, 1)
}

/// Whether a number is finite, by its bits, as compilers such as Metal's may assume that all are.
#[cube]
pub(super) fn is_finite(a: f32) -> bool {
    u32::reinterpret(a) & 2139095040u32 != 2139095040u32
}

/// Whether a number is NaN: all bits of the exponent are set, and some lower ones.
#[cube]
pub(super) fn is_nan(a: f32) -> bool {
    u32::reinterpret(a) & 2147483647u32 > 2139095040u32
}

/// Positions of a batch in tiles of one output bucket each, part by part; a table has their order.
pub(super) struct Tiles {
    /// `[tiles, 1 + TILE]`: bucket and positions, padded with [`NONE`]; empty for one bucket.
    pub table: Vec<u32>,
    pub parts: Vec<PositionRange>,
    /// The tiles of each bucket, `[buckets, parts]`; for one bucket a single range.
    pub runs: Vec<Range<usize>>,
}

pub(super) struct PositionRange {
    pub positions: Range<usize>,
    pub tiles: Range<usize>,
}

impl PositionRange {
    /// Returns the lists of the positions.
    pub fn lists(&self, perspectives: usize) -> Range<usize> {
        self.positions.start * perspectives..self.positions.end * perspectives
    }
}

pub(super) const NONE: u32 = u32::MAX;

impl Tiles {
    pub fn new(chosen: &[u8], buckets: usize, batch: usize, part: usize) -> Self {
        let part = part.min(batch).next_multiple_of(TILE).max(TILE);
        let firsts = (0..batch.max(1)).step_by(part);
        let parts = firsts.map(|first| first..batch.min(first + part));
        if buckets == 1 {
            let parts = parts.map(|positions| {
                let tiles = positions.start / TILE..positions.end.div_ceil(TILE);
                PositionRange { positions, tiles }
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
            PositionRange { positions, tiles: first..next }
        });
        let parts = parts.collect();
        Self { table, parts, runs: runs.concat() }
    }

    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |part| part.tiles.end)
    }
}
