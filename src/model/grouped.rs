//! Numbers grouped by a key.

#[derive(Debug, Default)]
pub struct Grouped {
    /// Start of each key's numbers, and the end of the last.
    pub starts: Vec<usize>,
    pub numbers: Vec<u32>,
}

impl Grouped {
    /// Groups numbers by keys below `keys`; numbers of one key stay in order.
    pub fn new(keys: usize, entries: impl Iterator<Item = (usize, u32)> + Clone) -> Self {
        let mut starts = vec![0; keys + 1];
        entries.clone().for_each(|(key, _)| starts[key + 1] += 1);
        (0..keys).for_each(|key| starts[key + 1] += starts[key]);
        let (mut next, mut numbers) = (starts.clone(), vec![0; starts[keys]]);
        entries.for_each(|(key, number)| {
            numbers[next[key]] = number;
            next[key] += 1;
        });
        Self { starts, numbers }
    }

    pub fn members_of(&self, key: usize) -> &[u32] {
        &self.numbers[self.starts[key]..self.starts[key + 1]]
    }
}
