//! Traces as records of bytes.

use std::num::NonZeroU64;

use shakmaty::Color;

use super::{BadRecord, Entry, Fault, Layout, Traced, Traces, fields, fill};

/// The first bytes of a file of version 1.
pub const MAGIC: &[u8; 8] = b"NNTRACE1";

/// The first bytes of a file of version 2, whose records may have an evaluation.
pub const MAGIC_2: &[u8; 8] = b"NNTRACE2";

/// What stands in byte 2 where there is a score, and where there is an evaluation.
const SCORE: u8 = 1;
const EVAL: u8 = 2;

/// Bytes of an evaluation.
const VALUE: usize = 4;

/// Bytes of a record before its entries.
const HEAD: usize = 24;
/// Bytes of an entry.
const ENTRY: usize = 6;

impl Traces {
    /// Reads the next record; false at the end of the file.
    pub(super) fn next_record(&mut self, traced: &mut Traced) -> Result<bool, Fault> {
        let mut head = [0; HEAD];
        let mut length = fill(&mut *self.input, &mut head[..MAGIC.len()])?;
        // No record begins like this, so that files can be put together.
        while head.starts_with(MAGIC) || head.starts_with(MAGIC_2) {
            self.layout = Some(Layout::Binary(if head.starts_with(MAGIC) { 1 } else { 2 }));
            head = [0; HEAD];
            length = fill(&mut *self.input, &mut head[..MAGIC.len()])?;
        }
        if length == 0 {
            return Ok(false);
        }
        self.number += 1;
        length += fill(&mut *self.input, &mut head[length..])?;
        let entries = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let second = matches!(self.layout, Some(Layout::Binary(2)));
        let value = if second && head[2] & EVAL > 0 { VALUE } else { 0 };
        let rest = match length {
            HEAD => value + ENTRY * entries + usize::from(head[3]),
            _ => 0,
        };
        self.bytes.resize(rest, 0);
        length += fill(&mut *self.input, &mut self.bytes)?;
        if length < HEAD + rest {
            let place = format!("record {}", self.number);
            let reason = format!("the file ends after {length} of its {} bytes", HEAD + rest);
            return Err(Fault::CutOff(BadRecord { place, reason }));
        }
        let (eval, rest) = self.bytes.split_at(value);
        let (entries, fen) = rest.split_at(ENTRY * entries);
        if second {
            // What is left is read as in version 1.
            head[2] &= !EVAL;
        }
        decode(&head, eval, entries, fen, traced).map_err(|reason| self.bad(reason))?;
        Ok(true)
    }
}

fn decode(
    head: &[u8; HEAD],
    eval: &[u8],
    entries: &[u8],
    fen: &[u8],
    traced: &mut Traced,
) -> Result<(), String> {
    let [result, turn, scored, _, _, _, score @ ..] = head.first_chunk::<8>().expect("24 bytes");
    let (amounts, _) = head[8..].as_chunks::<4>();
    traced.result = fields::byte_result(*result)?;
    traced.turn = match turn {
        0 => Color::White,
        1 => Color::Black,
        _ => return Err(format!("side to move {turn}, expected 0 for White or 1 for Black")),
    };
    traced.score = match scored {
        0 => None,
        1 => Some(fields::turned_score(i16::from_le_bytes(*score), Color::White)?),
        _ => return Err(format!("byte 2 is {scored}, expected 1 if there is a score, else 0")),
    };
    traced.phase = amount("phase", amounts[0])?;
    traced.scale = amount("scale factor", amounts[1])?;
    let game = u64::from_le_bytes(*head.last_chunk().expect("24 bytes"));
    traced.game = NonZeroU64::new(game);
    traced.eval = match eval.first_chunk() {
        None => None,
        Some(bytes) => {
            let value = f32::from_le_bytes(*bytes);
            let told = || format!("evaluation {value}, expected a number of centipawns");
            Some(value.is_finite().then_some(value).ok_or_else(told)?)
        }
    };
    let (entries, _) = entries.as_chunks::<ENTRY>();
    traced.entries.clear();
    traced.entries.extend(entries.iter().map(|&[t0, t1, w0, w1, b0, b1]| Entry {
        term: u16::from_le_bytes([t0, t1]),
        white: i16::from_le_bytes([w0, w1]),
        black: i16::from_le_bytes([b0, b1]),
    }));
    traced.set_fen(fen)
}

fn amount(what: &str, bytes: [u8; 4]) -> Result<f32, String> {
    let value = f32::from_le_bytes(bytes);
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(format!("{what} {value}, expected a number from 0")),
    }
}

/// Appends a position as a record; [`MAGIC`] stands before the first one, or [`MAGIC_2`] where
/// records have evaluations. The error is the reason why it cannot be written.
pub fn write_binary(traced: &Traced, out: &mut Vec<u8>) -> Result<(), String> {
    let result = fields::result_byte(traced.result)?;
    let entries = u16::try_from(traced.entries.len())
        .map_err(|_| format!("{} entries, at most 65535 fit", traced.entries.len()))?;
    let fen = u8::try_from(traced.fen.len())
        .map_err(|_| format!("a FEN of {} bytes, at most 255 fit", traced.fen.len()))?;
    let score = fields::turned_score(traced.score.unwrap_or(0), Color::White)?;
    let scored = if traced.score.is_some() { SCORE } else { 0 };
    let scored = scored | if traced.eval.is_some() { EVAL } else { 0 };
    out.extend_from_slice(&[result, u8::from(traced.turn.is_black()), scored, fen]);
    out.extend_from_slice(&entries.to_le_bytes());
    out.extend_from_slice(&score.to_le_bytes());
    out.extend_from_slice(&traced.phase.to_le_bytes());
    out.extend_from_slice(&traced.scale.to_le_bytes());
    out.extend_from_slice(&traced.game.map_or(0, NonZeroU64::get).to_le_bytes());
    out.extend(traced.eval.iter().flat_map(|eval| eval.to_le_bytes()));
    for Entry { term, white, black } in &traced.entries {
        out.extend_from_slice(&term.to_le_bytes());
        out.extend_from_slice(&white.to_le_bytes());
        out.extend_from_slice(&black.to_le_bytes());
    }
    out.extend_from_slice(traced.fen.as_bytes());
    Ok(())
}
