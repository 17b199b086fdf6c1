//! Which vector instructions the kernels use, chosen at run time.

use pulp::NullaryFnOnce;

use super::lanes::Lanes;

/// A set of vector instructions. All compute the same up to rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// x86-64 with AVX-512 F, BW, CD, DQ and VL.
    Avx512,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// AArch64.
    Neon,
    /// Whatever the compiler makes of plain loops; runs anywhere.
    Portable,
}

impl Level {
    /// Fastest first.
    pub const ALL: [Level; 4] = [Level::Avx512, Level::Avx2, Level::Neon, Level::Portable];

    /// The fastest one this machine has.
    pub fn detect() -> Level {
        let mut available = Level::ALL.into_iter().filter(|level| level.is_available());
        available.next().expect("the portable level is always available")
    }

    /// Those this machine has, fastest first.
    pub fn available() -> Vec<Level> {
        Level::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    /// The one with this [`name`](Level::name), available or not.
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Level::Avx512 => "avx512",
            Level::Avx2 => "avx2",
            Level::Neon => "neon",
            Level::Portable => "portable",
        }
    }

    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => pulp::x86::V4::is_available(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => pulp::x86::V3::is_available(),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => pulp::aarch64::Neon::is_available(),
            Level::Portable => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// Runs a task with this level's instructions.
    ///
    /// # Panics
    /// Where the machine lacks the level.
    pub(in crate::model::ops) fn run<T: Task>(self, task: T) -> T::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                let simd = pulp::x86::V4::try_new().expect(MISSING);
                pulp::Simd::vectorize(simd, Bound::<_, _, 1> { task, simd })
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                let simd = pulp::x86::V3::try_new().expect(MISSING);
                pulp::Simd::vectorize(simd, Bound::<_, _, 2> { task, simd })
            }
            #[cfg(target_arch = "aarch64")]
            Level::Neon => {
                let simd = pulp::aarch64::Neon::try_new().expect(MISSING);
                pulp::Simd::vectorize(simd, Bound::<_, _, 4> { task, simd })
            }
            Level::Portable => Bound::<_, _, 4> { task, simd: pulp::Scalar128b }.call(),
            #[allow(unreachable_patterns)]
            _ => panic!("{MISSING}"),
        }
    }
}

const MISSING: &str = "this machine lacks the instructions asked for";

/// Work that is compiled once a level. `R` vectors make a cache line, the columns of a block.
pub(in crate::model::ops) trait Task {
    type Output;

    /// Must be `#[inline(always)]`, and all it calls: only what is inlined uses the instructions.
    fn run<S: Lanes, const R: usize>(self, simd: S) -> Self::Output;
}

struct Bound<T, S, const R: usize> {
    task: T,
    simd: S,
}

impl<T: Task, S: Lanes, const R: usize> NullaryFnOnce for Bound<T, S, R> {
    type Output = T::Output;

    #[inline(always)]
    fn call(self) -> T::Output {
        self.task.run::<S, R>(self.simd)
    }
}
