//! A chain: a stem of 32 bytes, the number of the following moves, and their movetext.

use std::num::{NonZeroU16, NonZeroU64};

use super::super::{RecordError, fields};
use super::board::{BinpackBoard, BitReader, BitWriter, fold_sign, pack_stem, unfold_sign};
use crate::sample::{GameHash, PlayedMove, Position, Sample};

/// The size of the smallest chain: stem and number of moves.
pub const LEAST: usize = 34;
/// The mask of the ply in the 16 bits of ply and result.
const PLY: u16 = 0x3fff;
/// The number of positions of a chain that were read, and the error in the next one.
pub type ChainError = (usize, RecordError);

/// Appends the samples of the chain at the start of the bytes, and returns its size in bytes.
pub fn read_chain(bytes: &[u8], out: &mut Vec<Sample>) -> Result<usize, ChainError> {
    let first = out.len();
    let Some((stem, text)) = bytes.split_first_chunk::<LEAST>() else {
        let length = bytes.len();
        let reason = format!("a chain has {length} bytes, expected at least {LEAST}");
        return Err((0, reason.into()));
    };
    let read_word = |offset: usize| u16::from_be_bytes([stem[offset], stem[offset + 1]]);
    let stem_error = |reason| (0, reason);
    let sample = |result, score, ply, played, position| -> Result<Sample, RecordError> {
        let score = fields::score_of_stockfish(score)?;
        Ok(Sample { result, score, ply: Some(ply), played, ..Sample::from_position(position) })
    };
    let halfmove = read_word(30).min(255) as u8;
    let position = stem.first_chunk().expect("34 bytes");
    let mut board = BinpackBoard::unpack_stem(position, halfmove).map_err(stem_error)?;
    let played = stem_move(read_word(24)).map_err(stem_error)?;
    let mut score = unfold_sign(read_word(26));
    let mut ply = read_word(28) & PLY;
    let mut result = match unfold_sign(read_word(28) >> 14) {
        result @ -1..=1 => f32::from(result + 1) / 2.0,
        _ => return Err((0, "the result is not -1, 0 or 1".into())),
    };
    let count = read_word(32);
    let position = board.to_position(ply);
    out.push(sample(result, score, ply, played, position).map_err(stem_error)?);
    let mut bits = BitReader::new(text);
    let mut hash: Option<GameHash> = None;
    if let Some(played) = played {
        let legal = board.find_legal_move(played).map_err(stem_error)?;
        board.play_move(legal).map_err(stem_error)?;
        // A single position may come from a shuffled file.
        hash = (count > 0).then(|| GameHash::from_start(&position));
        hash.iter_mut().for_each(|hash| hash.add_move(played));
    } else if count > 0 {
        return Err((0, format!("the stem has no move, but {count} follow").into()));
    }
    for number in 1..=usize::from(count) {
        let wrong = |reason| (number, reason);
        let read = board.read_move(&mut bits).map_err(wrong)?;
        let played = PlayedMove::from_move(&read).expect("a move of chess");
        let Some(delta) = bits.read_number() else {
            return Err((number, "the movetext ends within a score".into()));
        };
        score = score.wrapping_neg().wrapping_add(unfold_sign(delta));
        ply = ply.saturating_add(1);
        result = 1.0 - result;
        let position = board.to_position(ply);
        out.push(sample(result, score, ply, Some(played), position).map_err(wrong)?);
        board.play_move(read).map_err(wrong)?;
        hash.iter_mut().for_each(|hash| hash.add_move(played));
    }
    if let Some(hash) = hash {
        let game = Some(hash.to_game());
        out[first..].iter_mut().for_each(|sample| sample.game = game);
    }
    Ok(LEAST + bits.bytes_taken())
}

pub fn begins_chain(bytes: &[u8]) -> bool {
    let stem = |stem: &[u8; LEAST]| {
        let position = stem.first_chunk().expect("34 bytes");
        BinpackBoard::unpack_stem(position, 0).is_ok()
    };
    bytes.first_chunk().is_some_and(stem)
}

/// Decodes the move of a stem: kind, from, to, promotion, highest bits first; all zero for none.
fn stem_move(bits: u16) -> Result<Option<PlayedMove>, RecordError> {
    let [from, to] = [bits >> 8 & 63, bits >> 2 & 63];
    let kind = match bits >> 14 {
        0 => 0,
        1 => (bits & 3) << 12 | 3 << 14,
        2 => 2 << 14,
        _ => 1 << 14,
    };
    let played = NonZeroU16::new(from | to << 6 | kind).map(PlayedMove);
    match played {
        Some(_) if from == to => Err("the origin and the target of a move are the same".into()),
        played => Ok(played),
    }
}

fn stem_bits(played: PlayedMove) -> u16 {
    let kind = match played.promotion() {
        Some(role) => 1 << 14 | (role as u16 - 2),
        None if played.is_castling() => 2 << 14,
        None if played.is_en_passant() => 3 << 14,
        None => 0,
    };
    kind | (played.from() as u16) << 8 | (played.target_square() as u16) << 2
}

pub struct BinpackChain {
    bytes: [u8; LEAST],
    text: BitWriter,
    moves: u16,
    /// The position after the last move; none if there was no move.
    next: Option<BinpackBoard>,
    last: ChainEntry,
    game: Option<NonZeroU64>,
}

impl BinpackChain {
    pub fn begin_chain(sample: &Sample) -> Result<Self, RecordError> {
        let entry = ChainEntry::new(sample)?;
        let mut board = BinpackBoard::new(&entry.position)?;
        let mut bytes = [0; LEAST];
        let mut put_word = |offset: usize, word: u16| {
            bytes[offset..offset + 2].copy_from_slice(&word.to_be_bytes());
        };
        let result = i16::from(fields::result_byte(sample.result)?) - 1;
        put_word(24, sample.played.map_or(0, stem_bits));
        put_word(26, fold_sign(entry.score));
        put_word(28, fold_sign(result) << 14 | entry.ply);
        put_word(30, u16::from(sample.position.halfmove()));
        bytes[..24].copy_from_slice(&pack_stem(&entry.position));
        let mut next = None;
        if let Some(played) = sample.played {
            board.play_move(board.find_legal_move(played)?)?;
            next = Some(board);
        }
        let text = BitWriter::default();
        Ok(Self { bytes, text, moves: 0, next, last: entry, game: sample.game })
    }

    /// Adds a sample and returns true, if it follows the last one.
    pub fn append_sample(&mut self, sample: &Sample) -> Result<bool, RecordError> {
        let entry = ChainEntry::new(sample)?;
        let (Some(board), Some(played)) = (&mut self.next, sample.played) else {
            return Ok(false);
        };
        let follows = self.game.is_some()
            && self.game == sample.game
            && self.last.white_result == entry.white_result
            && self.last.ply + 1 == entry.ply
            && self.moves < u16::MAX
            && board.to_position(entry.ply) == entry.position;
        if !follows {
            return Ok(false);
        }
        let legal = board.find_legal_move(played)?;
        board.write_move(legal, &mut self.text);
        board.play_move(legal)?;
        self.text.write_number(fold_sign(entry.score.wrapping_add(self.last.score)));
        self.last = entry;
        self.moves += 1;
        Ok(true)
    }

    pub fn end_chain(mut self, out: &mut Vec<u8>) {
        self.bytes[32..].copy_from_slice(&self.moves.to_be_bytes());
        out.extend_from_slice(&self.bytes);
        out.extend_from_slice(&self.text.bytes);
    }
}
struct ChainEntry {
    /// The position with the move number of the ply.
    position: Position,
    ply: u16,
    score: i16,
    white_result: u8,
}

impl ChainEntry {
    fn new(sample: &Sample) -> Result<Self, RecordError> {
        let position = &sample.position;
        let ply = fields::ply_of_sample(sample);
        if ply > PLY {
            return Err(format!("ply {ply}, expected at most {PLY}").into());
        }
        let white_result = fields::white_result(sample)?;
        Ok(Self {
            position: position.with_fullmove(ply / 2 + 1),
            ply,
            score: fields::stockfish_score(sample.score)?,
            white_result,
        })
    }
}
