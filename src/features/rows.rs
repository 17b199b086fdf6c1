//! Lists of active rows.

/// The active rows of a perspective, in any order. Repeated rows count as often as they occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    entries: Vec<Row>,
    /// The offset that is added to the numbers of the following rows.
    first: u32,
}

/// A row of weights and the number of times that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names describe them")]
pub struct Row {
    pub number: u32,
    pub times: u32,
}

impl Rows {
    /// Adds a row that is active once.
    pub fn push(&mut self, row: u32) {
        self.entries.push(Row { number: self.first + row, times: 1 });
    }

    /// Adds a row that counts `times` times, 0 included.
    pub fn push_times(&mut self, row: u32, times: u32) {
        self.push_if(times != 0, row, times);
    }

    /// Adds a row if it is active, without a branch, for unpredictable conditions.
    pub(super) fn push_if(&mut self, is_active: bool, row: u32, times: u32) {
        self.entries.push(Row { number: self.first.wrapping_add(row), times });
        self.entries.truncate(self.entries.len() - usize::from(!is_active));
    }

    /// Starts the rows of the next set, which are numbered from `first`.
    pub(super) fn begin_set(&mut self, first: u32) {
        self.first = first;
        self.entries.reserve(64);
    }

    /// The rows in the order of their addition.
    pub fn entries(&self) -> &[Row] {
        &self.entries
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Calls `each` with every row whose count differs between `before` and `after`, and with the
    /// difference. `counts` has a number for each row, 0 before and afterwards.
    #[inline(always)]
    pub fn visit_changes(
        [before, after]: [&Rows; 2],
        counts: &mut [i32],
        mut each: impl FnMut(usize, i32),
    ) {
        for (rows, sign) in [(after, 1), (before, -1)] {
            for row in rows.entries() {
                counts[row.number as usize] += sign * row.times as i32;
            }
        }
        for row in after.entries().iter().chain(before.entries()) {
            match std::mem::take(&mut counts[row.number as usize]) {
                0 => {}
                times => each(row.number as usize, times),
            }
        }
    }

    /// The numbers of the rows, repeated by their counts.
    pub fn repeated_rows(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().flat_map(|row| std::iter::repeat_n(row.number, row.times as usize))
    }

    /// The repeated numbers of the rows, sorted.
    pub fn sorted_rows(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.repeated_rows().collect();
        rows.sort_unstable();
        rows
    }
}
