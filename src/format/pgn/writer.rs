//! Samples to PGN.

use shakmaty::{File, Role, san::SanPlus};

use super::comment::{LARGEST, LEFT_OUT, LONGEST_MATE, MATE};
use super::tags::{Outcome, UNKNOWN};
use crate::format::chain::{Chain, Games, MOVELESS};
use crate::format::{Told, Writer};
use crate::sample::{Position, Sample};

/// Lines are broken before they are longer.
const WIDTH: usize = 80;
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A sample to which no game under way leads starts a game of its own.
#[derive(Default)]
pub struct PgnWriter {
    /// The game under way, and where it starts.
    game: Option<(Chain, Position)>,
    /// Its moves.
    text: Vec<u8>,
    /// The length of the line under way.
    column: usize,
    games: Games,
}

impl Writer for PgnWriter {
    fn write(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(played) = sample.played else { return Err(MOVELESS.to_string()) };
        let comment = match sample.score {
            _ if sample.is_left_out() => Some(format!("{{{LEFT_OUT}}}")),
            score => score.map(score_text).transpose()?,
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
            self.word(&format!("{number}."));
        } else if !goes_on {
            self.word(&format!("{number}..."));
        }
        game.take(sample, played);
        let san = SanPlus::from_move_and_play_unchecked(&mut game.chess, legal);
        self.word(&san.to_string());
        if let Some(comment) = comment {
            self.word(&comment);
        }
        self.game = Some((game, start));
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some((game, start)) = self.game.take().filter(|(game, _)| game.counts()) {
            self.word(outcome(&game).text());
            let part = !self.games.end(&game);
            write_tags(&start, outcome(&game), part, out);
            out.extend_from_slice(&self.text);
            out.extend_from_slice(b"\n\n");
        }
        self.text.clear();
        self.column = 0;
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

impl PgnWriter {
    fn word(&mut self, word: &str) {
        if self.column > 0 {
            let breaks = self.column + 1 + word.len() > WIDTH;
            self.text.push(if breaks { b'\n' } else { b' ' });
            self.column = if breaks { 0 } else { self.column + 1 };
        }
        self.text.extend_from_slice(word.as_bytes());
        self.column += word.len();
    }
}

fn outcome(game: &Chain) -> Outcome {
    Outcome::Won(game.white_result)
}

fn write_tags(start: &Position, outcome: Outcome, part: bool, out: &mut Vec<u8>) {
    let mut tag = |name: &str, value: &str| {
        out.extend_from_slice(format!("[{name} \"{value}\"]\n").as_bytes());
    };
    for name in ["Event", "Site", "Date", "Round", "White", "Black"] {
        tag(name, if name == "Date" { "????.??.??" } else { "?" });
    }
    tag("Result", outcome.text());
    if part {
        tag(UNKNOWN.0, UNKNOWN.1);
    }
    let fen = start.fen();
    if fen != START {
        if castles_unusually(start) {
            tag("Variant", "Chess960");
        }
        tag("SetUp", "1");
        tag("FEN", &fen);
    }
    out.push(b'\n');
}

/// Whether a king or a rook that may still castle stands on another file than in usual chess.
fn castles_unusually(position: &Position) -> bool {
    let king = |color| {
        position
            .pieces()
            .find(|piece| piece.role == Role::King && piece.color == color)
            .map(|piece| piece.square)
    };
    position.pieces().filter(|piece| piece.castles).any(|rook| {
        !matches!(rook.square.file(), File::A | File::H)
            || king(rook.color).is_some_and(|king| king.file() != File::E)
    })
}

/// A score as cutechess writes it.
fn score_text(score: i16) -> Result<String, String> {
    let size = score.unsigned_abs();
    let sign = match score {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    if size > LARGEST.unsigned_abs() {
        return Err(format!("score {score} is out of range, expected -{LARGEST} to {LARGEST}"));
    }
    Ok(if size >= (MATE - LONGEST_MATE).unsigned_abs() {
        format!("{{{sign}M{}/0}}", MATE.unsigned_abs() - size)
    } else {
        format!("{{{sign}{}.{:02}/0}}", size / 100, size % 100)
    })
}
