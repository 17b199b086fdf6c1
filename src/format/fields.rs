//! Fields shared by several formats: results and scores, and their points of view.

use std::borrow::Cow;
use std::num::NonZeroU64;

use shakmaty::{Board, Chess, Color, Move, Position as _, Rank, Role, Square};

use crate::sample::{GameHash, IllegalPosition, PlayedMove, Position, Sample};

/// The reason why a record is not a legal position or game, or why a format cannot store a sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordError(Cow<'static, str>);

impl From<&'static str> for RecordError {
    fn from(text: &'static str) -> Self {
        Self(text.into())
    }
}

impl From<String> for RecordError {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<IllegalPosition> for RecordError {
    fn from(error: IllegalPosition) -> Self {
        error.to_string().into()
    }
}

/// Converts a score between White's point of view and the side to move's. Fails for -32768.
pub fn flip_score(score: i16, turn: Color) -> Result<i16, RecordError> {
    match score.checked_neg() {
        None => Err(score_error(score.into(), i16::MAX)),
        Some(negative) => Ok(if turn == Color::Black { negative } else { score }),
    }
}

pub fn score_error(score: i64, limit: i16) -> RecordError {
    format!("score {score} is out of range, expected -{limit} to {limit}").into()
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
        _ => Err(format!("result {result}, expected 0, 0.5 or 1").into()),
    }
}

/// Converts a byte of 0, 1, 2 to 0, 0.5, 1.
pub fn byte_result(byte: u8) -> Result<f32, RecordError> {
    match byte {
        0..=2 => Ok(f32::from(byte) / 2.0),
        _ => Err(format!("result byte {byte}, expected 0, 1 or 2").into()),
    }
}

pub fn text_result(text: &str) -> Result<f32, RecordError> {
    let wrong = || format!("result `{text}`, expected 1.0, 0.5, 0.0, 1-0, 1/2-1/2 or 0-1").into();
    parse_share(text).filter(|result| result_byte(*result).is_ok()).ok_or_else(wrong)
}

pub fn text_share(text: &str) -> Result<f32, RecordError> {
    let wrong = || format!("result `{text}`, expected 0 to 1, 1-0, 1/2-1/2 or 0-1").into();
    parse_share(text).ok_or_else(wrong)
}

/// Parses a result in its common form, or a number from 0 to 1 with up to six decimals.
pub fn parse_share(text: &str) -> Option<f32> {
    match text {
        "1.0" | "1-0" => Some(1.0),
        "0.0" | "0-1" => Some(0.0),
        "0.5" | "1/2-1/2" | "1/2" => Some(0.5),
        _ => {
            let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))?;
            Some(((share.abs() * 1e6).round() / 1e6) as f32)
        }
    }
}

/// Formats a number from 0 to 1 with at most six decimals, or as `1.0`, `0.5` or `0.0`.
pub fn share_text(share: f32) -> Result<String, RecordError> {
    if [0.0, 0.5, 1.0].contains(&share) {
        return result_text(share).map(str::to_string);
    }
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("result {share}, expected 0 to 1").into());
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
        .map_err(|_| format!("score `{text}`, expected a whole number of centipawns"))?;
    i16::try_from(score).map_err(|_| score_error(score, i16::MAX))
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
    let count = text.split_ascii_whitespace().count();
    if !(4..=6).contains(&count) {
        return Err(format!("FEN of {count} fields, expected 4 to 6: `{text}`").into());
    }
    // shakmaty would accept pockets, promoted pieces and counts of checks.
    let slashes = text.bytes().filter(|&byte| byte == b'/').count();
    let variant = |byte| matches!(byte, b'[' | b'~' | b'+' | b'_');
    if slashes != 7 || text.bytes().fold(false, |is_variant, byte| is_variant | variant(byte)) {
        return Err(format!("not a FEN of chess: `{text}`").into());
    }
    Position::from_fen(text).map_err(|error| format!("{error}: `{text}`").into())
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
    match fits {
        true => Ok(()),
        false => Err(format!("en passant square {square}, but no pawn has just passed it").into()),
    }
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

/// A game that is replayed, with the facts of its samples that follow from start and moves.
pub struct GameReplay {
    /// The position after the moves so far.
    pub chess: Chess,
    ply: u16,
    hash: GameHash,
}

impl GameReplay {
    /// Starts a replay; plies count from move number 1.
    pub fn from_start(chess: Chess) -> Self {
        let ply = half_moves(chess.fullmoves().get(), chess.turn());
        let hash = GameHash::from_start(&Position::from_chess(&chess));
        Self { chess, ply, hash }
    }

    /// Plays a legal move, and returns the position before it.
    #[inline]
    pub fn play_move(&mut self, legal: Move) -> Sample {
        let played = PlayedMove::from_move(&legal).expect("a move of chess");
        let position = Position::from_chess(&self.chess);
        let ply = Some(self.ply);
        self.hash.add_move(played);
        self.chess.play_unchecked(legal);
        self.ply = self.ply.saturating_add(1);
        Sample { ply, played: Some(played), ..Sample::from_position(position) }
    }

    /// Sets the game of the samples of all moves.
    pub fn set_game(&self, samples: &mut [Sample]) {
        let game = Some(self.hash.to_game());
        samples.iter_mut().for_each(|sample| sample.game = game);
    }
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
        let fen = Position::from_chess(chess).to_fen();
        format!("move {:#06x} is not legal in {fen}", played.0).into()
    })
}

/// White's result as 0, 1 or 2.
pub fn white_result(sample: &Sample) -> Result<u8, RecordError> {
    result_byte(flip_result(sample.result, sample.position.turn()))
}
