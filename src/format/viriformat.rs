//! viriformat: whole games, a start position and then its moves; docs/formats.md has the layout.
//!
//! `ply` counts from move number 1, and `game` is a hash of start position and moves. The reader
//! rejects a bad game as a whole, and continues after the next entry of four zero bytes.

use std::num::NonZeroU16;

use shakmaty::{Chess, Move, Position as _};

use super::Presence::Sometimes;
use super::fields::{self, GameReplay, MoveChain};
use super::marlinformat;
use super::{
    BadRecord, ByteInput, Facts, Fault, Format, RecordError, RecordPlace, RecordStarts,
    SampleReader, SampleWriter, fill_array,
};
use crate::point_of_view::PointOfView;
use crate::sample::{PlayedMove, Sample};

/// The number of bytes of a start position, a record of marlinformat.
const START_BYTES: usize = 32;
/// The number of bytes of a move and its score.
const ENTRY_BYTES: usize = 4;
/// The entry after the last move of a game.
const END: [u8; ENTRY_BYTES] = [0; ENTRY_BYTES];
/// The score that means a missing score.
const NO_SCORE: i16 = i16::MIN;
/// The maximum number of moves of a game, those of both sides. No game that is played comes near it.
const MAX_MOVES: usize = 1 << 14;
/// The maximum number of games that are looked at to recognise the format, and of moves of each.
const RECOGNISED_GAMES: usize = 16;
const RECOGNISED_MOVES: usize = 4;

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

/// Whether at least half of the first games begin with legal moves; the first one may be bad.
fn has_legal_games(head: &[u8]) -> bool {
    let mut rest = head;
    let mut games = 0;
    let mut legal_games = 0;
    while games < RECOGNISED_GAMES
        && let Some((start, after)) = rest.split_first_chunk::<START_BYTES>()
    {
        let (entries, _) = after.as_chunks::<ENTRY_BYTES>();
        let end = entries.iter().position(|entry| *entry == END);
        let moves = &entries[..end.unwrap_or(entries.len()).min(RECOGNISED_MOVES)];
        games += 1;
        // A start without moves could also be a record of bulletformat.
        legal_games += usize::from(!moves.is_empty() && begins_legally(start, moves));
        let Some(end) = end else { break };
        rest = &after[(end + 1) * ENTRY_BYTES..];
    }
    legal_games > 0 && 2 * legal_games >= games
}

/// Whether a game has a legal start position and these legal moves.
fn begins_legally(start: &[u8; START_BYTES], moves: &[[u8; ENTRY_BYTES]]) -> bool {
    let Ok((mut chess, _)) = parse_start(start) else { return false };
    for entry in moves {
        let Ok(legal) = parse_legal_move(entry, &chess) else { return false };
        chess.play_unchecked(legal);
    }
    true
}

/// Finds a certain end of a game. A start position may contain four zero bytes, too, but only within
/// the length of a start after the end of another game.
fn find_border(bytes: &[u8]) -> Option<usize> {
    let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
    let mut since_zeros = 0;
    let end = entries.iter().position(|entry| {
        let is_end = *entry == END && since_zeros >= START_BYTES / ENTRY_BYTES;
        since_zeros = if *entry == END { 0 } else { since_zeros + 1 };
        is_end
    });
    Some((end? + 1) * ENTRY_BYTES)
}

/// A reader of games.
struct ViriReader {
    input: ByteInput,
    /// The number of bytes read so far.
    offset: u64,
}

impl SampleReader for ViriReader {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let first_sample = out.len();
        self.read_game(out).or_else(|fault| {
            out.truncate(first_sample);
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
        let game_offset = self.offset;
        let first_sample = out.len();
        let mut record = [0; START_BYTES];
        let length = fill_array(&mut *self.input, &mut record)?;
        self.offset += length as u64;
        if length == 0 {
            return Ok(false);
        }
        if length < START_BYTES {
            let reason = format!("the file ends after {length} of the start's {START_BYTES} bytes");
            return Err(Fault::CutOff(bad_game(game_offset, 0, reason.into())));
        }
        let (start, white_result) = parse_start(&record)
            .map_err(|reason| Fault::Skipped(bad_game(game_offset, 0, reason)))?;
        let mut game = GameReplay::from_start(start);
        while let Some(entry) = self.read_entry()? {
            if entry == END {
                game.set_game(&mut out[first_sample..]);
                return Ok(true);
            }
            let move_number = out.len() - first_sample + 1;
            if move_number > MAX_MOVES {
                let reason = format!("more than {MAX_MOVES} moves").into();
                return Err(Fault::Skipped(bad_game(game_offset, move_number, reason)));
            }
            let legal = parse_legal_move(&entry, &game.chess)
                .map_err(|reason| Fault::Skipped(bad_game(game_offset, move_number, reason)))?;
            let turn = game.chess.turn();
            let white_score = i16::from_le_bytes([entry[2], entry[3]]);
            out.push(Sample {
                result: fields::flip_result(white_result, turn),
                score: (white_score != NO_SCORE).then(|| turn.fold_wb(white_score, -white_score)),
                ..game.play_move(legal)
            });
        }
        let reason = "the file ends within the game".into();
        Err(Fault::CutOff(bad_game(game_offset, out.len() - first_sample, reason)))
    }

    /// Reads the next entry; none at the end of the file.
    fn read_entry(&mut self) -> Result<Option<[u8; ENTRY_BYTES]>, Fault> {
        let mut entry = [0; ENTRY_BYTES];
        let length = fill_array(&mut *self.input, &mut entry)?;
        self.offset += length as u64;
        Ok((length == ENTRY_BYTES).then_some(entry))
    }
}

/// Describes a bad game by its offset in the file and the number of its bad move, 0 if it is the
/// start that is bad. Moves of both sides count.
fn bad_game(offset: u64, move_number: usize, reason: RecordError) -> BadRecord {
    let within = match move_number {
        0 => String::new(),
        _ => format!(", move {move_number}"),
    };
    BadRecord { location: RecordPlace::Byte("game", offset, within), reason }
}

/// Parses a start position and White's result.
fn parse_start(bytes: &[u8; START_BYTES]) -> Result<(Chess, f32), RecordError> {
    let (position, _, white_result) = marlinformat::decode_fields(bytes)?;
    Ok((position.to_chess()?, white_result))
}

/// Parses a legal move; bits without meaning for its kind may be set.
fn parse_legal_move(entry: &[u8; ENTRY_BYTES], chess: &Chess) -> Result<Move, RecordError> {
    let played = NonZeroU16::new(u16::from_le_bytes([entry[0], entry[1]]));
    fields::legal_move(PlayedMove(played.ok_or("move 0x0000 is none")?), chess)
}

/// A writer of games. A sample that does not continue the current game starts a new one.
#[derive(Default)]
struct ViriWriter {
    game: Option<MoveChain>,
    /// The start and the moves of the current game.
    bytes: Vec<u8>,
}

impl SampleWriter for ViriWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let white_score = match sample.score {
            Some(score) => fields::flip_score(score, sample.position.turn())?,
            None => NO_SCORE,
        };
        let (legal, new_game) = MoveChain::follow_move(self.game.as_ref(), sample)?;
        if let Some(game) = new_game {
            self.finish_output(out);
            marlinformat::encode_record(&game.start, 0, game.white_result, &mut self.bytes);
            self.game = Some(game);
        }
        if self.bytes.len() >= START_BYTES + MAX_MOVES * ENTRY_BYTES {
            return Err(format!("its game has more than {MAX_MOVES} moves").into());
        }
        let played = PlayedMove::from_move(&legal).expect("a move of chess");
        self.bytes.extend_from_slice(&played.0.get().to_le_bytes());
        self.bytes.extend_from_slice(&white_score.to_le_bytes());
        if let Some(game) = &mut self.game {
            game.chess.play_unchecked(legal);
        }
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
