//! Which positions stay together from pass to pass, and what is planned of them.

use super::{BatchSize, Config, ConfigError, Span, WIDE};
use crate::loader::{MOST_IN_CHUNK, PAIRS};

/// Positions that stay together from pass to pass in large batches, where the config does not say
/// how many; half of it in small ones.
const CHUNK: usize = MOST_IN_CHUNK;

/// From here on batches are large: there is work for many threads.
const LARGE: usize = 8192;

/// The fewest chunks that a batch mixes.
const CHUNKS: usize = 4;

/// Passes over the data from which on pairs are worth the search for them.
const PASSES: u64 = 2;

impl Config {
    /// Positions that stay together from pass to pass; 0: none do.
    pub fn chunk(&self) -> usize {
        let BatchSize::Positions(batch) = self.batch() else { return 0 };
        let usual = if batch < LARGE { CHUNK / 2 } else { CHUNK };
        let chunk = self.data.chunk.unwrap_or(usual);
        if self.is_net() && batch >= CHUNKS * chunk { chunk } else { 0 }
    }

    /// Pairs of inputs that share a row, for data of this many positions.
    pub fn pairs(&self, positions: u64) -> usize {
        // A run that is made longer goes on as it began.
        let began = self.earlier_spans(positions).into_iter().next().map(|(span, _)| span);
        let Span { steps, batch, .. } = began.unwrap_or(self.span(positions));
        let comes_again = steps.saturating_mul(batch) >= PASSES * positions;
        let is_wide = self.model.hidden.is_some_and(|hidden| hidden >= WIDE);
        if comes_again && is_wide { PAIRS } else { 0 }
    }

    /// An error where `data.chunk` cannot be used.
    pub(super) fn check_chunk(&self) -> Result<(), ConfigError> {
        let wrong = |reason| Err(ConfigError::Value { key: "data.chunk", reason });
        match self.data.chunk {
            Some(chunk) if chunk > MOST_IN_CHUNK => {
                wrong(format!("at most {MOST_IN_CHUNK} positions stay together"))
            }
            Some(_) if !self.is_net() => wrong("only nets take positions chunk by chunk".into()),
            _ => Ok(()),
        }
    }
}
