//! Active inputs the other way round: for each input, the lists that have it.
//!
//! With it the gradient of an input's weights is a sum that one cube adds up in a fixed order,
//! where adding to the weights of each list's inputs would need atomic floats, whose order nobody
//! knows. The processor makes it, so it is there, and tested, without a GPU.

use rayon::prelude::*;

use crate::architecture::PIECES;

/// The lists of each input, in segments that are short enough for one cube.
#[derive(Debug, PartialEq)]
pub struct Index {
    /// The segments, `[segments, 2]`, each as begin and end of its entries, those of an input
    /// side by side; then the entries, numbers of lists.
    pub words: Vec<u32>,
    /// The first segment of each input, and behind the last one their number, `[inputs + 1]`.
    pub starts: Vec<u32>,
}

/// The lists of [`piece`] for each 768 inputs: few would have few of each input.
const PIECE: usize = 4096;

/// Entries of a segment, at most. Kings and pawns stand in half of all lists.
pub(in crate::model) const SEGMENT: usize = 256;

/// Lists that a thread sorts at a time.
pub(in crate::model) fn piece(inputs: usize) -> usize {
    PIECE * inputs.div_ceil(PIECES)
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
        let mut places_of: Vec<Vec<u32>> =
            pieces.clone().map(|lists| places_by_input(lists, inputs)).collect();
        let sizes: Vec<usize> = places_of.iter().map(|places| places[inputs] as usize).collect();

        let (mut words, mut starts) = (Vec::new(), Vec::with_capacity(inputs + 1));
        for input in 0..inputs {
            starts.push((words.len() / 2) as u32);
            let mut base = 0;
            for (places, size) in places_of.iter().zip(&sizes) {
                let (begin, end) = (places[input], places[input + 1]);
                for begin in (begin..end).step_by(SEGMENT) {
                    words.extend([base + begin, base + end.min(begin + SEGMENT as u32)]);
                }
                base += *size as u32;
            }
        }
        starts.push((words.len() / 2) as u32);

        let segments = words.len();
        words.resize(segments + sizes.iter().sum::<usize>(), 0);
        let mut rest = &mut words[segments..];
        let entries: Vec<&mut [u32]> = sizes
            .iter()
            .map(|size| {
                let (here, behind) = std::mem::take(&mut rest).split_at_mut(*size);
                rest = behind;
                here
            })
            .collect();
        pieces.zip(entries).zip(&mut places_of).enumerate().for_each(
            |(number, ((lists, entries), next))| {
                for (list, row) in lists.chunks_exact(places).enumerate() {
                    for &input in row.iter().filter(|input| usize::from(**input) < inputs) {
                        let place = &mut next[usize::from(input)];
                        entries[*place as usize] = (number * piece + list) as u32;
                        *place += 1;
                    }
                }
            },
        );
        Self { words, starts }
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.starts[self.starts.len() - 1] as usize
    }
}

/// Where the entries of each input begin when sorted by input, and behind the last one their
/// number, `[inputs + 1]`.
fn places_by_input(lists: &[u16], inputs: usize) -> Vec<u32> {
    let mut counts = vec![0_u32; inputs + 1];
    for &input in lists {
        counts[usize::from(input)] += 1;
    }
    let mut next = 0;
    for count in &mut counts {
        next += std::mem::replace(count, next);
    }
    counts
}
