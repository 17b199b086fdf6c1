//! How a net is spread over the units of a GPU.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

use crate::architecture::Activation;

/// Constants of the kernel of positions, which is compiled for each form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    /// Rows of the accumulators' weights.
    pub rows: usize,
    pub views: usize,
    /// Places a list of active inputs.
    pub places: usize,
    pub activation: Activation,
    /// Output buckets in the kernel.
    pub buckets: usize,
    pub spread: Spread,
}

/// How the hidden layer is spread over the units of a cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spread {
    pub hidden: usize,
    /// Units of a cube: a multiple of 32, as GPUs work in steps of 32 or 64.
    pub units: usize,
    /// Columns of the hidden layer that a unit takes: `unit`, `unit + units`, ...
    pub columns: usize,
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
        let columns = hidden.div_ceil(UNITS);
        let units = hidden.div_ceil(columns).next_multiple_of(32);
        Self { hidden, units, columns }
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

/// The grid of a launch: of at least so many cubes, which [`CUBE_POS`] numbers;
/// those beyond have nothing to do.
pub(super) fn grid(cubes: usize) -> CubeCount {
    let rows = cubes.div_ceil(ROW).max(1);
    CubeCount::Static(cubes.div_ceil(rows).max(1) as u32, rows as u32, 1)
}

/// Whether it is finite. Floats are classified by their bits, as compilers, such as Metal's, may
/// assume that every float is a number.
#[cube]
pub(super) fn is_finite(a: f32) -> bool {
    u32::reinterpret(a) & 2139095040u32 != 2139095040u32
}

/// Whether it is NaN: all bits of the exponent, and some behind them.
#[cube]
pub(super) fn is_nan(a: f32) -> bool {
    u32::reinterpret(a) & 2147483647u32 > 2139095040u32
}
