//! A chunk of the batch: the way forward, and what the way back needs of it.

use std::marker::PhantomData;
use std::sync::Arc;

use super::activation::Rho;
use super::cut::CACHE;
use super::format::Format;
use super::forward::forward;
use super::head::Head;
use super::lanes::Lanes;
use super::layout::Aligned;
use super::level::Task;
use super::net::Kernel;
use super::packed::{Columns, Packed};
use crate::batch::plan::{Planner, Span};
use crate::batch::{ChunkPlan, OneHot, Pairs};
use crate::model::Aim;

#[derive(Default)]
pub(super) struct Chunk<F> {
    planner: Planner,
    /// Its own, or one that was made before.
    pub plan: Arc<ChunkPlan>,
    /// `[blocks, lists, columns]`; for logits alone of shallow nets only one block.
    pub accumulators: Aligned<F>,
    /// Whether these are too many to stay in a thread's caches, and asked for in time; not in deep
    /// nets.
    pub is_far: bool,
    /// Partial logits, `[slots, lanes]`
    partial: Aligned<f32>,
    /// Logits, by place; and one more number.
    pub sums: Vec<f32>,
    /// In the order in which the positions were chosen; only where it is them that is wanted.
    pub logits: Vec<f32>,
    /// By place, over `unit`; and a zero for what has no position.
    pub logit_gradients: Vec<f32>,
    /// The same by slot; none in deep nets.
    pub slot_gradients: Vec<f32>,
    pub unit: f32,
    /// The sum of the positions' losses.
    pub loss: f64,
    /// The gradients of the output biases, by bucket.
    pub output_bias: Vec<f64>,
    /// What the layers of deep nets are worked out in.
    pub head: Head,
}

/// Some positions of a batch.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    pub batch: OneHot<'a>,
    /// Which chunk of the batch they are.
    pub number: usize,
    pub positions: &'a [u32],
    /// Of the batch.
    pub pairs: &'a Arc<Pairs>,
    pub purpose: Purpose<'a>,
}

/// What to do with the logits.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    /// Leave them in the chunk.
    Logits,
    /// Add up the loss of what the batch aims at, `[batch]`, and find the gradients of its mean over
    /// the batch; or those of what pulls at the logits.
    Gradients(Aim<'a>),
}

/// The way forward for one chunk whose output follows the accumulators at once.
pub(super) struct Forward<'a, F, P, const H: usize, const TOGETHER: usize> {
    pub kernel: &'a Kernel,
    pub packed: &'a Packed<F>,
    pub chosen: Chosen<'a>,
    pub chunk: &'a mut Chunk<F>,
    pub rho: PhantomData<P>,
}

impl<F, P, const H: usize, const TOGETHER: usize> Task for Forward<'_, F, P, H, TOGETHER>
where
    F: Format<H>,
    P: Rho,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, simd: S) {
        let Forward { kernel, packed, chosen, chunk, .. } = self;
        let net = &kernel.net;
        let backward = chunk.order(kernel, chosen);
        let Chunk { plan, accumulators, is_far, partial, sums, .. } = &mut *chunk;
        let lists = plan.lists();
        let size = lists * R * H * S::F32_LANES;
        let blocks = packed.columns.blocks();
        accumulators.resize(if backward { blocks * size } else { size });
        *is_far = size_of_val(accumulators.get()) > CACHE;
        partial.resize(lists / TOGETHER * S::F32_LANES);
        partial.get_mut().fill(0.0);
        for block in 0..blocks {
            let room = if backward { block * size } else { 0 };
            let room = &mut accumulators.get_mut()[room..][..size];
            let block = packed.block(net, block, block + 1);
            let logits = partial.get_mut();
            forward::<S, R, H, F, P, TOGETHER>(simd, plan, &block, room, *is_far, logits);
        }
        sums.clear();
        sums.resize(plan.positions.len() + 1, 0.0);
        // No iterator's closure: what is not inlined does not use the instructions.
        for (&sum, &place) in S::as_simd_f32s(partial.get()).0.iter().zip(&plan.places) {
            sums[usize::from(place)] += simd.reduce_sum_f32s(sum);
        }
        for Span { of, range } in &plan.buckets {
            for sum in &mut sums[range.clone()] {
                *sum += packed.output_bias[*of];
            }
        }
        chunk.judge(chosen, F::LARGEST_SLOPE / P::STEEPEST, net.buckets);
        if backward {
            let Chunk { plan, logit_gradients, slot_gradients, .. } = chunk;
            slot_gradients.clear();
            let places = plan.places.iter().map(|place| usize::from(*place));
            slot_gradients.extend(places.map(|place| logit_gradients[place]));
        }
    }
}

/// Each of some chunks on the way back, with the one whose accumulators are wanted behind it and how
/// many blocks before: the next, and behind the last, as a rule, the first again.
#[inline(always)]
pub(super) fn with_next<'c, F: 'c>(
    chunks: impl Iterator<Item = &'c Chunk<F>> + Clone,
) -> impl Iterator<Item = (&'c Chunk<F>, (&'c Chunk<F>, usize))> {
    let first = chunks.clone().take(1).map(|chunk| (chunk, 1));
    let next = chunks.clone().skip(1).map(|chunk| (chunk, 0)).chain(first);
    chunks.zip(next)
}

impl<F: Copy + Default> Chunk<F> {
    /// The accumulators of a block, `[lists, columns]`.
    #[inline(always)]
    pub fn accumulators_of(&self, block: usize, columns: Columns) -> &[F] {
        let size = self.plan.lists() * columns.each;
        &self.accumulators.get()[block * size..][..size]
    }

    /// The same of so many blocks before one; none of one before the first.
    #[inline(always)]
    pub fn accumulators_before(&self, block: usize, before: usize, columns: Columns) -> &[F] {
        match block.checked_sub(before) {
            Some(block) => self.accumulators_of(block, columns),
            None => &[],
        }
    }

    /// Puts the positions in order. Gives whether there is a way back, for which they are then
    /// ready as well.
    #[inline(always)]
    pub fn order(&mut self, kernel: &Kernel, chosen: Chosen) -> bool {
        let backward = matches!(chosen.purpose, Purpose::Gradients(_));
        match chosen.batch {
            OneHot::Plans(plans) => {
                self.plan = plans[chosen.number].clone();
                assert!(self.plan.is_inverted || !backward, "a plan for the way forward alone");
            }
            OneHot::Lists(lists) => {
                // One that was made before belongs to others as well.
                if Arc::get_mut(&mut self.plan).is_none() {
                    self.plan = Arc::default();
                }
                let plan = Arc::get_mut(&mut self.plan).expect("nobody else has it");
                self.planner.order(&kernel.net, lists, chosen.positions, chosen.pairs, plan);
                if backward {
                    self.planner.invert(plan);
                }
            }
        }
        backward
    }

    /// From the logits to what is wanted of them. Gradients are over a unit in which the largest is
    /// `top`, if that is not 0.
    #[inline(always)]
    pub fn judge(&mut self, chosen: Chosen, top: f32, buckets: usize) {
        let Chunk { plan, sums, logits: found, logit_gradients, loss, output_bias, .. } = self;
        let logits = plan.positions.iter().map(|&position| usize::from(position)).zip(&*sums);
        match chosen.purpose {
            Purpose::Logits => {
                found.resize(plan.positions.len(), 0.0);
                logits.for_each(|(position, &logit)| found[position] = logit);
            }
            Purpose::Gradients(aim) => {
                *loss = 0.0;
                logit_gradients.clear();
                match aim.judged() {
                    Some(judged) => {
                        let chosen = chosen.positions;
                        let logits = logits.map(|(position, &it)| (chosen[position] as usize, it));
                        *loss = judged.of_all(logits, logit_gradients);
                    }
                    None => {
                        let forces = aim.numbers();
                        let of = |(position, _)| forces[chosen.positions[position] as usize];
                        logit_gradients.extend(logits.map(of));
                    }
                }
                let largest = logit_gradients.iter().fold(0f32, |most, it| most.max(it.abs()));
                output_bias.clear();
                output_bias.resize(buckets, 0.0);
                for Span { of, range } in &plan.buckets {
                    for &gradient in &logit_gradients[range.clone()] {
                        output_bias[*of] += f64::from(gradient);
                    }
                }
                self.unit = match top {
                    0.0 => 1.0,
                    top => (largest / top).max(f32::MIN_POSITIVE),
                };
                for gradient in &mut *logit_gradients {
                    *gradient /= self.unit;
                }
                logit_gradients.push(0.0);
            }
        }
    }
}
