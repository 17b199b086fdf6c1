//! Prefetch of cache lines.

/// Prefetches the cache line of an element, into the first-level cache if `near`, else into the
/// second; the index may lie beyond the slice.
#[inline(always)]
pub fn prefetch_line<T>(slice: &[T], index: usize, near: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index).cast();
        // SAFETY: a hint may name any address, and all of x86-64 has it.
        unsafe {
            match near {
                true => _mm_prefetch::<_MM_HINT_T0>(address),
                false => _mm_prefetch::<_MM_HINT_T1>(address),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index, near);
}
