//! Handcrafted terms as a GPU reads them.

use std::sync::Arc;

use rayon::prelude::*;

use crate::batch::Terms;

/// Positions one after the other.
pub(super) struct Rows {
    pub positions: usize,
    /// Where each position's NORMAL, SAFETY and COMPLEXITY entries begin, `[positions, 3]`, and
    /// where the last one ends; then the entries, see [`entry`].
    pub words: Vec<u32>,
    /// `[FLOATS, positions]`: shares of middlegame and endgame, the side to move; and what is
    /// held: NORMAL, White's SAFETY, Black's SAFETY, each middlegame and endgame, COMPLEXITY.
    pub floats: Vec<f32>,
}

/// Numbers a position.
pub(super) const FLOATS: usize = 10;

/// A number, a term's or a position's, in the low half; and how often the term applies, for White
/// or for both sides, and for Black.
pub(super) fn entry(number: u16, [white, black]: [i8; 2]) -> u32 {
    u32::from(number) | u32::from(white as u8) << 16 | u32::from(black as u8) << 24
}

/// Calls `each` with the entries of a row: kind, term and counts.
pub(super) fn entries(piece: &Terms, row: usize, mut each: impl FnMut(usize, usize, [i8; 2])) {
    piece.normal.row(row).for_each(|(term, count)| each(0, term, [count, 0]));
    piece.safety.row(row).for_each(|(term, counts)| each(1, term, counts));
    piece.complexity.row(row).for_each(|(term, count)| each(2, term, [count, 0]));
}

impl Rows {
    /// # Panics
    /// When a term is beyond `terms`.
    pub fn new(pieces: &[Arc<Terms>], terms: usize) -> Self {
        let positions: usize = pieces.iter().map(|piece| piece.len()).sum();
        let entries: Vec<(Vec<u32>, Vec<u32>)> =
            pieces.par_iter().map(|piece| packed(piece, terms)).collect();
        let (mut words, mut end) = (Vec::with_capacity(3 * positions + 1), 0);
        for (starts, entries) in &entries {
            words.extend(starts.iter().map(|start| end + start));
            end += entries.len() as u32;
        }
        words.push(end);
        entries.iter().for_each(|(_, entries)| words.extend_from_slice(entries));

        let mut floats = vec![0.0; FLOATS * positions];
        let mut columns = floats.chunks_exact_mut(positions.max(1));
        let mut next = |value: &dyn Fn(&Terms, usize) -> f32| {
            let rows = pieces.iter().flat_map(|piece| (0..piece.len()).map(move |i| (piece, i)));
            if let Some(column) = columns.next() {
                column.iter_mut().zip(rows).for_each(|(to, (piece, row))| *to = value(piece, row));
            }
        };
        next(&|piece, row| piece.middlegame[row]);
        next(&|piece, row| piece.endgame[row]);
        next(&|piece, row| f32::from(piece.turn[row]));
        for half in 0..2 {
            next(&|Terms { held, .. }, row| held.normal.get(row).map_or(0.0, |it| it[half]));
        }
        for half in 0..4 {
            next(&|Terms { held, .. }, row| held.safety.get(row).map_or(0.0, |it| it[half]));
        }
        next(&|Terms { held, .. }, row| held.complexity.get(row).copied().unwrap_or(0.0));
        Self { positions, words, floats }
    }
}

/// Where each row's entries of each kind begin, and the entries.
fn packed(piece: &Terms, terms: usize) -> (Vec<u32>, Vec<u32>) {
    let Terms { normal, safety, complexity, .. } = piece;
    let count = normal.term.len() + safety.term.len() + complexity.term.len();
    let (mut starts, mut words) = (Vec::with_capacity(3 * piece.len()), Vec::with_capacity(count));
    for row in 0..piece.len() {
        let begin = words.len() as u32;
        let mut ends = [begin; 3];
        entries(piece, row, |kind, term, counts| {
            assert!(term < terms, "term {term} of {terms}");
            words.push(entry(term as u16, counts));
            ends[kind..].fill(words.len() as u32);
        });
        starts.extend([begin, ends[0], ends[1]]);
    }
    (starts, words)
}
