//! How often each term applies.

use shakmaty::{Bitboard, Color};

use super::terms::{Part, TERMS};
use super::{Sink, Term};

const WORDS: usize = TERMS.div_ceil(64);

/// Counts how often each term applies for each colour; COMPLEXITY terms count as White's.
#[derive(Clone, Debug)]
pub struct Trace {
    /// By term: White's count, Black's count.
    counts: [[i16; 2]; TERMS],
    /// One bit a term that was counted at all, so that reading out need not visit all of them.
    touched: [u64; WORDS],
}

impl Default for Trace {
    fn default() -> Self {
        Self { counts: [[0; 2]; TERMS], touched: [0; WORDS] }
    }
}

impl Trace {
    /// Forgets all counts.
    pub fn clear(&mut self) {
        self.drain(|_, _| ());
    }

    /// How often a term applies for a colour.
    pub fn count(&self, term: Term, colour: Color) -> i32 {
        self.counts[term.index()][colour.fold_wb(0, 1)].into()
    }

    /// Counts every term as the one that stands for it. `onto` is a term that stands for itself.
    pub(super) fn fold(&mut self, onto: &[u16]) {
        for word in 0..WORDS {
            for bit in Bitboard(self.touched[word]) {
                let term = 64 * word + bit as usize;
                let twin = usize::from(onto[term]);
                if twin != term {
                    let [white, black] = std::mem::take(&mut self.counts[term]);
                    self.counts[twin][0] += white;
                    self.counts[twin][1] += black;
                    self.touched[word] &= !(1 << (term % 64));
                    self.touched[twin / 64] |= 1 << (twin % 64);
                }
            }
        }
    }

    /// Hands out the terms that were counted, in order, with White's count and Black's, and
    /// forgets them.
    #[inline]
    pub(super) fn drain(&mut self, mut each: impl FnMut(usize, [i16; 2])) {
        for (i, word) in self.touched.iter_mut().enumerate() {
            for bit in Bitboard(std::mem::take(word)) {
                let term = 64 * i + bit as usize;
                each(term, std::mem::take(&mut self.counts[term]));
            }
        }
    }
}

impl Sink for Trace {
    #[inline]
    fn wants(&self, _: Part) -> bool {
        true
    }

    #[inline]
    fn add(&mut self, term: Term, colour: Color, count: i32) {
        let index = term.index();
        self.counts[index][colour.fold_wb(0, 1)] += count as i16;
        self.touched[index / 64] |= 1 << (index % 64);
    }

    #[inline]
    fn complexity(&mut self, term: Term, count: i32) {
        self.add(term, Color::White, count);
    }
}
