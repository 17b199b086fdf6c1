//! Österlund's local search: tries a step of each weight, and takes it if it lowers the loss.

use rayon::prelude::*;

use super::problem::{Goal, Point, Problem, ProblemChunk, ProblemError, shares};
use crate::loss::Loss;
use crate::sums::Sums;
use crate::terms::TermKind;

/// Local search over whole centipawns, after P. Österlund's tuning of Texel. A trial evaluates only
/// positions with the weight's term. A new search continues from weights with the same bits.
#[derive(Debug)]
pub struct Search {
    pub point: Point,
    movable: Vec<bool>,
    /// Columns by term, if one of its weights is trained; then the tempo's.
    columns: Vec<Column>,
    states: Vec<SearchState>,
    /// Sums of the fixed weights; empty if all are 0.
    still: Vec<Sums>,
    scale: f64,
    loss: Loss,
}

/// Positions of a term in ascending order without repetition, and its counts there: for SAFETY
/// White's and Black's, else one; for the tempo the side to move.
#[derive(Clone, Debug)]
struct Column {
    kind: Option<TermKind>,
    positions: Vec<u32>,
    counts: Vec<[i16; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct SearchState {
    /// Sums of the trained weights. They are integers, so exact, and depend on the weights alone.
    sums: Sums,
    tempo: f64,
    shares: [f32; 2],
    target: f32,
    counts: f32,
    loss: f64,
}

/// Largest absolute value of a trained weight, in centipawns.
pub const LIMIT: i32 = 1 << 15;
/// Minimum share by which a trial must lower the summed loss: less may be rounding.
const LEAST: f64 = 1e-13;
/// Positions per partial sum, which determine the order of a sum.
const SHARD: usize = 2048;
/// Positions that are loaded together.
const NEAR: usize = 32;

impl Search {
    /// Starts from a point, its `movable` weights rounded to whole centipawns. Fails if weights are
    /// not finite or too large, the loss is not finite, or counts are too large. Panics if the goal
    /// is moves.
    pub fn new(problem: &Problem, point: &Point, movable: &[bool]) -> Result<Self, ProblemError> {
        let Goal::Results { targets, scale, loss, shares: counts } = problem.goal else {
            panic!("a local search needs expected results");
        };
        let mut point = point.clone();
        // Two points whose sum is the given one.
        let (mut moving, mut still) = (point.clone(), point.clone());
        for (number, movable) in movable.iter().enumerate() {
            let [weight, moving, still] =
                [&mut point, &mut moving, &mut still].map(|it| &mut it.0[number]);
            if !movable {
                *moving = 0.0;
                continue;
            }
            if weight.is_nan() || weight.abs() > f64::from(LIMIT) {
                return Err(ProblemError::Weight { number, weight: *weight, limit: LIMIT });
            }
            *weight = weight.round();
            (*moving, *still) = (*weight, 0.0);
        }
        let chunk_states = |chunk: &ProblemChunk| {
            let terms = problem.piece(chunk);
            let state = |(position, row): (usize, usize)| {
                let state = SearchState {
                    sums: terms.add_entries(Sums::default(), row, moving.pairs()),
                    tempo: point.tempo() * f64::from(terms.turn[row]),
                    shares: shares(terms, row).map(|share| share as f32),
                    target: targets[position],
                    counts: counts.get(position).copied().unwrap_or(1.0),
                    loss: 0.0,
                };
                (state, terms.sum_row(row, still.pairs()))
            };
            (chunk.first..).zip(chunk.rows.clone()).map(state).collect::<Vec<_>>()
        };
        let chunks = problem.chunks.par_iter().flat_map_iter(chunk_states);
        let (states, mut still): (Vec<SearchState>, Vec<Sums>) = chunks.unzip();
        if still.iter().all(|sums| *sums == Sums::default()) {
            still = Vec::new();
        }
        let (columns, movable) = (columns(problem, movable)?, movable.to_vec());
        let mut search = Self { point, movable, columns, states, still, scale, loss };
        let cost = |(position, state): (usize, &SearchState)| search.cost(position, state);
        let losses: Vec<f64> = search.states.par_iter().enumerate().map(cost).collect();
        search.states.iter_mut().zip(losses).for_each(|(state, loss)| state.loss = loss);
        if search.sum().is_finite() { Ok(search) } else { Err(ProblemError::NotFinite) }
    }

    pub fn loss(&self) -> f64 {
        self.sum() / self.states.len() as f64
    }

    fn sum(&self) -> f64 {
        let shard = |states: &[SearchState]| states.iter().map(|state| state.loss).sum::<f64>();
        self.states.par_chunks(SHARD).map(shard).collect::<Vec<f64>>().iter().sum()
    }

    /// Tries every trained weight once, in numerical order: one `step` up, or else one down. A
    /// single step lets the other weights react. After a sweep with step 1 and no change, no step
    /// of a single weight lowers the loss. Returns the number of changed weights.
    pub fn sweep(&mut self, step: u16) -> usize {
        let step = f64::from(step);
        let threshold = -LEAST * self.sum();
        let mut moved = 0;
        for number in 0..self.movable.len() {
            if !self.movable[number] {
                continue;
            }
            let weight = self.point.0[number];
            let changes = self.trial(number, step);
            let lowers = |(by, change): &(f64, f64)| {
                *change < threshold && (weight + by).abs() <= f64::from(LIMIT)
            };
            if let Some((by, _)) = [step, -step].into_iter().zip(changes).find(lowers) {
                self.commit(number, by);
                moved += 1;
            }
        }
        moved
    }

    /// Computes the changes of the summed loss if the weight moves up by `step`, and if it moves
    /// down.
    fn trial(&self, number: usize, step: f64) -> [f64; 2] {
        let Column { kind, positions, counts } = &self.columns[number / 2];
        let shard = |(positions, counts): (&[u32], &[[i16; 2]])| {
            let mut sums = [0.0; 2];
            // Copied a few at a time: memory serves many requests at once, but slowly.
            let mut near = Vec::with_capacity(NEAR);
            for (positions, counts) in positions.chunks(NEAR).zip(counts.chunks(NEAR)) {
                near.clear();
                near.extend(positions.iter().map(|position| self.states[*position as usize]));
                for ((position, counts), state) in positions.iter().zip(counts).zip(&near) {
                    for (sum, by) in sums.iter_mut().zip([step, -step]) {
                        let after = state.after(*kind, number % 2, *counts, by);
                        *sum += self.cost(*position as usize, &after) - state.loss;
                    }
                }
            }
            sums
        };
        let shards = positions.par_chunks(SHARD).zip(counts.par_chunks(SHARD)).map(shard);
        let shards: Vec<[f64; 2]> = shards.collect();
        shards.iter().fold([0.0; 2], |sums, shard| [sums[0] + shard[0], sums[1] + shard[1]])
    }

    fn commit(&mut self, number: usize, by: f64) {
        let Column { kind, positions, counts } = &self.columns[number / 2];
        let after = |(position, counts): (&u32, &[i16; 2])| {
            let position = *position as usize;
            let after = self.states[position].after(*kind, number % 2, *counts, by);
            SearchState { loss: self.cost(position, &after), ..after }
        };
        let after: Vec<SearchState> =
            positions.par_iter().zip(counts).with_min_len(SHARD).map(after).collect();
        positions.iter().zip(after).for_each(|(it, after)| self.states[*it as usize] = after);
        self.point.0[number] += by;
    }

    fn cost(&self, position: usize, state: &SearchState) -> f64 {
        let mut sums = state.sums;
        if let Some(still) = self.still.get(position) {
            let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
            sums.normal = add(sums.normal, still.normal);
            sums.safety = [0, 1].map(|side| add(sums.safety[side], still.safety[side]));
            sums.complexity += still.complexity;
        }
        let value = sums.white_centipawns(state.shares.map(f64::from)) + state.tempo;
        self.loss.value_at(value / self.scale, f64::from(state.target)) * f64::from(state.counts)
    }
}

impl SearchState {
    /// Returns the state after a step of a weight. COMPLEXITY has no middlegame weight.
    fn after(mut self, kind: Option<TermKind>, phase: usize, counts: [i16; 2], step: f64) -> Self {
        let by = counts.map(|count| f64::from(count) * step);
        match kind {
            Some(TermKind::Normal) => self.sums.normal[phase] += by[0],
            Some(TermKind::Safety) => {
                (0..2).for_each(|side| self.sums.safety[side][phase] += by[side])
            }
            Some(TermKind::Complexity) => self.sums.complexity += by[0] * phase as f64,
            None => self.tempo += by[0],
        }
        self
    }
}

/// Makes columns of terms with a trained weight, empty columns of others, then the tempo's.
fn columns(problem: &Problem, movable: &[bool]) -> Result<Vec<Column>, ProblemError> {
    let empty = Column { kind: None, positions: Vec::new(), counts: Vec::new() };
    let mut columns = vec![empty; problem.terms + 1];
    let moves = |term: usize| movable[2 * term] || movable.get(2 * term + 1) == Some(&true);
    for chunk in &problem.chunks {
        let terms = problem.piece(chunk);
        for (position, row) in (chunk.first..).zip(chunk.rows.clone()) {
            let single = |kind| move |(term, count)| (Some(kind), term, [count, 0]);
            let entries = terms.normal.entries_of_row(row).map(single(TermKind::Normal));
            let safety = terms.safety.entries_of_row(row);
            let safety = safety.map(|(term, counts)| (Some(TermKind::Safety), term, counts));
            let complexity = terms.complexity.entries_of_row(row).map(single(TermKind::Complexity));
            let tempo = [(None, problem.terms, [terms.turn[row], 0])];
            for (kind, term, counts) in entries.chain(safety).chain(complexity).chain(tempo) {
                if !moves(term) {
                    continue;
                }
                let column = &mut columns[term];
                column.kind = kind;
                if column.positions.last() != Some(&(position as u32)) {
                    column.positions.push(position as u32);
                    column.counts.push([0; 2]);
                }
                let sums = column.counts.last_mut().expect("pushed above");
                for (sum, count) in sums.iter_mut().zip(counts) {
                    let more = sum.checked_add(count.into());
                    *sum = more.ok_or(ProblemError::Count { term, position })?;
                }
            }
        }
    }
    Ok(columns)
}
