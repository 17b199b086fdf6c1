//! Pairs of inputs that are often active together.
//!
//! Why: groups of pieces recur, such as a castled king with its pawns, or rooks at home. A pair
//! represents two inputs that are often active together, or two smaller groups, and its row is the
//! sum of theirs. Lists with pairs are shorter. A step first computes the row of each pair from its
//! two parents, and finally adds the gradient of each pair to its parents.
//!
//! What it equals: a list with pairs has the sum of the list of its inputs.
//! [`InputPairs::substitute_slowly`] defines which pairs are substituted, in which order. Pairs are
//! selected by byte-pair encoding (P. Gage, "A New Algorithm for Data Compression", 1994): the two
//! rows that occur together in most lists are joined, again and again.
//!
//! A row with multiplicity c is a pair, too: of the row with multiplicity c - 1, and the row.
//!
//! | index | counts |
//! |---|---|
//! | row | inputs, then multiples, then the pairs of each king bucket in turn |
//! | local | the rows that pairs of a king bucket can contain: inputs, multiples, then its pairs |
//! | sampled | local rows that occur in the lists from which pairs are selected, then pairs |
//! | list | the lists that are shortened at a time, one bit each |
//!
//! All rows of a list belong to one king bucket, so each king bucket has its own pairs.

use std::collections::BTreeSet;
use std::ops::Range;

use rayon::prelude::*;

use super::plan::UNITS_PER_LINE;
use super::{ActiveRows, IndexWord, Indices, with_vector};
use crate::architecture::{Architecture, MIRRORED, PIECES, Row, flip_row};

/// Returns the maximum number of pairs of a king bucket if chunks are planned once: rows of pairs
/// fit the first-level cache.
pub fn most_pairs(net: &Architecture) -> usize {
    if net.inputs.is_pieces() { 256 } else { 512 }
}

/// Words of 64 lists that are shortened at a time.
const WORDS: usize = 4;
/// Maximum number of rows, besides the blank one, whose offsets in a plan fit 16 bits.
const NEAR: usize = (1 << 16) / UNITS_PER_LINE - 1;
/// The largest multiple of a row; higher counts take several entries.
const MAX_TIMES: u8 = 32;
/// Maximum number of rows of large sets in pairs of a king bucket: the most frequent ones.
const FREQUENT: usize = 512;
/// The lists that contain a row, as bits.
pub type Bits = [u64; WORDS];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputPairs {
    /// Rows without pairs.
    inputs: usize,
    /// Row of each input's double, and its largest multiplicity; empty if inputs never repeat.
    multiples: Vec<(u32, u8)>,
    /// The parents of each pair, inputs or earlier pairs: multiples, then king bucket by king
    /// bucket.
    parents: Vec<[u32; 2]>,
    /// By king bucket; empty without pairs.
    by_king: Vec<BucketPairs>,
}

/// The rows in pairs of a king bucket, by local number.
#[derive(Clone, Debug, Default, PartialEq)]
struct BucketPairs {
    /// The local number of each input and multiple, or [`OUTSIDE`].
    local: Vec<u16>,
    rows: Vec<u32>,
    /// The parents of each pair.
    pairs: Vec<[u16; 2]>,
}

/// The local number of a row without pairs.
const OUTSIDE: u16 = u16::MAX;

impl InputPairs {
    /// Selects the at most `max_pairs` pairs of each king bucket that shorten lists most, and
    /// multiples that occur.
    pub fn select_most_frequent(net: &Architecture, lists: &ActiveRows, max_pairs: usize) -> Self {
        Self::select_with(net, lists, max_pairs, 1)
    }

    /// Selects pairs with their images, for [plans of first views](super::FirstPlanner). The number
    /// of the pair of [flipped](crate::architecture::flip_row) rows differs in the last bit, and
    /// that of mirrored rows in the second to last. A pair that is its own image occurs twice.
    /// Panics unless the lists have both views.
    pub fn select_images(net: &Architecture, lists: &ActiveRows, max_pairs: usize) -> Self {
        assert!(net.inputs.is_uniform() && net.perspective_count() == 2, "lists of two views");
        Self::select_with(net, lists, max_pairs, image_count(net))
    }

    fn select_with(net: &Architecture, lists: &ActiveRows, limit: usize, images: usize) -> Self {
        let max_row =
            if matches!(lists.indices, Indices::U16(_)) { u16::MAX.into() } else { u32::MAX };
        let (inputs, kings) = (net.row_count(), net.inputs.kings().bucket_count());
        let mut samples = vec![Vec::new(); kings];
        let rows: Vec<u32> = lists.indices.iter().map(|row| row as u32).collect();
        for (index, list) in rows.chunks_exact(lists.width).enumerate() {
            let active: Vec<u32> =
                list.iter().copied().filter(|row| (*row as usize) < inputs).collect();
            if !active.is_empty() {
                samples[lists.king_bucket(index)].push(active);
            }
        }
        let (mut parents, mut multiples) = (Vec::new(), Vec::new());
        let has_repeats = net.inputs.has_repeats();
        let largest = if has_repeats { largest_counts(inputs, &samples) } else { Vec::new() };
        for (row, largest) in largest.into_iter().enumerate() {
            multiples.push(((inputs + parents.len()) as u32, largest));
            for multiple in 2..=largest {
                let previous = if multiple == 2 { row } else { inputs + parents.len() - 1 };
                parents.push([previous as u32, row as u32]);
            }
        }
        let fixed_rows = inputs + parents.len();
        let near = NEAR.saturating_sub(fixed_rows) / kings;
        let far = (max_row as usize).saturating_sub(fixed_rows) / kings;
        // 16-bit offsets are read faster, which is worth a few pairs, but not half of them.
        let max_pairs = limit.min(if 2 * near > limit { near } else { far });
        let by_king: Vec<BucketPairs> = samples
            .into_par_iter()
            .enumerate()
            .map(|(king, lists)| {
                let mut bucket = BucketPairs::new(net, king, &lists, &parents);
                bucket.pairs = select_pairs(&bucket, &lists, &multiples, max_pairs, images);
                if !net.inputs.is_pieces() {
                    bucket.exclude_unpaired();
                }
                bucket
            })
            .collect();
        let mut pairs = Self { inputs, multiples, parents, by_king };
        for bucket in &mut pairs.by_king {
            for parents in &bucket.pairs {
                let pair = inputs + pairs.parents.len();
                pairs.parents.push(parents.map(|parent| bucket.rows[usize::from(parent)]));
                bucket.rows.push(pair as u32);
            }
        }
        if pairs.parents.is_empty() { Self::without_pairs(inputs) } else { pairs }
    }

    pub fn without_pairs(inputs: usize) -> Self {
        Self { inputs, ..Self::default() }
    }

    pub fn has_pairs(&self) -> bool {
        !self.parents.is_empty()
    }

    /// Returns the parents of each pair: inputs or earlier pairs. The first pair follows the
    /// inputs.
    pub fn parents(&self) -> &[[u32; 2]] {
        &self.parents
    }

    /// Whether each pair has its [images](InputPairs::select_images).
    pub(super) fn have_images(&self, net: &Architecture) -> bool {
        let image_of = |row: u32, which: usize| match row.checked_sub(PIECES as u32) {
            None => image_of_row(row as u16, which).into(),
            Some(pair) => (PIECES as u32) + (pair ^ which as u32),
        };
        (1..image_count(net)).all(|which| {
            self.parents.iter().enumerate().all(|(number, parents)| {
                let image = self.parents.get(number ^ which);
                image == Some(&parents.map(|row| image_of(row, which)))
            })
        })
    }

    /// Rows without pairs.
    pub fn input_count(&self) -> usize {
        self.inputs
    }

    /// Rows of inputs and pairs.
    pub fn row_count(&self) -> usize {
        self.inputs + self.parents.len()
    }

    /// Substitutes pairs of a king bucket in a list of rows, by definition. Multiples replace
    /// repeated rows, then each pair in order replaces its parents. Rows outside of pairs come
    /// first. A second copy of a multiple is outside, too.
    pub fn substitute_slowly(&self, king_bucket: usize, rows: &[Row]) -> Vec<u32> {
        let without_pairs = BucketPairs::default();
        let bucket = self.by_king.get(king_bucket).unwrap_or(&without_pairs);
        let (mut outside, mut inside) = (Vec::new(), BTreeSet::new());
        for row in rows {
            let multiple = self.multiples.get(row.number as usize);
            let (double, largest) = multiple.copied().unwrap_or((0, 1));
            let mut rest = row.times;
            while rest > 0 {
                let times = rest.min(largest.into());
                rest -= times;
                let number = if times == 1 { row.number } else { double + times - 2 };
                let local = bucket.local.get(number as usize).copied().unwrap_or(OUTSIDE);
                if local == OUTSIDE || !inside.insert(local) {
                    outside.push(number);
                }
            }
        }
        let first_pair = bucket.rows.len() - bucket.pairs.len();
        for (pair, parents) in bucket.pairs.iter().enumerate() {
            if parents.iter().all(|parent| inside.contains(parent)) {
                parents.iter().for_each(|parent| _ = inside.remove(parent));
                inside.insert((first_pair + pair) as u16);
            }
        }
        outside.extend(inside.into_iter().map(|local| bucket.rows[usize::from(local)]));
        outside
    }

    /// Substitutes pairs for inputs in lists of pieces: other rows, then pairs, then blanks.
    #[inline(always)]
    pub fn shorten_lists(&self, lists: &mut ActiveRows, bits: &mut Vec<Bits>) {
        if !self.has_pairs() {
            return;
        }
        let Indices::U16(indices) = &mut lists.indices else {
            panic!("lists of pieces on squares")
        };
        let blank = self.row_count() as u16;
        let (width, kings) = (lists.width, &lists.king_buckets);
        self.substitute_pairs(indices, width, kings, bits, |bucket, index, list, bits| {
            let mut length = 0;
            for entry in 0..list.len() {
                let row = list[entry];
                // Blanks come last.
                let Some(&local) = bucket.local.get(usize::from(row)) else { break };
                if local == OUTSIDE {
                    list[length] = row;
                    length += 1;
                } else {
                    bits[usize::from(local)][index / 64 % WORDS] |= 1 << (index % 64);
                }
            }
            list[length..].fill(blank);
            length
        });
    }

    /// Fills each list with the rows up to its end, and substitutes multiples and pairs.
    #[inline(always)]
    pub fn fill_lists(
        &self,
        rows: &[Row],
        ends: &[usize],
        lists: &mut ActiveRows,
        bits: &mut Vec<Bits>,
    ) {
        let ActiveRows { width, indices, king_buckets, .. } = lists;
        indices.fill_with(ends.len() * *width, self.row_count());
        let longest = with_vector!(indices, indices => {
            self.list_all(rows, ends, (indices, *width, king_buckets), bits)
        });
        lists.trim_width(longest);
    }

    #[inline(always)]
    fn list_all<I: IndexWord>(
        &self,
        rows: &[Row],
        ends: &[usize],
        (lists, width, kings): (&mut [I], usize, &[u8]),
        bits: &mut Vec<Bits>,
    ) -> usize {
        self.substitute_pairs(lists, width, kings, bits, |bucket, index, list, bits| {
            let (list_word, bit) = (index / 64 % WORDS, 1 << (index % 64));
            let mut length = 0;
            for row in &rows[if index == 0 { 0 } else { ends[index - 1] }..ends[index]] {
                let multiple = self.multiples.get(row.number as usize);
                let (double, largest) = multiple.copied().unwrap_or((0, 1));
                let mut rest = row.times;
                while rest > 0 {
                    let times = rest.min(largest.into());
                    let number =
                        (if times == 1 { row.number } else { double + times - 2 }) as usize;
                    rest -= times;
                    let local = bucket.local.get(number).copied().unwrap_or(OUTSIDE);
                    match bits.get_mut(usize::from(local)).map(|it| &mut it[list_word]) {
                        Some(word) if *word & bit == 0 => *word |= bit,
                        // Without pairs, or repeated.
                        _ => {
                            list[length] = I::from_usize(number);
                            length += 1;
                        }
                    }
                }
            }
            length
        })
    }

    /// Substitutes pairs in the lists of king buckets `kings`; returns the longest length. `write`
    /// sets the list's bit of each local row, leaves the other rows in the list, and returns their
    /// number.
    #[inline(always)]
    fn substitute_pairs<I: IndexWord>(
        &self,
        lists: &mut [I],
        width: usize,
        kings: &[u8],
        bits: &mut Vec<Bits>,
        write: impl Fn(&BucketPairs, usize, &mut [I], &mut [Bits]) -> usize,
    ) -> usize {
        const LISTS: usize = 64 * WORDS;
        let (without_pairs, mut longest) = ([BucketPairs::default()], 0);
        let (by_king, kings) = match &self.by_king[..] {
            // Without pairs king buckets do not matter.
            [] => (&without_pairs[..], &[][..]),
            by_king => (by_king, kings),
        };
        for (block, lists) in lists.chunks_mut(LISTS * width).enumerate() {
            let kings = kings.get(block * LISTS..).unwrap_or_default();
            let king_of = |list: usize| kings.get(list).map_or(0, |king| usize::from(*king));
            let count = lists.len() / width;
            let occurring =
                (0..count).fold(0_u64, |occurring, list| occurring | 1 << king_of(list));
            for (king, bucket) in by_king.iter().enumerate() {
                if occurring >> king & 1 == 0 {
                    continue;
                }
                let BucketPairs { rows, pairs, .. } = bucket;
                bits.clear();
                bits.resize(rows.len(), [0; WORDS]);
                let mut lengths = [0_u16; LISTS];
                for list in (0..count).filter(|list| king_of(*list) == king) {
                    let entries = &mut lists[list * width..][..width];
                    lengths[list] = write(bucket, block * LISTS + list, entries, bits) as u16;
                }
                join_bits(pairs, bits);
                for (&row, words) in rows.iter().zip(&*bits) {
                    for (word, &bits) in words.iter().enumerate() {
                        let mut rest = bits;
                        while rest != 0 {
                            let list = 64 * word + rest.trailing_zeros() as usize;
                            rest &= rest - 1;
                            let entry = list * width + usize::from(lengths[list]);
                            lists[entry] = I::from_usize(row as usize);
                            lengths[list] += 1;
                        }
                    }
                }
                longest = longest.max(lengths.into_iter().max().unwrap_or(0).into());
            }
        }
        longest
    }
}

fn image_count(net: &Architecture) -> usize {
    if net.inputs.kings().mirror { 4 } else { 2 }
}

/// Returns image `which` of a row: flipped if bit 0 of `which` is set, mirrored if bit 1 is.
fn image_of_row(row: u16, which: usize) -> u16 {
    let row = if which & 1 == 0 { row } else { flip_row(row) };
    if which & 2 == 0 { row } else { row ^ MIRRORED }
}

/// Replaces the bits of both parents by their pair's, pairs of pairs last.
#[inline(always)]
fn join_bits(pairs: &[[u16; 2]], bits: &mut [Bits]) {
    let first_pair = bits.len() - pairs.len();
    for (pair, parents) in pairs.iter().enumerate() {
        let [first, second] = parents.map(usize::from);
        let mut both = [0; WORDS];
        for (word, both) in both.iter_mut().enumerate() {
            *both = bits[first][word] & bits[second][word];
            bits[first][word] &= !*both;
            bits[second][word] &= !*both;
        }
        bits[first_pair + pair] = both;
    }
}

/// Returns the largest count of each row in a list, up to [`MAX_TIMES`].
fn largest_counts(inputs: usize, samples: &[Vec<Vec<u32>>]) -> Vec<u8> {
    let (mut largest, mut counts) = (vec![1_u8; inputs], vec![0_u8; inputs]);
    for list in samples.iter().flatten() {
        for &row in list {
            let (largest, count) = (&mut largest[row as usize], &mut counts[row as usize]);
            *count = (*count + 1).min(MAX_TIMES);
            *largest = (*largest).max(*count);
        }
        list.iter().for_each(|row| counts[*row as usize] = 0);
    }
    largest
}

impl BucketPairs {
    /// Numbers the inputs of a king bucket that pairs may contain, and their multiples.
    fn new(net: &Architecture, king: usize, lists: &[Vec<u32>], multiples: &[[u32; 2]]) -> Self {
        let (small_sets, mut local) = (net.inputs.few_rows(king), vec![OUTSIDE; net.row_count()]);
        small_sets.iter().for_each(|rows| local[rows.clone()].fill(0));
        for row in most_frequent(net.row_count(), lists, &small_sets) {
            local[row] = 0;
        }
        local.extend(multiples.iter().map(|[_, row]| local[*row as usize]).collect::<Vec<u16>>());
        let mut bucket = Self { local, ..Self::default() };
        for (row, local) in bucket.local.iter_mut().enumerate().filter(|(_, local)| **local == 0) {
            *local = bucket.rows.len() as u16;
            bucket.rows.push(row as u32);
        }
        bucket
    }

    /// Excludes rows without pairs, which makes substitution faster.
    fn exclude_unpaired(&mut self) {
        let mut is_parent = vec![false; self.rows.len() + self.pairs.len()];
        self.pairs.iter().flatten().for_each(|parent| is_parent[usize::from(*parent)] = true);
        for local in self.local.iter_mut().filter(|local| **local != OUTSIDE) {
            *local = if is_parent[usize::from(*local)] { *local } else { OUTSIDE };
        }
    }

    /// Returns the distinct local numbers in a list; repeated rows become multiples.
    fn local_numbers(&self, list: &[u32], multiples: &[(u32, u8)]) -> Vec<u16> {
        let mut rows = list.to_vec();
        rows.sort_unstable();
        let multiple = |same: &[u32]| {
            let largest =
                multiples.get(same[0] as usize).map_or(1, |(_, largest)| usize::from(*largest));
            self.local[match same.len().min(largest) {
                1 => same[0] as usize,
                times => multiples[same[0] as usize].0 as usize + times - 2,
            }]
        };
        let local = rows.chunk_by(|a, b| a == b).map(multiple);
        local.filter(|local| *local != OUTSIDE).collect()
    }
}

/// Returns the most frequent rows outside of `small_sets`, at most [`FREQUENT`].
fn most_frequent(inputs: usize, lists: &[Vec<u32>], small_sets: &[Range<usize>]) -> Vec<usize> {
    if small_sets.iter().map(|rows| rows.len()).sum::<usize>() == inputs {
        return Vec::new();
    }
    let mut counts = vec![0_u32; inputs];
    lists.iter().flatten().for_each(|row| counts[*row as usize] += 1);
    small_sets.iter().for_each(|rows| counts[rows.clone()].fill(0));
    let mut rows: Vec<usize> = (0..inputs).filter(|row| counts[*row] > 1).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(counts[*row]));
    rows.truncate(FREQUENT);
    rows
}

/// Selects the pairs that shorten lists of a king bucket most, with images; returns local parents.
fn select_pairs(
    bucket: &BucketPairs,
    lists: &[Vec<u32>],
    multiples: &[(u32, u8)],
    max_pairs: usize,
    images: usize,
) -> Vec<[u16; 2]> {
    let lists: Vec<Vec<u16>> =
        lists.iter().map(|list| bucket.local_numbers(list, multiples)).collect();
    // Rows that do not occur have no counts.
    let mut occurs = vec![false; bucket.rows.len()];
    for row in lists.iter().flatten() {
        (0..images).for_each(|it| occurs[usize::from(image_of_row(*row, it))] = true);
    }
    let locals: Vec<u16> =
        (0..bucket.rows.len() as u16).filter(|it| occurs[usize::from(*it)]).collect();
    let sampled = |local: &u16| locals.binary_search(local).expect("it occurs") as u16;
    let lists = lists.iter().map(|list| list.iter().map(sampled).collect()).collect();
    let mut counts = JointCounts::new(locals.len() + max_pairs, lists);
    let mut parents = Vec::new();
    while parents.len() + images <= max_pairs {
        let Some(best) = counts.most_frequent_pair(locals.len() + parents.len()) else { break };
        for which in 0..images {
            let image = best.map(|row| match row.checked_sub(locals.len()) {
                None => sampled(&image_of_row(locals[row], which)).into(),
                Some(pair) => locals.len() + (pair ^ which),
            });
            counts.join_rows(image, locals.len() + parents.len());
            parents.push(image.map(|row| match row.checked_sub(locals.len()) {
                None => locals[row],
                Some(pair) => (bucket.rows.len() + pair) as u16,
            }));
        }
    }
    parents
}

/// Counts how often two rows occur together.
struct JointCounts {
    rows: usize,
    lists: Vec<Vec<u16>>,
    /// Lists that contain each row; some no longer do.
    holders: Vec<Vec<u32>>,
    /// `[rows, rows]`
    counts: Vec<u32>,
    /// The largest count of each row, and the first column that has it.
    largest: Vec<(u32, usize)>,
}

impl JointCounts {
    fn new(rows: usize, lists: Vec<Vec<u16>>) -> Self {
        let (mut holders, mut counts) = (vec![Vec::new(); rows], vec![0; rows * rows]);
        for (index, list) in lists.iter().enumerate() {
            for &row in list {
                holders[usize::from(row)].push(index as u32);
                for &column in list.iter().filter(|column| **column != row) {
                    counts[usize::from(row) * rows + usize::from(column)] += 1;
                }
            }
        }
        let mut joint = Self { rows, lists, holders, counts, largest: vec![(0, 0); rows] };
        (0..rows).for_each(|row| joint.find_largest(row));
        joint
    }

    fn find_largest(&mut self, row: usize) {
        let counts = &self.counts[row * self.rows..][..self.rows];
        let largest = counts.iter().copied().max().unwrap_or(0);
        let column = counts.iter().position(|count| *count == largest).unwrap_or(0);
        self.largest[row] = (largest, column);
    }

    /// Returns the two of the first `next` rows that occur together most often, if at least twice.
    fn most_frequent_pair(&self, next: usize) -> Option<[usize; 2]> {
        let largest = &self.largest[..next];
        let highest = largest.iter().map(|(count, _)| *count).max().filter(|count| *count > 1)?;
        let row = largest.iter().position(|(count, _)| *count == highest)?;
        Some([row, largest[row].1])
    }

    /// Replaces two rows by their pair.
    fn join_rows(&mut self, [first, second]: [usize; 2], pair: usize) {
        let Self { rows, lists, holders, counts, .. } = self;
        let mut both = std::mem::take(&mut holders[first]);
        let (mut first_alone, mut changed) = (Vec::new(), vec![false; *rows]);
        let mut change = |row: usize, column: usize, by: i32| {
            for (row, column) in [(row, column), (column, row)] {
                let count = &mut counts[row * *rows + column];
                *count = count.wrapping_add_signed(by);
            }
        };
        both.retain(|&index| {
            let list = &mut lists[index as usize];
            let index_of = |row: usize| list.iter().position(|it| usize::from(*it) == row);
            let (Some(entry), Some(other_entry)) = (index_of(first), index_of(second)) else {
                first_alone.push(index);
                return false;
            };
            list.swap_remove(entry.max(other_entry));
            list.swap_remove(entry.min(other_entry));
            change(first, second, -1);
            for &third in &*list {
                let third = usize::from(third);
                change(first, third, -1);
                change(second, third, -1);
                change(pair, third, 1);
                changed[third] = true;
            }
            list.push(pair as u16);
            true
        });
        holders[first] = first_alone;
        holders[pair] = both;
        for row in [first, second, pair] {
            self.find_largest(row);
            changed[row] = false;
        }
        for row in (0..pair).filter(|row| changed[*row]) {
            let (largest, column) = self.largest[row];
            if [first, second].contains(&column) {
                self.find_largest(row);
            } else if self.counts[row * self.rows + pair] > largest {
                self.largest[row] = (self.counts[row * self.rows + pair], pair);
            }
        }
    }
}
