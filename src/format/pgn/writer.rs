//! Samples to PGN.

use shakmaty::san::SanPlus;

use super::comment::LEFT_OUT;
use super::movetext::{Movetext, score_text, start_tags, tag};
use super::tags::{Outcome, UNKNOWN};
use crate::format::chain::{Chain, Games, MOVELESS};
use crate::format::{Told, Writer};
use crate::sample::{Position, Sample};

/// A sample to which no game under way leads starts a game of its own.
#[derive(Default)]
pub struct PgnWriter {
    /// The game under way, and where it starts.
    game: Option<(Chain, Position)>,
    /// Its moves.
    moves: Movetext,
    games: Games,
}

impl Writer for PgnWriter {
    fn write(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(played) = sample.played else { return Err(MOVELESS.to_string()) };
        let comment = match sample.score {
            _ if sample.is_left_out() => Some(format!("{{{LEFT_OUT}}}")),
            score => score.map(|score| score_text(score, 0)).transpose()?,
        };
        let goes_on = self.game.as_ref().is_some_and(|(game, _)| game.leads_to(sample));
        if !goes_on {
            self.finish(out);
        }
        let (mut game, start) = match self.game.take() {
            Some(game) => game,
            None => (Chain::start(sample)?, sample.position),
        };
        let legal = game.legal(played)?;
        let number = sample.position.fullmove();
        if sample.position.turn().is_white() {
            self.moves.word(&format!("{number}."));
        } else if !goes_on {
            self.moves.word(&format!("{number}..."));
        }
        game.take(sample, played);
        let san = SanPlus::from_move_and_play_unchecked(&mut game.chess, legal);
        self.moves.word(&san.to_string());
        if let Some(comment) = comment {
            self.moves.word(&comment);
        }
        self.game = Some((game, start));
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some((game, start)) = self.game.take().filter(|(game, _)| game.counts()) {
            self.moves.word(outcome(&game).text());
            let part = !self.games.end(&game);
            write_tags(&start, outcome(&game), part, out);
            self.moves.finish(out);
        }
        self.moves = Movetext::default();
    }

    fn marks(&self) -> bool {
        !self.games.forgotten
    }

    fn forget_games(&mut self) {
        self.games.forgotten = true;
    }

    fn told(&self) -> Told {
        self.games.told
    }
}

fn outcome(game: &Chain) -> Outcome {
    Outcome::Won(game.white_result)
}

fn write_tags(start: &Position, outcome: Outcome, part: bool, out: &mut Vec<u8>) {
    for name in ["Event", "Site", "Date", "Round", "White", "Black"] {
        tag(name, if name == "Date" { "????.??.??" } else { "?" }, out);
    }
    tag("Result", outcome.text(), out);
    if part {
        tag(UNKNOWN.0, UNKNOWN.1, out);
    }
    start_tags(start, out);
    out.push(b'\n');
}
