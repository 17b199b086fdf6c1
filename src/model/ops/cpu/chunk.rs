//! A chunk of the batch: the way forward, and what the way back needs of it.

use std::marker::PhantomData;

use super::activation::Rho;
use super::format::Format;
use super::forward::forward;
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::{Net, Positions};
use super::packed::Packed;
use super::plan::Plan;

#[derive(Default)]
pub(super) struct Chunk<F> {
    pub plan: Plan,
    /// `[blocks, lists, columns]`; for logits alone only one block
    pub accumulators: Aligned<F>,
    /// Partial logits, `[slots, lanes]`
    partial: Aligned<f32>,
    /// In the order of the positions; only where it is them that is wanted.
    pub logits: Vec<f32>,
    /// `[slots]`, over `unit`
    pub logit_gradients: Vec<f32>,
    pub unit: f32,
    /// The sum of the positions' losses.
    pub loss: f64,
    /// The gradient of the output bias.
    pub output_bias: f64,
}

/// What to do with the logits.
pub(super) enum Purpose<'a> {
    /// Leave them in the chunk.
    Logits,
    /// Add up the loss against these targets, `[batch]`.
    Loss(&'a [f32]),
    /// Also find the gradients, of the mean over a batch of this size.
    Gradients { targets: &'a [f32], batch: usize },
}

/// The way forward for one chunk.
pub(super) struct Forward<'a, F, P, const H: usize, const VIEWS: usize> {
    pub net: &'a Net,
    pub packed: &'a Packed<F>,
    pub positions: Positions<'a>,
    pub purpose: Purpose<'a>,
    pub chunk: &'a mut Chunk<F>,
    pub rho: PhantomData<P>,
}

impl<F, P, const H: usize, const VIEWS: usize> Task for Forward<'_, F, P, H, VIEWS>
where
    F: Format<H>,
    P: Rho,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Forward { net, packed, positions, purpose, chunk, .. } = self;
        let Chunk { plan, accumulators, partial, .. } = chunk;
        let backward = matches!(purpose, Purpose::Gradients { .. });
        plan.order(net, positions);
        if backward {
            plan.invert();
        }

        let lists = plan.lists();
        let size = lists * R * H * S::F32_LANES;
        accumulators.resize(if backward { packed.blocks() * size } else { size });
        partial.resize(lists / VIEWS * S::F32_LANES);
        partial.get_mut().fill(0.0);
        for block in 0..packed.blocks() {
            let room = if backward { block * size } else { 0 };
            let room = &mut accumulators.get_mut()[room..][..size];
            let block = packed.block(net, block);
            forward::<S, R, H, F, P, VIEWS>(simd, plan, &block, room, partial.get_mut());
        }

        let sums = S::as_simd_f32s(partial.get()).0.iter();
        let logits = sums.map(|&sum| simd.reduce_sum_f32s(sum) + packed.output_bias);
        let logits = plan.order.iter().map(|&position| usize::from(position)).zip(logits);
        match purpose {
            Purpose::Logits => {
                chunk.logits.resize(plan.order.len(), 0.0);
                logits.for_each(|(position, logit)| chunk.logits[position] = logit);
            }
            Purpose::Loss(targets) => {
                let errors = logits.map(|(position, logit)| sigmoid(logit) - targets[position]);
                chunk.loss = errors.map(|error| f64::from(error).powi(2)).sum();
            }
            Purpose::Gradients { targets, batch } => {
                let scale = 2.0 / batch as f32;
                (chunk.loss, chunk.output_bias) = (0.0, 0.0);
                chunk.logit_gradients.clear();
                let mut largest = 0f32;
                for (position, logit) in logits {
                    let p = sigmoid(logit);
                    let error = p - targets[position];
                    let gradient = scale * error * p * (1.0 - p);
                    chunk.loss += f64::from(error).powi(2);
                    chunk.output_bias += f64::from(gradient);
                    largest = largest.max(gradient.abs());
                    chunk.logit_gradients.push(gradient);
                }
                chunk.unit = match F::LARGEST_SLOPE {
                    0.0 => 1.0,
                    top => (largest * P::STEEPEST / top).max(f32::MIN_POSITIVE),
                };
                for gradient in &mut chunk.logit_gradients {
                    *gradient /= chunk.unit;
                }
                // Empty slots.
                chunk.logit_gradients.resize(lists / VIEWS, 0.0);
            }
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
