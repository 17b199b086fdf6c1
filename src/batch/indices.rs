//! Rows of lists, and offsets of rows, in 16 bits where all of them fit.

/// Numbers of 16 bits each, or of 32.
#[derive(Clone, Debug, PartialEq)]
pub enum Indices {
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Evaluates an expression on the vector of [`Indices`], whichever it is. No closure: code that
/// uses vector instructions must be inlined.
macro_rules! with_vector {
    ($indices:expr, $vector:ident => $value:expr) => {
        match $indices {
            $crate::batch::Indices::U16($vector) => $value,
            $crate::batch::Indices::U32($vector) => $value,
        }
    };
}
pub(crate) use with_vector;

/// A number of [`Indices`], in code that is compiled for both.
pub(crate) trait IndexWord: Copy + Ord + Default + std::fmt::Display {
    fn from_usize(number: usize) -> Self;
    fn to_usize(self) -> usize;
    /// Unpacks four numbers from one or two registers.
    fn unpack_quad(quad: &[Self; 4]) -> [usize; 4];
}

impl IndexWord for u16 {
    #[inline(always)]
    fn from_usize(number: usize) -> Self {
        number as u16
    }

    #[inline(always)]
    fn to_usize(self) -> usize {
        self.into()
    }

    #[inline(always)]
    fn unpack_quad(quad: &[Self; 4]) -> [usize; 4] {
        let quad: u64 = pulp::cast(*quad);
        std::array::from_fn(|i| usize::from((quad >> (16 * i)) as u16))
    }
}

impl IndexWord for u32 {
    #[inline(always)]
    fn from_usize(number: usize) -> Self {
        number as u32
    }

    #[inline(always)]
    fn to_usize(self) -> usize {
        self as usize
    }

    #[inline(always)]
    fn unpack_quad(quad: &[Self; 4]) -> [usize; 4] {
        let [low, high]: [u64; 2] = pulp::cast(*quad);
        [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32].map(IndexWord::to_usize)
    }
}

impl Default for Indices {
    fn default() -> Self {
        Indices::U16(Vec::new())
    }
}

impl Indices {
    pub fn zeros(is_wide: bool, len: usize) -> Self {
        if is_wide { Indices::U32(vec![0; len]) } else { Indices::U16(vec![0; len]) }
    }

    /// Switches to 32 bits or 16. If the width stays, so do the numbers, which callers overwrite.
    pub fn set_wide(&mut self, is_wide: bool) {
        if matches!(self, Indices::U32(_)) != is_wide {
            *self = Self::zeros(is_wide, 0);
        }
    }

    /// Takes the vector for reuse with 16-bit numbers.
    pub(crate) fn take_u16(&mut self) -> Vec<u16> {
        match std::mem::take(self) {
            Indices::U16(indices) => indices,
            Indices::U32(_) => Vec::new(),
        }
    }

    /// Replaces the contents by `len` copies of a number.
    pub fn fill_with(&mut self, len: usize, number: usize) {
        fn fill_indices<I: IndexWord>(indices: &mut Vec<I>, len: usize, number: usize) {
            indices.clear();
            indices.resize(len, I::from_usize(number));
        }
        with_vector!(self, indices => fill_indices(indices, len, number));
    }

    pub fn len(&self) -> usize {
        with_vector!(self, indices => indices.len())
    }

    pub fn byte_size(&self) -> usize {
        with_vector!(self, indices => size_of_val(&indices[..]))
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let (narrow, wide) = match self {
            Indices::U16(indices) => (&indices[..], &[][..]),
            Indices::U32(indices) => (&[][..], &indices[..]),
        };
        narrow.iter().map(|index| index.to_usize()).chain(wide.iter().map(|index| index.to_usize()))
    }
}
