//! Lines of a FEN and a result: `FEN [0.5]`, `FEN [0.5] score`, `FEN; [1.0]`, `FEN 1-0`, `FEN
//! "0-1"`, and `pieces w - - c9 "1/2-1/2";` (Zurichess). A bare result needs a FEN of 4 or 6 fields
//! and may not be a whole number, which might be a counter.

use super::Presence::{Never, Sometimes};
use super::{Facts, Format, Writer, fields, lines};
use crate::point_of_view::PointOfView;
use crate::sample::{Position, Sample};

pub static FORMAT: Format = Format {
    name: "epd",
    about: "lines of `FEN [result]`, `FEN [result] score`, `FEN result` or `FEN c9 \"result\";`; \
         score in centipawns, score and result from White's point of view; FEN of 4 to 6 fields",
    extensions: &["epd", "book"],
    facts: Facts { scores: Sometimes, plies: Never, moves: Never, games: Never, ..Facts::ALL },
    view: PointOfView::White,
    recognises: |head| lines::recognises(head, parse),
    cut: Some(lines::CUT),
    reader: |input| Box::new(lines::Lines::new(input, parse)),
    writer: Some(|| Box::new(EpdWriter)),
};

fn parse(line: &str) -> Result<Sample, String> {
    let quote = line.match_indices('"').find(|&(at, _)| line[..at].ends_with(" c9 "));
    if let Some((at, _)) = quote {
        let (fen, rest) = (&line[..at - " c9 ".len()], &line[at + 1..]);
        let Some((result, rest)) = rest.split_once('"') else {
            return Err("the result after `c9` has no closing quote".to_string());
        };
        let rest = rest.trim_start();
        if !rest.is_empty() && !rest.starts_with(';') {
            return Err(format!("expected `;` after the result, found `{rest}`"));
        }
        let position = position(fen, line)?;
        return fields::seen_by_white(position, None, fields::text_share(result)?);
    }
    let Some((fen, rest)) = line.split_once('[') else { return bare(line) };
    let unexpected = || format!("expected `]` after the result, found `{line}`");
    let (result, score) = rest.split_once(']').ok_or_else(unexpected)?;
    let position = position(fen, line)?;
    let score = match score.trim().trim_end_matches(';') {
        "" => None,
        score => Some(fields::text_score(score)?),
    };
    fields::seen_by_white(position, score, fields::text_share(result.trim())?)
}

/// A result without brackets at the end of the line.
fn bare(line: &str) -> Result<Sample, String> {
    let unexpected = || format!("expected `FEN [result]` or `FEN c9 \"result\";`, found `{line}`");
    let (fen, result) = line
        .trim_end_matches(';')
        .rsplit_once(|letter: char| letter == ';' || letter.is_whitespace())
        .ok_or_else(unexpected)?;
    let quoted = result.strip_prefix('"').and_then(|result| result.strip_suffix('"'));
    // A counter could be a result, and a result a counter.
    let five = fen.split_ascii_whitespace().count() == 5;
    let whole = result.bytes().all(|byte| byte.is_ascii_digit());
    if quoted.is_none() && (five || whole) {
        return Err(unexpected());
    }
    let result = fields::text_share(quoted.unwrap_or(result)).map_err(|_| unexpected())?;
    fields::seen_by_white(position(fen, line)?, None, result)
}

/// The position of a line, whose `text` before the result is a FEN and perhaps operations.
fn position(text: &str, line: &str) -> Result<Position, String> {
    let text = text.trim_end();
    let plain = text.trim_end_matches(';');
    let mut rest = plain.split_ascii_whitespace().skip(4);
    match rest.find(|word| word.starts_with(|first: char| first.is_ascii_alphabetic())) {
        Some(name) if plain == text => Err(format!("the operation `{name}` does not end with `;`")),
        None if !line.contains(';') => fields::text_fen(text),
        _ => fields::text_fen(&fields::fen_of_line(line)),
    }
}

struct EpdWriter;

impl Writer for EpdWriter {
    fn write(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), String> {
        let turn = sample.position.turn();
        let result = fields::share_text(fields::flip_result(sample.result, turn))?;
        let fen = sample.position.fen();
        let score = match sample.score {
            Some(score) => format!(" {}", fields::flip_score(score, turn)?),
            None => String::new(),
        };
        out.extend_from_slice(format!("{fen} [{result}]{score}\n").as_bytes());
        Ok(())
    }
}
