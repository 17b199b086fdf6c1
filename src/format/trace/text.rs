//! Traces as lines of text.
//!
//! Tuning data has hundreds of millions of entries, so they are read by hand, digit by digit.

use std::io::{BufRead, Read};

use shakmaty::Color;

use super::verify::Rules;
use super::{BYTE_ORDER_MARK, BadRecord, Entry, Fault, Traced, Traces, fields};
use crate::point_of_view::PointOfView;

/// The first line of a file; words that say how evaluations are printed may stand behind it.
pub const HEADER: &str = "nnuance-trace 1";

/// A line of this many bytes is none of ours; binary data would else fill the memory.
const LONGEST: u64 = 1 << 20;

/// No field before the counts is longer.
const LONGEST_WORD: usize = 80;

/// What a line is.
/// How every header begins, whatever its version.
const BEGIN: &[u8] = b"nnuance-trace ";

const EXPECTED: &str = "expected `RESULT w|b PHASE SCALE | TERM:WHITE:BLACK ... | FEN`";

impl Traces {
    /// Reads the rest of the first line, whose beginning is given, blank lines before it perhaps.
    pub(super) fn header(&mut self, begin: &[u8]) -> Result<(), Fault> {
        self.bytes.clear();
        self.bytes.extend_from_slice(begin);
        (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.bytes)?;
        self.number = self.bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let line = self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.bytes).trim_ascii();
        let told = |reason| Fault::CutOff(BadRecord { place: "line 1".to_string(), reason });
        self.rules = rules(line).map_err(told)?;
        Ok(())
    }

    /// Reads the next line that is not blank; false at the end of the file.
    pub(super) fn next_line(&mut self, traced: &mut Traced) -> Result<bool, Fault> {
        loop {
            self.bytes.clear();
            let length = (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.bytes)?;
            if length == 0 {
                return Ok(false);
            }
            self.number += 1;
            if length as u64 == LONGEST && !self.bytes.ends_with(b"\n") {
                self.input.skip_until(b'\n')?;
                return Err(self.bad(format!("the line is longer than {LONGEST} bytes")));
            }
            let line = self.bytes.trim_ascii();
            // A file that was put behind another.
            if line.starts_with(BEGIN) {
                let place = format!("line {}", self.number);
                let told = |reason| Fault::CutOff(BadRecord { place, reason });
                self.rules = rules(line).map_err(told)?;
                continue;
            }
            if !line.is_empty() {
                parse(line, traced).map_err(|reason| self.bad(reason))?;
                return Ok(true);
            }
        }
    }
}

/// What a header says.
fn rules(line: &[u8]) -> Result<Rules, String> {
    let rest = line.strip_prefix(HEADER.as_bytes());
    let rest = rest.filter(|rest| matches!(rest.first(), None | Some(b' ' | b'\t')));
    let rest = rest.and_then(|rest| str::from_utf8(rest).ok()).ok_or_else(|| {
        format!("expected the line `{HEADER}` before all else, found `{}`", cut(line))
    })?;
    let mut rules = Rules::default();
    for word in rest.split_whitespace() {
        match word.split_once('=') {
            Some(("eval", "white")) => rules.view = PointOfView::White,
            Some(("eval", "side-to-move")) => rules.view = PointOfView::SideToMove,
            Some(("tolerance", text)) => rules.tolerance = amount("tolerance", text)?.into(),
            _ => {
                return Err(format!(
                    "`{}` behind `{HEADER}`, expected eval=white, eval=side-to-move or \
                     tolerance=CENTIPAWNS",
                    cut(word.as_bytes())
                ));
            }
        }
    }
    Ok(rules)
}

/// Reads a line, neither blank nor blanks around it.
fn parse(line: &[u8], traced: &mut Traced) -> Result<(), String> {
    let mut rest = line;
    let mut next = || {
        let word = word(&mut rest)?;
        (!word.is_empty())
            .then_some(word)
            .ok_or_else(|| format!("{EXPECTED}, found `{}`", cut(line)))
    };
    traced.result = fields::text_result(next()?)?;
    traced.turn = match next()? {
        "w" => Color::White,
        "b" => Color::Black,
        other => return Err(format!("side to move `{other}`, expected w or b")),
    };
    traced.phase = amount("phase", next()?)?;
    traced.scale = amount("scale factor", next()?)?;
    (traced.score, traced.eval, traced.game) = (None, None, None);
    loop {
        let word = word(&mut rest)?;
        let twice = if let Some(score) = word.strip_prefix("cp=") {
            let score = fields::turned_score(fields::text_score(score)?, Color::White)?;
            traced.score.replace(score).is_some()
        } else if let Some(eval) = word.strip_prefix("eval=") {
            let value = eval.parse().ok().filter(|value: &f32| value.is_finite());
            let value = value
                .ok_or_else(|| format!("evaluation `{eval}`, expected a number of centipawns"))?;
            traced.eval.replace(value).is_some()
        } else if let Some(game) = word.strip_prefix("game=") {
            let game = game
                .parse()
                .map_err(|_| format!("game `{game}`, expected a whole number from 1"))?;
            traced.game.replace(game).is_some()
        } else if word.is_empty() {
            break;
        } else {
            return Err(format!("`{word}`, expected cp=SCORE, eval=VALUE, game=NUMBER or `|`"));
        };
        if twice {
            return Err(format!("`{word}` is the second of its kind; print it once"));
        }
    }
    let Some(counts) = rest.strip_prefix(b"|") else {
        return Err(format!("no `|` before the counts; {EXPECTED}"));
    };
    traced.entries.clear();
    let fen = entries(counts, &mut traced.entries)?.trim_ascii();
    traced.set_fen(fen)
}

/// Takes a word, which a blank or `|` ends; it is empty where only that or nothing is left.
fn word<'a>(rest: &mut &'a [u8]) -> Result<&'a str, String> {
    *rest = rest.trim_ascii_start();
    let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'|'));
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    if word.len() > LONGEST_WORD {
        return Err(format!("`{}`, a word of {} bytes; {EXPECTED}", cut(word), word.len()));
    }
    str::from_utf8(word).map_err(|_| "the line is not UTF-8".to_string())
}

/// A number that is finite and not negative.
fn amount(what: &str, text: &str) -> Result<f32, String> {
    text.parse()
        .ok()
        .filter(|value: &f32| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| format!("{what} `{text}`, expected a number from 0"))
}

/// Appends the entries up to `|` or the end, and gives what is left behind it.
fn entries<'a>(mut rest: &'a [u8], out: &mut Vec<Entry>) -> Result<&'a [u8], String> {
    loop {
        match rest {
            [b' ' | b'\t', after @ ..] => rest = after,
            [b'|', after @ ..] => return Ok(after),
            [] => return Ok(rest),
            _ => {
                let Some((entry, after)) = entry(rest) else {
                    let end = rest.iter().position(u8::is_ascii_whitespace);
                    return Err(format!(
                        "`{}`, expected TERM:WHITE:BLACK, whole numbers from 0 to 65534 and -32768 \
                         to 32767",
                        cut(&rest[..end.unwrap_or(rest.len())])
                    ));
                };
                out.push(entry);
                rest = after;
            }
        }
    }
}

fn entry(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let (term, rest) = number(bytes)?;
    let (white, rest) = number(rest.strip_prefix(b":")?)?;
    let (black, rest) = number(rest.strip_prefix(b":")?)?;
    let ends = matches!(rest.first(), None | Some(b' ' | b'\t' | b'|'));
    let entry = Entry {
        term: term.try_into().ok()?,
        white: white.try_into().ok()?,
        black: black.try_into().ok()?,
    };
    ends.then_some((entry, rest))
}

/// A whole number of at most six digits, and what stands behind it.
fn number(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (sign, digits) = match bytes {
        [b'-', digits @ ..] => (-1, digits),
        _ => (1, bytes),
    };
    let (mut value, mut length) = (0, 0);
    while let Some(digit) = digits.get(length).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
        && length < 6
    {
        value = 10 * value + i32::from(digit);
        length += 1;
    }
    (length > 0).then(|| (sign * value, &digits[length..]))
}

/// The beginning of some text, for a message.
fn cut(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(320)]);
    let cut: String = text.chars().filter(|letter| !letter.is_control()).take(80).collect();
    if bytes.len() > 80 { format!("{cut}...") } else { cut }
}

/// Appends a position as a line; [`HEADER`] is a line of its own before the first one. The error
/// is the reason why it cannot be written.
pub fn write_text(traced: &Traced, out: &mut Vec<u8>) -> Result<(), String> {
    use std::fmt::Write;
    let result = fields::result_text(traced.result)?;
    if traced.fen.contains(|letter: char| letter == '|' || letter.is_control()) {
        return Err(format!("not a FEN of chess: `{}`", cut(traced.fen.as_bytes())));
    }
    let turn = traced.turn.char();
    let mut line = format!("{result} {turn} {} {}", traced.phase, traced.scale);
    let mut add = |text: std::fmt::Arguments| {
        line.write_fmt(text).expect("a string takes whatever is written to it");
    };
    if let Some(score) = traced.score {
        add(format_args!(" cp={}", fields::turned_score(score, Color::White)?));
    }
    if let Some(eval) = traced.eval {
        add(format_args!(" eval={eval}"));
    }
    if let Some(game) = traced.game {
        add(format_args!(" game={game}"));
    }
    add(format_args!(" |"));
    for Entry { term, white, black } in &traced.entries {
        add(format_args!(" {term}:{white}:{black}"));
    }
    if !traced.fen.is_empty() {
        add(format_args!(" | {}", traced.fen));
    }
    add(format_args!("\n"));
    out.extend_from_slice(line.as_bytes());
    Ok(())
}
