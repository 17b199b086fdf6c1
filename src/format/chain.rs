//! Samples that follow from each other, chained into a game again, for formats that write games.

use std::num::NonZeroU64;

use shakmaty::{Chess, Move};

use super::fields;
use crate::sample::{Played, Position, Sample};

/// Why a sample cannot be written into a game.
pub const GAMELESS: &str =
    "its game or the move played is unknown; write bulletformat, text or epd";

/// A game under way.
pub struct Chain {
    /// After the moves played so far.
    pub chess: Chess,
    /// The byte that stands for the result as White sees it.
    pub white_result: u8,
    game: Option<NonZeroU64>,
}

impl Chain {
    /// Begins a game at the position of a sample.
    pub fn start(sample: &Sample) -> Result<Self, String> {
        let chess = sample.position.to_chess().map_err(|error| error.to_string())?;
        Ok(Self { chess, white_result: white_result(sample)?, game: sample.game })
    }

    /// Whether a sample goes on with this game: it has the same [`Sample::game`] and result, and
    /// the moves played lead to it.
    pub fn leads_to(&self, sample: &Sample) -> bool {
        self.game == sample.game
            && white_result(sample) == Ok(self.white_result)
            && Position::from_chess(&self.chess) == sample.position
    }

    /// The move that is played now, if it is legal.
    pub fn legal(&self, played: Played) -> Result<Move, String> {
        played.legal_move(&self.chess).ok_or_else(|| {
            let fen = Position::from_chess(&self.chess).fen();
            format!("move {:#06x} is not legal in {fen}", played.0)
        })
    }
}

fn white_result(sample: &Sample) -> Result<u8, String> {
    fields::result_byte(fields::turned_result(sample.result, sample.position.turn()))
}
