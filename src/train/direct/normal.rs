//! The normal equations of least squares.
//!
//! The derivatives of a value by the two weights of a NORMAL term are its count, times the shares of
//! middlegame and endgame. Where enough positions have the shares in common these are multiplied in
//! at the end: what is summed for a pair of NORMAL terms is one number, not four.
//!
//! Terms have *places* here: NORMAL terms come first, the tempo is one more term. Each element is
//! summed over the positions in an order that follows from them alone, by whichever thread has the
//! band of rows that it lies in: the bits are the same for any number of threads.

use rayon::prelude::*;

use super::{
    jacobian::{Jacobian, Row},
    point::{Point, shares},
    problem::{Chunk, Goal, Problem, ProblemError},
};
use crate::train::ranks::Ranks;

/// The mean loss around a point, as a parabola in the step away from it:
/// `loss + gradient * step + step * hessian * step / 2`.
///
/// Weights go by their numbers, see [`Point`].
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    pub loss: f64,
    /// Derivatives of the mean loss.
    pub gradient: Vec<f64>,
    /// Second derivatives without the bends of sigmoid, SAFETY and COMPLEXITY (Gauss-Newton), so
    /// it has no negative direction. An absolute loss counts as the parabola that touches it.
    pub hessian: Triangle,
    /// How many positions change when the weight does; of moves how many differences.
    pub counts: Vec<u64>,
    /// How many positions there are; of moves what they count.
    pub positions: usize,
}

/// The lower triangle of a symmetric matrix of the weights, in blocks of a pair of terms. The
/// tempo counts as one more term, whose endgame weight is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangle {
    /// Row `i` has the blocks of the terms `0..=i`. A block is `[mg mg, mg eg, eg mg, eg eg]`, the
    /// first of the row's term, the second of the column's.
    blocks: Vec<[f64; 4]>,
}

impl Triangle {
    fn zeros(terms: usize) -> Self {
        Self { blocks: vec![[0.0; 4]; row(terms + 1)] }
    }

    /// The element of two weights by their numbers.
    ///
    /// # Panics
    /// If there is no such weight.
    pub fn get(&self, one: usize, other: usize) -> f64 {
        let (low, high) = (one.min(other), one.max(other));
        self.blocks[row(high / 2) + low / 2][2 * (high % 2) + low % 2]
    }
}

/// Where the blocks of a term's row begin.
fn row(term: usize) -> usize {
    term * (term + 1) / 2
}

/// Positions of a Jacobian, and Jacobians that are in memory at once.
const ROWS: usize = 256;
const JACOBIANS: usize = 16;

/// Positions that must have their shares in common: fewer cost less one by one than it takes to
/// multiply the shares in.
const LEAST: usize = 1500;

/// NORMAL entries a position, on average, from which on going by phase pays for another order
/// than that of memory.
const LONG: usize = 32;

/// Bands a thread, so that an uneven one can be made up for.
const BANDS: usize = 2;

impl Equations {
    /// The equations around a point.
    ///
    /// # Errors
    /// A point of another size; a loss that is not finite.
    pub fn of(problem: &Problem, point: &Point) -> Result<Self, ProblemError> {
        let of_moves = matches!(problem.goal(), Goal::Moves(_));
        let long = problem.entries() >= LONG * problem.len();
        Self::grouped(problem, point, if long && !of_moves { LEAST } else { usize::MAX })
    }

    /// The same, with positions together that at least `least` have the shares of.
    ///
    /// # Errors
    /// As there.
    pub fn grouped(problem: &Problem, point: &Point, least: usize) -> Result<Self, ProblemError> {
        problem.check_length("weights", point.len())?;
        let places = problem.places();
        let mut sums = Sums::new(problem);
        let mut rest: Vec<u32> = Vec::new();
        if least < usize::MAX {
            let (groups, others) = groups(problem, least);
            rest = others;
            for positions in &groups {
                let (terms, row) = problem.at(positions[0] as usize);
                let shares = shares(terms, row);
                let parts: Vec<&[u32]> = positions.chunks(ROWS).collect();
                sums.add(&parts, |jacobian, part| {
                    jacobian.fill_some(problem, &places, part, point, Some(shares));
                });
                sums.multiply(shares);
            }
        }
        match least {
            usize::MAX => sums.add(problem.chunks(), |jacobian: &mut Jacobian, chunk: &Chunk| {
                jacobian.fill(problem, &places, chunk, point);
            }),
            _ => {
                let parts: Vec<&[u32]> = rest.chunks(ROWS).collect();
                sums.add(&parts, |jacobian, part| {
                    jacobian.fill_some(problem, &places, part, point, None);
                });
            }
        }
        sums.mean(problem, &places)
    }

    /// Those of all ranks: each element is the mean over the positions of all of them.
    pub fn of_all(self, ranks: &dyn Ranks) -> Self {
        if ranks.is_alone() {
            return self;
        }
        let Self { loss, mut gradient, mut hessian, mut counts, positions } = self;
        let count = positions as f64;
        let mut sums: Vec<f64> = hessian.blocks.iter().flatten().copied().collect();
        sums.extend(&gradient);
        sums.push(loss);
        sums.iter_mut().for_each(|mean| *mean *= count);
        sums.push(count);
        sums.extend(counts.iter().map(|count| *count as f64));
        ranks.sum(&mut [], &mut sums);
        let (means, whole) = sums.split_at(sums.len() - 1 - counts.len());
        let count = whole[0];
        counts.iter_mut().zip(&whole[1..]).for_each(|(to, sum)| *to = *sum as u64);
        let elements = hessian.blocks.iter_mut().flatten().chain(&mut gradient);
        elements.zip(means).for_each(|(to, sum)| *to = sum / count);
        let loss = means[means.len() - 1] / count;
        Self { loss, gradient, hessian, counts, positions: count as usize }
    }
}

/// The positions of each pair of shares that at least so many have, and all others, in rising order.
fn groups(problem: &Problem, least: usize) -> (Vec<Vec<u32>>, Vec<u32>) {
    let keys = problem.chunks().par_iter().flat_map_iter(|chunk| {
        let terms = problem.piece(chunk);
        let bits = |share: f32| u64::from(share.to_bits());
        let key = move |row: usize| bits(terms.middlegame[row]) << 32 | bits(terms.endgame[row]);
        (chunk.first as u32..).zip(chunk.rows.clone()).map(move |(at, row)| (key(row), at))
    });
    let mut keys: Vec<(u64, u32)> = keys.collect();
    keys.par_sort_unstable();
    let (mut groups, mut rest) = (Vec::new(), Vec::new());
    for group in keys.chunk_by(|one, other| one.0 == other.0) {
        let positions = group.iter().map(|(_, position)| *position);
        match group.len() >= least {
            true => groups.push(positions.collect()),
            false => rest.extend(positions),
        }
    }
    rest.sort_unstable();
    (groups, rest)
}

/// The equations under way, summed over positions, by place.
struct Sums {
    blocks: Vec<[f64; 4]>,
    /// Of the present group and of pairs of NORMAL terms: counts times counts.
    products: Vec<f64>,
    gradient: Vec<[f64; 2]>,
    counts: Vec<[u64; 2]>,
    loss: f64,
}

impl Sums {
    fn new(problem: &Problem) -> Self {
        let all = problem.terms() + 1;
        Self {
            blocks: vec![[0.0; 4]; row(all)],
            products: vec![0.0; row(problem.normals())],
            gradient: vec![[0.0; 2]; all],
            counts: vec![[0; 2]; all],
            loss: 0.0,
        }
    }

    /// Adds the Jacobians of all parts.
    fn add<P: Sync>(&mut self, parts: &[P], fill: impl Fn(&mut Jacobian, &P) + Sync) {
        let mut jacobians = vec![Jacobian::default(); JACOBIANS];
        for parts in parts.chunks(JACOBIANS) {
            let jacobians = &mut jacobians[..parts.len()];
            let pairs = jacobians.par_iter_mut().zip(parts);
            pairs.for_each(|(jacobian, part)| fill(jacobian, part));
            self.loss += jacobians.iter().map(Jacobian::loss).sum::<f64>();
            let work = |place| jacobians.iter().map(|jacobian| jacobian.work()[place]).sum();
            let work: Vec<u64> = (0..self.gradient.len()).map(work).collect();
            let bands = self.bands(&work, BANDS * rayon::current_num_threads());
            bands.into_par_iter().for_each(|mut band| {
                jacobians.iter().flat_map(Jacobian::rows).for_each(|row| band.add(row));
            });
        }
    }

    /// Cuts the rows into at most so many bands of about the same work.
    fn bands(&mut self, work: &[u64], bands: usize) -> Vec<Band<'_>> {
        let share = work.iter().sum::<u64>().div_ceil(bands as u64).max(1);
        let mut rest = Band {
            first: 0,
            blocks: &mut self.blocks,
            products: &mut self.products,
            gradient: &mut self.gradient,
            counts: &mut self.counts,
        };
        let (mut done, mut cut) = (0, Vec::new());
        for (place, work) in work.iter().enumerate() {
            done += work;
            if done >= share * (cut.len() as u64 + 1) {
                let (band, behind) = rest.cut_at(place + 1);
                cut.push(band);
                rest = behind;
            }
        }
        cut.push(rest);
        cut
    }

    /// Multiplies the shares of the group in, and begins another one.
    fn multiply(&mut self, [mg, eg]: [f64; 2]) {
        let squares = [mg * mg, mg * eg, eg * mg, eg * eg];
        let pairs = self.products.par_iter_mut().zip(&mut self.blocks).with_min_len(1 << 12);
        pairs.for_each(|(product, block)| {
            block.iter_mut().zip(squares).for_each(|(element, it)| *element += *product * it);
            *product = 0.0;
        });
    }

    /// The means of the sums, by term.
    fn mean(self, problem: &Problem, places: &[u32]) -> Result<Equations, ProblemError> {
        let mean = 1.0 / problem.count();
        let places = || places.iter().map(|place| *place as usize);
        let mut hessian = Triangle::zeros(problem.terms());
        let pairs = places()
            .enumerate()
            .flat_map(|(term, it)| places().take(term + 1).map(move |at| (it, at)));
        for (block, (one, other)) in hessian.blocks.iter_mut().zip(pairs) {
            let found = self.blocks[row(one.max(other)) + one.min(other)].map(|sum| sum * mean);
            *block = if one < other { [found[0], found[2], found[1], found[3]] } else { found };
        }
        let gradient = places().flat_map(|place| self.gradient[place]).map(|sum| sum * mean);
        let counts = places().flat_map(|place| self.counts[place]);
        let gradient: Vec<f64> = gradient.take(problem.weights()).collect();
        let counts = counts.take(problem.weights()).collect();
        let (loss, positions) = (self.loss * mean, problem.count() as usize);
        match loss.is_finite() && gradient.iter().all(|element| element.is_finite()) {
            true => Ok(Equations { loss, gradient, hessian, counts, positions }),
            false => Err(ProblemError::NotFinite),
        }
    }
}

/// The rows of consecutive places.
struct Band<'a> {
    first: usize,
    blocks: &'a mut [[f64; 4]],
    products: &'a mut [f64],
    /// One a place of the band.
    gradient: &'a mut [[f64; 2]],
    counts: &'a mut [[u64; 2]],
}

impl<'a> Band<'a> {
    fn cut_at(self, place: usize) -> (Self, Self) {
        let Self { first, blocks, products, gradient, counts } = self;
        let elements = row(place) - row(first);
        let (blocks, later_blocks) = blocks.split_at_mut(elements);
        let (products, later_products) = products.split_at_mut(elements.min(products.len()));
        let (gradient, later_gradient) = gradient.split_at_mut(place - first);
        let (counts, later_counts) = counts.split_at_mut(place - first);
        let later = Band {
            first: place,
            blocks: later_blocks,
            products: later_products,
            gradient: later_gradient,
            counts: later_counts,
        };
        (Band { first, blocks, products, gradient, counts }, later)
    }

    /// Adds what a position has for this band.
    fn add(&mut self, position: Row) {
        let Row { places, slopes, counts, grouped, .. } = position;
        let end = self.first + self.gradient.len();
        let low = places.partition_point(|place| (*place as usize) < self.first);
        let high = places.partition_point(|place| (*place as usize) < end);
        for entry in low..high {
            let place = places[entry] as usize;
            let [mg, eg] = slopes[entry];
            let of_band = place - self.first;
            self.gradient[of_band][0] += position.slope * mg;
            self.gradient[of_band][1] += position.slope * eg;
            self.counts[of_band][0] += u64::from(mg != 0.0);
            self.counts[of_band][1] += u64::from(eg != 0.0);
            let start = row(place) - row(self.first);
            if entry < grouped {
                let curved = counts[entry] * position.curvature;
                let products = &mut self.products[start..=start + place];
                for (column, count) in places[..=entry].iter().zip(&counts[..=entry]) {
                    products[*column as usize] += curved * count;
                }
                continue;
            }
            let (mg, eg) = (mg * position.curvature, eg * position.curvature);
            let blocks = &mut self.blocks[start..=start + place];
            let columns = places[..=entry].iter().zip(&slopes[..=entry]);
            for (column, [column_mg, column_eg]) in columns {
                let block = &mut blocks[*column as usize];
                block[0] += mg * column_mg;
                block[1] += mg * column_eg;
                block[2] += eg * column_mg;
                block[3] += eg * column_eg;
            }
        }
    }
}
