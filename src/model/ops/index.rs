//! Active inputs the other way round: for each input, the lists that have it.
//!
//! With it the gradient of an input's weights is a sum that one cube adds up in a fixed order,
//! where adding to the weights of each list's inputs would need atomic floats, whose order nobody
//! knows. The processor makes it, so it is there, and tested, without a GPU.

use rayon::prelude::*;

use crate::architecture::PIECES;

/// The lists of each input, in segments that are short enough for one cube.
///
/// The segments of a piece of the lists come one after the other, whatever their inputs: what they
/// add up then stays in a cache, and is not swept once for each input. Their sums are put where
/// those of an input stand side by side, so that the order of the segments is not that of any sum.
#[derive(Debug, PartialEq)]
pub struct Index {
    /// The segments, `[segments, 4]`, each as begin and end of its entries, an even begin; the row
    /// of its sum; and the list that its entries count from. Then the entries, numbers of lists, two
    /// a word, the first one low. At last the first row of each input, and behind the last one their
    /// number, `[inputs + 1]`.
    pub words: Vec<u32>,
    segments: usize,
    inputs: usize,
}

/// The lists of [`piece`] for each 768 inputs: few would have few of each input.
const PIECE: usize = 4096;

/// Entries of a segment, at most. Kings and pawns stand in half of all lists.
pub(in crate::model) const SEGMENT: usize = 256;

/// Numbers a segment.
pub(in crate::model) const NUMBERS: usize = 4;

/// Lists that a thread sorts at a time; 16 bits have room for them.
pub(in crate::model) fn piece(inputs: usize) -> usize {
    (PIECE * inputs.div_ceil(PIECES)).min(1 << 16)
}

/// What is known of a piece once its entries are counted.
struct Counted {
    /// Of each input.
    counts: Vec<u32>,
    /// The row of each input's first segment.
    rows: Vec<u32>,
    segments: usize,
    /// Words of its entries.
    words: usize,
}

impl Index {
    /// From lists of so many places, `[lists, places]`; places that hold `inputs` count for
    /// nothing. The result is the same for any number of threads.
    ///
    /// # Panics
    /// When an input is beyond `inputs`.
    pub fn new(lists: &[u16], places: usize, inputs: usize) -> Self {
        let piece = piece(inputs);
        let pieces = lists.par_chunks(piece * places);
        let mut counted: Vec<Counted> =
            pieces.clone().map(|lists| Counted::new(lists, inputs)).collect();

        let (mut starts, mut row) = (Vec::with_capacity(inputs + 1), 0);
        for input in 0..inputs {
            starts.push(row);
            for Counted { counts, rows, .. } in &mut counted {
                rows[input] = row;
                row += counts[input].div_ceil(SEGMENT as u32);
            }
        }
        starts.push(row);

        let segments = row as usize;
        let entries: usize = counted.iter().map(|piece| piece.words).sum();
        // Memory that the system has cleared, and that threads are given when they write there.
        let mut words = vec![0; NUMBERS * segments + entries + starts.len()];
        let (mut heads, mut rest) = words.split_at_mut(NUMBERS * segments);
        let mut first = 0;
        let parts: Vec<_> = counted
            .iter()
            .map(|piece| {
                let head = split(&mut heads, NUMBERS * piece.segments);
                let here = (piece, first, head, split(&mut rest, piece.words));
                first += piece.words;
                here
            })
            .collect();
        rest.copy_from_slice(&starts);
        pieces.zip(parts).enumerate().for_each(|(number, (lists, part))| {
            let (counted, first, segments, entries) = part;
            let mut next = counted.segments(2 * first as u32, (number * piece) as u32, segments);
            // Half words are put in place without reading what stands beside them.
            let mut sorted = vec![0_u16; 2 * entries.len()];
            for (list, row) in lists.chunks_exact(places).enumerate() {
                for &input in row.iter().filter(|input| usize::from(**input) < inputs) {
                    let next = &mut next[usize::from(input)];
                    sorted[*next as usize] = list as u16;
                    *next += 1;
                }
            }
            for (word, [low, high]) in entries.iter_mut().zip(sorted.as_chunks::<2>().0) {
                *word = u32::from(*low) | u32::from(*high) << 16;
            }
        });
        Self { words, segments, inputs }
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Where in the words the first row of each input stands.
    pub fn starts(&self) -> usize {
        self.words.len() - self.inputs - 1
    }
}

/// Takes so many words off the front.
fn split<'a>(words: &mut &'a mut [u32], len: usize) -> &'a mut [u32] {
    let (here, behind) = std::mem::take(words).split_at_mut(len);
    *words = behind;
    here
}

impl Counted {
    fn new(lists: &[u16], inputs: usize) -> Self {
        let mut counts = vec![0_u32; inputs];
        // Places that hold nothing would all wait for one counter.
        for &input in lists.iter().filter(|input| usize::from(**input) != inputs) {
            counts[usize::from(input)] += 1;
        }
        let of_each = |of: fn(u32) -> u32| counts.iter().map(|count| of(*count) as usize).sum();
        let segments = of_each(|count| count.div_ceil(SEGMENT as u32));
        let words = of_each(|count| count.div_ceil(2));
        Self { rows: vec![0; inputs], segments, words, counts }
    }

    /// Writes down the segments, whose entries begin at `first` and count from `list`; where among
    /// those of the piece the entries of each input begin.
    fn segments(&self, first: u32, list: u32, words: &mut [u32]) -> Vec<u32> {
        let mut words = words.chunks_exact_mut(NUMBERS);
        let mut next = 0;
        let of_inputs = self.counts.iter().zip(&self.rows);
        of_inputs
            .map(|(count, row)| {
                let (begin, end) = (first + next, first + next + count);
                let begins = (begin..end).step_by(SEGMENT);
                for ((row, begin), segment) in (*row..).zip(begins).zip(&mut words) {
                    let end = end.min(begin + SEGMENT as u32);
                    segment.copy_from_slice(&[begin, end, row, list]);
                }
                let behind = (next + count).next_multiple_of(2);
                std::mem::replace(&mut next, behind)
            })
            .collect()
    }
}
