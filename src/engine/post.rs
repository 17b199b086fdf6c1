//! What other ranks are told, and tell: letters that go from one to another at any time.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::EngineError;

/// Brings letters from one process to another. The processes are ranks, counted from 0; rank 0 hands
/// out the work.
///
/// To lose a rank is no matter of whoever uses it: then the process ends, with the reason.
pub trait Post: Debug + Send + Sync {
    /// The number of this rank, below [`Post::size`].
    fn rank(&self) -> usize;

    /// How many ranks there are, 2 or more.
    fn size(&self) -> usize;

    /// What a rank is called in messages.
    fn name(&self, rank: usize) -> String;

    /// Hands over a letter, and does not wait until it is there. Those from one rank to another
    /// arrive in their order.
    fn send(&self, to: usize, letter: Vec<u8>);

    /// Waits for the next letter, and says whose it is. None if there can be no more.
    fn receive(&self) -> Option<(usize, Vec<u8>)>;
}

impl dyn Post + '_ {
    /// Whether this is one that works for rank 0.
    pub fn helps(&self) -> bool {
        self.rank() > 0
    }

    pub(super) fn tell(&self, to: usize, what: &impl Serialize) {
        self.send(to, serde_json::to_vec(what).expect("letters are plain data"));
    }

    /// The next letter and whose it is.
    pub(super) fn hear<L: DeserializeOwned>(&self) -> Result<(usize, L), EngineError> {
        let gone =
            || EngineError::Rank { name: "another rank".into(), reason: "it is gone".into() };
        let (from, letter) = self.receive().ok_or_else(gone)?;
        let read = serde_json::from_slice(&letter);
        let read = read.map_err(|error| EngineError::Rank {
            name: self.name(from),
            reason: format!("it runs another version of this program ({error})"),
        });
        Ok((from, read?))
    }
}
