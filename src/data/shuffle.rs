//! A shuffle of more records than fit in memory. A seeded generator puts each into one of 256
//! buckets, and each bucket is shuffled whole. Buckets beyond the memory go to one unnamed file. The
//! order does not depend on the memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One byte of the generator chooses a bucket.
const BUCKETS: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum ShuffleError {
    #[error("cannot use a temporary file in {folder}: {error}; free some space there")]
    Temporary { folder: PathBuf, error: io::Error },
    #[error("a 256th of the records exceeds {memory} MB of memory; raise it to {needed}")]
    Memory { memory: u64, needed: u64 },
}

/// A shuffle in progress, of records of `N` bytes.
pub struct Shuffle<const N: usize> {
    random: Xoshiro256PlusPlus,
    /// Random bytes that have not chosen a bucket yet, and their number.
    choices: u64,
    choices_left: u32,
    buckets: Vec<Vec<[u8; N]>>,
    /// Records in memory.
    buffered: usize,
    /// Number of records in memory that go to the file together.
    max_buffered: usize,
    memory: u64,
    folder: PathBuf,
    file: Option<File>,
    /// Start of each bucket, and end, for each spill to the file.
    spills: Vec<[u64; BUCKETS + 1]>,
}

impl<const N: usize> Shuffle<N> {
    /// Starts a shuffle with about `memory` bytes, and temporary files in `folder` for the rest.
    pub fn new(seed: u64, memory: u64, folder: &Path) -> Self {
        // Vectors may reserve twice what they need.
        let max_buffered = usize::try_from(memory * 2 / 5).unwrap_or(usize::MAX) / N;
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            choices: 0,
            choices_left: 0,
            buckets: vec![Vec::new(); BUCKETS],
            buffered: 0,
            max_buffered: max_buffered.max(BUCKETS),
            memory,
            folder: folder.to_path_buf(),
            file: None,
            spills: Vec::new(),
        }
    }

    pub fn push(&mut self, records: &[[u8; N]]) -> Result<(), ShuffleError> {
        for record in records {
            if self.choices_left == 0 {
                (self.choices, self.choices_left) = (self.random.next_u64(), 8);
            }
            let bucket = (self.choices & 255) as usize;
            self.choices >>= 8;
            self.choices_left -= 1;
            self.buckets[bucket].push(*record);
            self.buffered += 1;
            if self.buffered >= self.max_buffered {
                self.spill_buffers()?;
            }
        }
        Ok(())
    }

    /// Passes on the records in their new order, bucket by bucket.
    pub fn finish_shuffle<E: From<ShuffleError>>(
        mut self,
        mut take: impl FnMut(&[[u8; N]]) -> Result<(), E>,
    ) -> Result<(), E> {
        for number in 0..BUCKETS {
            let mut bucket = self.read_bucket(number)?;
            for last in (1..bucket.len()).rev() {
                // Bits above the product of 64 random bits and the length: biased by 2^-32 or less.
                let product = u128::from(self.random.next_u64()) * (last as u128 + 1);
                bucket.swap(last, (product >> 64) as usize);
            }
            take(&bucket)?;
        }
        Ok(())
    }

    /// Reads the records of a bucket in their original order.
    fn read_bucket(&mut self, number: usize) -> Result<Vec<[u8; N]>, ShuffleError> {
        let buffered = std::mem::take(&mut self.buckets[number]);
        let Some(file) = &mut self.file else { return Ok(buffered) };
        let lengths = self.spills.iter().map(|starts| starts[number + 1] - starts[number]);
        let records = lengths.sum::<u64>() as usize / N + buffered.len();
        if (records * N) as u64 > self.memory {
            let mb = |bytes: u64| bytes.div_ceil(1 << 20);
            let needed = mb((records * N) as u64 + self.memory / 8);
            return Err(ShuffleError::Memory { memory: mb(self.memory), needed });
        }
        let mut all = vec![[0; N]; records];
        let mut offset = 0;
        for starts in &self.spills {
            let length = (starts[number + 1] - starts[number]) as usize / N;
            let spilled = all[offset..offset + length].as_flattened_mut();
            file.seek(SeekFrom::Start(starts[number]))
                .and_then(|_| file.read_exact(spilled))
                .map_err(|error| ShuffleError::Temporary { folder: self.folder.clone(), error })?;
            offset += length;
        }
        all[offset..].copy_from_slice(&buffered);
        Ok(all)
    }

    fn spill_buffers(&mut self) -> Result<(), ShuffleError> {
        let failed = |error| ShuffleError::Temporary { folder: self.folder.clone(), error };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder).map_err(failed)?),
        };
        let mut starts = [0; BUCKETS + 1];
        starts[0] = self.spills.last().map_or(0, |spill| spill[BUCKETS]);
        for (number, bucket) in self.buckets.iter_mut().enumerate() {
            let bytes = bucket.as_flattened();
            file.write_all(bytes).map_err(failed)?;
            starts[number + 1] = starts[number] + bytes.len() as u64;
            bucket.clear();
        }
        self.spills.push(starts);
        self.buffered = 0;
        Ok(())
    }
}
