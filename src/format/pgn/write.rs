//! Writing of games as PGN: from samples, and from matches with their players' scores.

use shakmaty::san::SanPlus;
use shakmaty::{Chess, Move, Position as _};

use super::comment::{LARGEST, LONGEST_MATE, MATE};
use super::text::{LONGEST, TagOutcome};
use crate::format::fields::MoveChain;
use crate::format::{RecordError, SampleWriter, fields};
use crate::sample::{Position, Sample};
use crate::score::Score;

const WIDTH: usize = 80;

/// The moves of an unfinished game.
#[derive(Default)]
pub struct Movetext {
    text: Vec<u8>,
    /// The length of the current line.
    column: usize,
}

impl Movetext {
    pub fn append_word(&mut self, word: &str) {
        if self.column > 0 {
            let breaks = self.column + 1 + word.len() > WIDTH;
            self.text.push(if breaks { b'\n' } else { b' ' });
            self.column = if breaks { 0 } else { self.column + 1 };
        }
        self.text.extend_from_slice(word.as_bytes());
        self.column += word.len();
    }

    /// Plays a move and appends it, with its number if White moves or the game begins.
    fn append_move(&mut self, chess: &mut Chess, played: Move, begins: bool) {
        let number = chess.fullmoves();
        if chess.turn().is_white() {
            self.append_word(&format!("{number}."));
        } else if begins {
            self.append_word(&format!("{number}..."));
        }
        self.append_word(&SanPlus::from_move_and_play_unchecked(chess, played).to_string());
    }

    /// Appends all moves and the blank line after a game, and resets.
    pub fn finish_game(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.text);
        out.extend_from_slice(b"\n\n");
        self.column = 0;
    }
}

/// Appends a tag; quotes in its value are escaped.
fn append_tag(name: &str, value: &str, out: &mut Vec<u8>) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    out.extend_from_slice(format!("[{name} \"{value}\"]\n").as_bytes());
}

fn seven_tags([event, round, white, black, result]: [&str; 5], out: &mut Vec<u8>) {
    let names = ["Event", "Site", "Date", "Round", "White", "Black", "Result"];
    let values = [event, "?", "????.??.??", round, white, black, result];
    names.iter().zip(values).for_each(|(name, value)| append_tag(name, value, out));
}

/// Appends the tags of the first position, unless it is the initial position of chess.
fn start_tags(start: &Position, out: &mut Vec<u8>) {
    if *start != Position::from_chess(&Chess::new()) {
        if start.castles_unusually() {
            append_tag("Variant", "Chess960", out);
        }
        append_tag("SetUp", "1", out);
        append_tag("FEN", &start.to_fen(), out);
    }
}

/// Formats the mover's score with its depth, as cutechess does: `{+0.35/12}`, `{-M4/9}`.
fn score_text(score: i16, depth: u32) -> Result<String, RecordError> {
    let size = score.unsigned_abs();
    let sign = match score {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    if size > LARGEST.unsigned_abs() {
        return Err(fields::score_error(score.into(), LARGEST));
    }
    Ok(if size >= (MATE - LONGEST_MATE).unsigned_abs() {
        format!("{{{sign}M{}/{depth}}}", MATE.unsigned_abs() - size)
    } else {
        format!("{{{sign}{}.{:02}/{depth}}}", size / 100, size % 100)
    })
}

/// A writer of PGN. A sample that does not continue the current game starts a new one.
#[derive(Default)]
pub struct PgnWriter {
    game: Option<MoveChain>,
    forfeit: bool,
    moves: Movetext,
}

impl SampleWriter for PgnWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let comment = sample.score.map(|score| score_text(score, 0)).transpose()?;
        let (legal, new_game) = MoveChain::follow_move(self.game.as_ref(), sample)?;
        let begins = new_game.is_some();
        if begins {
            self.finish_output(out);
            self.game = new_game;
            self.forfeit = sample.forfeit;
        }
        if self.moves.text.len() > LONGEST / 2 {
            let limit = LONGEST >> 21;
            return Err(format!("its game has more than {limit} MiB of moves").into());
        }
        if let Some(game) = &mut self.game {
            self.moves.append_move(&mut game.chess, legal, begins);
        }
        comment.iter().for_each(|comment| self.moves.append_word(comment));
        Ok(())
    }

    fn finish_output(&mut self, out: &mut Vec<u8>) {
        if let Some(game) = self.game.take() {
            let outcome = TagOutcome::Won(game.white_result).as_text();
            self.moves.append_word(outcome);
            seven_tags(["?", "?", "?", "?", outcome], out);
            start_tags(&game.start, out);
            if self.forfeit {
                append_tag("Termination", "forfeit", out);
            }
            out.push(b'\n');
            self.moves.finish_game(out);
        }
        self.moves = Movetext::default();
    }
}

/// A move of a game, with the score of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnnotatedPly {
    pub played: Move,
    /// The score from the point of view of the side that moved.
    pub score: Option<Score>,
    /// The search depth in half-moves.
    pub depth: u32,
}

#[derive(Clone, Debug)]
pub struct AnnotatedGame<'a> {
    pub event: &'a str,
    pub round: String,
    pub players: [&'a str; 2],
    /// The tags besides the seven of every game and the tags of the start.
    pub tags: Vec<(&'a str, String)>,
    pub start: &'a Chess,
    pub plies: &'a [AnnotatedPly],
    /// The result, 0, 0.5 or 1.
    pub white_result: f32,
}

impl AnnotatedGame<'_> {
    pub fn write_game(&self, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let outcome = TagOutcome::Won(fields::result_byte(self.white_result)?).as_text();
        let [white, black] = self.players;
        seven_tags([self.event, &self.round, white, black, outcome], out);
        self.tags.iter().for_each(|(name, value)| append_tag(name, value, out));
        start_tags(&Position::from_chess(self.start), out);
        out.push(b'\n');
        let mut moves = Movetext::default();
        let mut chess = self.start.clone();
        for (i, AnnotatedPly { played, score, depth }) in self.plies.iter().enumerate() {
            moves.append_move(&mut chess, *played, i == 0);
            if let Some(score) = score {
                moves.append_word(&score_text(score_in_comment(*score), *depth)?);
            }
        }
        moves.append_word(outcome);
        moves.finish_game(out);
        Ok(())
    }
}

/// Converts a score for a comment, in which mates count half-moves.
fn score_in_comment(score: Score) -> i16 {
    let limit = i32::from(LARGEST - LONGEST_MATE);
    let score = match score {
        Score::Centipawns(score) => score.clamp(-limit, limit),
        Score::Mate(moves) => {
            // The side that mates makes the last move, so it needs one half-move less.
            let plies = moves.saturating_abs().saturating_mul(2) - i32::from(moves > 0);
            let size = i32::from(MATE) - plies.clamp(1, LONGEST_MATE.into());
            if moves > 0 { size } else { -size }
        }
    };
    score as i16
}
