//! Lists of active rows.

/// The active rows of a perspective, in any order. A row that is listed again counts again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    entries: Vec<Row>,
    /// The number of the first row of the current set, whose rows are numbered from 0.
    offset: u32,
}

/// An active row of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of the row in the net.
    pub number: u32,
    /// The number of times that the row is added to the accumulator.
    pub times: u32,
}

/// The capacity that is reserved for the rows of a set.
const RESERVED: usize = 64;

impl Rows {
    /// Adds a row that counts once.
    pub fn push(&mut self, row: u32) {
        self.entries.push(Row { number: self.offset + row, times: 1 });
    }

    /// Adds a row that counts `times` times; does nothing if that is 0.
    pub fn push_times(&mut self, row: u32, times: u32) {
        self.push_if(times != 0, row, times);
    }

    /// Adds a row if it is active, without a branch, which would often be mispredicted. An inactive
    /// row may have any number.
    pub(super) fn push_if(&mut self, is_active: bool, row: u32, times: u32) {
        self.entries.push(Row { number: self.offset.wrapping_add(row), times });
        self.entries.truncate(self.entries.len() - usize::from(!is_active));
    }

    /// Begins the next set; `first_row` is the number of its row 0 in the net.
    pub(super) fn begin_set(&mut self, first_row: u32) {
        self.offset = first_row;
        self.entries.reserve(RESERVED);
    }

    /// Returns the rows in the order in which they were added.
    pub fn entries(&self) -> &[Row] {
        &self.entries
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Calls `visit` with each row that counts more or less often in `after` than in `before`, and
    /// with the difference. `counts` is scratch memory: a 0 for each row of the net, and again 0
    /// afterwards.
    #[inline(always)]
    pub fn visit_changes(
        [before, after]: [&Rows; 2],
        counts: &mut [i32],
        mut visit: impl FnMut(usize, i32),
    ) {
        for (rows, sign) in [(after, 1), (before, -1)] {
            for row in rows.entries() {
                counts[row.number as usize] += sign * row.times as i32;
            }
        }
        for row in after.entries().iter().chain(before.entries()) {
            match std::mem::take(&mut counts[row.number as usize]) {
                0 => {}
                difference => visit(row.number as usize, difference),
            }
        }
    }

    /// Iterates over the numbers of the rows, each as often as it counts.
    pub fn repeated_rows(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().flat_map(|row| std::iter::repeat_n(row.number, row.times as usize))
    }

    /// Returns the numbers of the rows, each as often as it counts, in ascending order.
    pub fn sorted_rows(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.repeated_rows().collect();
        rows.sort_unstable();
        rows
    }
}
