//! Samples without their games in 40 bytes, for temporary files, and the facts that formats lose.

use std::num::NonZeroU16;

use crate::format::{Format, Presence};
use crate::sample::{IllegalPosition, PlayedMove, Position, Sample};

/// The size of a [`Sample`] without its game: 28 bytes of the position, result as f32, score, ply and
/// move in 16 bits each, a byte of flags for score and ply, and a zero.
pub const PACKED_BYTES: usize = 40;

pub fn pack_sample(sample: &Sample) -> [u8; PACKED_BYTES] {
    let mut bytes = [0; PACKED_BYTES];
    bytes[..28].copy_from_slice(&sample.position.to_bytes());
    bytes[28..32].copy_from_slice(&sample.result.to_le_bytes());
    bytes[32..34].copy_from_slice(&sample.score.unwrap_or(0).to_le_bytes());
    bytes[34..36].copy_from_slice(&sample.ply.unwrap_or(0).to_le_bytes());
    let played = sample.played.map_or(0, |played| played.0.get());
    bytes[36..38].copy_from_slice(&played.to_le_bytes());
    bytes[38] = u8::from(sample.score.is_some()) | u8::from(sample.ply.is_some()) << 1;
    bytes
}

/// Unpacks a sample. Fails only if the bytes do not come from [`pack_sample`].
pub fn unpack_sample(bytes: &[u8; PACKED_BYTES]) -> Result<Sample, IllegalPosition> {
    let number = |offset: usize| u16::from_le_bytes([bytes[offset], bytes[offset + 1]]);
    let position = Position::from_bytes(bytes.first_chunk().expect("40 bytes"))?;
    Ok(Sample {
        result: f32::from_le_bytes(*bytes[28..].first_chunk().expect("12 bytes follow")),
        score: (bytes[38] & 1 == 1).then_some(number(32) as i16),
        ply: (bytes[38] & 2 == 2).then_some(number(34)),
        played: NonZeroU16::new(number(36)).map(PlayedMove),
        ..Sample::from_position(position)
    })
}

/// Lists facts that positions of `from` may have and `to` cannot store, in words.
pub fn lost_facts(from: &Format, to: &Format) -> Vec<&'static str> {
    let (before, after) = (from.facts, to.facts);
    let colours = "who is White, castling rights, en passant squares and counters";
    let facts = [
        (before.scores, after.scores, "scores"),
        (before.plies, after.plies, "plies"),
        (before.moves, after.moves, "the moves played"),
        (before.games, after.games, "games"),
        (before.colours, after.colours, colours),
    ];
    let lost = facts
        .into_iter()
        .filter(|(holds, carries, _)| *holds != Presence::Never && *carries == Presence::Never);
    lost.map(|(_, _, fact)| fact).collect()
}

/// Whether the format can store a sample, which is written into `scratch`.
pub fn is_storable(sample: &Sample, format: &Format, scratch: &mut Vec<u8>) -> bool {
    scratch.clear();
    format.writer.is_some_and(|writer| writer().write_sample(sample, scratch).is_ok())
}
