//! Who reads the files of a run: this process alone, or ranks with a share of them each.

use std::cmp::Reverse;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::LoadError;
use crate::batch::OfRank;
use crate::digest;
use crate::input::regular;

/// Those who look at the data of a run together, each at some of the files.
pub trait Readers: Sync {
    /// Which of them this is.
    fn which(&self) -> OfRank;

    /// What all of them say, in their order, each of them once.
    ///
    /// # Errors
    /// If one of them is silent.
    fn say(&self, words: Vec<u8>) -> Result<Vec<Vec<u8>>, LoadError>;
}

/// A process that reads everything by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneReader;

impl Readers for OneReader {
    fn which(&self) -> OfRank {
        OfRank::ALL
    }

    fn say(&self, words: Vec<u8>) -> Result<Vec<Vec<u8>>, LoadError> {
        Ok(vec![words])
    }
}

/// A file as it is at one of the readers: two that are alike have the same content, almost surely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    bytes: u64,
    /// Of some places in it.
    digest: String,
}

/// How long a reader reads before it says how far it is.
const ROUND: Duration = Duration::from_millis(200);

impl dyn Readers + '_ {
    /// Whether there is one.
    fn is_alone(&self) -> bool {
        self.which() == OfRank::ALL
    }

    /// What all of them say, in their order; this one's words are its own.
    ///
    /// # Errors
    /// If one of them is silent.
    pub(super) fn tell<T: Serialize + DeserializeOwned>(
        &self,
        words: T,
    ) -> Result<Vec<T>, LoadError> {
        if self.is_alone() {
            return Ok(vec![words]);
        }
        let bytes = postcard::to_stdvec(&words).expect("numbers and texts can be written down");
        let (said, rank) = (self.say(bytes)?, self.which().rank);
        let mut own = Some(words);
        let heard = said.iter().enumerate().map(|(other, bytes)| match other == rank {
            true => Ok(own.take().expect("it is one of them")),
            false => postcard::from_bytes(bytes).map_err(|_| LoadError::Unheard(other)),
        });
        heard.collect()
    }

    /// Does this reader's part of a work that takes long, and waits for the others: all tell each
    /// other how far they are, so that nobody seems to be silent. `seen` is told of what all of them
    /// have seen, and `work` tells of its part.
    ///
    /// # Errors
    /// Those of the work, and if one of them is silent.
    pub(super) fn together<T: Send>(
        &self,
        work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> Result<T, LoadError> + Send,
        seen: &(dyn Fn(u64) + Sync),
    ) -> Result<T, LoadError> {
        if self.is_alone() {
            return work(seen);
        }
        let count = AtomicU64::new(0);
        let add = |more| {
            count.fetch_add(more, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            let (end, ended) = channel();
            scope.spawn(move || {
                // Nobody left to hear it is no error.
                let _ = end.send(work(&add));
            });
            let (mut result, mut known) = (None, 0);
            loop {
                if result.is_none() {
                    result = match ended.recv_timeout(ROUND) {
                        Ok(result) => Some(result?),
                        Err(RecvTimeoutError::Timeout) => None,
                        Err(RecvTimeoutError::Disconnected) => {
                            return Err(LoadError::Unheard(self.which().rank));
                        }
                    };
                }
                let said = self.tell((result.is_some(), count.load(Ordering::Relaxed)))?;
                let all = said.iter().map(|(_, count)| count).sum();
                seen(all - known);
                known = all;
                if said.iter().all(|(is_done, _)| *is_done) {
                    return Ok(result.expect("this one is done as well"));
                }
            }
        })
    }

    /// The places of the files that this reader reads: each file has one reader, among those on
    /// whose machines it is, and all of them have about as many bytes.
    ///
    /// # Errors
    /// A file that nobody has, or that is not the same everywhere.
    pub(super) fn share(&self, files: &[PathBuf]) -> Result<Vec<usize>, LoadError> {
        if self.is_alone() {
            return Ok((0..files.len()).collect());
        }
        let OfRank { rank, size } = self.which();
        let marks: Vec<Option<Mark>> =
            files.iter().map(|path| mark(path)).collect::<Result<_, _>>()?;
        let marks = self.tell(marks)?;
        let who_has = |place: usize| {
            let having = marks.iter().enumerate();
            having.filter_map(move |(rank, marks)| marks[place].as_ref().map(|mark| (rank, mark)))
        };
        let mut sizes = Vec::with_capacity(files.len());
        for (place, path) in files.iter().enumerate() {
            let mut having = who_has(place);
            let Some((first, mark)) = having.next() else {
                let error = regular(path).err().unwrap_or(ErrorKind::NotFound.into());
                return Err(LoadError::Nowhere { path: path.clone(), readers: size, error });
            };
            if let Some((other, _)) = having.find(|(_, other)| *other != mark) {
                return Err(LoadError::Unlike { path: path.clone(), readers: [first, other] });
            }
            sizes.push((mark.bytes, place));
        }
        sizes.sort_by_key(|(bytes, place)| (Reverse(*bytes), *place));
        let (mut sums, mut own) = (vec![0; size], Vec::new());
        for (bytes, place) in sizes {
            let readers = who_has(place).map(|(rank, _)| rank);
            let reader = readers.min_by_key(|rank| sums[*rank]).expect("somebody has it");
            // To open a file takes time as well.
            sums[reader] += bytes + 1;
            if reader == rank {
                own.push(place);
            }
        }
        own.sort_unstable();
        Ok(own)
    }
}

/// What a file is here; nothing where it is not.
fn mark(path: &Path) -> Result<Option<Mark>, LoadError> {
    match digest::of_places(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LoadError::Hash { path: path.to_path_buf(), error }),
        Ok((bytes, digest)) => Ok(Some(Mark { bytes, digest })),
    }
}
