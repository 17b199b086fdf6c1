//! Several processes that take the steps of one run together.
//!
//! Each is a rank, counted from 0. All of them have the same weights, compute the gradients of their
//! share of each batch, and add them up. How bytes get from one to another is for [`Ranks`] to know;
//! everything else is arithmetic, and stands here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::wire::{Bf16, F32, F64, Wire};
use crate::batch::OfRank;

/// The ranks of a run, as one of them sees them.
pub trait Ranks: Sync {
    /// The number of this one, below [`Ranks::size`]. Rank 0 is the one that writes and speaks.
    fn rank(&self) -> usize;

    /// How many there are, 1 or more.
    fn size(&self) -> usize;

    /// Hands each rank its bytes of `to`, and fills `from` with those that each has for this one.
    /// All ranks call it at the same time. The elements of `from` are as long as what will come;
    /// those for this rank itself are left alone.
    ///
    /// # Errors
    /// If another rank is silent for too long, or gone.
    fn exchange(&self, to: &[&[u8]], from: &mut [Vec<u8>]) -> Result<(), RankError>;
}

/// Why ranks cannot go on together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RankError {
    #[error("{0}")]
    Silent(String),
    #[error(
        "the weights of rank {rank} are no longer those of rank 0 at step {step}: its machine does \
         not compute what the others do, in other instructions or with an error of its memory; use \
         the same program and `--simd` everywhere, and leave that machine out if it happens again"
    )]
    Apart { rank: usize, step: u64 },
}

/// What gradients are sent as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SentAs {
    /// As they are.
    #[default]
    F32,
    /// Rounded to 8 bits of mantissa on each of two ways, and added up in f32: half the bytes.
    Bf16,
}

/// The only rank of a run that no others take part in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, _: &[&[u8]], _: &mut [Vec<u8>]) -> Result<(), RankError> {
        Ok(())
    }
}

impl dyn Ranks + '_ {
    /// Which of them this is.
    pub fn which(&self) -> OfRank {
        OfRank { rank: self.rank(), size: self.size() }
    }

    /// Whether there are others.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// Whether this is the rank that writes and speaks.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Each number becomes the sum of those of all ranks, added in their order: the same bits on all
    /// of them, whatever connects them. Few `numbers` travel along.
    ///
    /// # Errors
    /// See [`Ranks::exchange`].
    pub fn sum(
        &self,
        gradients: &mut [f32],
        sent_as: SentAs,
        numbers: &mut [f64],
    ) -> Result<(), RankError> {
        match sent_as {
            SentAs::F32 => self.add_up::<F32>(gradients, numbers),
            SentAs::Bf16 => self.add_up::<Bf16>(gradients, numbers),
        }
    }

    /// The same of many numbers.
    ///
    /// # Errors
    /// See [`Ranks::exchange`].
    pub fn sum64(&self, numbers: &mut [f64]) -> Result<(), RankError> {
        self.add_up::<F64>(numbers, &mut [])
    }

    /// Each rank adds up a piece of all values, and hands the sums on. `numbers` go to everybody.
    fn add_up<W: Wire>(
        &self,
        values: &mut [W::Value],
        numbers: &mut [f64],
    ) -> Result<(), RankError> {
        let (rank, size) = (self.rank(), self.size());
        if size == 1 {
            return Ok(());
        }
        let count = values.len();
        let piece = |rank: usize| OfRank { rank, size }.range(count);
        let (own, bytes) = (piece(rank), W::BYTES);
        let to = |other: usize| match other == rank {
            true => Vec::new(),
            false => {
                let mut message = W::written(&values[piece(other)]);
                message.extend(F64::written(numbers));
                message
            }
        };
        let to: Vec<Vec<u8>> = (0..size).map(to).collect();
        let mut from = vec![vec![0; own.len() * bytes + numbers.len() * F64::BYTES]; size];
        self.exchange(&lent(&to), &mut from)?;
        let mut sums: Vec<W::Value> = Vec::new();
        let mut more: Vec<f64> = Vec::new();
        for (other, message) in from.iter().enumerate() {
            if other == rank {
                add(&mut sums, values[own.clone()].iter().copied());
                add(&mut more, numbers.iter().copied());
            } else {
                let (piece, rest) = message.split_at(own.len() * bytes);
                add(&mut sums, W::read(piece));
                add(&mut more, F64::read(rest));
            }
        }
        numbers.copy_from_slice(&more);
        let sums = W::written(&sums);
        let mut to = vec![&sums[..]; size];
        to[rank] = &[];
        let mut from: Vec<Vec<u8>> = (0..size).map(|it| vec![0; piece(it).len() * bytes]).collect();
        self.exchange(&to, &mut from)?;
        // As the others read it, where it was rounded on the way.
        from[rank] = sums;
        for (other, message) in from.iter().enumerate() {
            values[piece(other)].iter_mut().zip(W::read(message)).for_each(|(to, sum)| *to = sum);
        }
        Ok(())
    }

    /// Gives all ranks the bytes of rank 0.
    ///
    /// # Errors
    /// See [`Ranks::exchange`].
    pub fn hand_on(&self, bytes: Vec<u8>) -> Result<Vec<u8>, RankError> {
        let (rank, size) = (self.rank(), self.size());
        if size == 1 {
            return Ok(bytes);
        }
        let mut length = [if rank == 0 { bytes.len() as f64 } else { 0.0 }];
        self.sum(&mut [], SentAs::F32, &mut length)?;
        let mut to: Vec<&[u8]> = vec![&[]; size];
        let mut from = vec![Vec::new(); size];
        match rank {
            0 => to[1..].fill(&bytes),
            _ => from[0] = vec![0; length[0] as usize],
        }
        self.exchange(&to, &mut from)?;
        Ok(if rank == 0 { bytes } else { from.swap_remove(0) })
    }

    /// The first rank whose word is not that of rank 0; the same answer on all of them.
    ///
    /// # Errors
    /// See [`Ranks::exchange`].
    pub fn other_word(&self, word: u64) -> Result<Option<usize>, RankError> {
        let bytes = word.to_le_bytes();
        let mut from = vec![bytes.to_vec(); self.size()];
        self.exchange(&vec![&bytes[..]; self.size()], &mut from)?;
        Ok(from.iter().position(|other| *other != from[0]))
    }
}

/// Adds values to sums; those of the first rank are what these begin with.
fn add<T: Copy + std::ops::AddAssign>(sums: &mut Vec<T>, values: impl Iterator<Item = T>) {
    match sums.is_empty() {
        true => sums.extend(values),
        false => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
    }
}

fn lent(messages: &[Vec<u8>]) -> Vec<&[u8]> {
    messages.iter().map(Vec::as_slice).collect()
}
