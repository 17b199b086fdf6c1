//! Shuffle of more records than fit in memory: each goes into one of 256 buckets by a seeded
//! generator, and each bucket is shuffled whole. Buckets beyond memory go to one unnamed file. The
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
    /// Random bytes that have not chosen a bucket yet.
    choices: u64,
    left: u32,
    buckets: Vec<Vec<[u8; N]>>,
    held: usize,
    /// Most records in memory; then they go to the file.
    most: usize,
    memory: u64,
    folder: PathBuf,
    file: Option<File>,
    /// For each spill to the file: the start of each bucket, and the end.
    spills: Vec<[u64; BUCKETS + 1]>,
}

impl<const N: usize> Shuffle<N> {
    /// Uses about `memory` bytes, and temporary files in `folder` for the rest.
    pub fn new(seed: u64, memory: u64, folder: &Path) -> Self {
        // Vectors may reserve twice what they need.
        let most = usize::try_from(memory * 2 / 5).unwrap_or(usize::MAX) / N;
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            choices: 0,
            left: 0,
            buckets: vec![Vec::new(); BUCKETS],
            held: 0,
            most: most.max(BUCKETS),
            memory,
            folder: folder.to_path_buf(),
            file: None,
            spills: Vec::new(),
        }
    }

    pub fn push(&mut self, records: &[[u8; N]]) -> Result<(), ShuffleError> {
        for record in records {
            if self.left == 0 {
                (self.choices, self.left) = (self.random.next_u64(), 8);
            }
            let bucket = (self.choices & 255) as usize;
            self.choices >>= 8;
            self.left -= 1;
            self.buckets[bucket].push(*record);
            self.held += 1;
            if self.held >= self.most {
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

    /// The records of a bucket in their original order.
    fn read_bucket(&mut self, number: usize) -> Result<Vec<[u8; N]>, ShuffleError> {
        let held = std::mem::take(&mut self.buckets[number]);
        let Some(file) = &mut self.file else { return Ok(held) };
        let lengths = self.spills.iter().map(|starts| starts[number + 1] - starts[number]);
        let records = lengths.sum::<u64>() as usize / N + held.len();
        if (records * N) as u64 > self.memory {
            let mb = |bytes: u64| bytes.div_ceil(1 << 20);
            let needed = mb((records * N) as u64 + self.memory / 8);
            return Err(ShuffleError::Memory { memory: mb(self.memory), needed });
        }
        let mut all = vec![[0; N]; records];
        let mut at = 0;
        for starts in &self.spills {
            let length = (starts[number + 1] - starts[number]) as usize / N;
            let part = all[at..at + length].as_flattened_mut();
            file.seek(SeekFrom::Start(starts[number]))
                .and_then(|_| file.read_exact(part))
                .map_err(|error| ShuffleError::Temporary { folder: self.folder.clone(), error })?;
            at += length;
        }
        all[at..].copy_from_slice(&held);
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
        self.held = 0;
        Ok(())
    }
}
