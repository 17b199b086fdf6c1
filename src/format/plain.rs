//! Stockfish's `.plain`; docs/formats.md has an example. Bad records are skipped to their `e`.

use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Move};

use super::Presence::{Never, Sometimes};
use super::lines::{self, Text};
use super::{
    BadRecord, Facts, Fault, Format, RecordError, RecordStarts, SampleReader, SampleWriter, fields,
};
use crate::point_of_view::PointOfView;
use crate::sample::{CASTLINGS, PlayedMove, Position, Sample};

pub static FORMAT: Format = Format {
    name: "plain",
    about: "Stockfish's plain text, lines of fen, move, score, ply, result and e; score and \
         result from the side to move's point of view",
    extensions: &["plain"],
    facts: Facts { scores: Sometimes, moves: Sometimes, games: Never, ..Facts::ALL },
    view: PointOfView::SideToMove,
    recognises: |head| {
        lines::first_lines(head)
            .any(|line| line.strip_prefix("fen ").is_some_and(|fen| fields::text_fen(fen).is_ok()))
    },
    cut: Some(RecordStarts { bytes: 1 << 18, border: find_border }),
    reader: |input| Box::new(PlainReader { text: Text::new(input, lines::LONGEST) }),
    writer: Some(|| Box::new(PlainWriter)),
};

/// Finds the start of a record, after the line `e` of another one.
fn find_border(bytes: &[u8]) -> Option<usize> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut end = lines.next()?.len();
    let is_end = |line: &&[u8]| {
        end += line.len();
        line.ends_with(b"\n") && line.trim_ascii() == b"e"
    };
    lines.find(is_end)?;
    Some(end)
}

struct PlainReader {
    text: Text,
}

impl SampleReader for PlainReader {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let mut entry = PlainEntry::default();
        let mut has_lines = false;
        let mut wrong = None::<BadRecord>;
        while self.text.read_line()? {
            let line = self.text.current_line();
            if line == Ok("") {
                continue;
            }
            has_lines = true;
            if line == Ok("e") {
                let sample = match wrong {
                    Some(bad) => Err(bad),
                    None => entry.to_sample().map_err(|reason| self.text.bad_record(reason)),
                };
                out.push(sample.map_err(Fault::Skipped)?);
                return Ok(true);
            }
            // The first fault is reported.
            if let (None, Err(reason)) = (&wrong, line.and_then(|line| entry.take_line(line))) {
                wrong = Some(self.text.bad_record(reason));
            }
        }
        if has_lines {
            let reason = "the file ends before the line `e` of a record".into();
            return Err(Fault::CutOff(wrong.unwrap_or_else(|| self.text.bad_record(reason))));
        }
        Ok(false)
    }
}

#[derive(Default)]
struct PlainEntry {
    position: Option<Position>,
    played: Option<String>,
    score: Option<i16>,
    ply: Option<u16>,
    result: Option<f32>,
}

impl PlainEntry {
    fn take_line(&mut self, line: &str) -> Result<(), RecordError> {
        let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let value = value.trim();
        let is_repeated = match name {
            "fen" => self.position.replace(fields::text_fen(value)?).is_some(),
            "move" => self.played.replace(value.to_string()).is_some(),
            "score" => self.score.replace(fields::text_score(value)?).is_some(),
            "ply" => {
                let wrong = |_| format!("ply `{value}`, expected a number from 0 to 65535");
                self.ply.replace(value.parse().map_err(wrong)?).is_some()
            }
            "result" => self.result.replace(parse_result(value)?).is_some(),
            _ => {
                let expected = "expected a line of fen, move, score, ply, result or e";
                return Err(format!("{expected}, found `{line}`").into());
            }
        };
        match is_repeated {
            true => Err(format!("`{name}` occurs twice before the line `e`").into()),
            false => Ok(()),
        }
    }

    fn to_sample(&self) -> Result<Sample, RecordError> {
        let missing = |name| move || format!("the record has no `{name}`");
        let position = self.position.ok_or_else(missing("fen"))?;
        let played = match self.played.as_deref() {
            None | Some("0000") => None,
            Some(text) => Some(parse_move(text, &position)?),
        };
        Ok(Sample {
            result: self.result.ok_or_else(missing("result"))?,
            score: fields::score_of_stockfish(self.score.ok_or_else(missing("score"))?)?,
            ply: Some(self.ply.ok_or_else(missing("ply"))?),
            played,
            ..Sample::from_position(position)
        })
    }
}

fn parse_result(text: &str) -> Result<f32, RecordError> {
    match text {
        "1" => Ok(1.0),
        "0" => Ok(0.5),
        "-1" => Ok(0.0),
        _ => Err(format!("result `{text}`, expected 1, 0 or -1").into()),
    }
}

/// Parses a legal move in UCI notation.
fn parse_move(text: &str, position: &Position) -> Result<PlayedMove, RecordError> {
    let chess = position.to_chess()?;
    let legal = text.parse::<UciMove>().ok().and_then(|uci| uci.to_move(&chess).ok());
    legal
        .and_then(|legal| PlayedMove::from_move(&legal))
        .ok_or_else(|| format!("move `{text}` is not legal in {}", position.to_fen()).into())
}

struct PlainWriter;

impl SampleWriter for PlainWriter {
    fn write_sample(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), RecordError> {
        let score = fields::stockfish_score(sample.score)?;
        let result = i16::from(fields::result_byte(sample.result)?) - 1;
        let played = sample.played.map_or_else(|| "0000".to_string(), format_move);
        let fen = sample.position.to_fen();
        let ply = fields::ply_of_sample(sample);
        let record =
            format!("fen {fen}\nmove {played}\nscore {score}\nply {ply}\nresult {result}\ne\n");
        out.extend_from_slice(record.as_bytes());
        Ok(())
    }
}

/// Formats a move for UCI. Castling is the king's move, or king takes rook from unusual squares.
fn format_move(played: PlayedMove) -> String {
    let [from, to] = [played.from(), played.target_square()];
    if played.is_castling() {
        let is_usual = CASTLINGS.iter().any(|(_, king, rook)| [*king, *rook] == [from, to]);
        let castling = Move::Castle { king: from, rook: to };
        return castling.to_uci(CastlingMode::from_standard(is_usual)).to_string();
    }
    UciMove::Normal { from, to, promotion: played.promotion() }.to_string()
}
