//! One unit of rows, forward and back.

use std::ops::Range;

use super::block::{BLOCK, Block};
use super::entries::{Count, Entries, Pair, Room};
use super::groups::{OfColumn, backward, forward};
use crate::batch::{COLUMN, Columns, Groups, Terms};
use crate::loss::Loss;
use crate::model::ops::cpu::lanes::Lanes;
use crate::model::ops::cpu::level::Task;
use crate::prefetch::prefetch;

/// Some rows of a piece.
pub(super) struct Unit<'a> {
    pub piece: &'a Terms,
    pub rows: Range<usize>,
    /// Targets or forces of the rows; empty for logits.
    pub numbers: &'a [f32],
    /// What the losses count; empty where all count 1.
    pub weights: &'a [f32],
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Logits,
    Gradients,
}

/// Sums over the units of a shard, or the logits of its positions.
#[derive(Default)]
pub(super) struct Shard {
    pub loss: f64,
    /// The derivative of `loss` by the tempo, times `scale`.
    pub tempo: f64,
    /// `[terms, 2]`, the derivatives by the weights, times `scale`.
    pub gradients: Vec<[f64; 2]>,
    pub logits: Vec<f32>,
}

/// What a thread works in, from unit to unit.
pub(super) struct Workspace {
    /// `[terms]`, zero between units.
    gradients: Vec<Pair>,
    block: Block,
    normal: Room<1>,
    safety: Room<2>,
    complexity: Room<1>,
    /// Of NORMAL, SAFETY and COMPLEXITY terms.
    columns: Box<[OfColumn; 3]>,
}

impl Workspace {
    pub fn new(terms: usize) -> Self {
        Workspace {
            gradients: vec![[0.0; 2]; terms],
            block: Block::default(),
            normal: Room::default(),
            safety: Room::default(),
            complexity: Room::default(),
            columns: Box::new([[[0.0; 2]; 2 * COLUMN]; 3]),
        }
    }
}

/// The way through a unit.
pub(super) struct Pass<'a> {
    pub unit: &'a Unit<'a>,
    /// `[terms]`
    pub weights: &'a [Pair],
    pub tempo: f32,
    pub scale: f32,
    /// None where the numbers are forces.
    pub loss: Option<Loss>,
    pub purpose: Purpose,
    pub workspace: &'a mut Workspace,
    pub shard: &'a mut Shard,
}

impl Task for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Lanes, const R: usize>(self, _: S) {
        match (&self.unit.piece.columns, S::FUSED) {
            (Some(columns), _) => self.walk_columns(columns),
            (None, true) => self.walk::<true>(),
            (None, false) => self.walk::<false>(),
        }
    }
}

impl Pass<'_> {
    #[inline(always)]
    fn walk<const FUSED: bool>(self) {
        let Pass { unit, weights, tempo, scale, loss, purpose, workspace, shard } = self;
        let Workspace { gradients, block, normal, safety, complexity, .. } = workspace;
        let piece = unit.piece;
        for start in unit.rows.clone().step_by(BLOCK) {
            let range = start..unit.rows.end.min(start + BLOCK);
            let normal = Entries::new(&piece.normal, range.clone(), weights.len(), normal);
            let safety = Entries::new(&piece.safety, range.clone(), weights.len(), safety);
            let complexity =
                Entries::new(&piece.complexity, range.clone(), weights.len(), complexity);
            add_up::<_, _, FUSED>(&normal, weights, &mut block.normal);
            add_up::<_, _, FUSED>(&safety, weights, &mut block.safety);
            add_up::<_, _, FUSED>(&complexity, weights, &mut block.complexity);
            block.hold(&piece.held, range.clone());

            let size = range.len();
            unit.load(range, block);
            block.evaluate(scale, tempo);
            if purpose == Purpose::Logits {
                shard.logits.extend_from_slice(&block.logits[..size]);
                continue;
            }
            shard.judge(block, loss, size);
            block.differentiate();
            normal.backward::<FUSED>(&block.normal, gradients);
            safety.backward::<FUSED>(&block.safety, gradients);
            complexity.backward::<FUSED>(&block.complexity, gradients);
        }
        if purpose == Purpose::Gradients {
            shard.take(gradients);
        }
    }

    /// The same over entries by term.
    #[inline(always)]
    fn walk_columns(self, columns: &Columns) {
        let Pass { unit, weights, tempo, scale, loss, purpose, workspace, shard } = self;
        let Workspace { gradients, block, columns: numbers, .. } = workspace;
        let Range { start, end } = unit.rows;
        let kinds = [&columns.normal, &columns.safety, &columns.complexity];
        let groups: [Option<&Groups>; 3] = kinds.map(|groups| groups.get(start / COLUMN));
        for (numbers, (groups, sides)) in numbers.iter_mut().zip(groups.iter().zip([1, 2, 1])) {
            numbers[..sides * (end - start)].fill([0.0; 2]);
            if let Some(groups) = groups {
                forward(groups, weights, numbers);
            }
        }
        let [normal, safety, complexity] = &mut **numbers;
        let sides = safety.as_chunks_mut::<2>().0;
        for start in (start..end).step_by(BLOCK) {
            let range = start..end.min(start + BLOCK);
            let (size, here) = (range.len(), start - unit.rows.start);
            let here = here..here + size;
            for (block, sum) in block.normal.iter_mut().zip(&normal[here.clone()]) {
                *block = [*sum];
            }
            block.safety[..size].copy_from_slice(&sides[here.clone()]);
            for (block, sum) in block.complexity.iter_mut().zip(&complexity[here.clone()]) {
                *block = [*sum];
            }
            block.hold(&unit.piece.held, range.clone());
            unit.load(range, block);
            block.evaluate(scale, tempo);
            if purpose == Purpose::Logits {
                shard.logits.extend_from_slice(&block.logits[..size]);
                continue;
            }
            shard.judge(block, loss, size);
            block.differentiate();
            for (slope, block) in normal[here.clone()].iter_mut().zip(&block.normal) {
                [*slope] = *block;
            }
            sides[here.clone()].copy_from_slice(&block.safety[..size]);
            for (slope, block) in complexity[here].iter_mut().zip(&block.complexity) {
                [*slope] = *block;
            }
        }
        if purpose == Purpose::Gradients {
            for (groups, slopes) in groups.iter().zip(&**numbers) {
                if let Some(groups) = groups {
                    backward(groups, slopes, gradients);
                }
            }
            shard.take(gradients);
        }
    }
}

impl Shard {
    /// Adds the losses of a block, whose slopes are there from then on.
    #[inline(always)]
    fn judge(&mut self, block: &mut Block, loss: Option<Loss>, size: usize) {
        block.compare(loss);
        self.loss += sum(&block.losses[..size]);
        for (turn, slope) in block.turn.iter_mut().zip(&block.slopes) {
            *turn *= slope;
        }
        self.tempo += sum(&block.turn[..size]);
    }

    /// Takes the gradients of a unit, and leaves zeros.
    #[inline(always)]
    fn take(&mut self, gradients: &mut [Pair]) {
        for (sums, gradient) in self.gradients.iter_mut().zip(gradients) {
            for (sum, gradient) in sums.iter_mut().zip(gradient) {
                *sum += f64::from(std::mem::take(gradient));
            }
        }
    }
}

/// The sums of all rows, also where there are no entries.
#[inline(always)]
fn add_up<C: Count<SIDES>, const SIDES: usize, const FUSED: bool>(
    entries: &Entries<C, SIDES>,
    weights: &[Pair],
    sums: &mut [[Pair; SIDES]; BLOCK],
) {
    match entries.is_empty() {
        true => sums.fill([[0.0; 2]; SIDES]),
        false => entries.forward::<FUSED>(weights, sums),
    }
}

impl Unit<'_> {
    /// Fills a block's columns; behind the last position stays what was there.
    #[inline(always)]
    fn load(&self, range: Range<usize>, block: &mut Block) {
        let Unit { piece, rows, numbers, weights } = self;
        let size = range.len();
        let from = |column: &mut [f32], numbers: &[f32]| column[..size].copy_from_slice(numbers);
        from(&mut block.middlegame, &piece.middlegame[range.clone()]);
        from(&mut block.endgame, &piece.endgame[range.clone()]);
        if !numbers.is_empty() {
            from(&mut block.numbers, &numbers[range.start - rows.start..][..size]);
        }
        match weights {
            [] => block.weights = [1.0; BLOCK],
            weights => from(&mut block.weights, &weights[range.start - rows.start..][..size]),
        }
        for (float, &turn) in block.turn.iter_mut().zip(&piece.turn[range.clone()]) {
            *float = f32::from(turn);
        }
        for ahead in (0..BLOCK).step_by(16) {
            prefetch(&piece.middlegame, range.end + ahead);
            prefetch(&piece.endgame, range.end + ahead);
            prefetch(numbers, range.end - rows.start + ahead);
        }
        for ahead in (0..BLOCK).step_by(64) {
            prefetch(&piece.turn, range.end + ahead);
        }
    }
}

/// Adds up in an order that vectors can keep.
#[inline(always)]
fn sum(numbers: &[f32]) -> f64 {
    let (chunks, rest) = numbers.as_chunks::<16>();
    let mut sums = [0f32; 16];
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += number;
        }
    }
    sums.iter().chain(rest).map(|&number| f64::from(number)).sum()
}
