//! The derivatives of positions' values by the weights.

use super::{
    point::Point,
    problem::{Chunk, Cost, Goal, Played, Problem},
};
use crate::batch::Terms;
use crate::train::moves::{Objective, Verdict};

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
    /// Forgets what it was and becomes that of a chunk.
    pub fn fill(&mut self, problem: &Problem, chunk: &Chunk, point: &Point) {
        self.clear(problem.terms() + 1);
        let terms = problem.piece(chunk);
        if let Goal::Moves(played) = problem.goal() {
            let positions = chunk.positions.clone();
            return positions.for_each(|it| self.add_moves(problem, chunk, it, played, point));
        }
        for (position, row) in (chunk.first..).zip(chunk.rows.clone()) {
            let value = self.find(terms, row, point);
            self.add(problem.cost(position, value));
        }
    }

    /// The same for some positions of a problem without moves.
    pub fn fill_some(&mut self, problem: &Problem, positions: &[u32], point: &Point) {
        self.clear(problem.terms() + 1);
        for position in positions.iter().map(|position| *position as usize) {
            let (terms, row) = problem.place(position);
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

    /// Adds what the moves of a position have: a row for each difference that counts. Of softmax
    /// comes one more, with what bends down: the mean of the differences.
    fn add_moves(
        &mut self,
        problem: &Problem,
        chunk: &Chunk,
        position: usize,
        played: Played,
        point: &Point,
    ) {
        let terms = problem.piece(chunk);
        let rows = problem.rows(chunk, position);
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
        if played.moves.value > 0.0 {
            let root = values.len() - 1;
            self.found.extend_from_slice(of(root));
            self.add(problem.cost(position, values[root]));
        }
        if values.len() > 2 {
            let Verdict { loss, slopes, curvatures, base, .. } = played.judge(position, &values);
            self.loss += loss;
            let signs = &played.choices.signs[played.choices.rows(position)];
            let signed = |row: usize, share: f64| {
                let sign = share * f64::from(signs[row]);
                of(row).iter().map(move |(term, [mg, eg])| (*term, [sign * mg, sign * eg]))
            };
            let counts = |row: &usize| slopes[*row] != 0.0 || curvatures[*row] > 0.0;
            let counted = (0..values.len()).filter(|row| *row != base).filter(counts);
            for row in counted.clone() {
                self.found.clear();
                self.found.extend(signed(row, 1.0));
                self.found.extend(signed(base, -1.0));
                self.add(Cost { loss: 0.0, slope: slopes[row], curvature: curvatures[row] });
            }
            if played.moves.objective == Objective::Softmax {
                let t = played.moves.temperature;
                self.found.clear();
                for row in counted {
                    let share = curvatures[row] * t * t;
                    self.found.extend(signed(row, share));
                    self.found.extend(signed(base, -share));
                }
                self.add(Cost { loss: 0.0, slope: 0.0, curvature: -1.0 / (t * t) });
            }
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
        let mut sum: Option<Entry> = None;
        let found = std::mem::take(&mut self.found);
        for &(term, [mg, eg]) in &found {
            match &mut sum {
                Some((same, sum)) if *same == term => {
                    sum[0] += mg;
                    sum[1] += eg;
                }
                _ => {
                    if let Some(whole) = sum.replace((term, [mg, eg])) {
                        self.push(whole);
                    }
                }
            }
        }
        sum.into_iter().for_each(|whole| self.push(whole));
        self.found = found;
    }

    fn push(&mut self, (term, slopes): Entry) {
        if slopes != [0.0; 2] {
            self.terms.push(term);
            self.slopes.push(slopes);
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
