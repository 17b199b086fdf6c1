//! The normal equations of least squares.

use rayon::prelude::*;

use super::{
    jacobian::{Jacobian, Row},
    point::Point,
    problem::{Problem, ProblemError},
    triangle::{Triangle, row},
};

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

/// Chunks whose Jacobians are held at once.
const CHUNKS: usize = 16;

/// Bands a thread, so that an uneven one can be made up for.
const BANDS: usize = 2;

impl Equations {
    /// The equations around a point.
    ///
    /// Each element of the matrix is summed over the positions in their order, by whichever thread
    /// has the band of rows it lies in: there is one matrix only, and its bits are the same for
    /// any number of threads.
    ///
    /// # Errors
    /// A point of another size; a loss that is not finite.
    pub fn of(problem: &Problem, point: &Point) -> Result<Self, ProblemError> {
        problem.check_length("weights", point.len())?;
        let terms = problem.terms() + 1;
        let mut hessian = Triangle::zeros(problem.terms());
        let mut gradient = vec![[0.0; 2]; terms];
        let mut counts = vec![[0_u64; 2]; terms];
        let mut loss = 0.0;
        let mut jacobians = vec![Jacobian::default(); CHUNKS];
        for chunks in problem.chunks().chunks(CHUNKS) {
            let jacobians = &mut jacobians[..chunks.len()];
            jacobians.par_iter_mut().zip(chunks).for_each(|(jacobian, chunk)| {
                jacobian.fill(problem, chunk, point);
            });
            loss += jacobians.iter().map(Jacobian::loss).sum::<f64>();
            let work = |term| jacobians.iter().map(|jacobian| jacobian.work()[term]).sum();
            let work: Vec<u64> = (0..terms).map(work).collect();
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
        let positions = problem.count() as usize;
        let mean = 1.0 / problem.count();
        hessian.blocks.par_iter_mut().flatten().for_each(|element| *element *= mean);
        let mut gradient: Vec<f64> = gradient.into_iter().flatten().map(|sum| sum * mean).collect();
        let mut counts: Vec<u64> = counts.into_iter().flatten().collect();
        gradient.truncate(problem.weights());
        counts.truncate(problem.weights());
        match loss.is_finite() && gradient.iter().all(|element| element.is_finite()) {
            true => Ok(Self { loss: loss * mean, gradient, hessian, counts, positions }),
            false => Err(ProblemError::NotFinite),
        }
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
