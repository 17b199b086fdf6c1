//! PGN. Each move gives one sample with the position before the move. The result comes from the tag
//! `Result`, which must agree with the end of the moves; games with the result `*` or `?` are counted
//! and skipped. Scores come from comments; see [`comment`]. A faulty game is rejected as a whole; the
//! crate `pgn-reader` would skip the parts that it cannot read.

pub mod comment;
mod text;
mod write;

pub use write::{AnnotatedGame, AnnotatedPly};

use comment::{Comment, Signs};
use shakmaty::san::{San, SanError};
use shakmaty::uci::UciMove;
use shakmaty::{Chess, Color, Move, Position as _};
use text::{Frames, GameError, GameFrame, TagOutcome, Tags, Token, Tokens, tag_name};

use super::Presence::Sometimes;
use super::{
    BadRecord, ByteInput, CommentScores, Facts, Fault, Format, RecordError, RecordPlace,
    SampleReader,
};
use crate::format::{GameReplay, book, fields};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};

pub static FORMAT: Format = Format {
    name: "pgn",
    about: "games in PGN; scores from comments such as {+0.35/12} for the mover, {wv=0.35}, \
         {[%eval 0.35]} and {0.35} for White, in pawns; every move must be legal; games without a result are \
         skipped",
    extensions: &["pgn"],
    facts: Facts { scores: Sometimes, forfeits: Sometimes, ..Facts::ALL },
    view: PointOfView::White,
    recognises: has_tags,
    cut: None,
    reader: |input| Box::new(PgnReader::new(input)),
    writer: Some(|| Box::new(write::PgnWriter::default())),
};

/// Whether one of the first lines is a tag.
fn has_tags(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').take(100).any(|line| tag_name(line).is_some())
}

struct PgnReader {
    frames: Frames,
    frame: GameFrame,
    games: u64,
    unfinished: u64,
    comments: CommentScores,
}

impl PgnReader {
    fn new(input: ByteInput) -> Self {
        let (frame, comments) = Default::default();
        Self { frames: Frames::new(input), frame, games: 0, unfinished: 0, comments }
    }
    fn to_fault(&self, error: GameError) -> Fault {
        let line = self.frame.line_of(error.offset);
        let mut location = format!("game {}, line {line}", self.games);
        if let Some((number, turn)) = error.turn {
            let dots = if turn == Color::White { "." } else { "..." };
            location = format!("{location}, move {number}{dots}");
        }
        let bad = BadRecord { location: RecordPlace::Words(location), reason: error.reason };
        if self.frame.last && error.at_end { Fault::CutOff(bad) } else { Fault::Skipped(bad) }
    }
}

/// Reads the position after the moves of each game with any result, for an opening book.
pub(super) fn last_positions(input: ByteInput) -> Result<Vec<Position>, Fault> {
    read_each(input, |frame| last_position(frame.valid_bytes()?), |_| size_of::<Position>())
}

/// Reads the players and results of the games of a file.
pub fn read_scoresheets(input: ByteInput) -> Result<Vec<Scoresheet>, Fault> {
    read_each(input, Scoresheet::read_frame, Scoresheet::byte_size)
}

/// Collects the results of `read_game`, whose sizes are `bytes`, up to the first error.
fn read_each<T>(
    input: ByteInput,
    read_game: impl Fn(&GameFrame) -> Result<Option<T>, GameError>,
    bytes: impl Fn(&T) -> usize,
) -> Result<Vec<T>, Fault> {
    let mut reader = PgnReader::new(input);
    let (mut results, mut size) = <(Vec<T>, usize)>::default();
    while reader.frames.next(&mut reader.frame)? {
        let read = read_game(&reader.frame);
        reader.games += u64::from(!matches!(read, Ok(None)));
        if let Some(result) = read.map_err(|error| reader.to_fault(error))? {
            size += bytes(&result);
            book::require_small(size)?;
            results.push(result);
        }
    }
    Ok(results)
}

impl SampleReader for PgnReader {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        if !self.frames.next(&mut self.frame)? {
            return Ok(false);
        }
        let first = out.len();
        let read = replay_game(&self.frame, out, &mut self.comments);
        self.games += u64::from(!matches!(read, Ok(ReplayedGame::Nothing)));
        self.unfinished += u64::from(matches!(read, Ok(ReplayedGame::Unfinished)));
        read.map(|_| true).map_err(|error| {
            out.truncate(first);
            self.to_fault(error)
        })
    }

    fn unfinished_games(&self) -> u64 {
        self.unfinished
    }

    fn comment_scores(&self) -> Option<&CommentScores> {
        Some(&self.comments)
    }

    fn set_score_view(&mut self, view: PointOfView) {
        self.comments.given = Some(view);
    }
}

/// The start of any text, safe for a message.
fn show_start(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(80)]);
    text.chars().filter(|letter| !letter.is_control()).take(40).collect()
}

enum ReplayedGame {
    /// A complete game, with White's result.
    Whole(f32),
    Unfinished,
    /// Blank lines, or text between games.
    Nothing,
}

/// Appends the samples of a game; before an error, a part of them.
fn replay_game(
    frame: &GameFrame,
    out: &mut Vec<Sample>,
    notes: &mut CommentScores,
) -> Result<ReplayedGame, GameError> {
    let text = frame.valid_bytes()?;
    let tags = Tags::parse_tags(text)?;
    let result = tags.parse_outcome()?;
    if tags.tag_value("Result").is_some_and(|result| result.trim_ascii() == b"*") {
        return Ok(ReplayedGame::Unfinished);
    }
    let mut tokens = Tokens::new(text, tags.end);
    // Moves begin with `1.`.
    let mut after_number = text[tags.end..].iter().skip_while(|it| it.is_ascii_digit());
    let is_word = after_number.next().is_some_and(|byte| !b".[{(".contains(byte));
    if !tags.has_tags && is_word && tokens.is_prose() {
        return Ok(ReplayedGame::Nothing);
    }
    let mut replay = Replay::new(&tags, result, out, notes)?;
    let read =
        replay.play_tokens(&mut tokens).and_then(|()| replay.finish_game(&tags, text, frame.last));
    read.map_err(|reason| token_error(&tokens, &replay.game.chess, reason))
}

/// The position after the moves of a game with any result; none if there is no game.
fn last_position(text: &[u8]) -> Result<Option<Position>, GameError> {
    let tags = Tags::parse_tags(text)?;
    let (mut samples, mut notes) = Default::default();
    let mut replay = Replay::new(&tags, None, &mut samples, &mut notes)?;
    let mut tokens = Tokens::new(text, tags.end);
    let read = replay.play_tokens(&mut tokens);
    let chess = replay.game.chess;
    read.map_err(|reason| token_error(&tokens, &chess, reason))?;
    Ok((tags.has_tags || !samples.is_empty()).then(|| Position::from_chess(&chess)))
}

fn token_error(tokens: &Tokens, chess: &Chess, reason: RecordError) -> GameError {
    let turn = Some((chess.fullmoves().get(), chess.turn()));
    GameError { offset: tokens.start, turn, reason, at_end: tokens.at_end() }
}

struct Replay<'a, 't> {
    game: GameReplay,
    /// The comments with numbers, each with the number of moves before it.
    comments: Vec<(usize, Comment, &'t [u8])>,
    /// The output; samples from index `first` on belong to this game.
    out: &'a mut Vec<Sample>,
    first: usize,
    notes: &'a mut CommentScores,
    result: Option<TagOutcome>,
    ended: Option<TagOutcome>,
}

impl<'a, 't> Replay<'a, 't> {
    fn new(
        tags: &Tags,
        result: Option<TagOutcome>,
        out: &'a mut Vec<Sample>,
        notes: &'a mut CommentScores,
    ) -> Result<Self, RecordError> {
        let start = tags.parse_start()?.map_or(Ok(Chess::new()), |start| start.to_chess());
        let game = GameReplay::from_start(start?);
        let first = out.len();
        let comments = Vec::new();
        Ok(Self { game, comments, out, first, notes, result, ended: None })
    }

    fn play_tokens(&mut self, tokens: &mut Tokens<'t>) -> Result<(), RecordError> {
        // Text may follow the result, but not another game.
        while !(self.ended.is_some() && tokens.is_prose())
            && let Some(token) = tokens.next()?
        {
            match token {
                Token::San(san) => self.play_san(san)?,
                Token::Comment(text) => {
                    let moves = self.out.len() - self.first;
                    let parsed = Comment::parse_comment(text);
                    self.comments.extend(parsed.map(|comment| (moves, comment, text)));
                }
                Token::Outcome(outcome) => self.end_game(outcome)?,
            }
        }
        Ok(())
    }

    /// Sets the scores of the positions from the comments.
    fn read_comments(&mut self) {
        let mut signs = Signs::default();
        let positions = &mut self.out[self.first..];
        // A number before the first move may be anything.
        let after_moves = self.comments.iter().filter(|(moves, ..)| *moves > 0);
        after_moves.for_each(|(_, comment, _)| signs.add(*comment));
        for &(moves, comment, text) in &self.comments {
            match comment.read_number(signs, self.notes.given) {
                Some((number, read)) => {
                    let index = moves.checked_sub(usize::from(!read.follows_move));
                    if let Some(sample) = index.and_then(|index| positions.get_mut(index)) {
                        sample.score = Some(number.to_score(read, sample.position.turn()));
                        self.notes.first.get_or_insert(read);
                    }
                }
                // A comment before the first move may name an engine.
                None if moves > 0 => {
                    self.notes.unread.add(|| show_start(text), comment.cure_text())
                }
                None => {}
            }
        }
    }

    fn finish_game(
        &mut self,
        tags: &Tags,
        text: &[u8],
        last: bool,
    ) -> Result<ReplayedGame, RecordError> {
        let moves = self.out.len() - self.first;
        // A last line without a line break may be cut off, as may tags without a blank line.
        let is_whole = match moves > 0 {
            true => text.ends_with(b"\n"),
            false => !last || text.ends_with(b"\n\n") || text.ends_with(b"\n\r\n"),
        };
        let tagged =
            self.result.or((moves == 0 && tags.has_tags).then_some(TagOutcome::Unfinished));
        match self.ended.or(tagged.filter(|_| is_whole)) {
            Some(TagOutcome::Won(doubled)) => {
                self.read_comments();
                let white_result = f32::from(doubled) / 2.0;
                let forfeit = tags.is_forfeit(text);
                self.game.set_game(&mut self.out[self.first..]);
                for sample in &mut self.out[self.first..] {
                    let turn = sample.position.turn();
                    sample.forfeit = forfeit;
                    sample.result = fields::flip_result(white_result, turn);
                }
                Ok(ReplayedGame::Whole(white_result))
            }
            Some(TagOutcome::Unfinished) => {
                self.out.truncate(self.first);
                Ok(ReplayedGame::Unfinished)
            }
            None if !tags.has_tags && moves == 0 => Ok(ReplayedGame::Nothing),
            None => Err("the moves end without a result".into()),
        }
    }

    fn play_san(&mut self, san: &[u8]) -> Result<(), RecordError> {
        if self.ended.is_some() {
            let san = show_start(san);
            return Err(format!("the move `{san}` comes after the result").into());
        }
        let legal = parse_legal_san(san, &self.game.chess)?;
        self.out.push(self.game.play_move(legal));
        Ok(())
    }

    fn end_game(&mut self, outcome: TagOutcome) -> Result<(), RecordError> {
        let is_known = |it: &TagOutcome| *it != TagOutcome::Unfinished;
        let expected = self.ended.or(self.result).filter(is_known).unwrap_or(outcome);
        if expected != outcome && outcome != TagOutcome::Unfinished {
            let [ended, before] = [outcome, expected].map(TagOutcome::as_text);
            let reason = format!("the moves end with {ended}, but the result before was {before}");
            return Err(reason.into());
        }
        self.ended = Some(expected);
        Ok(())
    }
}

/// Parses a legal move in SAN, also in unambiguous forms of old programs: `e8Q`, `e8(Q)`, `e8/Q`,
/// `exd6e.p.`, `e2-e4`, `0-0`, `g1f3`.
fn parse_legal_san(san: &[u8], chess: &Chess) -> Result<Move, RecordError> {
    let parsed = San::from_ascii(san);
    if let Some(legal) = parsed.as_ref().ok().and_then(|parsed| parsed.to_move(chess).ok()) {
        return Ok(legal);
    }
    let plain = plain_san(san);
    let alternative = San::from_ascii(plain.as_bytes()).ok();
    let alternative = alternative.and_then(|alternative| alternative.to_move(chess).ok());
    let uci = |text: &str| UciMove::from_ascii(text.as_bytes()).ok()?.to_move(chess).ok();
    // `Ke1g1` means castling.
    let squares = plain.trim_start_matches('K').replace('=', "").to_lowercase();
    if let Some(legal) = alternative.or_else(|| uci(&squares)) {
        return Ok(legal);
    }
    let parsed = parsed.map_err(|_| not_a_move(san))?;
    parsed.to_move(chess).map_err(|error| {
        let reason = match error {
            SanError::IllegalSan => "not legal",
            SanError::AmbiguousSan => "more than one move",
        };
        let fen = Position::from_chess(chess).to_fen();
        format!("`{}` is {reason} in {fen}", show_start(san)).into()
    })
}

/// Rewrites a move in the form of PGN's export format.
fn plain_san(san: &[u8]) -> String {
    let text = String::from_utf8_lossy(san);
    let castles: String = text.chars().filter(|it| "0Oo".contains(*it)).map(|_| 'O').collect();
    if castles.len() >= 2 {
        return if castles.len() == 2 { "O-O".into() } else { "O-O-O".into() };
    }
    let ends = [".", "(ep)", "/ep", "ep", "e.p"];
    let text = ends.iter().fold(&*text, |text, end| text.trim_end_matches(end));
    let mut text: String = text.chars().filter(|it| !"-=()/:".contains(*it)).collect();
    // `ed6` lacks the `x`.
    if matches!(text.as_bytes(), [b'a'..=b'h', b'a'..=b'h', ..]) {
        text.insert(1, 'x');
    }
    if let Some(piece) = text.pop() {
        let promotes = "QRBNqrbn".contains(piece) && text.ends_with(['1', '8']);
        text += if promotes { "=" } else { "" };
        text.push(if promotes { piece.to_ascii_uppercase() } else { piece });
    }
    text
}

fn not_a_move(san: &[u8]) -> RecordError {
    format!("`{}` is not a move", show_start(san)).into()
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scoresheet {
    pub line: u64,
    /// The result, 0, 0.5 or 1; None if the game has none, or the file ends within it.
    pub white_result: Option<f64>,
    /// The first position; empty for the initial position of chess.
    pub start: String,
    tags: Vec<(String, String)>,
}

impl Scoresheet {
    /// The trimmed value of a tag; None for an unknown value, `?` or `-` in PGN.
    pub fn find_tag(&self, name: &str) -> Option<&str> {
        let tag = self.tags.iter().rev().find(|(it, _)| it.eq_ignore_ascii_case(name));
        let value = tag.map(|(_, value)| value.trim());
        value.filter(|value| !matches!(*value, "" | "?" | "-"))
    }

    /// Whether the game was forfeited; None if the tags do not contain its end.
    pub fn is_forfeit(&self) -> Option<bool> {
        self.find_tag("Termination").map(text::names_forfeit)
    }

    /// The approximate size in memory.
    fn byte_size(&self) -> usize {
        let texts = self.tags.iter().map(|(name, value)| 96 + name.len() + value.len());
        size_of::<Self>() + texts.sum::<usize>()
    }

    /// Reads a game; none if the text has no game.
    fn read_frame(frame: &GameFrame) -> Result<Option<Self>, GameError> {
        let text = frame.valid_bytes()?;
        let white_result = match replay_game(frame, &mut Vec::new(), &mut CommentScores::default())
        {
            Ok(ReplayedGame::Whole(white_result)) => Some(white_result.into()),
            Ok(ReplayedGame::Unfinished) => None,
            Ok(ReplayedGame::Nothing) => return Ok(None),
            Err(wrong) if frame.last && wrong.at_end => None,
            Err(wrong) => return Err(wrong),
        };
        let tags = Tags::parse_tags(text)?;
        let start = tags.parse_start()?.map_or(String::new(), |start| start.to_fen());
        Ok(Some(Self { line: frame.line, white_result, start, tags: tags.tag_texts() }))
    }
}
