//! Openings of games: a start position and random moves.

use std::path::PathBuf;

use rand::{RngExt, seq::SliceRandom};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use shakmaty::{Bitboard, Board, CastlingMode, Chess, Color, FromSetup as _, Position as _, Setup};

use super::EngineError;
use super::game::Referee;
use crate::digest;
use crate::digits::count_noun;
use crate::format::book;
use crate::sample::{Position, mix_hash};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartPosition {
    Standard,
    /// One of 960 arrays, the same for both sides.
    Chess960,
    /// One of 960 arrays for each side.
    DoubleChess960,
    /// A file with one FEN or EPD per line, or games in PGN, whose last positions are used. The seed
    /// shuffles them; each is used once before any is used twice.
    Book(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Openings {
    pub start: StartPosition,
    /// Smallest and largest number of random half-moves; all are equally likely.
    pub plies: (u32, u32),
    /// Highest score of a first search for either side. Openings with a higher one are rejected.
    pub bound: i16,
}

impl Default for Openings {
    fn default() -> Self {
        Self { start: StartPosition::Standard, plies: (8, 9), bound: 400 }
    }
}

impl Openings {
    /// Lists the settings that games depend on, for the journal. A book counts by its content.
    pub fn list_settings(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        let start = match &self.start {
            StartPosition::Book(path) => {
                let failed = |error| EngineError::Input { path: path.clone(), error };
                format!("book {}", digest::of_file(path).map_err(failed)?)
            }
            start => format!("{start:?}"),
        };
        let plies = format!("{} to {}", self.plies.0, self.plies.1);
        Ok(vec![("start", start), ("plies", plies), ("bound", self.bound.to_string())])
    }
}

/// Largest number of openings that are tried for a game.
const ATTEMPTS: u64 = 100;

/// Openings by number of game. Each depends on the seed and the number alone.
#[derive(Debug)]
pub struct Opener {
    start: StartPosition,
    plies: (u32, u32),
    seed: u64,
    book: Vec<Position>,
    /// Note on positions of the book that are left out.
    pub note: Option<String>,
}

impl Opener {
    /// Reads the book, if any, and checks that `games` games can differ.
    ///
    /// # Errors
    ///
    /// Fails with [`EngineError::Book`] if the book cannot be read, with
    /// [`EngineError::FinishedBook`] if all its positions are finished, with
    /// [`EngineError::SmallBook`] if it has too few for games without random moves, and with
    /// [`EngineError::SameGames`] if all games would be the same.
    pub fn new(openings: &Openings, seed: u64, games: u64) -> Result<Self, EngineError> {
        let (min_plies, max_plies) = openings.plies;
        let (mut book, mut note) = (Vec::new(), None);
        if let StartPosition::Book(path) = &openings.start {
            let positions = book::read_book(path)?;
            let is_over = |position: &Position| {
                Referee::is_over(&position.to_chess().expect("books are checked")).is_some()
            };
            let over: Vec<Position>;
            (over, book) = positions.into_iter().partition(is_over);
            let (lines, finished) = (book.len(), over.len());
            let path = path.clone();
            note = over.first().map(|first| {
                let count = count_noun(finished as u64, "finished position");
                format!("{}: {count} left out, the first {}", path.display(), first.to_fen())
            });
            if book.is_empty() {
                return Err(EngineError::FinishedBook { path, finished });
            }
            if min_plies == 0 && games > lines as u64 {
                return Err(EngineError::SmallBook { path, lines, finished, games });
            }
            book.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        }
        if openings.start == StartPosition::Standard && max_plies == 0 && games > 1 {
            return Err(EngineError::SameGames);
        }
        let plies = (min_plies.min(max_plies), max_plies);
        Ok(Self { start: openings.start.clone(), plies, seed, book, note })
    }

    /// Returns the opening number `attempt` of a game; None if it ends the game.
    pub fn find_opening(&self, game: u64, attempt: u64) -> Option<Chess> {
        let seed = mix_hash(mix_hash(self.seed, game), attempt);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut array = || random.random_range(0..ARRAYS);
        let mut chess = match self.start {
            StartPosition::Standard => Chess::new(),
            StartPosition::Chess960 => chess960_start([array(); 2]),
            StartPosition::DoubleChess960 => chess960_start([array(), array()]),
            StartPosition::Book(_) => {
                let line = game % self.book.len() as u64;
                self.book[line as usize].to_chess().expect("checked when the book was read")
            }
        };
        for _ in 0..random.random_range(self.plies.0..=self.plies.1) {
            let moves = chess.legal_moves();
            if moves.is_empty() {
                return None;
            }
            chess.play_unchecked(moves[random.random_range(0..moves.len())]);
        }
        Referee::is_over(&chess).is_none().then_some(chess)
    }

    /// Iterates over the openings to try for a game.
    pub fn list_openings(&self, game: u64) -> impl Iterator<Item = Chess> {
        let attempts = if self.has_choice() { ATTEMPTS } else { 1 };
        (0..attempts).filter_map(move |attempt| self.find_opening(game, attempt))
    }

    /// Returns whether another attempt can give another opening.
    pub fn has_choice(&self) -> bool {
        self.plies.1 > 0
            || matches!(self.start, StartPosition::Chess960 | StartPosition::DoubleChess960)
    }
}

/// Number of arrays, as numbered by Reinhard Scharnagl. 518 is the usual array.
pub const ARRAYS: u16 = 960;

/// Returns a start position of Chess960, or of double Chess960, with all castling rights.
pub fn chess960_start(arrays: [u16; 2]) -> Chess {
    let mut setup = Setup::initial();
    setup.board = Board::empty();
    for (color, array) in Color::ALL.into_iter().zip(arrays) {
        let pieces = Board::chess960(array.into()).into_iter();
        pieces.filter(|it| it.1.color == color).for_each(|it| setup.board.set_piece_at(it.0, it.1));
    }
    setup.castling_rights = setup.board.rooks() & Bitboard::BACKRANKS;
    Chess::from_setup(setup, CastlingMode::Chess960)
        .expect("no piece attacks anything but pawns that stand before its king's array")
}
