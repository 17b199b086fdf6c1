//! viriformat: whole games, a start position and then its moves; docs/formats.md has the layout.
//! `ply` counts from move number 1; `game` hashes start position and moves. A bad game is rejected
//! as a whole; reading continues after the next four zero bytes.

use std::num::NonZeroU16;

use shakmaty::{Chess, Move, Position as _};

use super::Presence::Sometimes;
use super::fields::{GameReplay, MoveChain};
use super::marlinformat;
use super::{
    BadRecord, ByteInput, Facts, Fault, Format, RecordError, RecordPlace, RecordStarts,
    SampleReader, SampleWriter, fields, fill_array,
};
use crate::point_of_view::PointOfView;
use crate::sample::{PlayedMove, Sample};

const START: usize = 32;
const MOVE: usize = 4;
const END: [u8; MOVE] = [0; MOVE];
/// The score that means a missing score.
const NO_SCORE: i16 = i16::MIN;
/// The length of the longest game under the rules: it ends after 75 moves without pawn move and capture.
const LONGEST: usize = 1 << 14;
pub static FORMAT: Format = Format {
    name: "viriformat",
    about: "whole games of start position, moves and scores; score in centipawns, score and \
         result from White's point of view; every move must be legal",
    extensions: &["vf", "viri", "viriformat"],
    facts: Facts { scores: Sometimes, ..Facts::ALL },
    view: PointOfView::White,
    recognises: has_legal_games,
    reader: |input| Box::new(ViriReader { input, offset: 0 }),
    cut: Some(RecordStarts { bytes: 1 << 17, border: find_border }),
    writer: Some(|| Box::new(ViriWriter::default())),
};

/// Whether most of the first games begin with legal moves; the first game may be bad.
fn has_legal_games(head: &[u8]) -> bool {
    let mut rest = head;
    let [mut games, mut sound] = [0, 0];
    while let (0..16, Some((record, after))) = (games, rest.split_first_chunk::<START>()) {
        let (moves, _) = after.as_chunks::<MOVE>();
        let end = moves.iter().position(|entry| *entry == END);
        let first = &moves[..end.unwrap_or(moves.len()).min(4)];
        games += 1;
        // A start without moves could also be a record of bulletformat.
        sound += i32::from(!first.is_empty() && begins_legally(record, first));
        let Some(end) = end else { break };
        rest = &after[(end + 1) * MOVE..];
    }
    sound > 0 && 2 * sound >= games
}

fn begins_legally(record: &[u8; START], moves: &[[u8; MOVE]]) -> bool {
    let Ok((mut chess, _)) = parse_start(record) else { return false };
    moves.iter().all(|entry| {
        parse_legal_move(entry, &chess).map(|legal| chess.play_unchecked(legal)).is_ok()
    })
}

/// Finds the certain end of a game. Four zero bytes may also occur in the start of a game, which is
/// at most a start's length after the end of another game.
fn find_border(bytes: &[u8]) -> Option<usize> {
    let (words, _) = bytes.as_chunks::<MOVE>();
    let mut without = 0;
    let end = words.iter().position(|word| {
        let is_end = *word == END && without >= START / MOVE;
        without = if *word == END { 0 } else { without + 1 };
        is_end
    });
    Some((end? + 1) * MOVE)
}

struct ViriReader {
    input: ByteInput,
    offset: u64,
}

impl SampleReader for ViriReader {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let start = out.len();
        self.read_game(out).or_else(|fault| {
            out.truncate(start);
            if let Fault::Skipped(_) = fault {
                // The rest of a game that cannot be replayed is skipped.
                while self.read_entry()?.is_some_and(|entry| entry != END) {}
            }
            Err(fault)
        })
    }
}

impl ViriReader {
    /// Appends the samples of a game; false at the end of the file.
    fn read_game(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let start = self.offset;
        let first = out.len();
        let mut record = [0; START];
        let length = fill_array(&mut *self.input, &mut record)?;
        self.offset += length as u64;
        if length == 0 {
            return Ok(false);
        }
        let bad = |moves: usize, reason: RecordError| {
            let rest = if moves == 0 { String::new() } else { format!(", move {moves}") };
            BadRecord { location: RecordPlace::Byte("game", start, rest), reason }
        };
        if length < START {
            let reason = format!("the file ends after {length} of the start's 32 bytes");
            return Err(Fault::CutOff(bad(0, reason.into())));
        }
        let start = parse_start(&record).map_err(|reason| Fault::Skipped(bad(0, reason)));
        let (start, result) = start?;
        let mut game = GameReplay::from_start(start);
        while let Some(entry) = self.read_entry()? {
            if entry == END {
                game.set_game(&mut out[first..]);
                return Ok(true);
            }
            let moves = out.len() - first + 1;
            let turn = game.chess.turn();
            let white_score = i16::from_le_bytes([entry[2], entry[3]]);
            if moves > LONGEST {
                let reason = format!("more than {LONGEST} moves").into();
                return Err(Fault::Skipped(bad(moves, reason)));
            }
            let legal = parse_legal_move(&entry, &game.chess);
            let legal = legal.map_err(|reason| Fault::Skipped(bad(moves, reason)))?;
            out.push(Sample {
                result: fields::flip_result(result, turn),
                score: (white_score != NO_SCORE).then(|| turn.fold_wb(white_score, -white_score)),
                ..game.play_move(legal)
            });
        }
        Err(Fault::CutOff(bad(out.len() - first, "the file ends within the game".into())))
    }

    /// Reads the next four bytes; none at the end of the file.
    fn read_entry(&mut self) -> Result<Option<[u8; MOVE]>, Fault> {
        let mut entry = [0; MOVE];
        let length = fill_array(&mut *self.input, &mut entry)?;
        self.offset += length as u64;
        Ok((length == MOVE).then_some(entry))
    }
}
fn parse_start(bytes: &[u8; START]) -> Result<(Chess, f32), RecordError> {
    let (position, _, white_result) = marlinformat::fields_of(bytes)?;
    Ok((position.to_chess()?, white_result))
}

/// Parses a legal move; bits without meaning for its kind may be set.
fn parse_legal_move(entry: &[u8; MOVE], chess: &Chess) -> Result<Move, RecordError> {
    let played = NonZeroU16::new(u16::from_le_bytes([entry[0], entry[1]]));
    fields::legal_move(PlayedMove(played.ok_or("move 0x0000 is none")?), chess)
}

/// A writer of games. A sample that does not continue the current game starts a new one.
#[derive(Default)]
struct ViriWriter {
    game: Option<MoveChain>,
    bytes: Vec<u8>,
}

impl SampleWriter for ViriWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let score = match sample.score {
            Some(score) => fields::flip_score(score, sample.position.turn())?,
            None => NO_SCORE,
        };
        let (legal, new_game) = MoveChain::follow_move(self.game.as_ref(), sample)?;
        if let Some(game) = new_game {
            self.finish_output(out);
            marlinformat::encode_record(&game.start, 0, game.white_result, &mut self.bytes);
            self.game = Some(game);
        }
        if self.bytes.len() >= START + LONGEST * MOVE {
            return Err(format!("its game has more than {LONGEST} moves").into());
        }
        let played = PlayedMove::from_move(&legal).expect("a move of chess");
        self.bytes.extend_from_slice(&played.0.get().to_le_bytes());
        self.bytes.extend_from_slice(&score.to_le_bytes());
        self.game.iter_mut().for_each(|game| game.chess.play_unchecked(legal));
        Ok(())
    }

    fn finish_output(&mut self, out: &mut Vec<u8>) {
        if self.game.take().is_some() {
            out.append(&mut self.bytes);
            out.extend_from_slice(&END);
        }
        self.bytes.clear();
    }
}
