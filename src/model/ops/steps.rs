//! Steps of optimisers: one formula each, evaluated over vectors in one pass, or over tensors.

use std::any::Any;

use burn::tensor::Tensor;
use rayon::prelude::*;

use super::cpu::simd::{Lanes, SimdLevel, Task};
use crate::prefetch::prefetch_line;

/// A step with its factors, which are the same for each parameter.
#[derive(Clone, Copy, Debug)]
pub enum OptimizerStep {
    Adam(AdamFactors),
    AdaGrad(AdaGrad),
    Sgd(Sgd),
    /// `p += share * (g - p)`: adds the gradients to a mean.
    Mean(Mean),
}

/// Evaluates an expression with a step's formula, whose type depends on the step.
macro_rules! with_formula {
    ($step:expr, $formula:ident => $value:expr) => {
        match $step {
            OptimizerStep::Adam($formula) => $value,
            OptimizerStep::AdaGrad($formula) => $value,
            OptimizerStep::Sgd($formula) => $value,
            OptimizerStep::Mean($formula) => $value,
        }
    };
}

#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub share: f32,
}

impl OptimizerStep {
    pub fn state_count(&self) -> usize {
        match self {
            OptimizerStep::Adam(_) => 2,
            OptimizerStep::AdaGrad(_) | OptimizerStep::Sgd(_) => 1,
            OptimizerStep::Mean(_) => 0,
        }
    }

    /// Takes the step in place. The result has the same bits for any number of rayon's threads.
    pub fn take_step(&self, level: SimdLevel, p: &mut [f32], g: &[f32], states: Vec<&mut [f32]>) {
        with_formula!(self, formula => step_pass(formula, level, p, g, into_array(states)));
    }

    /// Takes missed steps in `rows` of `p` and the states, in place. `taken` has the steps that
    /// every row has taken. The gradient is zero, except in the last step if `g` is given, which
    /// has only these rows. The bits are those of [`OptimizerStep::take_step`], step by step, for
    /// any number of rayon's threads. Panics if the steps are of several kinds, rows are not
    /// sorted, or lengths differ.
    pub fn take_missed(
        steps: &[OptimizerStep],
        level: SimdLevel,
        (rows, taken): (&[u32], &mut [u32]),
        p: &mut [f32],
        g: Option<&[f32]>,
        states: Vec<&mut [f32]>,
    ) {
        let Some(last) = steps.last() else { return };
        with_formula!(last, formula => {
            let formulas = of_kind(formula, steps);
            pass_missed(&formulas, level, (rows, taken), p, g, into_array(states));
        });
    }

    /// Takes a step by tensor operations, which define the formula of each optimiser.
    pub fn step_tensors(
        &self,
        p: Tensor<1>,
        g: Tensor<1>,
        states: Vec<Tensor<1>>,
    ) -> (Tensor<1>, Vec<Tensor<1>>) {
        with_formula!(self, formula => {
            let (p, states) = formula.step_element(StepTensors, p, g, into_array(states));
            (p, states.into())
        })
    }
}

fn into_array<T, const N: usize>(states: Vec<T>) -> [T; N] {
    let count = states.len();
    states.try_into().unwrap_or_else(|_| panic!("{N} states, not {count}"))
}

fn of_kind<F: Copy + 'static>(_: &F, steps: &[OptimizerStep]) -> Vec<F> {
    let formula = |step: &OptimizerStep| {
        let formula = with_formula!(step, formula => (formula as &dyn Any).downcast_ref().copied());
        formula.expect("steps of one kind")
    };
    steps.iter().map(formula).collect()
}

/// The update of a parameter `p` with gradient `g`.
trait Formula<const STATES: usize>: Copy + Sync + 'static {
    fn step_element<A: LaneArithmetic>(
        &self,
        a: A,
        p: A::V,
        g: A::V,
        states: [A::V; STATES],
    ) -> (A::V, [A::V; STATES]);

    /// Returns the step for zero gradient and states, if the states then stay zero.
    fn without_gradient(&self) -> Option<Shrink> {
        None
    }
}

/// `p = clamp(shrink * p - g, -clip, clip)`: the end of Adam's step.
#[derive(Clone, Copy)]
struct Shrink {
    shrink: f32,
    clip: f32,
}

impl Formula<0> for Shrink {
    #[inline(always)]
    fn step_element<A: LaneArithmetic>(
        &self,
        a: A,
        p: A::V,
        g: A::V,
        _: [A::V; 0],
    ) -> (A::V, [A::V; 0]) {
        (a.bounded(a.sub(a.scale(self.shrink, p), g), self.clip), [])
    }
}

impl Formula<0> for Mean {
    #[inline(always)]
    fn step_element<A: LaneArithmetic>(
        &self,
        a: A,
        p: A::V,
        g: A::V,
        _: [A::V; 0],
    ) -> (A::V, [A::V; 0]) {
        (a.scale_add(self.share, &a.sub(g, p.clone()), p), [])
    }
}

/// Arithmetic on vectors or tensors `V` and single factors.
trait LaneArithmetic: Copy {
    type V: Clone;
    fn scale(self, factor: f32, x: Self::V) -> Self::V;
    fn scale_add(self, factor: f32, x: &Self::V, y: Self::V) -> Self::V;
    fn shift(self, number: f32, x: Self::V) -> Self::V;
    fn mul(self, x: Self::V, y: Self::V) -> Self::V;
    fn div(self, x: Self::V, y: Self::V) -> Self::V;
    fn sub(self, x: Self::V, y: Self::V) -> Self::V;
    fn sqrt(self, x: Self::V) -> Self::V;
    /// Limits numbers to `-bound ..= bound`; NaN may become a number.
    fn clamp(self, x: Self::V, bound: f32) -> Self::V;

    /// As `clamp`, but NaN stays: otherwise it would hide a divergence.
    #[inline(always)]
    fn bounded(self, x: Self::V, bound: f32) -> Self::V {
        self.scale_add(0.0, &x, self.clamp(x.clone(), bound))
    }
}

#[derive(Clone, Copy)]
struct Vectors<S>(S);

impl<S: Lanes> LaneArithmetic for Vectors<S> {
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

#[derive(Clone, Copy)]
struct StepTensors;

impl LaneArithmetic for StepTensors {
    type V = Tensor<1>;

    fn scale(self, factor: f32, x: Tensor<1>) -> Tensor<1> {
        x.mul_scalar(factor)
    }

    fn scale_add(self, factor: f32, x: &Tensor<1>, y: Tensor<1>) -> Tensor<1> {
        x.clone().mul_scalar(factor) + y
    }

    fn shift(self, number: f32, x: Tensor<1>) -> Tensor<1> {
        x.add_scalar(number)
    }

    fn mul(self, x: Tensor<1>, y: Tensor<1>) -> Tensor<1> {
        x * y
    }

    fn div(self, x: Tensor<1>, y: Tensor<1>) -> Tensor<1> {
        x / y
    }

    fn sub(self, x: Tensor<1>, y: Tensor<1>) -> Tensor<1> {
        x - y
    }

    fn sqrt(self, x: Tensor<1>) -> Tensor<1> {
        x.sqrt()
    }

    fn clamp(self, x: Tensor<1>, bound: f32) -> Tensor<1> {
        if bound.is_finite() { x.clamp(-bound, bound) } else { x }
    }
}

/// Bound of a clip; 0 means none.
fn clip_bound(clip: f64) -> f32 {
    if clip == 0.0 { f32::INFINITY } else { clip as f32 }
}

/// Numbers of a block, which fits the second-level cache with its states.
const BLOCK: usize = 1 << 14;

fn step_pass<F: Formula<N>, const N: usize>(
    formula: &F,
    level: SimdLevel,
    parameters: &mut [f32],
    gradients: &[f32],
    states: [&mut [f32]; N],
) {
    assert_eq!(gradients.len(), parameters.len(), "gradients");
    assert!(states.iter().all(|it| it.len() == gradients.len()), "states");
    let mut states = states.map(|it| it.chunks_mut(BLOCK));
    let blocks = parameters.chunks_mut(BLOCK).zip(gradients.chunks(BLOCK));
    let blocks = blocks.map(|(parameters, gradients)| {
        let states = states.each_mut().map(|it| it.next().expect("states of all parameters"));
        StepPiece { formula, parameters, gradients, states }
    });
    let mut blocks: Vec<_> = blocks.collect();
    match blocks.len() {
        0 | 1 => blocks.pop().into_iter().for_each(|block| level.run(block)),
        _ => blocks.into_par_iter().for_each(|block| level.run(block)),
    }
}

struct StepPiece<'a, F, const N: usize> {
    formula: &'a F,
    parameters: &'a mut [f32],
    gradients: &'a [f32],
    states: [&'a mut [f32]; N],
}

impl<F: Formula<N>, const N: usize> Task for StepPiece<'_, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let StepPiece { formula, parameters, gradients, states } = self;
        let (parameters, last_parameters) = S::as_mut_simd_f32s(parameters);
        let (gradients, last_gradients) = S::as_simd_f32s(gradients);
        let mut states = states.map(|it| S::as_mut_simd_f32s(it));
        for (i, (p, &g)) in parameters.iter_mut().zip(gradients).enumerate() {
            let mut now = [g; N];
            for (now, (state, _)) in now.iter_mut().zip(&states) {
                *now = state[i];
            }
            (*p, now) = formula.step_element(Vectors(simd), *p, g, now);
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
            let p = simd.partial_load_f32s(last_parameters);
            let (p, now) = formula.step_element(Vectors(simd), p, g, now);
            simd.partial_store_f32s(last_parameters, p);
            for (now, (_, last)) in now.into_iter().zip(&mut states) {
                simd.partial_store_f32s(last, now);
            }
        }
    }
}

fn pass_missed<F: Formula<N>, const N: usize>(
    formulas: &[F],
    level: SimdLevel,
    (rows, mut taken): (&[u32], &mut [u32]),
    mut parameters: &mut [f32],
    gradients: Option<&[f32]>,
    mut states: [&mut [f32]; N],
) {
    let (len, width) = (parameters.len(), parameters.len() / taken.len().max(1));
    assert_eq!(len, width * taken.len(), "parameters");
    assert!(states.iter().all(|it| it.len() == len), "states");
    assert!(gradients.is_none_or(|it| it.len() == width * rows.len()), "gradients");
    let (zeros, block_rows) = (vec![0.0; width], (BLOCK / width.max(1)).max(1));
    let mut first = 0;
    let mut blocks = Vec::with_capacity(rows.len() / block_rows + 1);
    for (i, rows) in rows.chunks(block_rows).enumerate() {
        let count = rows[rows.len() - 1] as usize + 1 - first;
        blocks.push(MissedSteps {
            formulas,
            zeros: &zeros,
            first,
            rows,
            taken: taken.split_off_mut(..count).expect("sorted rows"),
            parameters: parameters.split_off_mut(..count * width).expect("sorted rows"),
            gradients: gradients.map(|it| &it[i * block_rows * width..][..rows.len() * width]),
            states: states
                .each_mut()
                .map(|it| it.split_off_mut(..count * width).expect("sorted rows")),
        });
        first += count;
    }
    blocks.into_par_iter().for_each(|block| level.run(block));
}

/// Task that takes missed steps in rows of a range of an array.
struct MissedSteps<'a, F, const N: usize> {
    formulas: &'a [F],
    zeros: &'a [f32],
    /// Number of the first row in memory.
    first: usize,
    rows: &'a [u32],
    taken: &'a mut [u32],
    parameters: &'a mut [f32],
    gradients: Option<&'a [f32]>,
    states: [&'a mut [f32]; N],
}

impl<F: Formula<N>, const N: usize> Task for MissedSteps<'_, F, N> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let MissedSteps { formulas, zeros, first, rows, taken, parameters, gradients, mut states } =
            self;
        let (width, last) = (zeros.len(), formulas.len() - 1);
        let offset = |row: u32| (row as usize - first) * width;
        for (i, &row) in rows.iter().enumerate() {
            if let Some(&next) = rows.get(i + AHEAD) {
                for line in (offset(next)..offset(next) + width).step_by(LINE) {
                    prefetch_line(parameters, line, true);
                    states.iter().for_each(|it| prefetch_line(it, line, true));
                }
            }
            let (start, taken) = (offset(row), &mut taken[row as usize - first]);
            let mut is_still =
                *taken as usize != last && states.iter().all(|it| are_zeros(&it[start..][..width]));
            for (step, formula) in formulas.iter().enumerate().skip(*taken as usize) {
                let gradients = gradients.filter(|_| step == last);
                let parameters = &mut parameters[start..][..width];
                if let (true, None, Some(formula)) =
                    (is_still, gradients, formula.without_gradient())
                {
                    let (formula, gradients) = (&formula, zeros);
                    StepPiece { formula, parameters, gradients, states: [] }.run::<S, R>(simd);
                } else {
                    is_still = false;
                    let gradients = gradients.map_or(zeros, |all| &all[i * width..][..width]);
                    let states = states.each_mut().map(|it| &mut it[start..][..width]);
                    StepPiece { formula, parameters, gradients, states }.run::<S, R>(simd);
                }
            }
            *taken = formulas.len() as u32;
        }
    }
}

/// Distance at which rows are prefetched, as the processor does not predict scattered ones.
const AHEAD: usize = 4;
const LINE: usize = 16;

/// Whether all numbers are positive zeros.
#[inline(always)]
fn are_zeros(numbers: &[f32]) -> bool {
    numbers.iter().fold(0, |all, number| all | number.to_bits()) == 0
}

/// Adam's step with decoupled weight decay, and RAdam's. For each parameter `p` with gradient `g`
/// and means `m` and `v`, at step `t` from 1:
///
/// ```text
/// g += coupled_decay * p
/// p *= 1 - lr * decay
/// m  = beta1 * m + (1 - beta1) * g
/// v  = beta2 * v + (1 - beta2) * g^2
/// p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// p  = clamp(p, -clip, clip)
/// ```
///
/// Rectified (L. Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020), the
/// division starts once the mean of squares is reliable:
///
/// ```text
/// limit = 2 / (1 - beta2) - 1
/// rho   = limit - 2 t beta2^t / (1 - beta2^t)
/// p    -= lr * (m / (1 - beta1^t)) * r * sqrt(1 - beta2^t) / (sqrt(v) + epsilon)   if rho > 5
///         with r = sqrt((rho - 4) (rho - 2) limit / ((limit - 4) (limit - 2) rho))
/// p    -= lr * (m / (1 - beta1^t))                                                 otherwise
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    /// AdamW's decay, which shrinks the parameters.
    pub decay: f64,
    /// Adam's decay, which adds to the gradients.
    pub coupled_decay: f64,
    /// Whether `m` and `v` are divided as above.
    pub bias_correction: bool,
    /// Whether it is RAdam, which always corrects.
    pub rectified: bool,
    /// Bound of the absolute parameters; 0: none.
    pub clip: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct AdamFactors {
    pub shrink: f32,
    pub coupled: f32,
    pub beta1: f32,
    pub rest1: f32,
    pub beta2: f32,
    pub rest2: f32,
    /// Converts `m` to the step before the division.
    pub rate: f32,
    /// Converts `v` to its unbiased form.
    pub unbias: f32,
    pub epsilon: f32,
    pub clip: f32,
}

impl Adam {
    /// Makes step number `step`, from 1, with learning rate `lr`. The states are `m` and `v`.
    pub fn step_at(&self, lr: f64, step: u64) -> OptimizerStep {
        let t = step as f64;
        let unbias = |beta: f64| match self.bias_correction || self.rectified {
            true => 1.0 / (1.0 - beta.powf(t)),
            false => 1.0,
        };
        let rate = lr * unbias(self.beta1);
        let (rate, unbias, epsilon) = match self.rectified {
            false => (rate, unbias(self.beta2), self.epsilon),
            true => match self.rectification(t) {
                Some(r) => (rate * r / unbias(self.beta2).sqrt(), 1.0, self.epsilon),
                // Divided by 1.
                None => (rate, 0.0, 1.0),
            },
        };
        OptimizerStep::Adam(AdamFactors {
            shrink: (1.0 - lr * self.decay) as f32,
            coupled: self.coupled_decay as f32,
            beta1: self.beta1 as f32,
            // In 32 bits, as in Burn and other trainers: 1 - 0.999 differs by a relative 1e-5.
            rest1: 1.0 - self.beta1 as f32,
            beta2: self.beta2 as f32,
            rest2: 1.0 - self.beta2 as f32,
            rate: rate as f32,
            unbias: unbias as f32,
            epsilon: epsilon as f32,
            clip: clip_bound(self.clip),
        })
    }

    /// Computes RAdam's `r` at step `t`; None until the mean of squares is reliable.
    pub fn rectification(&self, t: f64) -> Option<f64> {
        let limit = 2.0 / (1.0 - self.beta2) - 1.0;
        let power = self.beta2.powf(t);
        let rho = limit - 2.0 * t * power / (1.0 - power);
        let term = |rho: f64| (rho - 4.0) * (rho - 2.0) / rho;
        (rho > 5.0).then(|| (term(rho) / term(limit)).sqrt())
    }
}

impl Formula<2> for AdamFactors {
    #[inline(always)]
    fn step_element<A: LaneArithmetic>(
        &self,
        a: A,
        p: A::V,
        g: A::V,
        [m, v]: [A::V; 2],
    ) -> (A::V, [A::V; 2]) {
        let g = a.scale_add(self.coupled, &p, g);
        let m = a.scale_add(self.rest1, &g, a.scale(self.beta1, m));
        let squared = a.mul(a.scale(self.rest2, g.clone()), g);
        let v = a.scale_add(self.beta2, &v, squared);
        let root = a.sqrt(a.scale(self.unbias, v.clone()));
        let step = a.div(a.scale(self.rate, m.clone()), a.shift(self.epsilon, root));
        let Self { shrink, clip, .. } = *self;
        let (p, []) = Shrink { shrink, clip }.step_element(a, p, step, []);
        (p, [m, v])
    }

    #[inline(always)]
    fn without_gradient(&self) -> Option<Shrink> {
        let Self { coupled, shrink, clip, .. } = *self;
        (coupled == 0.0).then_some(Shrink { shrink, clip })
    }
}

/// AdaGrad's step (J. Duchi et al., 2011). For each parameter `p` with gradient `g` and sum of
/// squares `s`:
///
/// ```text
/// g += decay * p
/// s += g^2
/// p  = clamp(p - lr * g / (sqrt(s) + epsilon), -clip, clip)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AdaGrad {
    pub epsilon: f32,
    pub decay: f32,
    pub rate: f32,
    pub clip: f32,
}

impl AdaGrad {
    pub fn step_at(lr: f64, epsilon: f64, decay: f64, clip: f64) -> OptimizerStep {
        let (epsilon, decay) = (epsilon as f32, decay as f32);
        OptimizerStep::AdaGrad(Self { epsilon, decay, rate: lr as f32, clip: clip_bound(clip) })
    }
}

impl Formula<1> for AdaGrad {
    #[inline(always)]
    fn step_element<A: LaneArithmetic>(
        &self,
        a: A,
        p: A::V,
        g: A::V,
        [s]: [A::V; 1],
    ) -> (A::V, [A::V; 1]) {
        let g = a.scale_add(self.decay, &p, g);
        let s = a.scale_add(1.0, &a.mul(g.clone(), g.clone()), s);
        let step = a.div(g, a.shift(self.epsilon, a.sqrt(s.clone())));
        (a.bounded(a.scale_add(-self.rate, &step, p), self.clip), [s])
    }
}

/// Gradient descent with momentum. For each parameter `p` with gradient `g` and momentum `m`:
///
/// ```text
/// g += decay * p
/// m  = beta * m + g
/// p  = clamp(p - lr * m, -clip, clip)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sgd {
    pub beta: f32,
    pub decay: f32,
    pub rate: f32,
    pub clip: f32,
}

impl Sgd {
    pub fn step_at(lr: f64, beta: f64, decay: f64, clip: f64) -> OptimizerStep {
        let (beta, decay) = (beta as f32, decay as f32);
        OptimizerStep::Sgd(Self { beta, decay, rate: lr as f32, clip: clip_bound(clip) })
    }
}

impl Formula<1> for Sgd {
    #[inline(always)]
    fn step_element<A: LaneArithmetic>(
        &self,
        a: A,
        p: A::V,
        g: A::V,
        [m]: [A::V; 1],
    ) -> (A::V, [A::V; 1]) {
        let g = a.scale_add(self.decay, &p, g);
        let m = a.scale_add(self.beta, &m, g);
        (a.bounded(a.scale_add(-self.rate, &m, p), self.clip), [m])
    }
}
