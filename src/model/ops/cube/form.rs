//! How a net is spread over the units of a GPU.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use crate::architecture::Activation;
use crate::model::Traffic;

/// What the kernel of positions knows when it is compiled. There is a kernel for each form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    /// Of the accumulators' weights.
    pub rows: usize,
    pub views: usize,
    /// Places a list of active inputs.
    pub places: usize,
    pub activation: Activation,
    /// Output buckets that the kernel tells apart.
    pub buckets: usize,
    pub spread: Spread,
}

/// How the hidden layer is spread over the units of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spread {
    pub hidden: usize,
    /// Units of a cube: a multiple of 32, as GPUs work in steps of 32 or 64.
    pub units: usize,
    /// Columns of the hidden layer that a unit takes: `unit`, `unit + units`, ...; of numbers of 16
    /// bits two neighbours, and those `2 * units` behind them, ...
    pub columns: usize,
    /// Whether numbers have 16 bits, so that two are a word.
    pub halves: bool,
}

/// Units of a cube, at most: WGSL guarantees no more.
const UNITS: usize = 256;

/// Inputs of a list that are fetched side by side, so that their latencies overlap.
pub(super) const ABREAST: usize = 4;

/// Positions that a cube takes, one after the other. It adds up their share of the gradients of
/// biases and output weights on the way.
pub(super) const TILE: usize = 16;

/// Cubes of a row of the grid: WGSL guarantees 65,535.
const ROW: usize = 1 << 15;

impl Spread {
    pub fn new(hidden: usize) -> Self {
        Self::of(hidden, hidden, false)
    }

    /// The same where two neighbours are a word.
    pub fn in_halves(hidden: usize) -> Self {
        let Self { units, columns, .. } = Self::of(hidden, hidden.div_ceil(2), true);
        Self { hidden, units, columns: 2 * columns, halves: true }
    }

    fn of(hidden: usize, words: usize, halves: bool) -> Self {
        let columns = words.div_ceil(UNITS);
        let units = words.div_ceil(columns).next_multiple_of(32);
        Self { hidden, units, columns, halves }
    }

    /// Words of a row.
    pub fn words(&self) -> usize {
        if self.halves { self.hidden.div_ceil(2) } else { self.hidden }
    }

    /// Words of a row that a unit takes.
    pub fn words_of_unit(&self) -> usize {
        if self.halves { self.columns / 2 } else { self.columns }
    }

    /// The size of a cube.
    pub fn cube(&self) -> CubeDim {
        CubeDim::new_1d(self.units as u32)
    }

    /// Whether the loops over a unit's columns are written out, so that what they keep stays in
    /// registers.
    pub fn unrolled(&self) -> bool {
        self.columns <= 8
    }
}

impl Form {
    /// Places a list, rounded up so that inputs can be fetched side by side.
    pub fn padded(&self) -> usize {
        self.places.next_multiple_of(ABREAST)
    }

    /// Numbers that a tile adds up: gradients of the output weights, `[views, hidden]`, of the
    /// biases, `[hidden]`, and of the output's bias, and the loss.
    pub fn sums(&self) -> usize {
        (self.views + 1) * self.spread.hidden + 2
    }
}

/// A column of a unit, by its number among them; there may be none.
#[cube]
pub(super) fn column_of(unit: usize, number: usize, #[comptime] spread: Spread) -> usize {
    let Spread { units, halves, .. } = comptime!(spread);
    match comptime!(halves) {
        true => 2 * (unit + number / 2 * units) + number % 2,
        false => unit + number * units,
    }
}

/// The grid of a launch, which is counted: of at least so many cubes, which [`CUBE_POS`] numbers;
/// those beyond have nothing to do.
pub(super) fn grid(cubes: usize) -> CubeCount {
    Traffic::launched();
    let rows = cubes.div_ceil(ROW).max(1);
    CubeCount::Static(cubes.div_ceil(rows).max(1) as u32, rows as u32, 1)
}
