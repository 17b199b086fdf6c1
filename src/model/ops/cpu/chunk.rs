//! A chunk of the batch: the way forward, and what the way back needs of it.

use std::marker::PhantomData;

use super::activation::Rho;
use super::format::Format;
use super::forward::forward;
use super::head::Head;
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::{Kernel, Positions};
use super::packed::Packed;
use super::plan::Plan;

#[derive(Default)]
pub(super) struct Chunk<F> {
    pub plan: Plan,
    /// `[blocks, lists, columns]`; for logits alone only one block. Where more layers follow there
    /// is one more row a block, of zeros, and after the way back they are gradients in units of
    /// `factors`.
    pub accumulators: Aligned<F>,
    /// Partial logits, `[slots, lanes]`
    partial: Aligned<f32>,
    /// Logits of the slots.
    pub sums: Vec<f32>,
    /// In the order of the positions; only where it is them that is wanted.
    pub logits: Vec<f32>,
    /// `[slots]`, over `unit`
    pub logit_gradients: Vec<f32>,
    pub unit: f32,
    /// The sum of the positions' losses.
    pub loss: f64,
    /// The gradients of the output biases, by bucket.
    pub output_bias: Vec<f64>,
    /// Where more layers follow, what they are worked out in.
    pub head: Head,
    /// Of more layers: `[blocks, columns]`
    pub factors: Aligned<f32>,
    /// Of more layers, the gradients of the accumulators' biases: `[blocks, columns]`
    pub bias: Aligned<f32>,
}

/// What to do with the logits.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// Leave them in the chunk.
    Logits,
    /// Add up the loss against these targets, `[batch]`.
    Loss(&'a [f32]),
    /// Also find the gradients, of the mean over a batch of this size.
    Gradients { targets: &'a [f32], batch: usize },
}

/// The way forward for one chunk whose output follows the accumulators at once.
pub(super) struct Forward<'a, F, P, const H: usize, const VIEWS: usize> {
    pub kernel: &'a Kernel,
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
        let Forward { kernel, packed, positions, purpose, chunk, .. } = self;
        let net = &kernel.net;
        let backward = matches!(purpose, Purpose::Gradients { .. });
        chunk.plan.order(kernel, positions);
        if backward {
            chunk.plan.invert();
        }
        let Chunk { plan, accumulators, partial, sums, .. } = &mut *chunk;
        let lists = plan.lists();
        let size = lists * R * H * S::F32_LANES;
        let blocks = packed.columns.blocks();
        accumulators.resize(if backward { blocks * size } else { size });
        partial.resize(lists / VIEWS * S::F32_LANES);
        partial.get_mut().fill(0.0);
        for block in 0..blocks {
            let room = if backward { block * size } else { 0 };
            let room = &mut accumulators.get_mut()[room..][..size];
            let block = packed.block(net, block);
            forward::<S, R, H, F, P, VIEWS>(simd, plan, &block, room, partial.get_mut());
        }
        let partial = S::as_simd_f32s(partial.get()).0.iter().zip(&plan.buckets);
        sums.clear();
        sums.extend(partial.map(|(&sum, &bucket)| {
            simd.reduce_sum_f32s(sum) + packed.output_bias[usize::from(bucket)]
        }));
        chunk.judge(purpose, F::LARGEST_SLOPE / P::STEEPEST, net.buckets);
    }
}

impl<F> Chunk<F> {
    /// From the logits of the slots to what is wanted of them. Gradients are over a unit in which
    /// the largest is `top`, if that is not 0.
    #[inline(always)]
    pub fn judge(&mut self, purpose: Purpose, top: f32, buckets: usize) {
        let Chunk { plan, sums, logits: found, logit_gradients, loss, output_bias, .. } = self;
        let logits = plan.order.iter().map(|&position| usize::from(position)).zip(&*sums);
        match purpose {
            Purpose::Logits => {
                found.resize(plan.order.len(), 0.0);
                logits.for_each(|(position, &logit)| found[position] = logit);
            }
            Purpose::Loss(targets) => {
                let errors = logits.map(|(position, &logit)| sigmoid(logit) - targets[position]);
                *loss = errors.map(|error| f64::from(error).powi(2)).sum();
            }
            Purpose::Gradients { targets, batch } => {
                let scale = 2.0 / batch as f32;
                *loss = 0.0;
                output_bias.clear();
                output_bias.resize(buckets, 0.0);
                logit_gradients.clear();
                let mut largest = 0f32;
                for ((position, &logit), &bucket) in logits.zip(&plan.buckets) {
                    let p = sigmoid(logit);
                    let error = p - targets[position];
                    let gradient = scale * error * p * (1.0 - p);
                    *loss += f64::from(error).powi(2);
                    output_bias[usize::from(bucket)] += f64::from(gradient);
                    largest = largest.max(gradient.abs());
                    logit_gradients.push(gradient);
                }
                self.unit = match top {
                    0.0 => 1.0,
                    top => (largest / top).max(f32::MIN_POSITIVE),
                };
                for gradient in &mut *logit_gradients {
                    *gradient /= self.unit;
                }
                // Empty slots.
                logit_gradients.resize(sums.len(), 0.0);
            }
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
