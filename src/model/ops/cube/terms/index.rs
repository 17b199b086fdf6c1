//! Handcrafted terms the other way round: for each term, the positions that have it.

use std::sync::Arc;

use rayon::prelude::*;

use super::rows::{entries, entry};
use crate::batch::Terms;

/// The positions of each term, in segments that are short enough for one cube.
pub(super) struct Index {
    /// The segments, `[segments, 4]`: begin and end of the entries, the position that they count
    /// from, and the kind of the term; those of a term side by side. Then the entries: positions
    /// with counts.
    pub words: Vec<u32>,
    /// The first segment of each term, and behind the last one their number, `[terms + 1]`.
    pub starts: Vec<u32>,
}

/// Positions that segments count from at a time: 16 bits have room for them.
const UNIT: usize = 1 << 14;

/// Entries of a segment, at most.
const SEGMENT: usize = 2048;

/// Kinds of terms: NORMAL, SAFETY and COMPLEXITY.
const KINDS: usize = 3;

/// The entries of a unit, sorted by term and kind, and then by position.
struct Sorted {
    /// Where the entries of each term and kind begin, `[terms * KINDS + 1]`.
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl Index {
    /// # Panics
    /// When a term is beyond `terms`.
    pub fn new(pieces: &[Arc<Terms>], terms: usize) -> Self {
        let rows = pieces.iter().flat_map(|piece| (0..piece.len()).map(move |row| (&**piece, row)));
        let rows: Vec<(&Terms, usize)> = rows.collect();
        let units: Vec<Sorted> =
            rows.par_chunks(UNIT).map(|rows| Sorted::new(rows, terms)).collect();
        let (mut segments, mut starts) = (Vec::new(), Vec::with_capacity(terms + 1));
        for term in 0..terms {
            starts.push((segments.len() / 4) as u32);
            for kind in 0..KINDS {
                let mut base = 0;
                for (unit, sorted) in units.iter().enumerate() {
                    let key = term * KINDS + kind;
                    let (begin, end) = (sorted.starts[key], sorted.starts[key + 1]);
                    for begin in (begin..end).step_by(SEGMENT) {
                        let end = end.min(begin + SEGMENT as u32);
                        let first = (unit * UNIT) as u32;
                        segments.extend([base + begin, base + end, first, kind as u32]);
                    }
                    base += sorted.entries.len() as u32;
                }
            }
        }
        starts.push((segments.len() / 4) as u32);
        let mut words = segments;
        units.iter().for_each(|unit| words.extend_from_slice(&unit.entries));
        Self { words, starts }
    }
}

impl Sorted {
    fn new(rows: &[(&Terms, usize)], terms: usize) -> Self {
        let mut next = vec![0_u32; terms * KINDS + 1];
        for (piece, row) in rows {
            entries(piece, *row, |kind, term, _| next[term * KINDS + kind + 1] += 1);
        }
        for key in 0..terms * KINDS {
            next[key + 1] += next[key];
        }
        let starts = next.clone();
        let mut sorted = vec![0; starts[terms * KINDS] as usize];
        for (place, (piece, row)) in rows.iter().enumerate() {
            entries(piece, *row, |kind, term, counts| {
                let next = &mut next[term * KINDS + kind];
                sorted[*next as usize] = entry(place as u16, counts);
                *next += 1;
            });
        }
        Self { starts, entries: sorted }
    }
}
