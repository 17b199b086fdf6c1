//! Steps of optimisers. Each is one formula, over vectors of the processor in one pass, or over
//! tensors.

mod adagrad;
mod adam;
mod lion;
mod schedule_free;
mod sgd;

use std::mem::take;

use burn::tensor::Tensor;
use rayon::prelude::*;

use super::cpu::lanes::Lanes;
use super::cpu::level::{Level, Task};
pub use adagrad::AdaGrad;
pub use adam::{Adam, Factors as AdamFactors};
pub use lion::{Factors as LionFactors, Lion};
pub use schedule_free::{Factors as ScheduleFreeFactors, ScheduleFree};
pub use sgd::Sgd;

/// A step as factors that are the same for each parameter.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Adam(AdamFactors),
    AdaGrad(AdaGrad),
    Lion(LionFactors),
    ScheduleFree(ScheduleFreeFactors),
    Sgd(Sgd),
    /// `p += share * (g - p)`: the parameters are a mean, and the gradients join it.
    Mean(Mean),
}

/// See [`Step::Mean`].
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub share: f32,
}

impl Step {
    /// Arrays of state.
    pub fn states(&self) -> usize {
        match self {
            Step::Adam(_) | Step::ScheduleFree(_) => 2,
            Step::AdaGrad(_) | Step::Lion(_) | Step::Sgd(_) => 1,
            Step::Mean(_) => 0,
        }
    }

    /// Takes the step in place. The result has the same bits for any number of rayon's threads.
    ///
    /// # Panics
    /// When the slices differ in length, or the number of states is not that of the step.
    pub fn take(&self, level: Level, p: &mut [f32], g: &[f32], states: Vec<&mut [f32]>) {
        match self {
            Step::Adam(formula) => pass(formula, level, p, g, exactly(states)),
            Step::AdaGrad(formula) => pass(formula, level, p, g, exactly(states)),
            Step::Lion(formula) => pass(formula, level, p, g, exactly(states)),
            Step::ScheduleFree(formula) => pass(formula, level, p, g, exactly(states)),
            Step::Sgd(formula) => pass(formula, level, p, g, exactly(states)),
            Step::Mean(formula) => pass(formula, level, p, g, exactly(states)),
        }
    }

    /// The same by Burn's tensor operations, on any device.
    pub fn of_tensors<const D: usize>(
        &self,
        p: Tensor<D>,
        g: Tensor<D>,
        states: Vec<Tensor<D>>,
    ) -> (Tensor<D>, Vec<Tensor<D>>) {
        fn apply<const N: usize, const D: usize>(
            formula: &impl Formula<N>,
            p: Tensor<D>,
            g: Tensor<D>,
            states: Vec<Tensor<D>>,
        ) -> (Tensor<D>, Vec<Tensor<D>>) {
            let (p, states) = formula.apply(Tensors::<D>, p, g, exactly(states));
            (p, states.into())
        }
        match self {
            Step::Adam(formula) => apply(formula, p, g, states),
            Step::AdaGrad(formula) => apply(formula, p, g, states),
            Step::Lion(formula) => apply(formula, p, g, states),
            Step::ScheduleFree(formula) => apply(formula, p, g, states),
            Step::Sgd(formula) => apply(formula, p, g, states),
            Step::Mean(formula) => apply(formula, p, g, states),
        }
    }
}

fn exactly<T, const N: usize>(states: Vec<T>) -> [T; N] {
    let found = states.len();
    states.try_into().unwrap_or_else(|_| panic!("{N} states, not {found}"))
}

/// The update of a parameter `p` with gradient `g`.
trait Formula<const STATES: usize>: Sync {
    /// The new parameters and states.
    fn apply<A: Arithmetic>(
        &self,
        a: A,
        p: A::V,
        g: A::V,
        states: [A::V; STATES],
    ) -> (A::V, [A::V; STATES]);
}

impl Formula<0> for Mean {
    #[inline(always)]
    fn apply<A: Arithmetic>(&self, a: A, p: A::V, g: A::V, _: [A::V; 0]) -> (A::V, [A::V; 0]) {
        (a.scale_add(self.share, &a.sub(g, p.clone()), p), [])
    }
}

/// Arithmetic on vectors or tensors `V` and single factors.
trait Arithmetic: Copy {
    type V: Clone;

    /// `factor * x`
    fn scale(self, factor: f32, x: Self::V) -> Self::V;
    /// `factor * x + y`
    fn scale_add(self, factor: f32, x: &Self::V, y: Self::V) -> Self::V;
    /// `x + number`
    fn shift(self, number: f32, x: Self::V) -> Self::V;
    fn mul(self, x: Self::V, y: Self::V) -> Self::V;
    fn div(self, x: Self::V, y: Self::V) -> Self::V;
    fn sub(self, x: Self::V, y: Self::V) -> Self::V;
    fn sqrt(self, x: Self::V) -> Self::V;
    /// Limits numbers to `-bound ..= bound`; NaN may become a number.
    fn clamp(self, x: Self::V, bound: f32) -> Self::V;

    /// The same, with NaN kept: clipped away, it would hide that training diverged.
    #[inline(always)]
    fn bounded(self, x: Self::V, bound: f32) -> Self::V {
        self.scale_add(0.0, &x, self.clamp(x.clone(), bound))
    }
}

/// Vectors of the processor.
#[derive(Clone, Copy)]
struct Vectors<S>(S);

impl<S: Lanes> Arithmetic for Vectors<S> {
    type V = S::f32s;

    #[inline(always)]
    fn scale(self, factor: f32, x: S::f32s) -> S::f32s {
        self.0.mul_f32s(self.0.splat_f32s(factor), x)
    }

    #[inline(always)]
    fn scale_add(self, factor: f32, x: &S::f32s, y: S::f32s) -> S::f32s {
        self.0.multiply_add(self.0.splat_f32s(factor), *x, y)
    }

    #[inline(always)]
    fn shift(self, number: f32, x: S::f32s) -> S::f32s {
        self.0.add_f32s(x, self.0.splat_f32s(number))
    }

    #[inline(always)]
    fn mul(self, x: S::f32s, y: S::f32s) -> S::f32s {
        self.0.mul_f32s(x, y)
    }

    #[inline(always)]
    fn div(self, x: S::f32s, y: S::f32s) -> S::f32s {
        self.0.div_f32s(x, y)
    }

    #[inline(always)]
    fn sub(self, x: S::f32s, y: S::f32s) -> S::f32s {
        self.0.sub_f32s(x, y)
    }

    #[inline(always)]
    fn sqrt(self, x: S::f32s) -> S::f32s {
        self.0.sqrt_f32s(x)
    }

    #[inline(always)]
    fn clamp(self, x: S::f32s, bound: f32) -> S::f32s {
        let [low, high] = [-bound, bound].map(|it| self.0.splat_f32s(it));
        self.0.min_f32s(high, self.0.max_f32s(low, x))
    }
}

/// Burn's tensors.
#[derive(Clone, Copy)]
struct Tensors<const D: usize>;

impl<const D: usize> Arithmetic for Tensors<D> {
    type V = Tensor<D>;

    fn scale(self, factor: f32, x: Tensor<D>) -> Tensor<D> {
        x.mul_scalar(factor)
    }

    fn scale_add(self, factor: f32, x: &Tensor<D>, y: Tensor<D>) -> Tensor<D> {
        x.clone().mul_scalar(factor) + y
    }

    fn shift(self, number: f32, x: Tensor<D>) -> Tensor<D> {
        x.add_scalar(number)
    }

    fn mul(self, x: Tensor<D>, y: Tensor<D>) -> Tensor<D> {
        x * y
    }

    fn div(self, x: Tensor<D>, y: Tensor<D>) -> Tensor<D> {
        x / y
    }

    fn sub(self, x: Tensor<D>, y: Tensor<D>) -> Tensor<D> {
        x - y
    }

    fn sqrt(self, x: Tensor<D>) -> Tensor<D> {
        x.sqrt()
    }

    fn clamp(self, x: Tensor<D>, bound: f32) -> Tensor<D> {
        if bound.is_finite() { x.clamp(-bound, bound) } else { x }
    }
}

/// The bound of a clip, where 0 is none.
fn bound(clip: f64) -> f32 {
    if clip == 0.0 { f32::INFINITY } else { clip as f32 }
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
            (*p, now) = formula.apply(Vectors(simd), *p, g, now);
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
            let (p, now) =
                formula.apply(Vectors(simd), simd.partial_load_f32s(last_parameters), g, now);
            simd.partial_store_f32s(last_parameters, p);
            for (now, (_, last)) in now.into_iter().zip(&mut states) {
                simd.partial_store_f32s(last, now);
            }
        }
    }
}
