//! Small dense products for the layers after the accumulators, with the vectors of the kernels.
//! Matrices are row-major; rows of the right factor and of the result are whole vectors, padded
//! with zeros. Each element is a sum over the index `k` in ascending order, independent of its
//! neighbours. `n` counts rows of the left factor, `vector` the vectors of a row.

use super::simd::Lanes;

/// Matrix, `[rows, columns]`, or several of equal height side by side.
#[derive(Clone, Copy)]
pub(super) struct PanelMatrix<'a> {
    pub values: &'a [f32],
    /// Distance between rows.
    pub stride: usize,
    /// Distance between panels.
    pub apart: usize,
}

impl<'a> PanelMatrix<'a> {
    /// Makes a matrix of one panel.
    pub fn single_panel(values: &'a [f32], stride: usize) -> Self {
        Self { values, stride, apart: 0 }
    }

    #[inline(always)]
    fn check_shape(&self, n: usize, [panels, k]: [usize; 2]) {
        let last = (n.max(1) - 1) * self.stride + (panels.max(1) - 1) * self.apart;
        assert!(n * panels * k == 0 || self.values.len() >= last + k);
    }
}

/// Computes `c = bias + a b`: `a` is `[n, panels * k]` in panels of `k` columns, `b` is `[panels *
/// k, width]`, `bias` is `[width]`, `c` is `[n, width]`. Width is a multiple of the lanes.
#[inline(always)]
pub(super) fn multiply_panels<S: Lanes>(
    simd: S,
    n: usize,
    depth: [usize; 2],
    a: PanelMatrix,
    b: &[f32],
    bias: &[f32],
    c: &mut [f32],
) {
    let width = bias.len();
    a.check_shape(n, depth);
    assert!(width.is_multiple_of(S::F32_LANES) && c.len() == n * width);
    assert_eq!(b.len(), depth[0] * depth[1] * width);
    let vectors = width / S::F32_LANES;
    let pairs = vectors / 2;
    // Eight sums hide the latency of a multiplication, if there are enough rows.
    let mut row = 0;
    while row < n {
        let left = n - row;
        for vector in (0..pairs).map(|pair| 2 * pair) {
            let tile = [row, vector, width];
            // SAFETY: rows below n, vectors below the width, see the assertions.
            unsafe {
                match left {
                    1 => multiply_tile::<S, 1, 2>(simd, depth, tile, a, b, bias, c),
                    2 => multiply_tile::<S, 2, 2>(simd, depth, tile, a, b, bias, c),
                    3 => multiply_tile::<S, 3, 2>(simd, depth, tile, a, b, bias, c),
                    _ => multiply_tile::<S, 4, 2>(simd, depth, tile, a, b, bias, c),
                }
            };
        }
        row += left.min(4);
    }
    let mut row = 0;
    while row < n && vectors % 2 == 1 {
        let (left, tile) = (n - row, [row, vectors - 1, width]);
        // SAFETY: no more rows than are left, the last vector of the width, see the assertions.
        row += unsafe {
            match left {
                1 => multiply_tile::<S, 1, 1>(simd, depth, tile, a, b, bias, c),
                2 | 3 => multiply_tile::<S, 2, 1>(simd, depth, tile, a, b, bias, c),
                4..8 => multiply_tile::<S, 4, 1>(simd, depth, tile, a, b, bias, c),
                _ => multiply_tile::<S, 8, 1>(simd, depth, tile, a, b, bias, c),
            }
        };
    }
}

/// Computes `V` vectors of each of `T` rows of the result; returns `T`.
///
/// # Safety
/// `T` rows from `row` and `V` vectors from `vector` must lie in the matrices, as must the depth.
#[inline(always)]
unsafe fn multiply_tile<S: Lanes, const T: usize, const V: usize>(
    simd: S,
    [panels, k]: [usize; 2],
    [row, vector, width]: [usize; 3],
    a: PanelMatrix,
    b: &[f32],
    bias: &[f32],
    c: &mut [f32],
) -> usize {
    let lanes = S::F32_LANES;
    let first = vector * lanes;
    let mut sums = [[simd.splat_f32s(0.0); V]; T];
    // SAFETY: the rows, vectors and depth are within the matrices, as the caller guarantees.
    unsafe {
        for v in 0..V {
            let bias = load_vector(simd, bias, first + v * lanes);
            for sums in &mut sums {
                sums[v] = bias;
            }
        }
        let mut row_of_b = [simd.splat_f32s(0.0); V];
        for panel in 0..panels {
            let (a_start, b_start) = (panel * a.apart + row * a.stride, panel * k * width + first);
            for k in 0..k {
                for (v, b_v) in row_of_b.iter_mut().enumerate() {
                    *b_v = load_vector(simd, b, b_start + k * width + v * lanes);
                }
                for (t, sums) in sums.iter_mut().enumerate() {
                    let factor = *a.values.get_unchecked(a_start + t * a.stride + k);
                    let factor = simd.splat_f32s(factor);
                    for v in 0..V {
                        sums[v] = simd.multiply_add(factor, row_of_b[v], sums[v]);
                    }
                }
            }
        }
        for (t, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let offset = (row + t) * width + first + v * lanes;
                c.as_mut_ptr().add(offset).cast::<S::f32s>().write_unaligned(sum);
            }
        }
    }
    T
}

/// # Safety
/// `from` must contain a vector at `offset`.
#[inline(always)]
unsafe fn load_vector<S: Lanes>(_: S, from: &[f32], offset: usize) -> S::f32s {
    // SAFETY: the vector is within the slice, as the caller guarantees.
    unsafe { from.as_ptr().add(offset).cast::<S::f32s>().read_unaligned() }
}

/// Computes `c += transposed(a) b`: `a` is `[n, k]`, `b` is `[n, width]`, `c` is `[k, width]`.
#[inline(always)]
pub(super) fn gather_products<S: Lanes>(
    simd: S,
    n: usize,
    a: PanelMatrix,
    b: &[f32],
    width: usize,
    c: &mut [f32],
) {
    let k = c.len() / width;
    a.check_shape(n, [1, k]);
    assert!(width.is_multiple_of(S::F32_LANES) && b.len() == n * width && c.len() == k * width);
    for vector in 0..width / S::F32_LANES {
        let mut row = 0;
        while row + 8 <= k {
            // SAFETY: rows below k, vectors below the width, see the assertions.
            unsafe { sum_products::<S, 8>(simd, n, [row, vector, width], a, b, c) };
            row += 8;
        }
        while row < k {
            // SAFETY: row below k, vectors below the width, see the assertions.
            unsafe { sum_products::<S, 1>(simd, n, [row, vector, width], a, b, c) };
            row += 1;
        }
    }
}

/// # Safety
/// `K` rows from `row` and the vector must lie in `c`, the columns in `a`, `n` rows in both.
#[inline(always)]
unsafe fn sum_products<S: Lanes, const K: usize>(
    simd: S,
    n: usize,
    [row, vector, width]: [usize; 3],
    a: PanelMatrix,
    b: &[f32],
    c: &mut [f32],
) {
    let first = vector * S::F32_LANES;
    let mut sums = [simd.splat_f32s(0.0); K];
    for i in 0..n {
        // SAFETY: row `i` and the vector are within `b`, as the caller guarantees.
        let b = unsafe { b.as_ptr().add(i * width + first).cast::<S::f32s>().read_unaligned() };
        for (k, sum) in sums.iter_mut().enumerate() {
            // SAFETY: row `i` and column `row + k` are within `a`, as the caller guarantees.
            let factor = unsafe { *a.values.get_unchecked(i * a.stride + row + k) };
            *sum = simd.multiply_add(simd.splat_f32s(factor), b, *sum);
        }
    }
    for (k, sum) in sums.into_iter().enumerate() {
        // SAFETY: row `row + k` and the vector are within `c`, as the caller guarantees.
        unsafe {
            let to = c.as_mut_ptr().add((row + k) * width + first).cast::<S::f32s>();
            to.write_unaligned(simd.add_f32s(to.read_unaligned(), sum));
        }
    }
}
