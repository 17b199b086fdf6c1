//! Vector instructions of the kernels, chosen at run time, and operations that pulp's vectors lack.

use pulp::{NullaryFnOnce, Simd};

/// Set of vector instructions. Results are the same up to rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimdLevel {
    /// x86-64 with AVX-512 F, BW, CD, DQ and VL.
    Avx512,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    Neon,
    Portable,
}

// Fastest first.
words!(SimdLevel: Avx512 = "avx512", Avx2 = "avx2", Neon = "neon", Portable = "portable");

impl SimdLevel {
    /// Returns the fastest level of this machine.
    pub fn detect_fastest() -> SimdLevel {
        SimdLevel::list_available()[0]
    }

    /// Lists the levels of this machine, fastest first.
    pub fn list_available() -> Vec<SimdLevel> {
        SimdLevel::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => pulp::x86::V4::is_available(),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => pulp::x86::V3::is_available(),
            #[cfg(target_arch = "aarch64")]
            SimdLevel::Neon => pulp::aarch64::Neon::is_available(),
            SimdLevel::Portable => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// Returns the number of floats in a vector.
    pub(super) fn lane_count(self) -> usize {
        match self {
            SimdLevel::Avx512 => 16,
            SimdLevel::Avx2 => 8,
            SimdLevel::Neon | SimdLevel::Portable => 4,
        }
    }

    /// Runs a task with this level's instructions. Panics if the machine lacks them.
    pub(in crate::model::ops) fn run<T: Task>(self, task: T) -> T::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => run_task::<_, _, 1>(pulp::x86::V4::try_new(), task),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => run_task::<_, _, 2>(pulp::x86::V3::try_new(), task),
            #[cfg(target_arch = "aarch64")]
            SimdLevel::Neon => run_task::<_, _, 4>(pulp::aarch64::Neon::try_new(), task),
            SimdLevel::Portable => BoundTask::<_, _, 4> { task, simd: pulp::Scalar128b }.call(),
            #[allow(unreachable_patterns)]
            _ => panic!("{MISSING}"),
        }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn run_task<T: Task, S: Lanes, const R: usize>(simd: Option<S>, task: T) -> T::Output {
    let simd = simd.expect(MISSING);
    simd.vectorize(BoundTask::<_, _, R> { task, simd })
}

const MISSING: &str = "this machine lacks the requested instructions";

/// Work that is compiled once per level. `R` vectors make a cache line, the columns of a block.
pub(in crate::model::ops) trait Task {
    type Output;
    /// Must be `#[inline(always)]`, with all that it calls, to use the instructions.
    fn run<S: Lanes, const R: usize>(self, simd: S) -> Self::Output;
}

struct BoundTask<T, S, const R: usize> {
    task: T,
    simd: S,
}

impl<T: Task, S: Lanes, const R: usize> NullaryFnOnce for BoundTask<T, S, R> {
    type Output = T::Output;

    #[inline(always)]
    fn call(self) -> T::Output {
        self.task.run::<S, R>(self.simd)
    }
}

/// Vectors of floats, and of 16-bit integers beside them.
pub(in crate::model::ops) trait Lanes: Simd {
    /// Computes `a * b + c`, rounded once or twice.
    #[inline(always)]
    fn multiply_add(self, a: Self::f32s, b: Self::f32s, c: Self::f32s) -> Self::f32s {
        self.mul_add_e_f32s(a, b, c)
    }

    /// Computes `a + b`, clamped to the range of 16 bits.
    fn add_saturating(self, a: Self::i16s, b: Self::i16s) -> Self::i16s;
    /// Converts the lower and the upper half to floats.
    fn widen(self, a: Self::i16s) -> [Self::f32s; 2];
    /// Rounds to the nearest integers, which must be within the range of 16 bits.
    fn narrow(self, halves: [Self::f32s; 2]) -> Self::i16s;
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V4 {
    #[inline(always)]
    fn add_saturating(self, a: Self::i16s, b: Self::i16s) -> Self::i16s {
        pulp::cast(self.avx512bw._mm512_adds_epi16(pulp::cast(a), pulp::cast(b)))
    }

    #[inline(always)]
    fn widen(self, a: Self::i16s) -> [Self::f32s; 2] {
        let halves: [_; 2] = pulp::cast(a);
        halves.map(|half| self.convert_i32x16_to_f32x16(self.convert_i16x16_to_i32x16(half)))
    }

    #[inline(always)]
    fn narrow(self, halves: [Self::f32s; 2]) -> Self::i16s {
        pulp::cast(halves.map(|half| {
            let rounded = self.avx512f._mm512_cvtps_epi32(pulp::cast(half));
            self.convert_i32x16_to_i16x16(pulp::cast(rounded))
        }))
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V3 {
    #[inline(always)]
    fn add_saturating(self, a: Self::i16s, b: Self::i16s) -> Self::i16s {
        pulp::cast(self.avx2._mm256_adds_epi16(pulp::cast(a), pulp::cast(b)))
    }

    #[inline(always)]
    fn widen(self, a: Self::i16s) -> [Self::f32s; 2] {
        let halves: [_; 2] = pulp::cast(a);
        halves.map(|half| {
            let whole = self.avx2._mm256_cvtepi16_epi32(half);
            pulp::cast(self.avx._mm256_cvtepi32_ps(whole))
        })
    }

    #[inline(always)]
    fn narrow(self, halves: [Self::f32s; 2]) -> Self::i16s {
        let [low, high] = halves.map(|half| self.avx._mm256_cvtps_epi32(pulp::cast(half)));
        // Packing works within 128-bit parts; the permutation restores the order.
        let packed = self.avx2._mm256_packs_epi32(low, high);
        pulp::cast(self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(packed))
    }
}

#[cfg(target_arch = "aarch64")]
impl Lanes for pulp::aarch64::Neon {
    #[inline(always)]
    fn add_saturating(self, a: Self::i16s, b: Self::i16s) -> Self::i16s {
        pulp::cast(self.neon.vqaddq_s16(pulp::cast(a), pulp::cast(b)))
    }

    #[inline(always)]
    fn widen(self, a: Self::i16s) -> [Self::f32s; 2] {
        let whole = pulp::cast(a);
        let low = self.neon.vmovl_s16(self.neon.vget_low_s16(whole));
        let high = self.neon.vmovl_high_s16(whole);
        [low, high].map(|half| pulp::cast(self.neon.vcvtq_f32_s32(half)))
    }

    #[inline(always)]
    fn narrow(self, halves: [Self::f32s; 2]) -> Self::i16s {
        let [low, high] = halves.map(|half| self.neon.vcvtnq_s32_f32(pulp::cast(half)));
        pulp::cast(self.neon.vqmovn_high_s32(self.neon.vqmovn_s32(low), high))
    }
}

impl Lanes for pulp::Scalar128b {
    // pulp's operation rounds once even if that takes a function call per number.
    #[inline(always)]
    fn multiply_add(self, a: Self::f32s, b: Self::f32s, c: Self::f32s) -> Self::f32s {
        self.add_f32s(self.mul_f32s(a, b), c)
    }

    #[inline(always)]
    fn add_saturating(self, a: Self::i16s, b: Self::i16s) -> Self::i16s {
        let (a, b): ([i16; 8], [i16; 8]) = (pulp::cast(a), pulp::cast(b));
        pulp::cast::<[i16; 8], _>(std::array::from_fn(|i| a[i].saturating_add(b[i])))
    }

    #[inline(always)]
    fn widen(self, a: Self::i16s) -> [Self::f32s; 2] {
        let a: [i16; 8] = pulp::cast(a);
        pulp::cast(a.map(f32::from))
    }

    #[inline(always)]
    fn narrow(self, halves: [Self::f32s; 2]) -> Self::i16s {
        // Adding 1.5 * 2^23 leaves no bits for a fraction, and the integer in the lowest bits.
        let a: [f32; 8] = pulp::cast(halves);
        pulp::cast(a.map(|a| (a + 12_582_912.0).to_bits() as i16))
    }
}
