//! marlinformat: 32 bytes per position, with White's score and result; docs/formats.md has the layout.

use shakmaty::{Bitboard, Color};

use super::Presence::Never;
use super::record::{self, LENGTH, Records};
use super::{Facts, Format, RecordError, SampleWriter, fields};
use crate::point_of_view::PointOfView;
use crate::sample::{Planes, Position, Sample};

pub static FORMAT: Format = Format {
    name: "marlinformat",
    about: "records of 32 bytes with castling rights, en passant and counters; score in \
         centipawns, score and result from White's point of view",
    extensions: &["marlin", "marlinformat"],
    facts: Facts { plies: Never, moves: Never, games: Never, ..Facts::ALL },
    view: PointOfView::White,
    recognises: |head| {
        // A record that other bytes follow is rather the first game of viriformat.
        let games = head.len() > LENGTH && head.len() < 2 * LENGTH;
        !games && record::is_mostly_sound(head, decode_plausible)
    },
    reader: |input| Box::new(Records::new(input, decode_record)),
    cut: Some(record::CUT),
    writer: Some(|| Box::new(MarlinWriter)),
};

#[inline(always)]
fn decode_record(bytes: &[u8; LENGTH]) -> Result<Sample, RecordError> {
    let (position, white_score, white_result) = decode_fields(bytes)?;
    fields::seen_by_white(check_sound(position)?, Some(white_score), white_result)
}

/// Checks a position, and drops castling rights and en passant squares that contradict the board.
#[inline(always)]
fn check_sound(position: Position) -> Result<Position, RecordError> {
    let planes = position.planes();
    planes.check_rules(position.turn())?;
    if position.ep_square().is_none() && castling_is_plain(&planes) {
        return Ok(position);
    }
    let chess = position.to_chess()?;
    Ok(Position::from_chess(&chess))
}

/// Whether rooks that may castle are on their king's back rank, at most one on either side of it.
fn castling_is_plain(planes: &Planes) -> bool {
    let castling = Bitboard(planes.castling_rooks());
    castling.is_empty()
        || Color::ALL.into_iter().all(|color| {
            let rooks = castling & Bitboard(planes.of_color(color));
            let rank = Bitboard::from_rank(color.backrank());
            let Some(king) = planes.king_square(color).filter(|_| rooks.any()) else { return true };
            let right = rooks & Bitboard(u64::MAX << king as u32);
            rank.contains(king)
                && rank.is_superset(rooks)
                && !right.more_than_one()
                && !(rooks ^ right).more_than_one()
        })
}

/// Decodes a record with a valid en passant square, where other formats have arbitrary numbers.
fn decode_plausible(bytes: &[u8; LENGTH]) -> Result<Sample, RecordError> {
    let (position, ..) = decode_fields(bytes)?;
    if let Some(square) = position.ep_square() {
        fields::check_ep(&position.to_board(), position.turn(), square)?;
    }
    decode_record(bytes)
}

/// Decodes a position, without a check against the rules, and White's score and result.
#[inline(always)]
pub(super) fn decode_fields(bytes: &[u8; LENGTH]) -> Result<(Position, i16, f32), RecordError> {
    let position = Position::from_bytes(bytes.first_chunk().expect("32 bytes"))?;
    let white_score = i16::from_le_bytes([bytes[28], bytes[29]]);
    Ok((position, white_score, fields::byte_result(bytes[30])?))
}

pub(super) fn encode_record(
    position: &Position,
    white_score: i16,
    white_result: u8,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&position.to_bytes());
    out.extend_from_slice(&white_score.to_le_bytes());
    out.extend_from_slice(&[white_result, 0]);
}

struct MarlinWriter;

impl SampleWriter for MarlinWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let turn = sample.position.turn();
        let white_score = fields::flip_score(fields::stored_score(sample)?, turn)?;
        let white_result = fields::white_result(sample)?;
        encode_record(&sample.position, white_score, white_result, out);
        Ok(())
    }
}
