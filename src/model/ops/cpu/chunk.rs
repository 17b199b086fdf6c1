//! A chunk of the batch: what its forward pass leaves for the backward pass.

use std::sync::Arc;

use super::head::Head;
use super::net::Kernel;
use super::packed::{Aligned, Columns};
use crate::batch::plan::{Planner, Span};
use crate::batch::{ChunkPlan, OneHot, Pairs};
use crate::model::Aim;

#[derive(Default)]
pub(super) struct Chunk<F> {
    planner: Planner,
    /// Its own, or a cached one.
    pub plan: Arc<ChunkPlan>,
    /// `[blocks, lists, columns]`; for logits alone of shallow nets only one block.
    pub accumulators: Aligned<F>,
    /// Partial logits, `[slots, lanes]`; none in deep nets
    pub partial: Aligned<f32>,
    /// Logits, by place; and one more number.
    pub sums: Vec<f32>,
    /// In the order of the selection; only where logits are requested.
    pub logits: Vec<f32>,
    /// By place, over `unit`; and a zero for slots without a position.
    pub logit_gradients: Vec<f32>,
    /// The same by slot; none in deep nets.
    pub slot_gradients: Vec<f32>,
    pub unit: f32,
    /// The sum of the positions' losses.
    pub loss: f64,
    /// The gradients of the output biases, by bucket.
    pub output_bias: Vec<f64>,
    /// Buffers for the layers of deep nets.
    pub head: Head,
}

/// Some positions of a batch.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    pub batch: OneHot<'a>,
    /// Number of the chunk in the batch.
    pub number: usize,
    pub positions: &'a [u32],
    /// Of the batch.
    pub pairs: &'a Arc<Pairs>,
    /// None: logits alone.
    pub aim: Option<Aim<'a>>,
}

impl<F: Copy + Default> Chunk<F> {
    /// The accumulators of a block, `[lists, columns]`.
    #[inline(always)]
    pub fn accumulators_of(&self, block: usize, columns: Columns) -> &[F] {
        let size = self.plan.lists() * columns.each;
        &self.accumulators.get()[block * size..][..size]
    }

    /// Orders the positions. Returns whether there is a backward pass.
    #[inline(always)]
    pub fn order(&mut self, kernel: &Kernel, selection: Selection) -> bool {
        let backward = selection.aim.is_some();
        match selection.batch {
            OneHot::Plans(plans) => {
                self.plan = plans[selection.number].clone();
                assert!(self.plan.is_inverted || !backward, "a plan for the forward pass alone");
            }
            OneHot::Lists(lists) => {
                // A cached plan is shared.
                if Arc::get_mut(&mut self.plan).is_none() {
                    self.plan = Arc::default();
                }
                let plan = Arc::get_mut(&mut self.plan).expect("it is not shared");
                self.planner.order(&kernel.net, lists, selection.positions, selection.pairs, plan);
                if backward {
                    self.planner.invert(plan);
                }
            }
        }
        backward
    }

    /// From the logits to losses and their gradients, or to the logits of the selection. Gradients
    /// are over a unit in which the largest is `top`, if that is not 0.
    #[inline(always)]
    pub fn judge(&mut self, selection: Selection, top: f32, buckets: usize) {
        let Chunk { plan, sums, logits: requested, logit_gradients, loss, output_bias, .. } = self;
        let logits = plan.positions.iter().map(|&position| usize::from(position)).zip(&*sums);
        let Some(aim) = selection.aim else {
            requested.resize(plan.positions.len(), 0.0);
            return logits.for_each(|(position, &logit)| requested[position] = logit);
        };
        *loss = 0.0;
        logit_gradients.clear();
        let of_batch = |position: usize| selection.positions[position] as usize;
        match aim.judged() {
            Some(judged) => {
                let logits = logits.map(|(position, &it)| (of_batch(position), it));
                *loss = judged.losses(logits, logit_gradients);
            }
            None => {
                let forces = aim.numbers();
                logit_gradients.extend(logits.map(|(position, _)| forces[of_batch(position)]));
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
