//! Lines of `FEN score result`, as hce-tuner reads them.
//!
//! Score and result are those of the side to move unless the user says otherwise; the score is in
//! whole centipawns. The FEN has all 6 fields, since its counters could else not be told from the
//! score. Results may be written 1.0, 0.5, 0.0, 1-0, 1/2-1/2 or 0-1. Blank lines, Windows line
//! ends and a last line without an end are fine. Castling rights and en passant squares that the
//! board contradicts are dropped.

use super::{Facts, Format, Holds, View, Writer, fields, lines};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

pub static FORMAT: Format = Format {
    name: "hce",
    about: "lines of `FEN score result`; score in centipawns, score and result seen by the side \
            to move; FEN of 6 fields",
    extensions: &["hce"],
    facts: Facts {
        scores: Holds::Always,
        plies: Holds::Never,
        moves: Holds::Never,
        games: Holds::Never,
        colours: Holds::Always,
    },
    view: View::Usual(PointOfView::SideToMove),
    recognises: |head| lines::recognises(head, parse),
    reader: |input| Box::new(lines::Lines::new(input, parse)),
    writer: Some(|| Box::new(HceWriter)),
};

fn parse(line: &str) -> Result<Sample, String> {
    let mut parts = line.rsplitn(3, char::is_whitespace);
    let (Some(result), Some(score), Some(fen)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("expected `FEN score result`, found `{line}`"));
    };
    let count = fen.split_ascii_whitespace().count();
    if count != 6 {
        return Err(format!("FEN of {count} fields before `score result`, expected 6: `{line}`"));
    }
    Ok(Sample {
        position: fields::text_fen(fen)?,
        result: fields::text_result(result)?,
        score: fields::score_in_range(fields::text_score(score)?)?.into(),
        ply: None,
        played: None,
        game: None,
        source: 0,
    })
}

struct HceWriter;

impl Writer for HceWriter {
    fn write(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(score) = sample.score else {
            return Err("it has no score; write epd, which needs none".to_string());
        };
        let score = fields::score_in_range(score)?;
        let result = fields::result_text(sample.result)?;
        let fen = sample.position.fen();
        out.extend_from_slice(format!("{fen} {score} {result}\n").as_bytes());
        Ok(())
    }
}
