//! The derivatives of positions' values by the weights.

use super::{
    point::Point,
    problem::{Chunk, Problem},
};

/// A sparse Jacobian: a row a position of one chunk, in each row the terms in rising order and
/// none twice, the tempo last as one more term.
#[derive(Clone, Debug, Default)]
pub struct Jacobian {
    /// Row `i` has the entries `ends[i]..ends[i + 1]`.
    ends: Vec<usize>,
    terms: Vec<u32>,
    /// By middlegame and endgame weight.
    slopes: Vec<[f64; 2]>,
    /// Of the cost by the value, a position each.
    costs: Vec<[f64; 2]>,
    /// The sum over the positions.
    loss: f64,
    /// Blocks of the normal equations that a term's row gets from this chunk.
    work: Vec<u64>,
    /// Entries of the present row, as they come.
    found: Vec<(u32, [f64; 2])>,
}

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
    /// Forgets what it was and becomes that of a chunk.
    pub fn fill(&mut self, problem: &Problem, chunk: &Chunk, point: &Point) {
        self.clear(problem.terms() + 1);
        let terms = problem.piece(chunk);
        for (position, row) in (chunk.first..).zip(chunk.rows.clone()) {
            let (value, slopes) = point.value_and_slopes(terms, row);
            let cost = problem.cost(position, value);
            self.loss += cost.loss;
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
                terms.complexity.row(row).map(|(term, count)| {
                    (term as u32, [0.0, f64::from(count) * slopes.complexity])
                }),
            );
            self.merge();
            self.terms.push(problem.terms() as u32);
            self.slopes.push([f64::from(terms.turn[row]), 0.0]);
            self.close([cost.slope, cost.curvature]);
        }
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

    /// Puts the entries found in order, and adds up those of one term.
    fn merge(&mut self) {
        if !self.found.is_sorted_by_key(|(term, _)| *term) {
            // Stable, so that what is added up is always added in the same order.
            self.found.sort_by_key(|(term, _)| *term);
        }
        let first = self.terms.len();
        for (term, slopes) in &self.found {
            if self.terms.len() > first && self.terms.last() == Some(term) {
                let sum = self.slopes.last_mut().expect("as many slopes as terms");
                sum[0] += slopes[0];
                sum[1] += slopes[1];
            } else {
                self.terms.push(*term);
                self.slopes.push(*slopes);
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
