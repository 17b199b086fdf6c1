//! Samples to PGN.

use shakmaty::{File, Role, san::SanPlus};

use super::comment::{LARGEST, LONGEST_MATE, MATE};
use super::tags::Outcome;
use crate::format::Writer;
use crate::format::chain::{Chain, MOVELESS};
use crate::sample::{Position, Sample};

/// Lines are broken before they are longer.
const WIDTH: usize = 80;
const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A sample to which no game under way leads starts a game of its own.
#[derive(Default)]
pub struct PgnWriter {
    game: Option<Chain>,
    /// The length of the line under way.
    column: usize,
}

impl Writer for PgnWriter {
    fn write(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(played) = sample.played else { return Err(MOVELESS.to_string()) };
        let score = sample.score.map(score_text).transpose()?;
        let goes_on = self.game.as_ref().is_some_and(|game| game.leads_to(sample));
        let mut game = match self.game.take() {
            Some(game) if goes_on => game,
            ended => {
                if let Some(ended) = ended {
                    self.end(&ended, out);
                }
                let game = Chain::start(sample)?;
                write_tags(&sample.position, outcome(&game), out);
                self.column = 0;
                game
            }
        };
        let legal = game.legal(played)?;
        let number = sample.position.fullmove();
        if sample.position.turn().is_white() {
            self.word(&format!("{number}."), out);
        } else if !goes_on {
            self.word(&format!("{number}..."), out);
        }
        let san = SanPlus::from_move_and_play_unchecked(&mut game.chess, legal);
        self.word(&san.to_string(), out);
        if let Some(score) = score {
            self.word(&score, out);
        }
        self.game = Some(game);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(game) = self.game.take() {
            self.end(&game, out);
        }
    }
}

impl PgnWriter {
    fn end(&mut self, game: &Chain, out: &mut Vec<u8>) {
        self.word(outcome(game).text(), out);
        out.extend_from_slice(b"\n\n");
    }

    fn word(&mut self, word: &str, out: &mut Vec<u8>) {
        if self.column > 0 {
            let breaks = self.column + 1 + word.len() > WIDTH;
            out.push(if breaks { b'\n' } else { b' ' });
            self.column = if breaks { 0 } else { self.column + 1 };
        }
        out.extend_from_slice(word.as_bytes());
        self.column += word.len();
    }
}

fn outcome(game: &Chain) -> Outcome {
    Outcome::Won(game.white_result)
}

fn write_tags(start: &Position, outcome: Outcome, out: &mut Vec<u8>) {
    let mut tag = |name: &str, value: &str| {
        out.extend_from_slice(format!("[{name} \"{value}\"]\n").as_bytes());
    };
    for name in ["Event", "Site", "Date", "Round", "White", "Black"] {
        tag(name, if name == "Date" { "????.??.??" } else { "?" });
    }
    tag("Result", outcome.text());
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
            .men()
            .find(|man| man.role == Role::King && man.color == color)
            .map(|man| man.square)
    };
    position.men().filter(|man| man.castles).any(|rook| {
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
