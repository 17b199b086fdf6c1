//! How often terms occur.

use std::sync::Arc;

use rayon::prelude::*;

use crate::batch::Terms;

/// In how many positions each term has an entry; one that a position repeats counts once.
///
/// # Panics
/// When an entry is of a term beyond `terms`.
pub fn terms_counts(pieces: &[Arc<Terms>], terms: usize) -> Vec<u64> {
    let none = || vec![0u64; terms];
    pieces
        .par_iter()
        .map(|piece| {
            // The last position that had the term, plus one.
            let mut last = vec![0u32; terms];
            let mut counts = none();
            for row in 0..piece.len() {
                let Terms { normal, safety, complexity, .. } = &**piece;
                let terms = normal.row(row).map(|(term, _)| term);
                let terms = terms.chain(safety.row(row).map(|(term, _)| term));
                for term in terms.chain(complexity.row(row).map(|(term, _)| term)) {
                    counts[term] += u64::from(last[term] != row as u32 + 1);
                    last[term] = row as u32 + 1;
                }
            }
            counts
        })
        .reduce(none, |mut sums, counts| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sums
        })
}
