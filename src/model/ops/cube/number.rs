//! What floats are, by their bits: compilers may take for granted that every float is a number, and
//! those of Metal do.

use burn_cubecl::cubecl;
use cubecl::prelude::*;

/// Whether it is a number, and finite.
#[cube]
pub(super) fn is_finite(a: f32) -> bool {
    u32::reinterpret(a) & 2139095040u32 != 2139095040u32
}

/// Whether it is no number: all bits of the exponent, and some behind them.
#[cube]
pub(super) fn is_nan(a: f32) -> bool {
    u32::reinterpret(a) & 2147483647u32 > 2139095040u32
}
