//! Who searches positions: a program that speaks UCI, or a search within this program.

use std::sync::Arc;

use super::EngineError;
use super::pool::Workers;
use super::search::{Limit, Searched};
use super::uci::{Fault, Line};

/// One at the board, who remembers what was searched before.
pub trait Player {
    /// Searches the position at the end of a line; it must have a legal move.
    fn search(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault>;

    /// Searches without memory of earlier searches, so that the result depends on the line alone.
    fn search_anew(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault>;
}

/// Who can sit down at several boards at once.
pub trait Entrant: Send + Sync {
    fn name(&self) -> String;

    /// Sits down at one more board.
    fn player(&self) -> Result<Box<dyn Player + '_>, EngineError>;

    /// All that its answers depend on, for the journal of a job: names and values.
    fn settings(&self) -> Result<Vec<(&'static str, String)>, EngineError>;
}

/// Those who work on a job.
#[derive(Clone)]
pub struct Crew {
    pub entrant: Arc<dyn Entrant>,
    /// Players side by side, at least 1. What they make does not depend on it.
    pub players: usize,
    /// How often an item is tried again, each time with a fresh player, before it is skipped.
    pub retries: u32,
}

impl Crew {
    pub(super) fn workers<'a>(
        &'a self,
    ) -> Workers<impl Fn() -> Result<Box<dyn Player + 'a>, EngineError> + Sync + use<'a>> {
        Workers { start: || self.entrant.player(), count: self.players, retries: self.retries }
    }
}
