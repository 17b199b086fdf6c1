//! Positions evaluated with whole weights, ready for one weight to be stepped.

use rayon::prelude::*;

use super::{
    column::{Column, Entries},
    point::{Point, shares},
    problem::{Chunk, Goal, Problem, ProblemError},
    whole::Whole,
};
use crate::loss::Loss;
use crate::sums::Sums;

/// The sums, the value and the loss of every position at a point.
#[derive(Debug)]
pub struct Evaluated {
    states: Vec<State>,
    /// What everything adds that does not move.
    still: Vec<Sums>,
    tempo: f64,
    scale: f64,
    loss: Loss,
}

/// A position, in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct State {
    /// Of the weights that move. Being exact they keep no trace of the way they came about.
    sums: Whole,
    shares: [f32; 2],
    target: f32,
    /// What its loss is multiplied by.
    counts: f32,
    turn: i8,
    /// What the position costs with these sums.
    loss: f64,
}

/// Movable weights go no further than this, in centipawns.
pub const LIMIT: i32 = 1 << 15;

/// Positions that are summed at once; the order of a sum follows from it.
const SHARD: usize = 2048;

/// Positions fetched from memory together.
const NEAR: usize = 32;

impl Evaluated {
    /// The positions at a point whose `movable` weights are whole.
    ///
    /// # Errors
    /// A goal of values; sums too large.
    pub fn new(problem: &Problem, point: &Point, movable: &[bool]) -> Result<Self, ProblemError> {
        let Goal::Results { targets, scale, loss, shares: counts } = problem.goal() else {
            return Err(ProblemError::Values);
        };
        // Two points that add up to the given one.
        let (mut moving, mut still) = (point.clone(), point.clone());
        for (number, movable) in movable.iter().enumerate() {
            let side = if *movable { &mut still } else { &mut moving };
            *side.get_mut(number).expect("as many weights as marks") = 0.0;
        }
        let of_chunk = |chunk: &Chunk| {
            let terms = problem.piece(chunk);
            let positions = (chunk.first..).zip(chunk.rows.clone());
            let state = |(position, row): (usize, usize)| {
                let state = State {
                    sums: Whole::of(terms.sums_of_entries(row, &moving.weights))
                        .ok_or(ProblemError::Sum(position))?,
                    shares: shares(terms, row).map(|share| share as f32),
                    target: targets[position],
                    counts: counts.get(position).copied().unwrap_or(1.0),
                    turn: terms.turn[row],
                    loss: 0.0,
                };
                Ok((state, terms.sums(row, &still.weights)))
            };
            positions.map(state).collect::<Result<Vec<_>, _>>()
        };
        let chunks: Vec<_> = problem.chunks().par_iter().map(of_chunk).collect();
        let (mut states, mut sums) = (Vec::with_capacity(problem.len()), Vec::new());
        for chunk in chunks {
            for (state, still) in chunk? {
                states.push(state);
                sums.push(still);
            }
        }
        if sums.iter().all(|sums| *sums == Sums::default()) {
            sums = Vec::new();
        }
        let mut evaluated = Self { states, still: sums, tempo: point.tempo, scale, loss };
        // A step of nothing computes the losses.
        evaluated.commit(Column::Tempo, 0);
        Ok(evaluated)
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The summed loss.
    pub fn loss(&self) -> f64 {
        let shard = |states: &[State]| states.iter().map(|state| state.loss).sum::<f64>();
        let shards: Vec<f64> = self.states.par_chunks(SHARD).map(shard).collect();
        shards.iter().sum()
    }

    /// How the summed loss would change if the weight went up by `step` centipawns, and if it went
    /// down.
    pub fn trial(&self, column: Column, step: i32) -> [f64; 2] {
        match column {
            Column::Normal(phase, entries) => self.try_sums(entries, Whole::normal(phase), step),
            Column::Safety(phase, entries) => self.try_sums(entries, Whole::safety(phase), step),
            Column::Complexity(entries) => self.try_sums(entries, Whole::complexity(), step),
            Column::Tempo => self.try_tempo(step),
        }
    }

    /// Moves the weight by `step` centipawns.
    pub fn commit(&mut self, column: Column, step: i32) {
        match column {
            Column::Normal(phase, entries) => self.set_sums(entries, Whole::normal(phase), step),
            Column::Safety(phase, entries) => self.set_sums(entries, Whole::safety(phase), step),
            Column::Complexity(entries) => self.set_sums(entries, Whole::complexity(), step),
            Column::Tempo => self.set_tempo(step),
        }
    }

    fn try_sums<C: Copy + Sync>(
        &self,
        Entries { positions, counts }: Entries<C>,
        change: impl Fn(&mut Whole, C, i32) + Sync,
        step: i32,
    ) -> [f64; 2] {
        let shard = |(positions, counts): (&[u32], &[C])| {
            let mut changes = [0.0; 2];
            // Copied a few at a time, since memory answers many requests at once but slowly.
            let mut near = Vec::with_capacity(NEAR);
            for (positions, counts) in positions.chunks(NEAR).zip(counts.chunks(NEAR)) {
                near.clear();
                near.extend(positions.iter().map(|position| self.states[*position as usize]));
                for ((position, count), state) in positions.iter().zip(counts).zip(&near) {
                    let still = self.still.get(*position as usize);
                    for (sum, step) in changes.iter_mut().zip([step, -step]) {
                        let mut sums = state.sums;
                        change(&mut sums, *count, step);
                        *sum += self.cost(still, state, sums, self.tempo) - state.loss;
                    }
                }
            }
            changes
        };
        let shards = positions.par_chunks(SHARD).zip(counts.par_chunks(SHARD)).map(shard);
        total(&shards.collect::<Vec<_>>())
    }

    fn try_tempo(&self, step: i32) -> [f64; 2] {
        let shard = |(shard, states): (usize, &[State])| {
            let mut changes = [0.0; 2];
            for (position, state) in (shard * SHARD..).zip(states) {
                for (sum, step) in changes.iter_mut().zip([step, -step]) {
                    let tempo = self.tempo + f64::from(step);
                    *sum +=
                        self.cost(self.still.get(position), state, state.sums, tempo) - state.loss;
                }
            }
            changes
        };
        total(&self.states.par_chunks(SHARD).enumerate().map(shard).collect::<Vec<_>>())
    }

    fn set_sums<C: Copy + Sync>(
        &mut self,
        Entries { positions, counts }: Entries<C>,
        change: impl Fn(&mut Whole, C, i32) + Sync,
        step: i32,
    ) {
        // Positions rise, so the shards of the column lie in parts of the states that are apart.
        let mut states = std::mem::take(&mut self.states);
        let (mut rest, mut first) = (&mut states[..], 0);
        let mut shards = Vec::new();
        for (positions, counts) in positions.chunks(SHARD).zip(counts.chunks(SHARD)) {
            let behind = positions[positions.len() - 1] as usize + 1;
            let (part, later) = rest.split_at_mut(behind - first);
            shards.push((first, part, positions, counts));
            (rest, first) = (later, behind);
        }
        shards.into_par_iter().for_each(|(first, part, positions, counts)| {
            for (position, count) in positions.iter().zip(counts) {
                let position = *position as usize;
                let state = &mut part[position - first];
                change(&mut state.sums, *count, step);
                state.loss = self.cost(self.still.get(position), state, state.sums, self.tempo);
            }
        });
        self.states = states;
    }

    fn set_tempo(&mut self, step: i32) {
        self.tempo += f64::from(step);
        let mut states = std::mem::take(&mut self.states);
        states.par_iter_mut().enumerate().for_each(|(position, state)| {
            state.loss = self.cost(self.still.get(position), state, state.sums, self.tempo);
        });
        self.states = states;
    }

    /// What a position costs with other sums.
    fn cost(&self, still: Option<&Sums>, state: &State, sums: Whole, tempo: f64) -> f64 {
        let mut sums = sums.sums();
        if let Some(still) = still {
            sums = plus(sums, still);
        }
        let value = sums.white(state.shares.map(f64::from)) + tempo * f64::from(state.turn);
        self.loss.of(value / self.scale, f64::from(state.target)) * f64::from(state.counts)
    }
}

fn plus(sums: Sums, other: &Sums) -> Sums {
    let pair = |one: [f64; 2], other: [f64; 2]| [one[0] + other[0], one[1] + other[1]];
    Sums {
        normal: pair(sums.normal, other.normal),
        safety: [pair(sums.safety[0], other.safety[0]), pair(sums.safety[1], other.safety[1])],
        complexity: sums.complexity + other.complexity,
    }
}

/// Sums in order.
fn total(shards: &[[f64; 2]]) -> [f64; 2] {
    shards.iter().fold([0.0; 2], |sums, shard| [sums[0] + shard[0], sums[1] + shard[1]])
}
