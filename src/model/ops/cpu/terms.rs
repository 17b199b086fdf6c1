//! Loss and gradients of handcrafted terms over blocks of data, as one operation. Blocks are split
//! into units of rows. The terms of a unit are summed, the formula of [`crate::sums`] gives logits,
//! the loss gives derivatives, and these are summed by term. If a block also has its entries by
//! term, both sums use them. Floats have 32 bits within a unit and 64 bits between units. The
//! shapes alone assign units to shards, and all sums have a fixed order, so that the result has the
//! same bits for any number of threads. Rows are positions of a block, `i` those of a [`BLOCK`].

mod block;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use self::block::{BLOCK, PerSum, TermBlock};
use super::SimdLevel;
use super::simd::{Lanes, Task};
use crate::batch::{
    FrozenSums, POSITIONS_PER_COLUMN, SUMS_PER_POSITION, TermBatch, TermColumn, TermRows,
};
use crate::model::Aim;

#[derive(Clone, Copy, Debug)]
pub struct TermsJob<'a> {
    pub pieces: &'a [Arc<TermBatch>],
    /// One number per position, in the order of the blocks; logits need none.
    pub aim: Aim<'a>,
    /// Centipawns per logit.
    pub scale: f32,
    /// Whether the tempo is trained; its gradient is 0 otherwise.
    pub tempo: bool,
    pub level: SimdLevel,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TermsGradients {
    pub loss: f64,
    /// `[terms, 2]`, middlegame and endgame.
    pub terms: Vec<f32>,
    pub tempo: f32,
}

/// Computes the mean loss of positions and its gradients, or only the gradients of the sum of
/// `upstream * logit`. `weights` are `[terms, 2]`, middlegame and endgame, in centipawns. The loss
/// of no positions is NaN. The result has the same bits for any number of rayon's threads. Panics
/// if targets or an entry's term do not fit, or a block is inconsistent.
pub fn terms_gradients(weights: &[f32], tempo: f32, job: TermsJob) -> TermsGradients {
    let positions = job.pieces.iter().map(|piece| piece.len()).sum();
    job.aim.check_lengths(positions);
    let mut all = Shard { gradients: vec![[0.0; 2]; weights.len() / 2], ..Shard::default() };
    for shard in job.run_shards(weights, tempo, true) {
        all.loss += shard.loss;
        all.tempo += shard.tempo;
        let sums = all.gradients.as_flattened_mut().iter_mut();
        sums.zip(shard.gradients.as_flattened()).for_each(|(sum, term)| *sum += term);
    }
    let share = if job.aim.loss_inputs().is_some() { positions.max(1) } else { 1 };
    let unit = 1.0 / (f64::from(job.scale) * share as f64);
    let gradients = all.gradients.as_flattened().iter();
    TermsGradients {
        loss: all.loss / positions as f64,
        terms: gradients.map(|gradient| (gradient * unit) as f32).collect(),
        tempo: if job.tempo { (all.tempo * unit) as f32 } else { 0.0 },
    }
}

/// Computes logits of positions, from White's point of view. Panics if an entry's term does not
/// fit, or a block is inconsistent.
pub fn terms_logits(weights: &[f32], tempo: f32, job: TermsJob) -> Vec<f32> {
    job.run_shards(weights, tempo, false).into_iter().flat_map(|shard| shard.logits).collect()
}

/// Maximum number of shards. More keep more threads busy, but have more gradients to sum.
const SHARDS: usize = 64;

impl TermsJob<'_> {
    fn run_shards(&self, weights: &[f32], tempo: f32, backward: bool) -> Vec<Shard> {
        let (weights, rest) = weights.as_chunks::<2>();
        assert!(rest.is_empty(), "weights are not pairs");
        let (mut units, mut first) = (Vec::new(), 0);
        for piece in self.pieces {
            for start in (0..piece.len()).step_by(POSITIONS_PER_COLUMN) {
                let rows = start..piece.len().min(start + POSITIONS_PER_COLUMN);
                units.push(TermsUnit { piece, first: first + start, rows });
            }
            first += piece.len();
        }
        let shards = units.par_chunks(units.len().div_ceil(SHARDS).max(1)).with_max_len(1);
        let workspace = || TermsWorkspace {
            sums: Box::new([[[0.0; 2]; POSITIONS_PER_COLUMN]; SUMS_PER_POSITION]),
            block: TermBlock::new(),
            gradients: vec![[0.0; 2]; weights.len()],
        };
        let shard = |work: &mut TermsWorkspace, units: &[TermsUnit]| {
            let terms = if backward { weights.len() } else { 0 };
            let mut shard = Shard { gradients: vec![[0.0; 2]; terms], ..Shard::default() };
            for unit in units {
                let (job, shard, work) = (self, &mut shard, &mut *work);
                self.level.run(TermsPass { job, unit, weights, tempo, backward, work, shard });
            }
            shard
        };
        shards.map_init(workspace, shard).collect()
    }
}

type Pair = [f32; 2];
type ColumnSums = [Pair; SUMS_PER_POSITION * POSITIONS_PER_COLUMN];

struct TermsUnit<'a> {
    piece: &'a TermBatch,
    rows: Range<usize>,
    /// Number of the first row in the batch.
    first: usize,
}

/// Sums over the units of a shard, or the logits of its positions.
#[derive(Default)]
struct Shard {
    loss: f64,
    /// Derivative with respect to the tempo, times `scale`.
    tempo: f64,
    /// `[terms, 2]`, the derivatives with respect to the weights, times `scale`.
    gradients: Vec<[f64; 2]>,
    logits: Vec<f32>,
}

struct TermsWorkspace {
    /// Sums of each kind of the positions of a unit, then the derivatives with respect to them.
    sums: Box<PerSum<[Pair; POSITIONS_PER_COLUMN]>>,
    block: TermBlock,
    /// `[terms]`, zero between units.
    gradients: Vec<Pair>,
}

struct TermsPass<'a> {
    job: &'a TermsJob<'a>,
    unit: &'a TermsUnit<'a>,
    /// `[terms]`
    weights: &'a [Pair],
    tempo: f32,
    /// Whether gradients are needed, not logits.
    backward: bool,
    work: &'a mut TermsWorkspace,
    shard: &'a mut Shard,
}

impl Task for TermsPass<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) {
        let TermsPass {
            job, unit: TermsUnit { piece, rows, first }, weights, tempo, backward, ..
        } = self;
        let (TermsWorkspace { sums, block, gradients }, shard) = (self.work, self.shard);
        let loss_inputs = job.aim.loss_inputs();
        let column = piece.columns.get(rows.start / POSITIONS_PER_COLUMN);
        if let Some(column) = column {
            sums.as_flattened_mut().fill([0.0; 2]);
            by_term(column, weights, sums.as_flattened_mut());
        }
        for (number, start) in rows.clone().step_by(BLOCK).enumerate() {
            let here = start..rows.end.min(start + BLOCK);
            let (size, first) = (here.len(), first + number * BLOCK);
            let mut sums = sums.each_mut().map(|sums| &mut sums.as_chunks_mut::<BLOCK>().0[number]);
            if column.is_none() {
                let [normal, white, black, complexity] = sums.each_mut().map(|sums| &mut **sums);
                add_rows(&piece.normal, &here, weights, |count| [count], [normal]);
                add_rows(&piece.safety, &here, weights, |counts| counts, [white, black]);
                add_rows(&piece.complexity, &here, weights, |count| [count], [complexity]);
            }
            add_frozen(&piece.frozen, &here, &mut sums);
            block.middlegame[..size].copy_from_slice(&piece.middlegame[here.clone()]);
            block.endgame[..size].copy_from_slice(&piece.endgame[here.clone()]);
            for (float, turn) in block.turn.iter_mut().zip(&piece.turn[here.clone()]) {
                *float = f32::from(*turn);
            }
            block.evaluate_block(sums.each_ref().map(|sums| &**sums), job.scale, tempo);
            if !backward {
                shard.logits.extend_from_slice(&block.logits[..size]);
                continue;
            }
            block.numbers[..size].copy_from_slice(&job.aim.target_numbers()[first..first + size]);
            if let Some(weights) = loss_inputs.map(|it| it.weights).filter(|it| !it.is_empty()) {
                block.weights[..size].copy_from_slice(&weights[first..first + size]);
            }
            block.compare_targets(loss_inputs.map(|loss_inputs| loss_inputs.loss));
            shard.loss += sum_in_order(&block.losses[..size]);
            block
                .turn
                .iter_mut()
                .zip(&block.gradients)
                .for_each(|(turn, gradient)| *turn *= gradient);
            shard.tempo += sum_in_order(&block.turn[..size]);
            block.differentiate_sums(sums.each_mut().map(|sums| &mut **sums));
            if column.is_none() {
                let [normal, white, black, complexity] = sums.each_ref().map(|sums| &**sums);
                add_gradients(&piece.normal, &here, [normal], |count| [count], gradients);
                add_gradients(&piece.safety, &here, [white, black], |counts| counts, gradients);
                add_gradients(&piece.complexity, &here, [complexity], |count| [count], gradients);
            }
        }
        if let Some(column) = column.filter(|_| backward) {
            back_by_term(column, sums.as_flattened(), gradients);
        }
        for (sums, gradient) in shard.gradients.iter_mut().zip(gradients) {
            for (sum, gradient) in sums.iter_mut().zip(gradient) {
                *sum += f64::from(std::mem::take(gradient));
            }
        }
    }
}

/// Sums numbers in a fixed order that vectors can use.
#[inline(always)]
fn sum_in_order(numbers: &[f32]) -> f64 {
    let (chunks, rest) = numbers.as_chunks::<16>();
    let mut sums = [0f32; 16];
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += number;
        }
    }
    sums.iter().chain(rest).map(|&number| f64::from(number)).sum()
}

/// Adds the sums of frozen terms, which have no entries.
#[inline(always)]
fn add_frozen(frozen: &FrozenSums, rows: &Range<usize>, sums: &mut PerSum<&mut [Pair; BLOCK]>) {
    let plus = |sum: &mut Pair, mg: f32, eg: f32| *sum = [sum[0] + mg, sum[1] + eg];
    for (i, row) in rows.clone().enumerate() {
        if let Some([mg, eg]) = frozen.normal.get(row) {
            plus(&mut sums[0][i], *mg, *eg);
        }
        if let Some([white_mg, white_eg, black_mg, black_eg]) = frozen.safety.get(row) {
            plus(&mut sums[1][i], *white_mg, *white_eg);
            plus(&mut sums[2][i], *black_mg, *black_eg);
        }
        if let Some(eg) = frozen.complexity.get(row) {
            plus(&mut sums[3][i], 0.0, *eg);
        }
    }
}

/// Adds the weights of each row's terms, times the counts, to the sums.
#[inline(always)]
fn add_rows<C: Copy, const SIDES: usize>(
    entries: &TermRows<C>,
    rows: &Range<usize>,
    weights: &[Pair],
    counts: impl Fn(C) -> [i8; SIDES],
    mut sums: [&mut [Pair; BLOCK]; SIDES],
) {
    for (i, row) in rows.clone().enumerate() {
        let mut row_sums = [[0f32; 2]; SIDES];
        for (term, count) in entries.entries_of_row(row) {
            let weight = weights[term];
            for (sum, count) in row_sums.iter_mut().zip(counts(count)) {
                let count = f32::from(count);
                *sum = [sum[0] + weight[0] * count, sum[1] + weight[1] * count];
            }
        }
        sums.iter_mut().zip(row_sums).for_each(|(sums, row_sums)| sums[i] = row_sums);
    }
}

/// Adds the derivatives of each row, times the counts, to the gradients of its terms.
#[inline(always)]
fn add_gradients<C: Copy, const SIDES: usize>(
    entries: &TermRows<C>,
    rows: &Range<usize>,
    derivatives: [&[Pair; BLOCK]; SIDES],
    counts: impl Fn(C) -> [i8; SIDES],
    gradients: &mut [Pair],
) {
    for (i, row) in rows.clone().enumerate() {
        let derivatives = derivatives.map(|derivatives| derivatives[i]);
        for (term, count) in entries.entries_of_row(row) {
            // A copy: otherwise the compiler stores its halves one by one.
            let [mut mg, mut eg] = gradients[term];
            for (derivative, count) in derivatives.iter().zip(counts(count)) {
                let count = f32::from(count);
                [mg, eg] = [mg + derivative[0] * count, eg + derivative[1] * count];
            }
            gradients[term] = [mg, eg];
        }
    }
}

/// Mask of offsets, so that none exceeds the array.
const WRAP: usize = SUMS_PER_POSITION * POSITIONS_PER_COLUMN - 1;

/// Adds the weight of each run's term, times the count, to the sums of its positions.
#[inline(always)]
fn by_term(column: &TermColumn, weights: &[Pair], sums: &mut [Pair]) {
    let sums: &mut ColumnSums = sums.try_into().expect("all sums of a column");
    let mut rest = &column.offsets[..];
    for run in &column.runs {
        let offsets = rest.split_off(..run.size as usize).expect("entries of all runs");
        let add = weights[usize::from(run.term)].map(|weight| weight * f32::from(run.count));
        for offset in offsets {
            let sum = &mut sums[usize::from(*offset) & WRAP];
            // A copy: otherwise the compiler stores its halves one by one.
            let [mg, eg] = *sum;
            *sum = [mg + add[0], eg + add[1]];
        }
    }
}

/// Adds the derivatives of each run's positions, times the count, to the gradient of its term.
#[inline(always)]
fn back_by_term(column: &TermColumn, derivatives: &[Pair], gradients: &mut [Pair]) {
    let derivatives: &ColumnSums = derivatives.try_into().expect("all sums of a column");
    let mut rest = &column.offsets[..];
    for run in &column.runs {
        let offsets = rest.split_off(..run.size as usize).expect("entries of all runs");
        // Four independent sums.
        let mut sums = [[0f32; 2]; 4];
        let (fours, offsets) = offsets.as_chunks::<4>();
        for four in fours {
            for (sum, offset) in sums.iter_mut().zip(four) {
                let [mg, eg] = derivatives[usize::from(*offset) & WRAP];
                *sum = [sum[0] + mg, sum[1] + eg];
            }
        }
        for (sum, offset) in sums.iter_mut().zip(offsets) {
            let [mg, eg] = derivatives[usize::from(*offset) & WRAP];
            *sum = [sum[0] + mg, sum[1] + eg];
        }
        let gradient = &mut gradients[usize::from(run.term)];
        for k in 0..2 {
            let sum = (sums[0][k] + sums[1][k]) + (sums[2][k] + sums[3][k]);
            gradient[k] += sum * f32::from(run.count);
        }
    }
}
