//! The derivatives of positions' values by the weights.

use super::{
    point::Point,
    problem::{Chunk, Cost, Goal, Problem},
};
use crate::batch::{Choices, Terms, Verdict};

/// A sparse Jacobian: a row a position, or of moves a row for each difference between values that
/// counts; in each row the terms in the order of their [places](super::normal), none twice, the
/// tempo last as one more term. What is 0 is left out.
#[derive(Clone, Debug, Default)]
pub struct Jacobian {
    /// Row `i` has the entries `ends[i]..ends[i + 1]`.
    ends: Vec<usize>,
    places: Vec<u32>,
    /// By middlegame and endgame weight.
    slopes: Vec<[f64; 2]>,
    /// Of NORMAL terms.
    counts: Vec<f64>,
    /// First and second derivative of the cost by the value, and how many entries are grouped.
    costs: Vec<([f64; 2], usize)>,
    /// The sum over the positions.
    loss: f64,
    /// Numbers that each place's row of the normal equations gets from here.
    work: Vec<u64>,
    /// Entries of the present row, as they come.
    found: Vec<Entry>,
    /// Of moves: the entries of the rows of one position, and where each of them ends.
    rows: (Vec<Entry>, Vec<usize>),
}

/// A place, the derivatives by the weights of its term, and the count of a NORMAL term.
type Entry = (u32, [f64; 3]);

/// One position's derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub places: &'a [u32],
    pub slopes: &'a [[f64; 2]],
    pub counts: &'a [f64],
    /// So many entries come first whose slopes are their counts times the shares of the group.
    pub grouped: usize,
    /// First derivative of the cost by the value.
    pub slope: f64,
    /// Second derivative of the cost by the value.
    pub curvature: f64,
}

impl Jacobian {
    /// Becomes that of a chunk.
    pub fn fill(&mut self, problem: &Problem, places: &[u32], chunk: &Chunk, point: &Point) {
        self.clear(problem.terms() + 1);
        let terms = problem.piece(chunk);
        if let Goal::Moves(choices) = problem.goal() {
            for position in chunk.positions.clone() {
                self.add_moves(problem, places, chunk, position, choices, point);
            }
            return;
        }
        for (position, row) in (chunk.first..).zip(chunk.rows.clone()) {
            let (value, _) = self.find(places, terms, row, point);
            self.add(problem.cost(position, value), 0);
        }
    }

    /// The same for some positions of a problem without moves. Where these have the shares of a
    /// group, so have their NORMAL terms, unless COMPLEXITY stops the endgame.
    pub fn fill_some(
        &mut self,
        problem: &Problem,
        places: &[u32],
        positions: &[u32],
        point: &Point,
        group: Option<[f64; 2]>,
    ) {
        self.clear(problem.terms() + 1);
        for position in positions.iter().map(|position| *position as usize) {
            let (terms, row) = problem.at(position);
            let (value, shares) = self.find(places, terms, row, point);
            let grouped = if group == Some(shares) { problem.normals() } else { 0 };
            self.add(problem.cost(position, value), grouped);
        }
    }

    /// Finds the entries of a row; its value, and the derivatives by NORMAL sums.
    fn find(
        &mut self,
        places: &[u32],
        terms: &Terms,
        row: usize,
        point: &Point,
    ) -> (f64, [f64; 2]) {
        let (value, slopes) = point.value_and_slopes(terms, row);
        let [mg, eg] = slopes.normal;
        self.found.clear();
        self.found.extend(terms.normal.row(row).map(|(term, count)| {
            let count = f64::from(count);
            (places[term], [count * mg, count * eg, count])
        }));
        let [white, black] = slopes.safety;
        self.found.extend(terms.safety.row(row).map(|(term, counts)| {
            let [own, other] = counts.map(f64::from);
            let slope = |phase: usize| own * white[phase] + other * black[phase];
            (places[term], [slope(0), slope(1), 0.0])
        }));
        self.found.extend(
            terms.complexity.row(row).map(|(term, count)| {
                (places[term], [0.0, f64::from(count) * slopes.complexity, 0.0])
            }),
        );
        self.found.push((places[point.weights.len()], [f64::from(terms.turn[row]), 0.0, 0.0]));
        (value, slopes.normal)
    }

    /// Adds what was found, with what it costs; places below `grouped` are those of a group.
    fn add(&mut self, cost: Cost, grouped: usize) {
        self.loss += cost.loss;
        let first = self.places.len();
        self.merge();
        let places = &self.places[first..];
        let grouped = places.partition_point(|place| (*place as usize) < grouped);
        for (entry, place) in places.iter().enumerate() {
            self.work[*place as usize] += (entry as u64 + 1) * if entry < grouped { 1 } else { 3 };
        }
        self.ends.push(self.places.len());
        self.costs.push(([cost.slope, cost.curvature], grouped));
    }

    /// Adds a row for each difference between the value behind a move and that of its position; of
    /// softmax one more, the mean of the differences, which bends down.
    fn add_moves(
        &mut self,
        problem: &Problem,
        places: &[u32],
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
            values.push(self.find(places, terms, row, point).0);
            entries.append(&mut self.found);
            ends.push(entries.len());
        }
        let of = |row: usize| &entries[ends[row]..ends[row + 1]];
        let Verdict { loss, slopes, curvatures } = choices.judge(position, &values, 1.0);
        self.loss += loss;
        let signs = &choices.signs[choices.rows(position)];
        let signed = |row: usize, share: f64| {
            let sign = share * f64::from(signs[row]);
            of(row).iter().map(move |(place, slopes)| (*place, slopes.map(|slope| sign * slope)))
        };
        let base = values.len() - 1;
        for row in 0..base {
            self.found.clear();
            self.found.extend(signed(row, 1.0));
            self.found.extend(signed(base, -1.0));
            self.add(Cost { loss: 0.0, slope: slopes[row], curvature: curvatures[row] }, 0);
        }
        if choices.force.is_none() {
            let squared = Choices::UNIT * Choices::UNIT;
            self.found.clear();
            for row in 0..base {
                let share = curvatures[row] * squared;
                self.found.extend(signed(row, share));
                self.found.extend(signed(base, -share));
            }
            self.add(Cost { loss: 0.0, slope: 0.0, curvature: -1.0 / squared }, 0);
        }
        self.rows = (entries, ends);
    }

    fn clear(&mut self, terms: usize) {
        self.ends.clear();
        self.ends.push(0);
        self.places.clear();
        self.slopes.clear();
        self.counts.clear();
        self.costs.clear();
        self.loss = 0.0;
        self.work.clear();
        self.work.resize(terms, 0);
    }

    /// Puts the entries found in order, and adds up those of one term. What cancels out is dropped.
    fn merge(&mut self) {
        let by_place = |one: &Entry, other: &Entry| one.0 == other.0;
        if !self.found.is_sorted_by_key(|(place, _)| *place) {
            // Stable, so that what is added up is always added in the same order.
            self.found.sort_by_key(|(place, _)| *place);
        }
        for same in self.found.chunk_by(by_place) {
            let mut sum = [0.0; 3];
            for (_, numbers) in same {
                sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
            }
            let [mg, eg, count] = sum;
            if [mg, eg] != [0.0; 2] {
                self.places.push(same[0].0);
                self.slopes.push([mg, eg]);
                self.counts.push(count);
            }
        }
    }

    /// The summed loss of the positions.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Numbers that each place's row of the normal equations gets from these positions.
    pub fn work(&self) -> &[u64] {
        &self.work
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.ends.windows(2).zip(&self.costs).map(|(ends, ([slope, curvature], grouped))| Row {
            places: &self.places[ends[0]..ends[1]],
            slopes: &self.slopes[ends[0]..ends[1]],
            counts: &self.counts[ends[0]..ends[1]],
            grouped: *grouped,
            slope: *slope,
            curvature: *curvature,
        })
    }
}
