//! Lines of a FEN and a result: `FEN [0.5]`, `FEN [0.5] score`, `FEN; [1.0]`, `FEN 1-0`, `FEN
//! "0-1"`, and `pieces w - - c9 "1/2-1/2";` (Zurichess). A bare result needs a FEN of 4 or 6 fields
//! and must not be a whole number, as counters are. `ce` and `dm` are scores of the side to move.

use super::Presence::{Never, Sometimes};
use super::fields::Epd;
use super::lines::{self, ParsedLine};
use super::{Facts, Format, RecordError, SampleWriter, fields};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

pub static FORMAT: Format = Format {
    name: "epd",
    about: "lines of `FEN [result]`, `FEN [result] score`, `FEN result` or `FEN c9 \"result\";`; \
         score in centipawns, score and result from White's point of view, but the operations ce and \
         dm from the side to move's; FEN of 4 to 6 fields",
    extensions: &["epd", "book"],
    facts: Facts { scores: Sometimes, plies: Never, moves: Never, games: Never, ..Facts::ALL },
    view: PointOfView::White,
    recognises: |head| lines::can_parse_first(head, parse_line),
    cut: Some(lines::CUT),
    reader: |input| Box::new(lines::Lines::new(input, parse_line)),
    writer: Some(|| Box::new(EpdWriter)),
};

fn parse_line(line: &str) -> Result<ParsedLine, RecordError> {
    let unexpected = || {
        format!(
            "expected `FEN [result]`, `FEN result` or `FEN c9 \"result\";`, and `;` after each \
             operation, found `{line}`"
        )
    };
    let (mut score, mut result) = Default::default();
    let (head, tail) = line.split_once('[').map_or((line, None), |(it, tail)| (it, Some(tail)));
    let mut epd = Epd::parse_fields(head);
    if let Some(tail) = tail.filter(|_| epd.operations.last() == Some(&"")) {
        let (text, rest) = tail.split_once(']').ok_or_else(unexpected)?;
        result = Some(fields::text_share(text.trim())?);
        let rest = rest.trim().trim_end_matches(';');
        score = (!rest.is_empty()).then(|| fields::text_score(rest)).transpose()?;
    } else {
        // The bracket may belong to a comment.
        epd = Epd::parse_fields(line);
        let last = epd.operations.iter().rposition(|it| !it.is_empty()).ok_or_else(unexpected)?;
        if !is_operation(epd.operations[last]) {
            // Counters and results can be confused.
            let share = any_share(epd.operations.remove(last), epd.count != 5);
            result = Some(share.ok_or_else(unexpected)?);
        }
    }
    let mover_score = read_operations(&epd.operations, &mut result)?;
    if score.and(mover_score).is_some() {
        return Err("it has two scores".into());
    }
    let position = fields::text_fen(&epd.full_fen())?;
    let mut sample = fields::seen_by_white(position, score, result.ok_or_else(unexpected)?)?;
    sample.score = mover_score.or(sample.score);
    Ok((sample, mover_score.is_some()))
}

/// Reads White's result from a comment, and the side to move's score from `ce` or `dm`.
fn read_operations(
    operations: &[&str],
    result: &mut Option<f32>,
) -> Result<Option<i16>, RecordError> {
    let [mut score, mut mate] = [None; 2];
    for operation in operations.iter().filter(|it| !it.is_empty()) {
        if !is_operation(operation) {
            return Err(format!(
                "`{operation}` is no operation, whose name begins with a letter; write `FEN | \
                 score | result`"
            )
            .into());
        }
        let (name, operand) = operation.split_once(char::is_whitespace).unwrap_or((operation, ""));
        let operand = operand.trim();
        match name.to_ascii_lowercase().as_bytes() {
            b"ce" => score = Some(parse_centipawns(operand)?),
            b"dm" => match operand.parse() {
                Ok(moves @ 1..=999) => mate = Some(32_001 - 2 * moves),
                _ => {
                    return Err(format!("mate in `{operand}` (dm), expected 1 to 999 moves").into());
                }
            },
            // Comments; Zurichess has the result in an arbitrary one.
            [b'c', digit @ b'0'..=b'9'] => {
                let words = ["1-0", "0-1", "1/2-1/2"];
                let is_result = *digit == b'9' || words.contains(&operand.trim_matches('"'));
                let share = any_share(operand, true).filter(|_| is_result);
                if share.is_some_and(|share| result.replace(share).unwrap_or(share) != share) {
                    return Err("it has two results that differ".into());
                }
            }
            _ => {}
        }
    }
    Ok(mate.or(score))
}

fn is_operation(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Parses a result in quotes, or, if `bare`, one without quotes that is not a whole number.
fn any_share(text: &str, bare: bool) -> Option<f32> {
    let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let bare = Some(text).filter(|text| bare && !fields::is_whole(text));
    fields::parse_share(quoted.or(bare)?)
}

/// Parses the score of `ce`, in which a mate in n half-moves is 32767 - n.
fn parse_centipawns(operand: &str) -> Result<i16, RecordError> {
    let score = fields::score_in_range(fields::text_score(operand)?)?;
    Ok(if score.abs() > 32_000 { score - 767 * score.signum() } else { score })
}

struct EpdWriter;

impl SampleWriter for EpdWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let turn = sample.position.turn();
        let result = fields::share_text(fields::flip_result(sample.result, turn))?;
        let fen = sample.position.to_fen();
        let score = match sample.score {
            Some(score) => format!(" {}", fields::flip_score(score, turn)?),
            None => String::new(),
        };
        out.extend_from_slice(format!("{fen} [{result}]{score}\n").as_bytes());
        Ok(())
    }
}
