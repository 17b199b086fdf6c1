//! Small dense products, for the layers behind the accumulators.
//!
//! Matrices are row-major; the rows of what is multiplied by, and of the result, are whole vectors,
//! padded with zeros. Each number of a result is a sum in the order of `k` alone, whatever stands
//! beside it.

use super::lanes::Lanes;

/// A matrix, `[rows, columns]`, whose rows lie `stride` numbers apart.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub values: &'a [f32],
    pub stride: usize,
}

/// `c = bias + a b`: `a` is `[n, k]`, `b` is `[k, width]`, `bias` is `[width]`, `c` is `[n, width]`,
/// its rows `width` apart. Width is a multiple of the lanes.
#[inline(always)]
pub(super) fn multiply<S: Lanes>(
    simd: S,
    [n, k]: [usize; 2],
    a: Matrix,
    b: &[f32],
    bias: &[f32],
    c: &mut [f32],
) {
    let width = bias.len();
    assert!(width.is_multiple_of(S::F32_LANES) && b.len() == k * width && c.len() == n * width);
    assert!(n == 0 || a.values.len() >= (n - 1) * a.stride + k);
    let vectors = width / S::F32_LANES;
    let mut row = 0;
    // Eight sums hide the latency of a multiplication.
    while row + 4 <= n {
        let mut vector = 0;
        while vector + 2 <= vectors {
            // SAFETY: rows below n, k columns, vectors below the width, see the assertions.
            unsafe { tile::<S, 4, 2>(simd, k, [row, vector, width], a, b, bias, c) };
            vector += 2;
        }
        if vector < vectors {
            // SAFETY: as above.
            unsafe { tile::<S, 4, 1>(simd, k, [row, vector, width], a, b, bias, c) };
        }
        row += 4;
    }
    while row < n {
        for vector in 0..vectors {
            // SAFETY: as above.
            unsafe { tile::<S, 1, 1>(simd, k, [row, vector, width], a, b, bias, c) };
        }
        row += 1;
    }
}

/// # Safety
/// `T` rows from `row` and `V` vectors from `vector` must lie in the matrices, as must `k`.
#[inline(always)]
unsafe fn tile<S: Lanes, const T: usize, const V: usize>(
    simd: S,
    k: usize,
    [row, vector, width]: [usize; 3],
    a: Matrix,
    b: &[f32],
    bias: &[f32],
    c: &mut [f32],
) {
    let lanes = S::F32_LANES;
    let first = vector * lanes;
    let mut sums = [[simd.splat_f32s(0.0); V]; T];
    // SAFETY: see above.
    unsafe {
        for v in 0..V {
            let bias = load(simd, bias, first + v * lanes);
            for sums in &mut sums {
                sums[v] = bias;
            }
        }
        let mut row_of_b = [simd.splat_f32s(0.0); V];
        for k in 0..k {
            for (v, b_v) in row_of_b.iter_mut().enumerate() {
                *b_v = load(simd, b, k * width + first + v * lanes);
            }
            for (t, sums) in sums.iter_mut().enumerate() {
                let factor = simd.splat_f32s(*a.values.get_unchecked((row + t) * a.stride + k));
                for v in 0..V {
                    sums[v] = simd.multiply_add(factor, row_of_b[v], sums[v]);
                }
            }
        }
        for (t, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let place = (row + t) * width + first + v * lanes;
                c.as_mut_ptr().add(place).cast::<S::f32s>().write_unaligned(sum);
            }
        }
    }
}

/// # Safety
/// A vector must lie at the place.
#[inline(always)]
unsafe fn load<S: Lanes>(_: S, from: &[f32], place: usize) -> S::f32s {
    // SAFETY: see above.
    unsafe { from.as_ptr().add(place).cast::<S::f32s>().read_unaligned() }
}

/// `c += transposed(a) b`: `a` is `[n, k]`, `b` is `[n, width]`, `c` is `[k, width]`.
#[inline(always)]
pub(super) fn gather_products<S: Lanes>(
    simd: S,
    [n, k]: [usize; 2],
    a: Matrix,
    b: &[f32],
    width: usize,
    c: &mut [f32],
) {
    assert!(width.is_multiple_of(S::F32_LANES) && b.len() == n * width && c.len() == k * width);
    assert!(n == 0 || a.values.len() >= (n - 1) * a.stride + k);
    if n == 0 {
        return;
    }
    for vector in 0..width / S::F32_LANES {
        let mut row = 0;
        while row + 8 <= k {
            // SAFETY: rows below k, vectors below the width, see the assertions.
            unsafe { products::<S, 8>(simd, n, [row, vector, width], a, b, c) };
            row += 8;
        }
        while row < k {
            // SAFETY: as above.
            unsafe { products::<S, 1>(simd, n, [row, vector, width], a, b, c) };
            row += 1;
        }
    }
}

/// # Safety
/// `K` rows from `row` and the vector must lie in `c`, the columns in `a`, `n` rows in both.
#[inline(always)]
unsafe fn products<S: Lanes, const K: usize>(
    simd: S,
    n: usize,
    [row, vector, width]: [usize; 3],
    a: Matrix,
    b: &[f32],
    c: &mut [f32],
) {
    let first = vector * S::F32_LANES;
    let mut sums = [simd.splat_f32s(0.0); K];
    for i in 0..n {
        // SAFETY: see above.
        let b = unsafe { b.as_ptr().add(i * width + first).cast::<S::f32s>().read_unaligned() };
        for (k, sum) in sums.iter_mut().enumerate() {
            // SAFETY: see above.
            let factor = unsafe { *a.values.get_unchecked(i * a.stride + row + k) };
            *sum = simd.multiply_add(simd.splat_f32s(factor), b, *sum);
        }
    }
    for (k, sum) in sums.into_iter().enumerate() {
        // SAFETY: see above.
        unsafe {
            let to = c.as_mut_ptr().add((row + k) * width + first).cast::<S::f32s>();
            to.write_unaligned(simd.add_f32s(to.read_unaligned(), sum));
        }
    }
}
