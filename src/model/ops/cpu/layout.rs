//! How the kernels keep numbers: aligned, in blocks of a few columns.
//!
//! A block holds the same few columns of every row, one row behind the other. That way all rows
//! of a block stay in the first cache while a kernel walks over the positions, and the rows of a
//! power-of-two number of columns do not fight for the same cache sets.

use std::ops::Range;

use crate::batch::plan::{ABREAST, LINE};

/// Lists before their turn that lines of far accumulators are asked for.
pub(super) const SOON: usize = 4 * ABREAST;

/// Lets the processor fetch `numbers[range]`, if it is there, into its second cache. What comes from
/// farther away would be waited for.
#[inline(always)]
pub(super) fn prefetch<T>(numbers: &[T], range: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let numbers = numbers.get(range).unwrap_or_default();
        for line in (0..size_of_val(numbers)).step_by(LINE) {
            // SAFETY: the bytes are there, and every x86-64 can prefetch.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(numbers.as_ptr().byte_add(line).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, range);
}

/// A buffer that begins at a cache line's start, as vectors across two lines are slow.
#[derive(Default)]
pub(super) struct Aligned<T> {
    /// The buffer and a line to spare.
    room: Vec<T>,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// Makes room for so many numbers, of any value: those that were there may have moved.
    pub fn resize(&mut self, len: usize) {
        self.len = len;
        let need = len + LINE / size_of::<T>();
        if self.room.len() < need {
            self.room.resize(need, T::default());
        }
    }

    pub fn get(&self) -> &[T] {
        match self.len {
            0 => &[],
            len => &self.room[self.room.as_ptr().align_offset(LINE)..][..len],
        }
    }

    pub fn get_mut(&mut self) -> &mut [T] {
        match self.len {
            0 => &mut [],
            len => {
                let start = self.room.as_ptr().align_offset(LINE);
                &mut self.room[start..][..len]
            }
        }
    }
}
