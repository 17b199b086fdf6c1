//! Normal equations of least squares. Each element of the matrix is summed over the positions in
//! their order, by the thread of its band of rows: the bits are the same for any number of threads.

use rayon::prelude::*;

use super::problem::{Cost, Goal, MAX_TERMS, Point, Problem, ProblemChunk, ProblemError};
use crate::batch::{ChoiceLoss, MoveChoices, TermBatch};

/// The mean loss around a [`Point`]: `loss + gradient * step + step * hessian * step / 2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    pub loss: f64,
    pub gradient: Vec<f64>,
    /// Second derivatives without those of the value (Gauss-Newton), so positive semidefinite.
    pub hessian: Triangle,
}

/// Lower triangle of a symmetric matrix, in blocks of two terms. The tempo is the last term.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangle {
    /// Row `i` has the blocks of the terms `0..=i`.
    blocks: Vec<NormalBlock>,
}

/// Block `[mg mg, mg eg, eg mg, eg eg]`: the first factor of the row's term, the second of the
/// column's. It is aligned so that it crosses no cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
struct NormalBlock([f64; 4]);

impl Triangle {
    fn zeros(terms: usize) -> Self {
        Self { blocks: vec![NormalBlock::default(); row(terms + 1)] }
    }

    /// Returns the element of two weights by their numbers.
    pub fn get(&self, row_weight: usize, column_weight: usize) -> f64 {
        let (low, high) = (row_weight.min(column_weight), row_weight.max(column_weight));
        self.blocks[row(high / 2) + low / 2].0[2 * (high % 2) + low % 2]
    }
}

fn row(term: usize) -> usize {
    term * (term + 1) / 2
}

const JACOBIANS: usize = 16;
/// Bands per thread, to balance uneven ones.
const BANDS: usize = 2;

impl Equations {
    /// Computes the equations around a point. Fails if the loss is not finite.
    pub fn of(problem: &Problem, point: &Point) -> Result<Self, ProblemError> {
        let (terms, mean) = (problem.terms, 1.0 / problem.count);
        if terms > MAX_TERMS {
            return Err(ProblemError::Terms(terms));
        }
        let mut hessian = Triangle::zeros(terms);
        let mut gradient = vec![[0.0; 2]; terms + 1];
        let mut losses: Vec<f64> = Vec::with_capacity(problem.chunks.len());
        let mut jacobians = vec![Jacobian::default(); JACOBIANS];
        for chunks in problem.chunks.chunks(JACOBIANS) {
            let jacobians = &mut jacobians[..chunks.len()];
            let pairs = jacobians.par_iter_mut().zip(chunks);
            pairs.for_each(|(jacobian, chunk)| jacobian.fill(problem, chunk, point));
            losses.extend(jacobians.iter().map(|jacobian| jacobian.loss));
            let work = |term: usize| jacobians.iter().map(|jacobian| jacobian.work[term]).sum();
            let work: Vec<u64> = (0..=terms).map(work).collect();
            let (blocks, gradient) = (&mut hessian.blocks[..], &mut gradient[..]);
            let whole = Band { first: 0, blocks, gradient };
            let bands = whole.split(&work, BANDS * rayon::current_num_threads());
            let arch = pulp::Arch::new();
            bands.into_par_iter().for_each(|band| arch.dispatch(BlockAddition { band, jacobians }));
        }
        let loss = losses.iter().sum::<f64>() / problem.count;
        hessian
            .blocks
            .par_iter_mut()
            .for_each(|NormalBlock(block)| *block = block.map(|it| it * mean));
        let mut gradient: Vec<f64> = gradient.into_iter().flatten().map(|sum| sum * mean).collect();
        gradient.truncate(problem.weights());
        match loss.is_finite() && gradient.iter().all(|element| element.is_finite()) {
            true => Ok(Equations { loss, gradient, hessian }),
            false => Err(ProblemError::NotFinite),
        }
    }
}

struct Band<'a> {
    first: usize,
    blocks: &'a mut [NormalBlock],
    gradient: &'a mut [[f64; 2]],
}

impl<'a> Band<'a> {
    /// Splits into at most `bands` bands of about equal work.
    fn split(mut self, work: &[u64], bands: usize) -> Vec<Self> {
        let share = work.iter().sum::<u64>().div_ceil(bands as u64).max(1);
        let (mut done, mut cut) = (0, Vec::new());
        for (term, work) in work.iter().enumerate() {
            done += work;
            let (Self { first, blocks, gradient }, next) = (self, term + 1);
            if done >= share * (cut.len() as u64 + 1) && next > first {
                let (blocks, more_blocks) = blocks.split_at_mut(row(next) - row(first));
                let (gradient, more_gradient) = gradient.split_at_mut(next - first);
                cut.push(Self { first, blocks, gradient });
                self = Self { first: next, blocks: more_blocks, gradient: more_gradient };
            } else {
                self = Self { first, blocks, gradient };
            }
        }
        cut.push(self);
        cut
    }

    /// Adds the products of a position's derivatives in the rows of this band.
    #[inline(always)]
    fn add(&mut self, position: NormalRow) {
        let end = self.first + self.gradient.len();
        let low = position.terms.partition_point(|term| (*term as usize) < self.first);
        let high = position.terms.partition_point(|term| (*term as usize) < end);
        for entry in low..high {
            let term = position.terms[entry] as usize;
            let [mg, eg] = position.derivatives[entry];
            let gradient = &mut self.gradient[term - self.first];
            gradient[0] += position.derivative * mg;
            gradient[1] += position.derivative * eg;
            let (mg, eg) = (mg * position.curvature, eg * position.curvature);
            let row_factors = [mg, mg, eg, eg];
            let start = row(term) - row(self.first);
            let blocks = &mut self.blocks[start..=start + term];
            let columns = position.terms[..=entry].iter().zip(&position.derivatives[..=entry]);
            for (&column, &[mg, eg]) in columns {
                let NormalBlock(block) = &mut blocks[column as usize];
                let column_factors = [mg, eg, mg, eg];
                for k in 0..4 {
                    block[k] += row_factors[k] * column_factors[k];
                }
            }
        }
    }
}

/// Adds products of Jacobian rows to a band, each rounded, for the same bits on all machines.
struct BlockAddition<'a> {
    band: Band<'a>,
    jacobians: &'a [Jacobian],
}

impl pulp::WithSimd for BlockAddition<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) {
        for jacobian in self.jacobians {
            for row in jacobian.rows() {
                self.band.add(row);
            }
        }
    }
}

/// Sparse Jacobian: one row per position of a chunk, or per difference of moves. Each row has its
/// terms in ascending order, the tempo last, without zeros.
#[derive(Clone, Debug, Default)]
struct Jacobian {
    /// Row `i` has the entries `ends[i]..ends[i + 1]`.
    ends: Vec<usize>,
    terms: Vec<u32>,
    /// Derivatives by middlegame and endgame weight.
    derivatives: Vec<[f64; 2]>,
    /// Derivatives of the cost by the value, one per row.
    costs: Vec<[f64; 2]>,
    loss: f64,
    /// Blocks of the normal equations that a term's row gets from this chunk.
    work: Vec<u64>,
    /// Entries of the current row, unsorted.
    row_entries: Vec<Entry>,
    /// For moves: entries of the rows of one position, and their ends.
    rows: (Vec<Entry>, Vec<usize>),
}

type Entry = (u32, [f64; 2]);

#[derive(Clone, Copy, Debug)]
struct NormalRow<'a> {
    terms: &'a [u32],
    derivatives: &'a [[f64; 2]],
    derivative: f64,
    curvature: f64,
}

impl Jacobian {
    fn fill(&mut self, problem: &Problem, chunk: &ProblemChunk, point: &Point) {
        self.clear(problem.terms + 1);
        let terms = problem.piece(chunk);
        if let Goal::Moves(choices) = problem.goal {
            let positions = chunk.positions.clone();
            return positions.for_each(|it| self.add_moves(problem, chunk, it, choices, point));
        }
        for (position, row) in (chunk.first..).zip(chunk.rows.clone()) {
            let value = self.collect_entries(terms, row, point);
            self.add(problem.cost(position, value));
        }
    }

    /// Collects the entries of a row, the tempo last; returns the row's value.
    fn collect_entries(&mut self, terms: &TermBatch, row: usize, point: &Point) -> f64 {
        let (value, derivatives) = point.value_and_slopes(terms, row);
        let [mg, eg] = derivatives.normal;
        self.row_entries.clear();
        self.row_entries.extend(terms.normal.entries_of_row(row).map(|(term, count)| {
            let count = f64::from(count);
            (term as u32, [count * mg, count * eg])
        }));
        let [white, black] = derivatives.safety;
        self.row_entries.extend(terms.safety.entries_of_row(row).map(|(term, counts)| {
            let counts = counts.map(f64::from);
            (term as u32, [0, 1].map(|phase| counts[0] * white[phase] + counts[1] * black[phase]))
        }));
        let complexity = derivatives.complexity;
        self.row_entries.extend(terms.complexity.entries_of_row(row).map(|(term, count)| {
            let count = f64::from(count);
            (term as u32, [0.0, count * complexity])
        }));
        self.row_entries.push((point.pairs().len() as u32, [f64::from(terms.turn[row]), 0.0]));
        value
    }

    /// Adds a row of the collected entries, summed by term; zeros are dropped.
    fn add(&mut self, cost: Cost) {
        if !self.row_entries.is_sorted_by_key(|(term, _)| *term) {
            // Stable, so that entries are always added in the same order.
            self.row_entries.sort_by_key(|(term, _)| *term);
        }
        let mut blocks = 0;
        for same in self.row_entries.chunk_by(|a, b| a.0 == b.0) {
            let (term, mut sum) = same[0];
            for (_, [mg, eg]) in &same[1..] {
                sum = [sum[0] + mg, sum[1] + eg];
            }
            if sum != [0.0; 2] {
                blocks += 1;
                self.work[term as usize] += blocks;
                self.terms.push(term);
                self.derivatives.push(sum);
            }
        }
        self.ends.push(self.terms.len());
        self.costs.push([cost.derivative, cost.curvature]);
        self.loss += cost.loss;
    }

    /// Adds a row for each difference between the value after a move and that of its position; for
    /// softmax one more, the mean of the differences, with negative curvature.
    fn add_moves(
        &mut self,
        problem: &Problem,
        chunk: &ProblemChunk,
        position: usize,
        choices: &MoveChoices,
        point: &Point,
    ) {
        let terms = problem.piece(chunk);
        let rows = problem.rows(chunk, position);
        if rows.len() < 3 {
            return;
        }
        let (mut entries, mut ends) = std::mem::take(&mut self.rows);
        entries.clear();
        ends.clear();
        ends.push(0);
        let mut values = Vec::with_capacity(rows.len());
        for row in rows.clone() {
            values.push(self.collect_entries(terms, row, point));
            entries.append(&mut self.row_entries);
            ends.push(entries.len());
        }
        let entries_of = |row: usize| &entries[ends[row]..ends[row + 1]];
        let ChoiceLoss { loss, gradients, curvatures } =
            choices.position_loss(position, &values, 1.0);
        self.loss += loss;
        let signs = &choices.signs[choices.move_rows(position)];
        let signed = |row: usize, share: f64| {
            let sign = share * f64::from(signs[row]);
            entries_of(row).iter().map(move |(term, [mg, eg])| (*term, [sign * mg, sign * eg]))
        };
        let base = values.len() - 1;
        for row in 0..base {
            self.row_entries.clear();
            self.row_entries.extend(signed(row, 1.0));
            self.row_entries.extend(signed(base, -1.0));
            self.add(Cost { loss: 0.0, derivative: gradients[row], curvature: curvatures[row] });
        }
        if choices.force.is_none() {
            let squared = MoveChoices::UNIT * MoveChoices::UNIT;
            self.row_entries.clear();
            for (row, curvature) in curvatures[..base].iter().enumerate() {
                let share = curvature * squared;
                self.row_entries.extend(signed(row, share));
                self.row_entries.extend(signed(base, -share));
            }
            self.add(Cost { loss: 0.0, derivative: 0.0, curvature: -1.0 / squared });
        }
        self.rows = (entries, ends);
    }

    fn clear(&mut self, terms: usize) {
        self.ends.clear();
        self.ends.push(0);
        self.terms.clear();
        self.derivatives.clear();
        self.costs.clear();
        self.loss = 0.0;
        self.work.clear();
        self.work.resize(terms, 0);
    }

    fn rows(&self) -> impl Iterator<Item = NormalRow<'_>> {
        self.ends.windows(2).zip(&self.costs).map(|(ends, [derivative, curvature])| NormalRow {
            terms: &self.terms[ends[0]..ends[1]],
            derivatives: &self.derivatives[ends[0]..ends[1]],
            derivative: *derivative,
            curvature: *curvature,
        })
    }
}
