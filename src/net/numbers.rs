//! The arrays of a net as its file has them: kinds of numbers and bytes.

use crate::architecture::{Architecture, Array, Factor, Part};
use crate::scales::{HeadFormat, Scales};

/// A kind of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    I8,
    I16,
    F32,
}

/// The numbers of one array, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    I8(Vec<i8>),
    I16(Vec<i16>),
    F32(Vec<f32>),
}

/// One array of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub array: Array,
    pub number: Number,
}

/// The arrays of a net's file, in their order; its factoriser is merged.
pub fn stored(net: &Architecture, head: HeadFormat) -> Vec<Stored> {
    let first = if net.has_layers() { Part::Layer(0) } else { Part::Output };
    let number = |part| match part {
        Part::Accumulator | Part::Factoriser | Part::AccumulatorBias => Number::I16,
        _ if !net.is_deep() => Number::I16,
        part if part == first && head == HeadFormat::Int8 => Number::I8,
        _ => Number::F32,
    };
    let arrays = net.merged().arrays().into_iter();
    arrays.map(|array| Stored { number: number(array.part), array }).collect()
}

/// Bytes of a net's file before the padding.
pub(super) fn payload(net: &Architecture, head: HeadFormat) -> usize {
    stored(net, head).iter().map(|it| it.array.len() * it.number.bytes()).sum()
}

impl Stored {
    /// What its integers are multiples of; none for floats.
    pub fn factor(&self, scales: Scales) -> Option<i32> {
        let Scales { qa, qb, .. } = scales;
        (self.number != Number::F32).then_some(match self.array.factor {
            Factor::Qa => qa,
            Factor::Qb => qb,
            Factor::QaQb => qa * qb,
        })
    }
}

impl Number {
    pub fn name(self) -> &'static str {
        match self {
            Number::I8 => "i8",
            Number::I16 => "i16",
            Number::F32 => "f32",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Number::I8 => 1,
            Number::I16 => 2,
            Number::F32 => 4,
        }
    }

    /// The least and the most that it can be; none for floats.
    pub fn range(self) -> Option<[f64; 2]> {
        match self {
            Number::I8 => Some([i8::MIN.into(), i8::MAX.into()]),
            Number::I16 => Some([i16::MIN.into(), i16::MAX.into()]),
            Number::F32 => None,
        }
    }

    /// Reads as many as there are.
    pub(super) fn read(self, bytes: &[u8]) -> Numbers {
        match self {
            Number::I8 => Numbers::I8(bytes.iter().map(|&byte| byte as i8).collect()),
            Number::I16 => Numbers::I16(each(bytes, i16::from_le_bytes)),
            Number::F32 => Numbers::F32(each(bytes, f32::from_le_bytes)),
        }
    }
}

fn each<const N: usize, T>(bytes: &[u8], of: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|bytes| of(*bytes)).collect()
}

impl Numbers {
    pub fn number(&self) -> Number {
        match self {
            Numbers::I8(_) => Number::I8,
            Numbers::I16(_) => Number::I16,
            Numbers::F32(_) => Number::F32,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Numbers::I8(them) => them.len(),
            Numbers::I16(them) => them.len(),
            Numbers::F32(them) => them.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them; every one is exact in f64.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Numbers::I8(them) => them[i].into(),
            Numbers::I16(them) => them[i].into(),
            Numbers::F32(them) => them[i].into(),
        }
    }

    /// The place of the first that is no finite number.
    pub(super) fn not_finite(&self) -> Option<usize> {
        let Numbers::F32(them) = self else { return None };
        them.iter().position(|it| !it.is_finite())
    }

    /// # Panics
    /// If they are no i16.
    pub fn i16s(&self) -> &[i16] {
        match self {
            Numbers::I16(them) => them,
            _ => panic!("these are {}", self.number().name()),
        }
    }

    /// # Panics
    /// If they are no f32.
    pub fn f32s(&self) -> &[f32] {
        match self {
            Numbers::F32(them) => them,
            _ => panic!("these are {}", self.number().name()),
        }
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Numbers::I8(them) => bytes.extend(them.iter().map(|it| *it as u8)),
            Numbers::I16(them) => bytes.extend(them.iter().flat_map(|it| it.to_le_bytes())),
            Numbers::F32(them) => bytes.extend(them.iter().flat_map(|it| it.to_le_bytes())),
        }
    }
}
