//! The normal equations from positions of the same phase together.
//!
//! The derivatives of a value by the two weights of a NORMAL term are its count, times the shares of
//! middlegame and endgame. Where positions have the shares in common, these are multiplied in at the
//! end: what is summed for a pair of NORMAL terms is one number, not four. Positions whose shares
//! few others have, and those where COMPLEXITY stops the endgame, are left to
//! [the plain way](super::normal), against which this one is tested.
//!
//! All sums have an order that follows from the positions alone, whoever computes them.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    normal::{BANDS, Sums},
    point::{Point, shares},
    problem::Problem,
    triangle::row,
};
use crate::batch::Terms;
use crate::sums::Slopes;

/// Positions that must have their shares in common: fewer cost less one by one than it takes to
/// multiply the shares in.
const LEAST: usize = 1500;

/// Positions a task finds derivatives of, and tasks whose derivatives are held at once.
const PART: usize = 256;
const PARTS: usize = 16;

/// Adds all positions but those that it gives back. `losses` are those of the others from then on.
pub(super) fn add(
    problem: &Problem,
    point: &Point,
    sums: &mut Sums,
    losses: &mut [f64],
) -> Vec<u32> {
    let kinds = Kinds::of(problem);
    let (groups, mut rest) = groups(problem);
    if groups.is_empty() {
        return rest;
    }
    let mut matrix = Matrix::new(&kinds);
    let mut parts: Vec<Part> = (0..PARTS).map(|_| Part::default()).collect();
    for positions in &groups {
        let (terms, row) = problem.place(positions[0] as usize);
        let shares = shares(terms, row);
        for positions in positions.chunks(PARTS * PART) {
            let parts = &mut parts[..positions.len().div_ceil(PART)];
            parts.par_iter_mut().zip(positions.par_chunks(PART)).for_each(|(part, positions)| {
                part.fill(problem, &kinds, point, positions, shares);
            });
            for (part, positions) in parts.iter().zip(positions.chunks(PART)) {
                for (position, loss) in positions.iter().zip(&part.losses) {
                    losses[*position as usize] = *loss;
                }
                rest.extend_from_slice(&part.stopped);
            }
            matrix.add(parts);
        }
        matrix.multiply(shares, &kinds, sums);
    }
    matrix.hand_over(&kinds, sums);
    rest
}

/// What the terms are here.
struct Kinds {
    /// NORMAL terms that occur, in rising order.
    normal: Vec<usize>,
    /// The others and the tempo, in rising order.
    others: Vec<usize>,
    /// By term, its place in either list.
    place: Vec<u32>,
}

impl Kinds {
    fn of(problem: &Problem) -> Self {
        let is_normal = |term: &usize| problem.is_normal(*term);
        let (normal, others): (Vec<usize>, Vec<usize>) = (0..=problem.terms()).partition(is_normal);
        let mut place = vec![0; problem.terms() + 1];
        for list in [&normal, &others] {
            list.iter().zip(0..).for_each(|(term, number)| place[*term] = number);
        }
        Self { normal, others, place }
    }
}

/// The positions of each pair of shares that enough of them have, and the positions of all others,
/// both in rising order.
fn groups(problem: &Problem) -> (Vec<Vec<u32>>, Vec<u32>) {
    let key = |terms: &Terms, row: usize| {
        u64::from(terms.middlegame[row].to_bits()) << 32 | u64::from(terms.endgame[row].to_bits())
    };
    let chunks = problem.chunks();
    let found = chunks.par_iter().flat_map_iter(|chunk| {
        let terms = problem.piece(chunk);
        let mut keys: Vec<u64> = chunk.rows.clone().map(|row| key(terms, row)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    });
    let mut keys: Vec<u64> = found.collect();
    keys.par_sort_unstable();
    keys.dedup();
    let numbers: Vec<u32> = chunks
        .par_iter()
        .flat_map_iter(|chunk| {
            let terms = problem.piece(chunk);
            let rows = chunk.rows.clone();
            rows.map(|row| keys.partition_point(|it| *it < key(terms, row)) as u32)
        })
        .collect();
    let mut sizes = vec![0; keys.len()];
    numbers.iter().for_each(|number| sizes[*number as usize] += 1);
    let of_size = |size: &usize| (*size >= LEAST).then(|| Vec::with_capacity(*size));
    let mut groups: Vec<Option<Vec<u32>>> = sizes.iter().map(of_size).collect();
    let mut rest = Vec::new();
    for (number, position) in numbers.iter().zip(0..) {
        groups[*number as usize].as_mut().unwrap_or(&mut rest).push(position);
    }
    (groups.into_iter().flatten().collect(), rest)
}

/// Derivatives of some positions of a group.
#[derive(Default)]
struct Part {
    /// The NORMAL terms of each position in rising order, none twice, by their places; with their
    /// counts, none zero.
    places: Vec<u32>,
    counts: Vec<f64>,
    /// The other terms with their derivatives, none zero for both weights.
    others: Vec<(u32, [f64; 2])>,
    positions: Vec<OfPosition>,
    /// Numbers that each NORMAL term's row of the matrix gets from here.
    work: Vec<u64>,
    losses: Vec<f64>,
    /// Positions that were passed over, since COMPLEXITY stops their endgame.
    stopped: Vec<u32>,
    /// Entries of one position under way.
    found: Vec<(u32, i32)>,
    of_one: Vec<(u32, [f64; 2])>,
}

/// What a position costs, by its value, and where its entries end.
#[derive(Clone, Copy)]
struct OfPosition {
    slope: f64,
    curvature: f64,
    normal: usize,
    others: usize,
}

impl Part {
    fn fill(
        &mut self,
        problem: &Problem,
        kinds: &Kinds,
        point: &Point,
        positions: &[u32],
        shares: [f64; 2],
    ) {
        self.places.clear();
        self.counts.clear();
        self.others.clear();
        self.positions.clear();
        self.work.clear();
        self.work.resize(kinds.normal.len(), 0);
        self.stopped.clear();
        self.losses.clear();
        for position in positions {
            let (terms, row) = problem.place(*position as usize);
            let (value, slopes) = point.value_and_slopes(terms, row);
            if slopes.normal != shares {
                self.stopped.push(*position);
                self.losses.push(0.0);
                continue;
            }
            let (normal, others) = (self.places.len(), self.others.len());
            self.add_normal(kinds, terms, row);
            self.add_others(kinds, terms, row, &slopes);
            let of_others = 2 * (self.others.len() - others) as u64;
            for (numbers, place) in (1..).zip(&self.places[normal..]) {
                self.work[*place as usize] += numbers + of_others;
            }
            let cost = problem.cost(*position as usize, value);
            self.losses.push(cost.loss);
            self.positions.push(OfPosition {
                slope: cost.slope,
                curvature: cost.curvature,
                normal: self.places.len(),
                others: self.others.len(),
            });
        }
    }

    fn add_normal(&mut self, kinds: &Kinds, terms: &Terms, row: usize) {
        self.found.clear();
        let entries = terms.normal.row(row);
        self.found.extend(entries.map(|(term, count)| (kinds.place[term], count.into())));
        if !self.found.is_sorted_by(|one, other| one.0 < other.0) {
            self.found.sort_unstable();
            // Entries of one term add up.
            self.found.dedup_by(|again, first| {
                let same = again.0 == first.0;
                first.1 += if same { again.1 } else { 0 };
                same
            });
        }
        for &(place, count) in self.found.iter().filter(|(_, count)| *count != 0) {
            self.places.push(place);
            self.counts.push(count.into());
        }
    }

    fn add_others(&mut self, kinds: &Kinds, terms: &Terms, row: usize, slopes: &Slopes) {
        let [white, black] = slopes.safety;
        let safety = terms.safety.row(row).map(|(term, counts)| {
            let [own, other] = counts.map(f64::from);
            let slope = |phase: usize| own * white[phase] + other * black[phase];
            (kinds.place[term], [slope(0), slope(1)])
        });
        let complexity = terms
            .complexity
            .row(row)
            .map(|(term, count)| (kinds.place[term], [0.0, f64::from(count) * slopes.complexity]));
        let tempo = (kinds.others.len() as u32 - 1, [f64::from(terms.turn[row]), 0.0]);
        let found = &mut self.of_one;
        for entry in safety.chain(complexity).chain([tempo]) {
            match found.iter_mut().find(|(place, _)| *place == entry.0) {
                Some((_, sum)) => (0..2).for_each(|phase| sum[phase] += entry.1[phase]),
                None => found.push(entry),
            }
        }
        found.retain(|(_, slopes)| *slopes != [0.0; 2]);
        found.sort_unstable_by_key(|(place, _)| *place);
        self.others.append(found);
    }

    /// Each position, with its NORMAL and its other entries.
    fn positions(&self) -> impl Iterator<Item = (OfPosition, Range<usize>, Range<usize>)> + '_ {
        let (mut normal, mut others) = (0, 0);
        self.positions.iter().map(move |of| {
            let ranges = (normal..of.normal, others..of.others);
            (normal, others) = (of.normal, of.others);
            (*of, ranges.0, ranges.1)
        })
    }
}

/// Sums over the positions of a group, and over all of them.
struct Matrix {
    /// Places of other terms.
    width: usize,
    /// Of the group: NORMAL term `i` has the sums of its counts times those of the terms `0..=i`.
    products: Vec<f64>,
    /// Of the group, `[normal, others]`: its counts times derivatives by the others.
    mixed: Vec<[f64; 2]>,
    /// Of the group, by NORMAL term: slopes times counts, and positions.
    single: Vec<(f64, u64)>,
    others: Others,
}

/// Sums of the other terms by themselves, over all positions.
struct Others {
    /// Row `i` has the blocks of the places `0..=i`.
    blocks: Vec<[f64; 4]>,
    gradient: Vec<[f64; 2]>,
    counts: Vec<[u64; 2]>,
}

/// The rows of consecutive NORMAL terms.
struct Band<'a> {
    first: usize,
    width: usize,
    products: &'a mut [f64],
    mixed: &'a mut [[f64; 2]],
    single: &'a mut [(f64, u64)],
}

impl Matrix {
    fn new(kinds: &Kinds) -> Self {
        let (normal, width) = (kinds.normal.len(), kinds.others.len());
        Self {
            width,
            products: vec![0.0; row(normal)],
            mixed: vec![[0.0; 2]; normal * width],
            single: vec![(0.0, 0); normal],
            others: Others {
                blocks: vec![[0.0; 4]; row(width)],
                gradient: vec![[0.0; 2]; width],
                counts: vec![[0; 2]; width],
            },
        }
    }

    fn add(&mut self, parts: &[Part]) {
        let Self { width, products, mixed, single, others } = self;
        let whole = Band { first: 0, width: *width, products, mixed, single };
        let work = |term| parts.iter().map(|part| part.work[term]).sum();
        let work: Vec<u64> = (0..whole.single.len()).map(work).collect();
        let bands = whole.split(&work, BANDS * rayon::current_num_threads());
        rayon::scope(|scope| {
            scope.spawn(|_| parts.iter().for_each(|part| others.add(part)));
            for mut band in bands {
                scope.spawn(move |_| parts.iter().for_each(|part| band.add(part)));
            }
        });
    }

    /// Multiplies the shares of the group in, and begins another one.
    fn multiply(&mut self, [mg, eg]: [f64; 2], kinds: &Kinds, sums: &mut Sums) {
        let Self { width, products, mixed, single, .. } = self;
        for (term, (slope, count)) in kinds.normal.iter().zip(single) {
            sums.gradient[*term][0] += *slope * mg;
            sums.gradient[*term][1] += *slope * eg;
            sums.counts[*term][0] += if mg != 0.0 { *count } else { 0 };
            sums.counts[*term][1] += if eg != 0.0 { *count } else { 0 };
            (*slope, *count) = (0.0, 0);
        }
        let squares = [mg * mg, mg * eg, eg * mg, eg * eg];
        // Each NORMAL term with its row of products, and its row of the matrix.
        let (mut products, mut blocks) = (&mut products[..], &mut sums.hessian.blocks[..]);
        let (mut rows, mut behind) = (Vec::with_capacity(kinds.normal.len()), 0);
        for (place, term) in kinds.normal.iter().enumerate() {
            let (of_term, later) = products.split_at_mut(place + 1);
            let (of_rows, rest) = blocks.split_at_mut(row(term + 1) - behind);
            rows.push((of_term, &mut of_rows[row(*term) - behind..]));
            (products, blocks, behind) = (later, rest, row(term + 1));
        }
        rows.into_par_iter().with_min_len(32).for_each(|(products, blocks)| {
            for (product, column) in products.iter_mut().zip(&kinds.normal) {
                for (element, square) in blocks[*column].iter_mut().zip(squares) {
                    *element += *product * square;
                }
                *product = 0.0;
            }
        });
        for (mixed, term) in mixed.chunks_exact_mut(*width).zip(&kinds.normal) {
            for (sum, other) in mixed.iter_mut().zip(&kinds.others) {
                let [x, y] = std::mem::take(sum);
                let (place, added) = match term > other {
                    true => (row(*term) + other, [mg * x, mg * y, eg * x, eg * y]),
                    false => (row(*other) + term, [mg * x, eg * x, mg * y, eg * y]),
                };
                let block = &mut sums.hessian.blocks[place];
                block.iter_mut().zip(added).for_each(|(element, added)| *element += added);
            }
        }
    }

    fn hand_over(self, kinds: &Kinds, sums: &mut Sums) {
        let Others { blocks, gradient, counts } = self.others;
        for (place, term) in kinds.others.iter().enumerate() {
            for phase in 0..2 {
                sums.gradient[*term][phase] += gradient[place][phase];
                sums.counts[*term][phase] += counts[place][phase];
            }
            for (block, column) in blocks[row(place)..].iter().zip(&kinds.others[..=place]) {
                let to = &mut sums.hessian.blocks[row(*term) + column];
                to.iter_mut().zip(block).for_each(|(element, added)| *element += added);
            }
        }
    }
}

impl<'a> Band<'a> {
    /// Cuts into at most `bands` bands of about the same work.
    fn split(mut self, work: &[u64], bands: usize) -> Vec<Self> {
        let share = work.iter().sum::<u64>().div_ceil(bands as u64).max(1);
        let (mut done, mut cut, terms) = (0, Vec::new(), work.len());
        for (term, work) in work.iter().enumerate() {
            done += work;
            if done >= share * (cut.len() as u64 + 1) && term + 1 < terms {
                let of_band = term + 1 - self.first;
                let (products, later_products) =
                    self.products.split_at_mut(row(term + 1) - row(self.first));
                let (mixed, later_mixed) = self.mixed.split_at_mut(of_band * self.width);
                let (single, later_single) = self.single.split_at_mut(of_band);
                let (first, width) = (self.first, self.width);
                cut.push(Band { first, width, products, mixed, single });
                self = Band {
                    first: term + 1,
                    width,
                    products: later_products,
                    mixed: later_mixed,
                    single: later_single,
                };
            }
        }
        cut.push(self);
        cut
    }

    /// Adds what the positions have for this band.
    fn add(&mut self, part: &Part) {
        let behind = self.first + self.single.len();
        for (of, normal, others) in part.positions() {
            let (places, counts) = (&part.places[normal.clone()], &part.counts[normal]);
            let others = &part.others[others];
            let low = places.partition_point(|place| (*place as usize) < self.first);
            let high = places.partition_point(|place| (*place as usize) < behind);
            for entry in low..high {
                let place = places[entry] as usize;
                let (single, count) = (&mut self.single[place - self.first], counts[entry]);
                single.0 += of.slope * count;
                single.1 += 1;
                let curved = of.curvature * count;
                let start = row(place) - row(self.first);
                let products = &mut self.products[start..=start + place];
                for (column, count) in places[..=entry].iter().zip(&counts[..=entry]) {
                    products[*column as usize] += curved * count;
                }
                let start = (place - self.first) * self.width;
                let mixed = &mut self.mixed[start..start + self.width];
                for (other, [mg, eg]) in others {
                    let sum = &mut mixed[*other as usize];
                    *sum = [sum[0] + curved * mg, sum[1] + curved * eg];
                }
            }
        }
    }
}

impl Others {
    fn add(&mut self, part: &Part) {
        for (of, _, others) in part.positions() {
            let others = &part.others[others];
            for (entry, (place, [mg, eg])) in others.iter().enumerate() {
                let place = *place as usize;
                self.gradient[place][0] += of.slope * mg;
                self.gradient[place][1] += of.slope * eg;
                self.counts[place][0] += u64::from(*mg != 0.0);
                self.counts[place][1] += u64::from(*eg != 0.0);
                let (mg, eg) = (mg * of.curvature, eg * of.curvature);
                let blocks = &mut self.blocks[row(place)..=row(place) + place];
                for (column, [column_mg, column_eg]) in &others[..=entry] {
                    let block = &mut blocks[*column as usize];
                    block[0] += mg * column_mg;
                    block[1] += mg * column_eg;
                    block[2] += eg * column_mg;
                    block[3] += eg * column_eg;
                }
            }
        }
    }
}
