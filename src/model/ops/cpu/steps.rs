//! The steps of optimisers, each one pass over the parameters.

mod adam;
mod lion;
mod mean;
mod schedule_free;

use std::mem::take;

use rayon::prelude::*;

use super::lanes::Lanes;
use super::level::{Level, Task};

pub use adam::{Adam, Factors as AdamFactors};
pub use lion::{Factors as LionFactors, Lion};
pub use mean::Mean;
pub use schedule_free::{Factors as ScheduleFreeFactors, ScheduleFree};

/// A step in numbers that are the same for each parameter.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Adam(AdamFactors),
    Lion(LionFactors),
    ScheduleFree(ScheduleFreeFactors),
    /// The parameters are a mean, and the gradients what joins it.
    Mean(Mean),
}

impl Step {
    /// Numbers that are kept for each parameter from step to step.
    pub fn states(&self) -> usize {
        match self {
            Step::Adam(_) | Step::ScheduleFree(_) => 2,
            Step::Lion(_) => 1,
            Step::Mean(_) => 0,
        }
    }

    /// Takes the step in place. The result has the same bits for any number of rayon's threads.
    ///
    /// # Panics
    /// When the slices differ in length, or there are not as many states as the step has.
    pub fn take(
        &self,
        level: Level,
        parameters: &mut [f32],
        gradients: &[f32],
        states: Vec<&mut [f32]>,
    ) {
        match self {
            Step::Adam(formula) => pass(formula, level, parameters, gradients, sorted(states)),
            Step::Lion(formula) => pass(formula, level, parameters, gradients, sorted(states)),
            Step::ScheduleFree(it) => pass(it, level, parameters, gradients, sorted(states)),
            Step::Mean(formula) => pass(formula, level, parameters, gradients, sorted(states)),
        }
    }
}

fn sorted<const N: usize>(states: Vec<&mut [f32]>) -> [&mut [f32]; N] {
    let found = states.len();
    states.try_into().unwrap_or_else(|_| panic!("{N} states, not {found}"))
}

/// What happens to a parameter `p` with gradient `g`.
trait Formula<const STATES: usize>: Sync {
    /// The new parameters and states.
    fn apply<S: Lanes>(
        &self,
        simd: S,
        p: S::f32s,
        g: S::f32s,
        states: [S::f32s; STATES],
    ) -> (S::f32s, [S::f32s; STATES]);
}

/// The bound that a clip of 0 stands for, which is none.
fn bound(clip: f64) -> f32 {
    if clip == 0.0 { f32::INFINITY } else { clip as f32 }
}

/// Held within `-clip ..= clip`, unless it is not a number.
#[inline(always)]
fn bounded<S: Lanes>(simd: S, p: S::f32s, clip: f32) -> S::f32s {
    let clipped = simd.min_f32s(simd.splat_f32s(clip), simd.max_f32s(simd.splat_f32s(-clip), p));
    // Not every processor's min and max keep what is not a number; clipped away, it would hide
    // that training diverged. Times zero it stays, and all else adds nothing.
    simd.mul_add_e_f32s(p, simd.splat_f32s(0.0), clipped)
}

/// Applies a formula to all parameters.
fn pass<F: Formula<N>, const N: usize>(
    formula: &F,
    level: Level,
    mut parameters: &mut [f32],
    mut gradients: &[f32],
    mut states: [&mut [f32]; N],
) {
    assert_eq!(gradients.len(), parameters.len(), "gradients");
    assert!(states.iter().all(|it| it.len() == gradients.len()), "states");
    // A piece and its states fit the second cache; a small tensor is not worth a second thread.
    const PIECE: usize = 1 << 14;
    let mut pieces = Vec::with_capacity(parameters.len() / PIECE + 1);
    while parameters.len() > PIECE {
        fn cut<'a>(all: &mut &'a mut [f32]) -> &'a mut [f32] {
            let (piece, rest) = take(all).split_at_mut(PIECE);
            *all = rest;
            piece
        }
        let (piece, rest) = gradients.split_at(PIECE);
        gradients = rest;
        let states = states.each_mut().map(cut);
        pieces.push(Piece { formula, parameters: cut(&mut parameters), gradients: piece, states });
    }
    let last = Piece { formula, parameters, gradients, states };
    if pieces.is_empty() {
        return level.run(last);
    }
    pieces.push(last);
    pieces.into_par_iter().for_each(|piece| level.run(piece));
}

struct Piece<'a, F, const N: usize> {
    formula: &'a F,
    parameters: &'a mut [f32],
    gradients: &'a [f32],
    states: [&'a mut [f32]; N],
}

impl<F: Formula<N>, const N: usize> Task for Piece<'_, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Piece { formula, parameters, gradients, states } = self;
        let (parameters, last_parameters) = S::as_mut_simd_f32s(parameters);
        let (gradients, last_gradients) = S::as_simd_f32s(gradients);
        let mut states = states.map(|it| S::as_mut_simd_f32s(it));
        for (i, (p, &g)) in parameters.iter_mut().zip(gradients).enumerate() {
            let mut now = [g; N];
            for (now, (state, _)) in now.iter_mut().zip(&states) {
                *now = state[i];
            }
            (*p, now) = formula.apply(simd, *p, g, now);
            for (now, (state, _)) in now.into_iter().zip(&mut states) {
                state[i] = now;
            }
        }
        if !last_parameters.is_empty() {
            let g = simd.partial_load_f32s(last_gradients);
            let mut now = [g; N];
            for (now, (_, last)) in now.iter_mut().zip(&states) {
                *now = simd.partial_load_f32s(last);
            }
            let (p, now) = formula.apply(simd, simd.partial_load_f32s(last_parameters), g, now);
            simd.partial_store_f32s(last_parameters, p);
            for (now, (_, last)) in now.into_iter().zip(&mut states) {
                simd.partial_store_f32s(last, now);
            }
        }
    }
}
