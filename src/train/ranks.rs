//! Several processes that take the steps of one run together.
//!
//! Each is a rank, counted from 0. All of them have the same weights, compute the gradients of their
//! share of each batch, and add them up. How bytes get from one to another is for [`Ranks`] to know;
//! everything else is arithmetic, and stands here.

use std::ops::AddAssign;

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

    /// Steps begin: what was exchanged before has no part in what is told of them.
    fn steps_begin(&self) {}
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
    /// Rounded to 8 bits of mantissa and added up in f32, and where there are more than two ranks
    /// rounded once more on the way back: half the bytes.
    Bf16,
}

/// What sums are worked out in, so that one after the other need not ask for memory.
#[derive(Default)]
pub struct Room {
    /// Messages to and from each rank.
    to: Vec<Vec<u8>>,
    from: Vec<Vec<u8>>,
    /// The sums of this rank's piece.
    sums: Vec<u8>,
}

/// Values that are added up at a time, of one rank after the other, while they are in the cache.
const BLOCK: usize = 1024;

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
        room: &mut Room,
    ) -> Result<(), RankError> {
        match sent_as {
            SentAs::F32 => self.add_up::<F32>(gradients, numbers, room),
            SentAs::Bf16 => self.add_up::<Bf16>(gradients, numbers, room),
        }
    }

    /// The same of many numbers.
    ///
    /// # Errors
    /// See [`Ranks::exchange`].
    pub fn sum64(&self, numbers: &mut [f64]) -> Result<(), RankError> {
        self.add_up::<F64>(numbers, &mut [], &mut Room::default())
    }

    /// How often ranks exchange something for a sum.
    pub fn rounds(&self) -> u64 {
        match self.size() {
            1 => 0,
            2 => 1,
            _ => 2,
        }
    }

    fn add_up<W: Wire>(
        &self,
        values: &mut [W::Value],
        numbers: &mut [f64],
        room: &mut Room,
    ) -> Result<(), RankError> {
        match self.rounds() {
            0 => Ok(()),
            1 => self.add_both::<W>(values, numbers, room),
            _ => self.add_pieces::<W>(values, numbers, room),
        }
    }

    /// Each of two ranks hands all that it has to the other: as many bytes as by pieces, and one wait
    /// in the place of two.
    fn add_both<W: Wire>(
        &self,
        values: &mut [W::Value],
        numbers: &mut [f64],
        room: &mut Room,
    ) -> Result<(), RankError> {
        let Room { to, from, .. } = room;
        let other = 1 - self.rank();
        to.resize_with(2, Vec::new);
        from.resize_with(2, Vec::new);
        to[other].clear();
        W::write(values, &mut to[other]);
        let bytes = to[other].len();
        F64::write(numbers, &mut to[other]);
        from[other].resize(to[other].len(), 0);
        self.exchange(&[&to[0], &to[1]], from)?;
        let ((own, _), (come, come_numbers)) =
            (to[other].split_at(bytes), from[other].split_at(bytes));
        // Its own as the other reads them, where they are rounded on the way.
        for ((value, own), come) in values.iter_mut().zip(W::read(own)).zip(W::read(come)) {
            *value = own;
            *value += come;
        }
        add(numbers, F64::read(come_numbers), false);
        Ok(())
    }

    /// Each rank adds up a piece of all values, and hands the sums on. `numbers` go to everybody.
    fn add_pieces<W: Wire>(
        &self,
        values: &mut [W::Value],
        numbers: &mut [f64],
        room: &mut Room,
    ) -> Result<(), RankError> {
        let (rank, size) = (self.rank(), self.size());
        let Room { to, from, sums } = room;
        let count = values.len();
        let piece = |rank: usize| OfRank { rank, size }.range(count);
        let (own, bytes) = (piece(rank), W::BYTES);

        to.resize_with(size, Vec::new);
        to.iter_mut().for_each(Vec::clear);
        for (other, message) in to.iter_mut().enumerate().filter(|(other, _)| *other != rank) {
            W::write(&values[piece(other)], message);
            F64::write(numbers, message);
        }
        from.resize_with(size, Vec::new);
        let length = own.len() * bytes + numbers.len() * F64::BYTES;
        from.iter_mut().for_each(|message| message.resize(length, 0));
        self.exchange(&lent(to), from)?;

        sums.clear();
        for start in own.clone().step_by(BLOCK) {
            let (range, place) = (start..own.end.min(start + BLOCK), (start - own.start) * bytes);
            let mut block = [W::Value::default(); BLOCK];
            let block = &mut block[..range.len()];
            for (other, message) in from.iter().enumerate() {
                match other == rank {
                    true => add(block, values[range.clone()].iter().copied(), other == 0),
                    false => {
                        add(block, W::read(&message[place..][..range.len() * bytes]), other == 0)
                    }
                }
            }
            W::write(block, sums);
            // As the others read it, where it is rounded on the way.
            let read = W::read(&sums[place..]);
            values[range].iter_mut().zip(read).for_each(|(to, sum)| *to = sum);
        }
        let own_numbers = numbers.to_vec();
        for (other, message) in from.iter().enumerate() {
            match other == rank {
                true => add(numbers, own_numbers.iter().copied(), other == 0),
                false => add(numbers, F64::read(&message[own.len() * bytes..]), other == 0),
            }
        }

        let mut to = vec![&sums[..]; size];
        to[rank] = &[];
        for (other, message) in from.iter_mut().enumerate() {
            message.resize(piece(other).len() * bytes, 0);
        }
        self.exchange(&to, from)?;
        for (other, message) in from.iter().enumerate().filter(|(other, _)| *other != rank) {
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
        self.sum(&mut [], SentAs::F32, &mut length, &mut Room::default())?;
        let mut to: Vec<&[u8]> = vec![&[]; size];
        let mut from = vec![Vec::new(); size];
        match rank {
            0 => to[1..].fill(&bytes),
            _ => from[0] = vec![0; length[0] as usize],
        }
        self.exchange(&to, &mut from)?;
        Ok(if rank == 0 { bytes } else { from.swap_remove(0) })
    }

    /// Gives all ranks the bytes of each, in their order.
    ///
    /// # Errors
    /// See [`Ranks::exchange`].
    pub fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RankError> {
        let (rank, size) = (self.rank(), self.size());
        let length = (bytes.len() as u64).to_le_bytes();
        let mut from = vec![length.to_vec(); size];
        self.exchange(&vec![&length[..]; size], &mut from)?;
        for (other, message) in from.iter_mut().enumerate() {
            let length = message[..].try_into().expect("lengths have eight bytes");
            let length = if other == rank { 0 } else { u64::from_le_bytes(length) };
            *message = vec![0; length as usize];
        }
        self.exchange(&vec![&bytes[..]; size], &mut from)?;
        from[rank] = bytes;
        Ok(from)
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

/// Adds values to sums, or begins them.
fn add<T: Copy + AddAssign>(sums: &mut [T], values: impl Iterator<Item = T>, first: bool) {
    match first {
        true => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = value),
        false => sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
    }
}

fn lent(messages: &[Vec<u8>]) -> Vec<&[u8]> {
    messages.iter().map(Vec::as_slice).collect()
}
