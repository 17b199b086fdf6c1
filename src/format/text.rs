//! Lines of `FEN | score | result` of bullet's tools; the result may be in brackets.

use super::Presence::Never;
use super::lines::{self, ParsedLine};
use super::{Facts, Format, RecordError, SampleWriter, fields};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

pub static FORMAT: Format = Format {
    name: "text",
    about: "lines of `FEN | score | result`; score in centipawns, score and result from White's \
         point of view; FEN of 4 to 6 fields",
    extensions: &["txt"],
    facts: Facts { plies: Never, moves: Never, games: Never, ..Facts::ALL },
    view: PointOfView::White,
    recognises: |head| lines::can_parse_first(head, parse_line),
    cut: Some(lines::CUT),
    reader: |input| Box::new(lines::Lines::new(input, parse_line)),
    writer: Some(|| Box::new(TextWriter)),
};

fn parse_line(line: &str) -> Result<ParsedLine, RecordError> {
    let mut parts = line.split('|').map(str::trim);
    let (Some(fen), Some(score), Some(result), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(format!("expected `FEN | score | result`, found `{line}`").into());
    };
    let position = fields::text_fen(fen)?;
    let score = fields::text_score(score)?;
    let result = result.trim_end_matches(';').trim_end();
    let inside = result.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
    let result = fields::text_result(inside.unwrap_or(result))?;
    Ok((fields::seen_by_white(position, Some(score), result)?, false))
}

struct TextWriter;

impl SampleWriter for TextWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let turn = sample.position.turn();
        let score = fields::flip_score(fields::stored_score(sample)?, turn)?;
        let result = fields::result_text(fields::flip_result(sample.result, turn))?;
        let fen = sample.position.to_fen();
        out.extend_from_slice(format!("{fen} | {score} | {result}\n").as_bytes());
        Ok(())
    }
}
