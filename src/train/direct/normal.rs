//! The normal equations of least squares.
//!
//! Each element of the matrix is summed over the positions in an order that follows from them alone,
//! by whichever thread has the band of rows that it lies in: the bits are the same for any number of
//! threads.

use rayon::prelude::*;

use super::{
    jacobian::{Jacobian, Row},
    point::Point,
    problem::{Problem, ProblemError},
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

/// Jacobians that are in memory at once.
const JACOBIANS: usize = 16;

/// Bands a thread, so that an uneven one can be made up for.
const BANDS: usize = 2;

impl Equations {
    /// The equations around a point.
    ///
    /// # Errors
    /// A point of another size; a loss that is not finite.
    pub fn of(problem: &Problem, point: &Point) -> Result<Self, ProblemError> {
        problem.check_length("weights", point.len())?;
        let (terms, mean) = (problem.terms(), 1.0 / problem.count());
        let mut hessian = Triangle::zeros(terms);
        let (mut gradient, mut counts) = (vec![[0.0; 2]; terms + 1], vec![[0; 2]; terms + 1]);
        let mut losses: Vec<f64> = Vec::with_capacity(problem.chunks().len());
        let mut jacobians = vec![Jacobian::default(); JACOBIANS];
        for chunks in problem.chunks().chunks(JACOBIANS) {
            let jacobians = &mut jacobians[..chunks.len()];
            let pairs = jacobians.par_iter_mut().zip(chunks);
            pairs.for_each(|(jacobian, chunk)| jacobian.fill(problem, chunk, point));
            losses.extend(jacobians.iter().map(Jacobian::loss));
            let work = |term| jacobians.iter().map(|jacobian| jacobian.work()[term]).sum();
            let work: Vec<u64> = (0..=terms).map(work).collect();
            let whole = Band {
                first: 0,
                blocks: &mut hessian.blocks,
                gradient: &mut gradient,
                counts: &mut counts,
            };
            let bands = whole.split(&work, BANDS * rayon::current_num_threads());
            bands.into_par_iter().for_each(|mut band| {
                jacobians.iter().flat_map(Jacobian::rows).for_each(|row| band.add(row));
            });
        }
        let loss = losses.iter().sum::<f64>() / problem.count();
        hessian.blocks.par_iter_mut().flatten().for_each(|element| *element *= mean);
        let mut gradient: Vec<f64> = gradient.into_iter().flatten().map(|sum| sum * mean).collect();
        let mut counts: Vec<u64> = counts.into_iter().flatten().collect();
        gradient.truncate(problem.weights());
        counts.truncate(problem.weights());
        let positions = problem.count() as usize;
        match loss.is_finite() && gradient.iter().all(|element| element.is_finite()) {
            true => Ok(Equations { loss, gradient, hessian, counts, positions }),
            false => Err(ProblemError::NotFinite),
        }
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

/// The rows of consecutive terms.
struct Band<'a> {
    first: usize,
    blocks: &'a mut [[f64; 4]],
    /// One a term of the band.
    gradient: &'a mut [[f64; 2]],
    counts: &'a mut [[u64; 2]],
}

impl<'a> Band<'a> {
    /// Cuts into at most `bands` bands of about the same work.
    fn split(self, work: &[u64], bands: usize) -> Vec<Self> {
        let share = work.iter().sum::<u64>().div_ceil(bands as u64).max(1);
        let mut done = 0;
        let mut cut = Vec::new();
        let mut rest = self;
        for (term, work) in work.iter().enumerate() {
            done += work;
            let next = term + 1;
            if done >= share * (cut.len() as u64 + 1) && next > rest.first {
                let (band, behind) = rest.cut_at(next);
                cut.push(band);
                rest = behind;
            }
        }
        cut.push(rest);
        cut
    }

    fn cut_at(self, term: usize) -> (Self, Self) {
        let terms = term - self.first;
        let (blocks, more_blocks) = self.blocks.split_at_mut(row(term) - row(self.first));
        let (gradient, more_gradient) = self.gradient.split_at_mut(terms);
        let (counts, more_counts) = self.counts.split_at_mut(terms);
        let band = Self { first: self.first, blocks, gradient, counts };
        let behind =
            Self { first: term, blocks: more_blocks, gradient: more_gradient, counts: more_counts };
        (band, behind)
    }

    /// Adds what a position has for this band.
    fn add(&mut self, position: Row) {
        let behind = self.first + self.gradient.len();
        let low = position.terms.partition_point(|term| (*term as usize) < self.first);
        let high = position.terms.partition_point(|term| (*term as usize) < behind);
        for entry in low..high {
            let term = position.terms[entry] as usize;
            let [mg, eg] = position.slopes[entry];
            let of_band = term - self.first;
            self.gradient[of_band][0] += position.slope * mg;
            self.gradient[of_band][1] += position.slope * eg;
            self.counts[of_band][0] += u64::from(mg != 0.0);
            self.counts[of_band][1] += u64::from(eg != 0.0);
            let (mg, eg) = (mg * position.curvature, eg * position.curvature);
            let start = row(term) - row(self.first);
            let blocks = &mut self.blocks[start..=start + term];
            let columns = position.terms[..=entry].iter().zip(&position.slopes[..=entry]);
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
