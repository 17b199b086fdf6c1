//! Inputs that many positions share, two by two.
//!
//! Groups of men recur: a castled king with its pawns, rooks at home. A pair stands for two inputs
//! that are often one together, or for two smaller groups, and its row for the sum of theirs. Lists
//! that name pairs are shorter, and sums over them are the same: a step first adds up the rows of the
//! pairs, each from its two parents, and ends by handing the gradient of each to these.
//!
//! Pairs are found as byte-pair encoding finds its tokens (P. Gage, "A New Algorithm for Data
//! Compression", 1994): the two that stand together in most lists become one, again and again.

/// Words of 64 lists each that are shortened at a time.
const WORDS: usize = 4;

/// Which of some lists name a row.
pub type Bits = [u64; WORDS];

/// The pairs of a net's inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Rows without pairs.
    inputs: usize,
    /// Of each pair, inputs or earlier pairs.
    parents: Vec<[u16; 2]>,
}

impl Pairs {
    /// The pairs that shorten these lists `[lists, places]` most, so many at most. Places that hold
    /// the number of inputs are blank; no list names an input twice.
    pub fn learn(inputs: usize, lists: &[u16], places: usize, most: usize) -> Self {
        let mut learner = Learner::new(inputs, most, lists.chunks_exact(places));
        let mut parents = Vec::new();
        while parents.len() < most {
            let Some([one, other]) = learner.best() else { break };
            learner.join(one, other, inputs + parents.len());
            parents.push([one as u16, other as u16]);
        }
        Self { inputs, parents }
    }

    /// Those of no input: none.
    pub fn none(inputs: usize) -> Self {
        Self { inputs, parents: Vec::new() }
    }

    /// Of each pair, inputs or earlier pairs. The first has the row behind the inputs.
    pub fn parents(&self) -> &[[u16; 2]] {
        &self.parents
    }

    /// Rows of inputs and pairs.
    pub fn rows(&self) -> usize {
        self.inputs + self.parents.len()
    }

    /// Names pairs in lists `[lists, places]` wherever it can, in the order of their rows. Blank
    /// places then hold the number of all rows. Up to 255 places; no list names an input twice.
    pub fn shorten(&self, lists: &mut [u16], places: usize, bits: &mut Vec<Bits>) {
        if self.parents.is_empty() {
            return;
        }
        let blank = self.rows() as u16;
        for lists in lists.chunks_mut(64 * WORDS * places) {
            bits.clear();
            bits.resize(self.rows(), [0; WORDS]);
            for (list, inputs) in lists.chunks_exact_mut(places).enumerate() {
                for input in inputs {
                    if let Some(words) = bits[..self.inputs].get_mut(usize::from(*input)) {
                        words[list / 64] |= 1 << (list % 64);
                    }
                    *input = blank;
                }
            }
            for (number, parents) in self.parents.iter().enumerate() {
                let [one, other] = parents.map(usize::from);
                let mut both = [0; WORDS];
                for (word, both) in both.iter_mut().enumerate() {
                    *both = bits[one][word] & bits[other][word];
                    bits[one][word] &= !*both;
                    bits[other][word] &= !*both;
                }
                bits[self.inputs + number] = both;
            }
            let mut lengths = [0u8; 64 * WORDS];
            for (row, words) in bits.iter().enumerate() {
                for (word, &bits) in words.iter().enumerate() {
                    let mut left = bits;
                    while left != 0 {
                        let list = 64 * word + left.trailing_zeros() as usize;
                        left &= left - 1;
                        lists[list * places + usize::from(lengths[list])] = row as u16;
                        lengths[list] += 1;
                    }
                }
            }
        }
    }
}

/// Counts how often two inputs stand together.
struct Learner {
    /// Rows there may be.
    rows: usize,
    lists: Vec<Vec<u16>>,
    /// The lists that hold each row, some of them no longer.
    holders: Vec<Vec<u32>>,
    /// `[rows, rows]`
    counts: Vec<u32>,
    /// Of each row how often it stands with its best partner, and which that is; none where it must
    /// be looked for.
    best: Vec<Option<(u32, usize)>>,
}

impl Learner {
    fn new<'a>(inputs: usize, most: usize, lists: impl Iterator<Item = &'a [u16]>) -> Self {
        let rows = inputs + most;
        let is_there = |input: &u16| usize::from(*input) < inputs;
        let there = |list: &[u16]| list.iter().copied().filter(is_there).collect();
        let lists: Vec<Vec<u16>> = lists.map(there).collect();
        let (mut holders, mut counts) = (vec![Vec::new(); rows], vec![0; rows * rows]);
        for (number, list) in lists.iter().enumerate() {
            for &one in list {
                holders[usize::from(one)].push(number as u32);
                for &other in list.iter().filter(|other| **other != one) {
                    counts[usize::from(one) * rows + usize::from(other)] += 1;
                }
            }
        }
        Self { rows, lists, holders, counts, best: vec![None; rows] }
    }

    /// The two that stand together most often, the first of several; none where no two stand together
    /// more than once.
    fn best(&mut self) -> Option<[usize; 2]> {
        let Self { rows, counts, best, .. } = self;
        let mut found = (1, None);
        for (one, known) in best.iter_mut().enumerate() {
            let (count, other) = *known.get_or_insert_with(|| {
                let row = &counts[one * *rows..][..*rows];
                let most = row.iter().copied().max().unwrap_or(0);
                (most, row.iter().position(|count| *count == most).unwrap_or(0))
            });
            if count > found.0 {
                found = (count, Some([one, other]));
            }
        }
        found.1
    }

    /// Puts a pair in the place of its parents.
    fn join(&mut self, one: usize, other: usize, pair: usize) {
        let Self { rows, lists, holders, counts, best } = self;
        let mut holding = std::mem::take(&mut holders[one]);
        let mut left = Vec::new();
        let mut change = |row: usize, column: usize, by: i32| {
            for (row, column) in [(row, column), (column, row)] {
                let count = &mut counts[row * *rows + column];
                *count = count.wrapping_add_signed(by);
                best[row] = match best[row] {
                    Some((_, partner)) if by < 0 && partner == column => None,
                    Some((most, partner)) if (*count, partner) > (most, column) => {
                        Some((*count, column))
                    }
                    known => known,
                };
            }
        };
        holding.retain(|&number| {
            let list = &mut lists[number as usize];
            let place = |row: usize| list.iter().position(|it| usize::from(*it) == row);
            let (Some(first), Some(second)) = (place(one), place(other)) else {
                left.push(number);
                return false;
            };
            list.swap_remove(first.max(second));
            list.swap_remove(first.min(second));
            change(one, other, -1);
            for &third in &*list {
                let third = usize::from(third);
                change(one, third, -1);
                change(other, third, -1);
                change(pair, third, 1);
            }
            list.push(pair as u16);
            true
        });
        holders[one] = left;
        holders[pair] = holding;
    }
}
