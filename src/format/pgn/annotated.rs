//! A game of a match, written with what its players saw.

use shakmaty::{Chess, Move, Position as _, san::SanPlus};

use super::movetext::{Movetext, score_text, start_tags, tag};
use super::tags::Outcome;
use crate::format::fields;
use crate::sample::Position;

/// A move and what its side saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Ply {
    pub played: Move,
    /// Centipawns, or [`super::comment::MATE`] less the half-moves to a mate; None where nothing
    /// was said.
    pub score: Option<i16>,
    /// Half-moves.
    pub depth: u32,
}

/// A game from its opening to its end.
#[derive(Clone, Debug)]
pub struct Annotated<'a> {
    pub event: &'a str,
    pub round: String,
    /// White and Black.
    pub players: [&'a str; 2],
    /// Tags behind those that every game has; those of the start are added.
    pub tags: Vec<(&'a str, String)>,
    pub start: &'a Chess,
    /// Legal, one after the other.
    pub plies: &'a [Ply],
    /// 0, 0.5 or 1.
    pub white_result: f32,
}

impl Annotated<'_> {
    /// Appends the game.
    ///
    /// # Errors
    /// If a score or the result is none that can be written.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), String> {
        let outcome = Outcome::Won(fields::result_byte(self.white_result)?).text();
        let [white, black] = self.players;
        for (name, value) in [
            ("Event", self.event),
            ("Site", "?"),
            ("Date", "????.??.??"),
            ("Round", &self.round),
            ("White", white),
            ("Black", black),
            ("Result", outcome),
        ] {
            tag(name, value, out);
        }
        self.tags.iter().for_each(|(name, value)| tag(name, value, out));
        start_tags(&Position::from_chess(self.start), out);
        out.push(b'\n');
        let (mut moves, mut chess) = (Movetext::default(), self.start.clone());
        for (i, Ply { played, score, depth }) in self.plies.iter().enumerate() {
            let number = chess.fullmoves();
            if chess.turn().is_white() {
                moves.word(&format!("{number}."));
            } else if i == 0 {
                moves.word(&format!("{number}..."));
            }
            let san = SanPlus::from_move_and_play_unchecked(&mut chess, *played);
            moves.word(&san.to_string());
            if let Some(score) = score {
                moves.word(&score_text(*score, *depth)?);
            }
        }
        moves.word(outcome);
        moves.finish(out);
        Ok(())
    }
}
