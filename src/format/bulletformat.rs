//! bulletformat: 32 bytes per position, the board from the side to move's perspective;
//! docs/formats.md has the layout. Bytes 29-31 are not checked: some tools store other data there.

use shakmaty::{Bitboard, Color};

use super::Presence::Never;
use super::record::{self, LENGTH, Records};
use super::{Facts, Format, RecordError, SampleWriter, fields};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};

pub static FORMAT: Format = Format {
    name: "bulletformat",
    about: "records of 32 bytes, the board flipped to the side to move; score in centipawns, \
         score and result from the side to move's point of view; no colours, castling rights, en \
         passant or counters",
    extensions: &["bf", "bullet", "data"],
    facts: Facts { plies: Never, moves: Never, games: Never, colours: Never, ..Facts::ALL },
    view: PointOfView::SideToMove,
    recognises: |head| record::is_mostly_sound(head, decode_record),
    reader: |input| Box::new(Records::new(input, decode_record)),
    cut: Some(record::CUT),
    writer: Some(|| Box::new(BulletWriter)),
};

#[inline(always)]
fn decode_record(record: &[u8; LENGTH]) -> Result<Sample, RecordError> {
    let occupied = u64::from_le_bytes(*record.first_chunk().expect("32 bytes"));
    let nibbles = *record[8..].first_chunk().expect("24 bytes follow");
    let [score @ .., result, our_byte, their_byte] =
        record[24..].first_chunk::<5>().expect("8 follow");
    let position = Position::from_parts(occupied, nibbles, Color::White, None, 0, 1)?;
    check_position(&position, *our_byte, *their_byte)?;
    Ok(Sample {
        result: fields::byte_result(*result)?,
        score: Some(fields::score_in_range(i16::from_le_bytes(*score))?),
        ..Sample::from_position(position)
    })
}

/// Checks the rules that need little time, and the bytes of the kings.
fn check_position(position: &Position, our_byte: u8, their_byte: u8) -> Result<(), RecordError> {
    let planes = position.planes();
    // A rook that may castle has a nibble in other formats, never in this one.
    if let Some(square) = Bitboard(planes.castling_rooks()).first() {
        return Err(format!("the nibble of {square} is not a piece").into());
    }
    planes.check_rules(Color::White)?;
    let king = |color| planes.king_square(color).map_or(64, |square| square as u8);
    let [our_king, their_king] = [king(Color::White), king(Color::Black) ^ 56];
    if (our_byte, their_byte) != (our_king, their_king) {
        let expected = format!("on the board they are {our_king} and {their_king}");
        return Err(format!("king bytes {our_byte} and {their_byte}, but {expected}").into());
    }
    Ok(())
}

struct BulletWriter;

impl SampleWriter for BulletWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let position = match sample.position.turn() {
            Color::White => sample.position,
            Color::Black => sample.position.flip_colours(),
        };
        let score = fields::score_in_range(fields::stored_score(sample)?)?;
        let result = fields::result_byte(sample.result)?;
        let [Some(our_king), Some(their_king)] = Color::ALL.map(|color| position.king(color))
        else {
            return Err("a king is missing".into());
        };
        let their_king = their_king.flip_vertical();
        // A rook that may castle, nibble 6, becomes a rook, nibble 3.
        let nibbles = u128::from_le_bytes(position.nibbles());
        let castling = nibbles >> 2 & nibbles >> 1 & !nibbles & (u128::MAX / 15);
        let nibbles = nibbles ^ (5 * castling);
        out.extend_from_slice(&position.occupied().to_le_bytes());
        out.extend_from_slice(&nibbles.to_le_bytes());
        out.extend_from_slice(&score.to_le_bytes());
        out.extend_from_slice(&[result, our_king as u8, their_king as u8, 0, 0, 0]);
        Ok(())
    }
}
