//! Host arrays for one step of training.

mod choices;
mod columns;
mod first;
mod indices;
mod listed;
mod pairs;
pub(crate) mod plan;
mod touched;

use std::ops::Range;
use std::sync::Arc;

pub use choices::{ChoiceLoss, MoveChoices, probability_of_first};
pub use columns::{POSITIONS_PER_COLUMN, SUMS_PER_POSITION, TermColumn, TermRun};
pub use first::{FirstPlanner, FirstViews, plan_first_views_slowly};
pub use indices::Indices;
pub(crate) use indices::{IndexWord, with_vector};
pub use listed::{ListShape, expand_lists};
pub use pairs::{Bits, InputPairs, most_pairs};
pub use plan::{ChunkPlan, MAX_POSITIONS as MAX_IN_CHUNK, Planner, plan_slowly};
pub use touched::RowSet;

use crate::resume_point::ResumePoint;
use crate::sums::Sums;

/// One of several processes that share each batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankShare {
    pub rank: usize,
    /// The number of ranks, 1 or more.
    pub size: usize,
}

impl RankShare {
    pub const ALL: Self = Self { rank: 0, size: 1 };

    /// Returns this rank's range of `count` consecutive items.
    pub fn range_of_rank(self, count: usize) -> Range<usize> {
        let start = |rank: usize| (count as u128 * rank as u128 / self.size as u128) as usize;
        start(self.rank)..start(self.rank + 1)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum BatchInputs {
    Active(ActiveRows),
    /// Plans of chunks, for the fused operations; pairs of inputs may have rows too.
    Planned(Vec<Arc<ChunkPlan>>),
    /// First views, for the fused operations of the CPU.
    First(FirstViews),
    /// Handcrafted terms in blocks; the batches of a data set share the blocks.
    Terms(Vec<Arc<TermBatch>>),
    /// Lists and handcrafted terms of the same positions.
    Both(ActiveRows, Vec<Arc<TermBatch>>),
}

/// Lists of active rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActiveRows {
    /// Rows of the accumulator's weights.
    pub rows: usize,
    /// Lists per position.
    pub perspectives: usize,
    /// Entries per list; entries after the last active row hold `rows`.
    pub width: usize,
    /// `[batch, perspectives, width]`; a row that occurs twice in a list counts twice.
    pub indices: Indices,
    /// The king bucket of each list, `[batch, perspectives]`; empty for one bucket.
    pub king_buckets: Vec<u8>,
    /// The output bucket of each position; empty for one bucket.
    pub buckets: Vec<u8>,
}

/// One-hot inputs of a batch, listed or planned.
#[derive(Clone, Copy, Debug)]
pub enum OneHot<'a> {
    Lists(&'a ActiveRows),
    Plans(&'a [Arc<ChunkPlan>]),
    First(&'a FirstViews),
}

impl<'a> OneHot<'a> {
    /// Panics if they are planned.
    pub fn lists(self) -> &'a ActiveRows {
        let OneHot::Lists(active) = self else { panic!("plans are for fused operations") };
        active
    }

    pub fn len(self) -> usize {
        match self {
            OneHot::Lists(active) => active.len(),
            OneHot::Plans(plans) => plans.iter().map(|plan| plan.len()).sum(),
            OneHot::First(first_views) => first_views.lists.len(),
        }
    }
}

impl BatchInputs {
    /// Panics without one-hot inputs.
    pub fn one_hot(&self) -> OneHot<'_> {
        match self {
            BatchInputs::Active(active) | BatchInputs::Both(active, _) => OneHot::Lists(active),
            BatchInputs::Planned(plans) => OneHot::Plans(plans),
            BatchInputs::First(first_views) => OneHot::First(first_views),
            BatchInputs::Terms(_) => panic!("a net takes one-hot inputs, not handcrafted terms"),
        }
    }

    /// Panics without handcrafted terms.
    pub fn terms(&self) -> &[Arc<TermBatch>] {
        let (BatchInputs::Terms(pieces) | BatchInputs::Both(_, pieces)) = self else {
            panic!("handcrafted terms are no one-hot inputs");
        };
        pieces
    }
}

impl ActiveRows {
    pub fn shape(&self) -> ListShape {
        let &Self { rows, perspectives, width, .. } = self;
        let (positions, buckets) = (self.len(), self.buckets.clone());
        ListShape { rows, perspectives, width, positions, buckets }
    }

    pub fn len(&self) -> usize {
        self.indices.len() / (self.perspectives * self.width)
    }

    pub fn king_bucket(&self, list: usize) -> usize {
        self.king_buckets.get(list).map_or(0, |bucket| usize::from(*bucket))
    }

    /// Cuts each list to `width` entries; the rest must be blank.
    pub fn trim_width(&mut self, width: usize) {
        fn trim<T: Copy>(indices: &mut Vec<T>, old: usize, new: usize) {
            let lists = indices.len() / old;
            for list in 1..lists {
                indices.copy_within(list * old..list * old + new, list * new);
            }
            indices.truncate(lists * new);
        }
        let width = width.clamp(1, self.width);
        with_vector!(&mut self.indices, indices => trim(indices, self.width, width));
        self.width = width;
    }
}

/// Sparse coefficients of handcrafted terms, and their tapering. Counts of a repeated term add up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermBatch {
    /// NORMAL terms: White's count minus Black's, zeros left out.
    pub normal: TermRows<i8>,
    /// SAFETY terms: White's count and Black's, left out where both are zero.
    pub safety: TermRows<[i8; 2]>,
    /// COMPLEXITY terms, which have no side, zeros left out.
    pub complexity: TermRows<i8>,
    /// Share of the middlegame weight, 0 to 1.
    pub middlegame: Vec<f32>,
    /// Share of the endgame weight, 0 to 1, the scale factor in it.
    pub endgame: Vec<f32>,
    /// +1 where White is to move, -1 where Black is.
    pub turn: Vec<i8>,
    pub frozen: FrozenSums,
    /// The entries again, grouped by term, for positions that are used many times; else empty.
    pub columns: Vec<TermColumn>,
}

/// Sums, in centipawns, of frozen terms, which have no entries; empty without any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrozenSums {
    /// Middlegame and endgame of NORMAL terms, White minus Black.
    pub normal: Vec<[f32; 2]>,
    /// Middlegame and endgame of White's SAFETY terms, then of Black's.
    pub safety: Vec<[f32; 4]>,
    pub complexity: Vec<f32>,
}

impl FrozenSums {
    /// Returns the sums of a row; 0 without frozen terms.
    fn sum_row(&self, row: usize) -> Sums {
        let safety = self.safety.get(row).copied().unwrap_or_default();
        let [white_mg, white_eg, black_mg, black_eg] = safety.map(f64::from);
        Sums {
            normal: self.normal.get(row).copied().unwrap_or_default().map(f64::from),
            safety: [[white_mg, white_eg], [black_mg, black_eg]],
            complexity: self.complexity.get(row).copied().unwrap_or_default().into(),
        }
    }
}

/// Entries of terms, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermRows<C> {
    /// Row `i` has the entries `offsets[i]..offsets[i + 1]`; empty where no row has an entry.
    pub offsets: Vec<u32>,
    pub term: Vec<u16>,
    /// The count of the term, never zero.
    pub count: Vec<C>,
}

impl<C: Copy> TermRows<C> {
    pub fn entries_of_row(&self, row: usize) -> impl Iterator<Item = (usize, C)> + '_ {
        let range = self.entry_range(row);
        self.term[range.clone()]
            .iter()
            .map(|term| usize::from(*term))
            .zip(self.count[range].iter().copied())
    }

    /// Appends row `row` of `from` after the `rows` existing ones.
    fn append_row(&mut self, rows: usize, from: &TermRows<C>, row: usize) {
        let range = from.entry_range(row);
        self.term.extend_from_slice(&from.term[range.clone()]);
        self.count.extend_from_slice(&from.count[range]);
        self.end_row(rows);
    }

    /// Appends a row after the `rows` existing ones.
    pub fn push(&mut self, rows: usize, entries: impl Iterator<Item = (u16, C)>) {
        for (term, count) in entries {
            self.term.push(term);
            self.count.push(count);
        }
        self.end_row(rows);
    }

    fn end_row(&mut self, rows: usize) {
        if self.offsets.is_empty() && !self.term.is_empty() {
            self.offsets.resize(rows + 1, 0);
        }
        if !self.offsets.is_empty() {
            self.offsets.push(self.term.len() as u32);
        }
    }

    fn entry_range(&self, row: usize) -> Range<usize> {
        match self.offsets.get(row..row + 2) {
            Some(bounds) => bounds[0] as usize..bounds[1] as usize,
            None => 0..0,
        }
    }
}

impl TermBatch {
    pub fn len(&self) -> usize {
        self.turn.len()
    }

    pub fn is_empty(&self) -> bool {
        self.turn.is_empty()
    }

    /// Sums a row with weights `[middlegame, endgame]` by term, including frozen terms.
    pub fn sum_row(&self, row: usize, weights: &[[f64; 2]]) -> Sums {
        self.add_entries(self.frozen.sum_row(row), row, weights)
    }

    /// Adds the entries of a row to `sums`, without frozen terms.
    pub fn add_entries(&self, mut sums: Sums, row: usize, weights: &[[f64; 2]]) -> Sums {
        fn add(sums: &mut [f64; 2], weight: [f64; 2], count: i8) {
            for (sum, weight) in sums.iter_mut().zip(weight) {
                *sum += f64::from(count) * weight;
            }
        }
        for (term, count) in self.normal.entries_of_row(row) {
            add(&mut sums.normal, weights[term], count);
        }
        for (term, counts) in self.safety.entries_of_row(row) {
            for (sums, count) in sums.safety.iter_mut().zip(counts) {
                add(sums, weights[term], count);
            }
        }
        for (term, count) in self.complexity.entries_of_row(row) {
            sums.complexity += f64::from(count) * weights[term][1];
        }
        sums
    }

    /// Adds to `counts` the number of positions with each term; repeated entries count once.
    pub fn count_positions(&self, counts: &mut [u64]) {
        // The last position that had the term, plus one.
        let mut last = vec![0; counts.len()];
        for row in 0..self.len() {
            let terms = self.normal.entries_of_row(row).map(|(term, _)| term);
            let terms = terms.chain(self.safety.entries_of_row(row).map(|(term, _)| term));
            for term in terms.chain(self.complexity.entries_of_row(row).map(|(term, _)| term)) {
                counts[term] += u64::from(last[term] != row + 1);
                last[term] = row + 1;
            }
        }
    }

    pub fn gather_rows<'a>(rows: impl Iterator<Item = (&'a TermBatch, usize)>) -> Self {
        fn gather_frozen<T: Copy + Default>(to: &mut Vec<T>, from: &[T], row: usize, len: usize) {
            if !(from.is_empty() && to.is_empty()) {
                to.resize(len, T::default());
                to.push(from.get(row).copied().unwrap_or_default());
            }
        }
        let mut terms = TermBatch::default();
        for (from, row) in rows {
            let len = terms.len();
            terms.normal.append_row(len, &from.normal, row);
            terms.safety.append_row(len, &from.safety, row);
            terms.complexity.append_row(len, &from.complexity, row);
            gather_frozen(&mut terms.frozen.normal, &from.frozen.normal, row, len);
            gather_frozen(&mut terms.frozen.safety, &from.frozen.safety, row, len);
            gather_frozen(&mut terms.frozen.complexity, &from.frozen.complexity, row, len);
            terms.middlegame.push(from.middlegame[row]);
            terms.endgame.push(from.endgame[row]);
            terms.turn.push(from.turn[row]);
        }
        terms
    }
}

/// A batch of positions. Results and scores have the point of view of the model's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// One row per position, or several as `choices` describe.
    pub inputs: BatchInputs,
    /// None if targets are of positions, not of moves.
    pub choices: Option<Arc<MoveChoices>>,
    /// Logits of the base evaluation, one per row; empty without a base.
    pub base: Arc<[f32]>,
    /// Sample weights, 0 or more; empty means all 1.
    pub weights: Arc<[f32]>,
    /// The source of each position, from 1, or 0; empty without sources.
    pub sources: Arc<[u8]>,
    /// 0 to 1, one per position.
    pub results: Arc<[f32]>,
    /// Centipawns of positions, NaN without; empty if no position has one.
    pub scores: Arc<[f32]>,
    /// Where a stream of data resumes after the batch.
    pub resume_point: Option<ResumePoint>,
}

impl Batch {
    pub fn new(inputs: BatchInputs, results: Arc<[f32]>, scores: Arc<[f32]>) -> Self {
        let (base, weights, sources) = (Arc::new([]), Arc::new([]), Arc::new([]));
        let (choices, resume_point) = (None, None);
        Self { inputs, choices, base, weights, sources, results, scores, resume_point }
    }

    /// Divides the weights by their mean, for a weighted mean of losses. Empty: all 1.
    pub fn normalised_weights(&self) -> Vec<f32> {
        let sum: f64 = self.weights.iter().map(|weight| f64::from(*weight)).sum();
        // If all weights are 0, so are all gradients.
        let unit = if sum > 0.0 { self.weights.len() as f64 / sum } else { 0.0 };
        self.weights.iter().map(|weight| (f64::from(*weight) * unit) as f32).collect()
    }

    /// Returns the values at `indices`; empty if there are no values.
    pub(crate) fn pick_values<T: Copy>(
        values: &Arc<[T]>,
        indices: impl Iterator<Item = usize>,
    ) -> Arc<[T]> {
        match values.is_empty() {
            true => values.clone(),
            false => indices.map(|index| values[index]).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.results.len()
    }
}
