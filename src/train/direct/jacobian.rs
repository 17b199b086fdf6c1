//! The derivatives of positions' values by the weights.

use super::{
    point::Point,
    problem::{Chunk, Cost, Goal, Problem},
};
use crate::batch::{Choices, Terms, Verdict};

/// A sparse Jacobian: a row a position of one chunk, or of moves a row for each difference between
/// values that counts; in each row the terms in rising order and none twice, the tempo last as one
/// more term. What is 0 is left out.
#[derive(Clone, Debug, Default)]
pub struct Jacobian {
    /// Row `i` has the entries `ends[i]..ends[i + 1]`.
    ends: Vec<usize>,
    terms: Vec<u32>,
    /// By middlegame and endgame weight.
    slopes: Vec<[f64; 2]>,
    /// Of the cost by the value, a row each.
    costs: Vec<[f64; 2]>,
    /// The sum over the positions.
    loss: f64,
    /// Blocks of the normal equations that a term's row gets from this chunk.
    work: Vec<u64>,
    /// Entries of the present row, as they come.
    found: Vec<Entry>,
    /// Of moves: the entries of the rows of one position, and where each of them ends.
    rows: (Vec<Entry>, Vec<usize>),
}

/// A term and the derivatives by its weights.
type Entry = (u32, [f64; 2]);

/// One position's derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub terms: &'a [u32],
    pub slopes: &'a [[f64; 2]],
    /// First derivative of the cost by the value.
    pub slope: f64,
    /// Second derivative of the cost by the value.
    pub curvature: f64,
}

impl Jacobian {
    /// Becomes that of a chunk.
    pub fn fill(&mut self, problem: &Problem, chunk: &Chunk, point: &Point) {
        self.clear(problem.terms() + 1);
        let terms = problem.piece(chunk);
        if let Goal::Moves(choices) = problem.goal() {
            let positions = chunk.positions.clone();
            return positions.for_each(|it| self.add_moves(problem, chunk, it, choices, point));
        }
        for (position, row) in (chunk.first..).zip(chunk.rows.clone()) {
            let value = self.find(terms, row, point);
            self.add(problem.cost(position, value));
        }
    }

    /// Finds the entries of a row, the tempo last; the row's value.
    fn find(&mut self, terms: &Terms, row: usize, point: &Point) -> f64 {
        let (value, slopes) = point.value_and_slopes(terms, row);
        let [mg, eg] = slopes.normal;
        self.found.clear();
        self.found.extend(terms.normal.row(row).map(|(term, count)| {
            let count = f64::from(count);
            (term as u32, [count * mg, count * eg])
        }));
        let [white, black] = slopes.safety;
        self.found.extend(terms.safety.row(row).map(|(term, counts)| {
            let [own, other] = counts.map(f64::from);
            let slope = |phase: usize| own * white[phase] + other * black[phase];
            (term as u32, [slope(0), slope(1)])
        }));
        self.found.extend(
            terms
                .complexity
                .row(row)
                .map(|(term, count)| (term as u32, [0.0, f64::from(count) * slopes.complexity])),
        );
        self.found.push((point.weights.len() as u32, [f64::from(terms.turn[row]), 0.0]));
        value
    }

    /// Adds what was found, with what it costs.
    fn add(&mut self, cost: Cost) {
        self.loss += cost.loss;
        self.merge();
        self.close([cost.slope, cost.curvature]);
    }

    /// Adds a row for each difference between the value behind a move and that of its position; of
    /// softmax one more, the mean of the differences, which bends down.
    fn add_moves(
        &mut self,
        problem: &Problem,
        chunk: &Chunk,
        position: usize,
        choices: &Choices,
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
            values.push(self.find(terms, row, point));
            entries.append(&mut self.found);
            ends.push(entries.len());
        }
        let of = |row: usize| &entries[ends[row]..ends[row + 1]];
        let Verdict { loss, slopes, curvatures } = choices.judge(position, &values, 1.0);
        self.loss += loss;
        let signs = &choices.signs[choices.rows(position)];
        let signed = |row: usize, share: f64| {
            let sign = share * f64::from(signs[row]);
            of(row).iter().map(move |(term, [mg, eg])| (*term, [sign * mg, sign * eg]))
        };
        let base = values.len() - 1;
        for row in 0..base {
            self.found.clear();
            self.found.extend(signed(row, 1.0));
            self.found.extend(signed(base, -1.0));
            self.add(Cost { loss: 0.0, slope: slopes[row], curvature: curvatures[row] });
        }
        if choices.force.is_none() {
            let squared = Choices::UNIT * Choices::UNIT;
            self.found.clear();
            for row in 0..base {
                let share = curvatures[row] * squared;
                self.found.extend(signed(row, share));
                self.found.extend(signed(base, -share));
            }
            self.add(Cost { loss: 0.0, slope: 0.0, curvature: -1.0 / squared });
        }
        self.rows = (entries, ends);
    }

    fn clear(&mut self, terms: usize) {
        self.ends.clear();
        self.ends.push(0);
        self.terms.clear();
        self.slopes.clear();
        self.costs.clear();
        self.loss = 0.0;
        self.work.clear();
        self.work.resize(terms, 0);
    }

    /// Puts the entries found in order, and adds up those of one term. What cancels out is dropped.
    fn merge(&mut self) {
        if !self.found.is_sorted_by_key(|(term, _)| *term) {
            // Stable, so that what is added up is always added in the same order.
            self.found.sort_by_key(|(term, _)| *term);
        }
        for same in self.found.chunk_by(|one, other| one.0 == other.0) {
            let (term, mut sum) = same[0];
            for (_, [mg, eg]) in &same[1..] {
                sum = [sum[0] + mg, sum[1] + eg];
            }
            if sum != [0.0; 2] {
                self.terms.push(term);
                self.slopes.push(sum);
            }
        }
    }

    fn close(&mut self, cost: [f64; 2]) {
        let first = self.ends[self.costs.len()];
        for (blocks, term) in (1..).zip(&self.terms[first..]) {
            self.work[*term as usize] += blocks;
        }
        self.ends.push(self.terms.len());
        self.costs.push(cost);
    }

    /// The summed loss of the positions.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Blocks of the normal equations that each term's row gets from these positions.
    pub fn work(&self) -> &[u64] {
        &self.work
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.ends.windows(2).zip(&self.costs).map(|(ends, [slope, curvature])| Row {
            terms: &self.terms[ends[0]..ends[1]],
            slopes: &self.slopes[ends[0]..ends[1]],
            slope: *slope,
            curvature: *curvature,
        })
    }
}
