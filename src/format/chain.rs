//! Samples that follow from each other, chained into a game again, for formats that write games.

use std::num::NonZeroU64;

use shakmaty::{Chess, Move};

use super::Told;
use super::fields;
use crate::sample::{GameHash, Played, Position, Sample};

/// Why a sample without a move cannot be written into a game.
pub const MOVELESS: &str = "it lacks the move played, so it is not part of a game; write \
                            bulletformat, text or epd";

/// A game under way.
pub struct Chain {
    /// After the moves played so far.
    pub chess: Chess,
    /// The byte that stands for the result as White sees it.
    pub white_result: u8,
    game: Option<NonZeroU64>,
    hash: GameHash,
    /// Positions so far that count, and positions that are marked as left out.
    kept: u64,
    marked: u64,
}

impl Chain {
    /// Begins a game at the position of a sample.
    pub fn start(sample: &Sample) -> Result<Self, String> {
        let chess = sample.position.to_chess().map_err(|error| error.to_string())?;
        let (white_result, game) = (white_result(sample)?, sample.game);
        let hash = GameHash::of(&Position::from_chess(&chess));
        Ok(Self { chess, white_result, game, hash, kept: 0, marked: 0 })
    }

    /// Whether a sample goes on with this game: it has the same [`Sample::game`] and result, and
    /// the moves played lead to it.
    pub fn leads_to(&self, sample: &Sample) -> bool {
        self.game == sample.game
            && white_result(sample) == Ok(self.white_result)
            && Position::from_chess(&self.chess) == sample.position
    }

    /// Takes a sample in, whose move is played by the caller.
    pub fn take(&mut self, sample: &Sample, played: Played) {
        self.hash.play(played);
        *if sample.is_left_out() { &mut self.marked } else { &mut self.kept } += 1;
    }

    /// Whether any position counts; a game without one need not be written.
    pub fn counts(&self) -> bool {
        self.kept > 0
    }

    /// The move that is played now, if it is legal.
    pub fn legal(&self, played: Played) -> Result<Move, String> {
        played.legal_move(&self.chess).ok_or_else(|| {
            let fen = Position::from_chess(&self.chess).fen();
            format!("move {:#06x} is not legal in {fen}", played.0)
        })
    }
}

/// Which chains are games.
#[derive(Default)]
pub struct Games {
    /// Whether none is, whatever samples know.
    pub forgotten: bool,
    pub told: Told,
}

impl Games {
    /// Whether a chain that has ended is read back as the game that its samples know: they know
    /// one, and its moves are all there.
    pub fn whole(&mut self, game: Option<NonZeroU64>, hash: GameHash) -> bool {
        let whole = !self.forgotten && game == Some(hash.game());
        self.told.games_lost |= game.is_some() && !whole;
        whole
    }

    /// The same of a chain, whose marks are counted.
    pub fn end(&mut self, chain: &Chain) -> bool {
        self.told.marked += chain.marked;
        self.whole(chain.game, chain.hash)
    }
}

fn white_result(sample: &Sample) -> Result<u8, String> {
    fields::result_byte(fields::turned_result(sample.result, sample.position.turn()))
}
