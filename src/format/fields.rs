//! Fields shared by several formats: results and scores, and their points of view.

use std::borrow::Cow;
use std::num::NonZeroU64;

use shakmaty::{Board, Chess, Color, Move, Rank, Role, Square};

use crate::sample::{IllegalPosition, PlayedMove, Position, Sample};

/// The reason why a record is not a legal position or game, or why a format cannot store a sample.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum RecordError {
    #[error(transparent)]
    Position(#[from] IllegalPosition),
    #[error("{0}: `{1}`")]
    Fen(Box<RecordError>, Box<str>),
    #[error("{0}")]
    Fixed(&'static str),
    /// Words with a value instead of `{}`.
    #[error("{}", .0.replace("{}", .1))]
    Quoted(&'static str, Box<str>),
    #[error("{}", .0.replace("{}", &.1.to_string()))]
    Number(&'static str, usize),
    #[error("{}", .0.replace("{}", &.1.to_string()))]
    AtSquare(&'static str, Square),
    /// Words with a value instead of `{}`, and a limit after them.
    #[error("{}{}", .0.replace("{}", &.1.to_string()), .2)]
    Limit(&'static str, usize, usize),
    #[error("{0} in {fen}", fen = .1.to_fen())]
    Move(Box<str>, Box<Position>),
    #[error("result {0}, expected {1}")]
    Result(f32, &'static str),
    #[error("score {0} is out of range, expected -{1} to {1}")]
    Score(i64, i16),
    #[error("king bytes {0} and {1}, but on the board they are {2} and {3}")]
    KingBytes(u8, u8, u8, u8),
    #[error("move {0}{1} is not legal")]
    ChainMove(Square, Square),
    #[error("move {0} of {1} of the piece on {2}")]
    MoveNumber(u32, u32, Square),
    #[error("{0}; the last {1} bytes of the chunk are lost with it")]
    Chain(Box<RecordError>, usize),
    #[error("the moves end with {0}, but the result before was {1}")]
    Outcomes(&'static str, &'static str),
    #[error("phase {0}, expected at most `phase {1}` of the term list")]
    TracePhase(f32, f64),
    #[error("scale factor {0}, expected at most twice `scale {1}` of the term list")]
    TraceScale(f32, f64),
    #[error("term {0} is a complexity term without sides, but has {1} for Black")]
    TraceSides(u16, i16),
    #[error(
        "the engine's evaluation is {0:+.2}, but its counts with the weights of the term list give \
         {1:+.2} (centipawns for White); print list and traces with one build, without caches and \
         early exits"
    )]
    TraceEvaluation(f64, f64),
}

impl From<&'static str> for RecordError {
    fn from(text: &'static str) -> Self {
        Self::Fixed(text)
    }
}
pub fn quote_text(words: &'static str, text: &str) -> RecordError {
    RecordError::Quoted(words, text.into())
}

/// Converts a score between White's point of view and the side to move's. Fails for -32768.
pub fn flip_score(score: i16, turn: Color) -> Result<i16, RecordError> {
    match score.checked_neg() {
        None => Err(RecordError::Score(score.into(), i16::MAX)),
        Some(negative) => Ok(if turn == Color::Black { negative } else { score }),
    }
}

pub fn stored_score(sample: &Sample) -> Result<i16, RecordError> {
    sample.score.ok_or("it has no score".into())
}

/// Checks that every format can store a score.
pub fn score_in_range(score: i16) -> Result<i16, RecordError> {
    flip_score(score, Color::White)
}

/// Converts a result between White's point of view and the side to move's.
pub fn flip_result(result: f32, turn: Color) -> f32 {
    if turn == Color::Black { 1.0 - result } else { result }
}

/// Converts a result of 0, 0.5, 1 to 0, 1, 2.
pub fn result_byte(result: f32) -> Result<u8, RecordError> {
    match result {
        0.0 => Ok(0),
        0.5 => Ok(1),
        1.0 => Ok(2),
        _ => Err(RecordError::Result(result, "0, 0.5 or 1")),
    }
}

/// Converts a byte of 0, 1, 2 to 0, 0.5, 1.
pub fn byte_result(byte: u8) -> Result<f32, RecordError> {
    match byte {
        0..=2 => Ok(f32::from(byte) / 2.0),
        _ => Err(RecordError::Number("result byte {}, expected 0, 1 or 2", byte.into())),
    }
}

pub fn text_result(text: &str) -> Result<f32, RecordError> {
    match text_share(text) {
        Ok(result @ (0.0 | 0.5 | 1.0)) => Ok(result),
        _ => Err(quote_text("result `{}`, expected 1.0, 0.5, 0.0, 1-0, 1/2-1/2 or 0-1", text)),
    }
}

/// Parses a result in its common form, or a number from 0 to 1 with up to six decimals.
pub fn text_share(text: &str) -> Result<f32, RecordError> {
    match text {
        "1.0" | "1-0" => return Ok(1.0),
        "0.0" | "0-1" => return Ok(0.0),
        "0.5" | "1/2-1/2" | "1/2" => return Ok(0.5),
        _ => {}
    }
    match text.parse::<f64>() {
        Ok(share @ 0.0..=1.0) => Ok(((share.abs() * 1e6).round() / 1e6) as f32),
        _ => Err(quote_text("result `{}`, expected 0 to 1, 1-0, 1/2-1/2 or 0-1", text)),
    }
}

/// Formats a number from 0 to 1 with at most six decimals, or as `1.0`, `0.5` or `0.0`.
pub fn share_text(share: f32) -> Result<String, RecordError> {
    if let Ok(text) = result_text(share) {
        return Ok(text.to_string());
    }
    if !(0.0..=1.0).contains(&share) {
        return Err(RecordError::Result(share, "0 to 1"));
    }
    Ok(format!("{}", (f64::from(share) * 1e6).round() / 1e6))
}

/// Formats a result as `1.0`, `0.5` or `0.0`.
pub fn result_text(result: f32) -> Result<&'static str, RecordError> {
    result_byte(result).map(|byte| ["0.0", "0.5", "1.0"][usize::from(byte)])
}

/// Parses a score in whole centipawns.
pub fn text_score(text: &str) -> Result<i16, RecordError> {
    let score: i64 = text
        .parse()
        .map_err(|_| quote_text("score `{}`, expected a whole number of centipawns", text))?;
    i16::try_from(score).map_err(|_| RecordError::Score(score, i16::MAX))
}
pub struct Epd<'a> {
    /// The fields of the FEN as written, 6 at most.
    pub fen: &'a str,
    pub count: usize,
    /// The texts between semicolons, perhaps empty; the first one follows the FEN.
    pub operations: Vec<&'a str>,
}

impl<'a> Epd<'a> {
    pub fn parse_fields(line: &'a str) -> Self {
        let mut quoted = false;
        let mut segments = line.split(|letter| {
            quoted ^= letter == '"';
            letter == ';' && !quoted
        });
        let first = segments.next().unwrap_or_default().trim();
        let mut operations = vec![""];
        operations.extend(segments.map(str::trim));
        let [mut rest, mut last] = [first; 2];
        let mut count = 0;
        while count < 6 && !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
            if count >= 4 && !is_whole(word) {
                break;
            }
            (last, rest, count) = (rest, after.trim_start(), count + 1);
        }
        // A single number before `;` may be a score.
        if count == 5 && rest.is_empty() && operations.len() > 1 {
            (rest, count) = (last, 4);
        }
        operations[0] = rest;
        Self { fen: first[..first.len() - rest.len()].trim_end(), count, operations }
    }

    /// The operand of an operation, without quotes.
    fn find_operand(&self, name: &str) -> Option<&'a str> {
        self.operations.iter().find_map(|operation| {
            let (key, operand) = operation.split_once(char::is_whitespace)?;
            key.eq_ignore_ascii_case(name).then(|| operand.trim().trim_matches('"'))
        })
    }

    /// Replaces a missing pair of counters by the operations `hmvc` and `fmvn`.
    pub fn full_fen(&self) -> Cow<'a, str> {
        let [halfmove, fullmove] = ["hmvc", "fmvn"].map(|name| self.find_operand(name));
        if self.count == 6 || halfmove.or(fullmove).is_none() {
            return self.fen.into();
        }
        let board = self.fen.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        format!("{board} {} {}", halfmove.unwrap_or("0"), fullmove.unwrap_or("1")).into()
    }
}

/// Whether a text has digits alone.
pub fn is_whole(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The FEN at the start of a line of FEN or EPD; text after `|`, and operations but counters, end it.
pub fn fen_of_line(line: &str) -> String {
    let fen = Epd::parse_fields(line.split('|').next().unwrap_or_default()).full_fen();
    let words: Vec<&str> = fen.split_whitespace().collect();
    // A single number may be a score.
    words[..if words.len() == 5 { 4 } else { words.len() }].join(" ")
}

/// Parses a FEN of four to six fields, without the extras of chess variants.
pub fn text_fen(text: &str) -> Result<Position, RecordError> {
    if let Some(position) = Position::from_plain_fen(text) {
        return Ok(position);
    }
    let wrong = |reason: RecordError| RecordError::Fen(reason.into(), text.into());
    let count = text.split_ascii_whitespace().count();
    if !(4..=6).contains(&count) {
        return Err(wrong(RecordError::Number("FEN of {} fields, expected 4 to 6", count)));
    }
    // shakmaty would accept pockets, promoted pieces and counts of checks.
    let slashes = text.bytes().filter(|&byte| byte == b'/').count();
    let variant = |byte| matches!(byte, b'[' | b'~' | b'+' | b'_');
    if slashes != 7 || text.bytes().fold(false, |is_variant, byte| is_variant | variant(byte)) {
        return Err(wrong("not a FEN of chess".into()));
    }
    Position::from_fen(text).map_err(|error| wrong(error.into()))
}

/// Checks that a pawn has just made a double step over the en passant square.
pub fn check_ep(board: &Board, turn: Color, square: Square) -> Result<(), RecordError> {
    let [pawn, start] = [8, 24].map(|bits| Square::try_from(square as u32 ^ bits).ok());
    let empty = |square| board.piece_at(square).is_none();
    let stands = |pawn| board.piece_at(pawn) == Some(Role::Pawn.of(!turn));
    let fits = square.rank() == turn.relative_rank(Rank::Sixth)
        && pawn.is_some_and(stands)
        && empty(square)
        && start.is_some_and(empty);
    let words = "en passant square {}, but no pawn has just passed it";
    fits.then_some(()).ok_or(RecordError::AtSquare(words, square))
}

/// The number of half-moves since the start of the game, by the move number if there is no ply.
pub fn ply_of_sample(sample: &Sample) -> u16 {
    let position = &sample.position;
    sample.ply.unwrap_or_else(|| half_moves(position.fullmove().into(), position.turn()))
}

/// The number of half-moves since move number 1.
pub fn half_moves(fullmove: u32, turn: Color) -> u16 {
    let plies = 2 * u64::from(fullmove.saturating_sub(1)) + u64::from(turn.is_black());
    plies.try_into().unwrap_or(u16::MAX)
}

/// The score that means a missing score in Stockfish's data.
pub const NO_SCORE: i16 = 32_002;

pub fn stockfish_score(score: Option<i16>) -> Result<i16, RecordError> {
    match score {
        None => Ok(NO_SCORE),
        Some(NO_SCORE) => Err("score 32002 means no score in this format".into()),
        Some(score) => score_in_range(score),
    }
}

pub fn score_of_stockfish(score: i16) -> Result<Option<i16>, RecordError> {
    match score {
        NO_SCORE => Ok(None),
        score => score_in_range(score).map(Some),
    }
}

/// Creates a sample from values of a text line from White's point of view.
pub fn seen_by_white(
    position: Position,
    score: Option<i16>,
    result: f32,
) -> Result<Sample, RecordError> {
    let turn = position.turn();
    Ok(Sample {
        result: flip_result(result, turn),
        score: score.map(|score| flip_score(score, turn)).transpose()?,
        ..Sample::from_position(position)
    })
}

/// A game being written, of successive samples.
pub struct MoveChain {
    pub start: Position,
    /// The position after the moves so far.
    pub chess: Chess,
    pub white_result: u8,
    game: NonZeroU64,
}

impl MoveChain {
    /// Finds the move of a sample, and the new game; no game if the sample continues `game`.
    pub fn follow_move(
        game: Option<&Self>,
        sample: &Sample,
    ) -> Result<(Move, Option<Self>), RecordError> {
        let (Some(number), Some(played)) = (sample.game, sample.played) else {
            return Err("its game or the move played is unknown".into());
        };
        let white_result = white_result(sample)?;
        let continues = |game: &&Self| {
            game.game == number
                && game.white_result == white_result
                && Position::from_chess(&game.chess) == sample.position
        };
        if let Some(game) = game.filter(continues) {
            return Ok((legal_move(played, &game.chess)?, None));
        }
        let chess = sample.position.to_chess()?;
        let start = Position::from_chess(&chess);
        Ok((legal_move(played, &chess)?, Some(Self { start, chess, white_result, game: number })))
    }
}

pub fn legal_move(played: PlayedMove, chess: &Chess) -> Result<Move, RecordError> {
    played.legal_move(chess).ok_or_else(|| {
        let error = format!("move {:#06x} is not legal", played.0);
        RecordError::Move(error.into(), Position::from_chess(chess).into())
    })
}

fn white_result(sample: &Sample) -> Result<u8, RecordError> {
    result_byte(flip_result(sample.result, sample.position.turn()))
}
