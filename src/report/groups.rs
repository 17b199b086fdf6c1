//! Records that belong together: the positions of a game.

use std::collections::HashMap;

/// Records sorted into groups.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The group of each record, numbered from 0 in the order of first appearance.
    of: Vec<u32>,
    /// Records by group; none where [`of_records`](Self::of_records) left none.
    counts: Vec<u32>,
    known: bool,
}

impl Groups {
    /// Records with equal keys form a group.
    pub fn new(keys: impl IntoIterator<Item = u64>) -> Self {
        let mut numbers = HashMap::new();
        let mut groups = Self { of: Vec::new(), counts: Vec::new(), known: true };
        for key in keys {
            let next = groups.counts.len() as u32;
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                groups.counts.push(0);
            }
            groups.counts[number as usize] += 1;
            groups.of.push(number);
        }
        groups
    }

    /// Sets whether it is known which records belong together: else groups need not be
    /// independent, and nothing can be said to be sure.
    pub fn known(self, known: bool) -> Self {
        Self { known, ..self }
    }

    /// Whether groups are independent of each other.
    pub fn are_known(&self) -> bool {
        self.known
    }

    /// Some of the records, in the order given. Groups keep their numbers; some may be empty.
    pub fn of_records(&self, records: &[u32]) -> Self {
        let mut counts = vec![0; self.counts.len()];
        let of: Vec<u32> = records.iter().map(|record| self.of[*record as usize]).collect();
        of.iter().for_each(|group| counts[*group as usize] += 1);
        Self { of, counts, known: self.known }
    }

    /// The group of each record.
    pub fn numbers(&self) -> &[u32] {
        &self.of
    }

    /// The records of each group.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// The number of groups that have records.
    pub fn len(&self) -> usize {
        self.counts.iter().filter(|count| **count > 0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.of.len()
    }

    /// The sum of some values in each group, one value a record.
    pub fn sums(&self, values: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.counts.len()];
        for (group, value) in self.of.iter().zip(values) {
            sums[*group as usize] += value;
        }
        sums
    }
}
