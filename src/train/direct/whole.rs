//! Sums in whole centipawns.

use crate::sums::Sums;

/// [`Sums`] of whole weights: exact, so that they keep no trace of the way they came about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole {
    pub normal: [i32; 2],
    pub safety: [[i32; 2]; 2],
    pub complexity: i32,
}

/// A position's sums start no further out, in centipawns, so that steps never overflow.
const FURTHEST: f64 = (1 << 29) as f64;

impl Whole {
    /// `None` where a sum is too large.
    pub fn of(sums: Sums) -> Option<Self> {
        let whole = |sum: f64| (sum.abs() <= FURTHEST).then_some(sum as i32);
        let pair = |[one, other]: [f64; 2]| Some([whole(one)?, whole(other)?]);
        let [white, black] = sums.safety;
        Some(Self {
            normal: pair(sums.normal)?,
            safety: [pair(white)?, pair(black)?],
            complexity: whole(sums.complexity)?,
        })
    }

    pub fn sums(self) -> Sums {
        Sums {
            normal: self.normal.map(f64::from),
            safety: self.safety.map(|side| side.map(f64::from)),
            complexity: f64::from(self.complexity),
        }
    }

    /// How a NORMAL weight of a phase changes the sums with its count and a step.
    pub fn normal(phase: usize) -> impl Fn(&mut Self, i16, i32) + Sync {
        move |sums, count, step| sums.normal[phase] += i32::from(count) * step
    }

    /// The same of a SAFETY weight.
    pub fn safety(phase: usize) -> impl Fn(&mut Self, [i16; 2], i32) + Sync {
        move |sums, counts, step| {
            for (side, count) in sums.safety.iter_mut().zip(counts) {
                side[phase] += i32::from(count) * step;
            }
        }
    }

    /// The same of a COMPLEXITY weight.
    pub fn complexity() -> impl Fn(&mut Self, i16, i32) + Sync {
        |sums, count, step| sums.complexity += i32::from(count) * step
    }
}
