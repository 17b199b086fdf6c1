//! Numbers as bytes, between ranks.

use std::ops::AddAssign;

/// How numbers of a kind travel.
pub trait Wire {
    type Value: Copy + Default + AddAssign;
    const BYTES: usize;

    fn put(value: Self::Value, bytes: &mut [u8]);
    fn get(bytes: &[u8]) -> Self::Value;

    /// Behind the bytes that are there.
    fn write(values: &[Self::Value], bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + values.len() * Self::BYTES, 0);
        let places = bytes[start..].chunks_exact_mut(Self::BYTES);
        places.zip(values).for_each(|(place, value)| Self::put(*value, place));
    }

    fn read(bytes: &[u8]) -> impl Iterator<Item = Self::Value> {
        bytes.chunks_exact(Self::BYTES).map(Self::get)
    }
}

/// Why bytes are a number.
const CUT: &str = "bytes are cut as numbers are";

pub struct F32;

impl Wire for F32 {
    type Value = f32;
    const BYTES: usize = 4;

    fn put(value: f32, bytes: &mut [u8]) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }

    fn get(bytes: &[u8]) -> f32 {
        f32::from_le_bytes(bytes.try_into().expect(CUT))
    }
}

pub struct F64;

impl Wire for F64 {
    type Value = f64;
    const BYTES: usize = 8;

    fn put(value: f64, bytes: &mut [u8]) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }

    fn get(bytes: &[u8]) -> f64 {
        f64::from_le_bytes(bytes.try_into().expect(CUT))
    }
}

/// The upper half of an f32, rounded to nearest, ties to even.
pub struct Bf16;

impl Wire for Bf16 {
    type Value = f32;
    const BYTES: usize = 2;

    fn put(value: f32, bytes: &mut [u8]) {
        let bits = value.to_bits();
        // What is no number stays none.
        let rounded = match value.is_nan() {
            true => bits | 1 << 22,
            false => bits + 0x7fff + (bits >> 16 & 1),
        };
        bytes.copy_from_slice(&((rounded >> 16) as u16).to_le_bytes());
    }

    fn get(bytes: &[u8]) -> f32 {
        let half = u16::from_le_bytes(bytes.try_into().expect(CUT));
        f32::from_bits(u32::from(half) << 16)
    }
}
