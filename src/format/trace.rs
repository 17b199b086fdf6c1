//! Traces: the counts of the terms of an engine's evaluation, printed by the engine.
//!
//! A file begins with the line `nnuance-trace 1`; each following line is a position:
//!
//! ```text
//! RESULT w|b PHASE SCALE [cp=SCORE] [eval=VALUE] [game=NUMBER] | TERM:WHITE:BLACK ... | FEN
//! 1.0 w 24 128 eval=35 | 0:5:4 17:1:0 33:0:2 | 8/5k2/p2p4/1p1P4/1P6/P2B4/5K2/2b5 w - - 3 41
//! 0.5 b 11 64 cp=-35 game=12 | 0:4:4 33:2:0 | 8/5k2/p2p4/1p1P4/1P6/P2B4/5K2/2b5 b - - 3 41
//! ```
//!
//! Result, score and evaluation are White's, the latter two in centipawns; docs/own-engine.md has
//! the meaning of each field. Counts of a repeated term add up. Files may be concatenated.

use std::num::NonZeroU64;
use std::path::Path;

use shakmaty::Color;

use super::Presence::{Never, Sometimes};
use super::lines::{self, Text};
use super::source::open_format;
use super::{
    BadRecords, ByteInput, Facts, Fault, Format, GivenViews, ReadError, RecordError, SampleReader,
    fields,
};
use crate::point_of_view::PointOfView;
use crate::sample::{Sample, mix_hash};
use crate::sums::Sums;
use crate::terms::{EngineTerms, TermKind};

pub static FORMAT: Format = Format {
    name: "trace",
    about: "lines with counts of an engine's own terms; score in centipawns, score and result \
         from White's point of view",
    extensions: &["trace"],
    facts: Facts { scores: Sometimes, plies: Never, moves: Never, games: Sometimes, ..Facts::ALL },
    view: PointOfView::White,
    recognises: |head| lines::first_lines(head).next().is_some_and(|line| line.starts_with(BEGIN)),
    cut: None,
    reader: |input| Box::new(TraceReader::new(input, None)),
    writer: None,
};

pub const HEADER: &str = "nnuance-trace 1";
/// The start of a header of any version.
const BEGIN: &str = "nnuance-trace ";
/// The length of the longest line in bytes; binary data would otherwise fill the memory.
const LONGEST: usize = 1 << 20;
/// The tolerance of an evaluation in centipawns.
const TOLERANCE: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    pub term: u16,
    pub white: i16,
    pub black: i16,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TracedPosition {
    pub sample: Sample,
    /// The phase in the engine's units, not negative.
    pub phase: f32,
    /// The scale factor in the engine's units, not negative.
    pub scale: f32,
    /// The engine's evaluation, in centipawns for White.
    pub eval: Option<f64>,
    pub entries: Vec<TraceEntry>,
}

impl TracedPosition {
    /// Computes centipawns for White, tempo included, with weights of middlegame and endgame.
    pub fn evaluate_white(&self, terms: &EngineTerms, weights: &[[f64; 2]], tempo: f64) -> f64 {
        let mut sums = Sums::default();
        for &TraceEntry { term, white, black } in &self.entries {
            let term = usize::from(term);
            let [white, black] = [white, black].map(f64::from);
            for (phase, weight) in weights[term].into_iter().enumerate() {
                match terms.list.terms[term].kind {
                    TermKind::Normal => sums.normal[phase] += weight * (white - black),
                    TermKind::Safety => {
                        sums.safety[0][phase] += weight * white;
                        sums.safety[1][phase] += weight * black;
                    }
                    TermKind::Complexity if phase == 1 => sums.complexity += weight * white,
                    TermKind::Complexity => {}
                }
            }
        }
        let white = sums.white_centipawns(terms.shares(self.phase, self.scale));
        white + self.sample.position.turn().fold_wb(tempo, -tempo)
    }

    fn check_terms(&self, terms: &EngineTerms) -> Result<(), RecordError> {
        let Self { phase, scale, eval, entries, .. } = self;
        if f64::from(*phase) > terms.phase {
            let expected = format!("at most `phase {}` of the term list", terms.phase);
            return Err(format!("phase {phase}, expected {expected}").into());
        }
        if f64::from(*scale) > 2.0 * terms.scale {
            let expected = format!("at most twice `scale {}` of the term list", terms.scale);
            return Err(format!("scale factor {scale}, expected {expected}").into());
        }
        for TraceEntry { term, black, .. } in entries {
            match terms.list.terms.get(usize::from(*term)).map(|term| term.kind) {
                None => {
                    let last = terms.list.len() - 1;
                    let reason = format!("term {term}, but the term list ends with term {last}");
                    return Err(reason.into());
                }
                Some(TermKind::Complexity) if *black != 0 => {
                    let what = "a complexity term without sides";
                    return Err(format!("term {term} is {what}, but has {black} for Black").into());
                }
                Some(_) => {}
            }
        }
        let weights: Vec<[f64; 2]> = terms.list.terms.iter().map(|term| term.start).collect();
        let computed = self.evaluate_white(terms, &weights, terms.list.tempo);
        match eval.filter(|eval| (eval - computed).abs() > TOLERANCE + 1e-4) {
            None => Ok(()),
            Some(eval) => Err(format!(
                "the engine's evaluation is {eval:+.2}, but its counts with the weights of the term \
                 list give {computed:+.2} (centipawns for White); print list and traces with one \
                 build, without caches and early exits"
            )
            .into()),
        }
    }
}

pub struct TraceReader {
    text: Text,
    terms: Option<EngineTerms>,
    has_header: bool,
    /// The number of the last game in the file, and its hash.
    game: Option<(NonZeroU64, NonZeroU64)>,
}

impl TraceReader {
    /// Creates a reader; lines are checked against the term list if there is one.
    pub fn new(input: ByteInput, terms: Option<&EngineTerms>) -> Self {
        let text = Text::new(input, LONGEST);
        Self { text, terms: terms.cloned(), has_header: false, game: None }
    }

    /// Reads the next position; none at the end.
    pub fn read_position(&mut self) -> Result<Option<TracedPosition>, Fault> {
        loop {
            if !self.text.read_line()? {
                return Ok(None);
            }
            let line = self.text.current_line();
            if line == Ok("") {
                continue;
            }
            if !self.has_header || line.as_ref().is_ok_and(|line| line.starts_with(BEGIN)) {
                if line != Ok(HEADER) {
                    let reason = format!("expected the first line `{HEADER}`").into();
                    return Err(Fault::CutOff(self.text.bad_record(reason)));
                }
                self.has_header = true;
                continue;
            }
            let parsed = line.and_then(parse_line).and_then(|(traced, game)| match &self.terms {
                Some(terms) => traced.check_terms(terms).map(|()| (traced, game)),
                None => Ok((traced, game)),
            });
            let (traced, game) =
                parsed.map_err(|reason| Fault::Skipped(self.text.bad_record(reason)))?;
            return Ok(Some(self.of_game(traced, game)));
        }
    }

    /// Sets the game, a hash of its number and first position, since files may repeat numbers.
    fn of_game(
        &mut self,
        mut traced: TracedPosition,
        number: Option<NonZeroU64>,
    ) -> TracedPosition {
        if self.game.map(|(last, _)| last) != number {
            let first = traced.sample.position.zobrist_key();
            let id = |number: NonZeroU64| NonZeroU64::new(mix_hash(first, number.get()).max(1));
            self.game = number.and_then(|number| Some((number, id(number)?)));
        }
        traced.sample.game = self.game.map(|(_, id)| id);
        traced
    }
}

impl SampleReader for TraceReader {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let traced = TraceReader::read_position(self)?;
        out.extend(traced.iter().map(|traced| traced.sample));
        Ok(traced.is_some())
    }
}

/// Reads all traces of a file, compressed or not. Fails after more than `limit` bad records.
pub fn read_traces(
    path: &Path,
    terms: &EngineTerms,
    limit: u64,
    given: GivenViews,
    mut each: impl FnMut(&TracedPosition),
) -> Result<(), ReadError> {
    let (_, input, _) = open_format(path, Some(&FORMAT))?;
    let mut traces = TraceReader::new(input, Some(terms));
    let mut bad = BadRecords::default();
    loop {
        match traces.read_position() {
            Ok(Some(mut traced)) => {
                given.convert_samples(&FORMAT, std::slice::from_mut(&mut traced.sample));
                each(&traced);
            }
            Ok(None) => return Ok(()),
            Err(Fault::Skipped(record) | Fault::CutOff(record)) => {
                bad.skip_record(record, path, limit)?
            }
            Err(Fault::Io(error)) => {
                return Err(ReadError::Io { path: path.to_path_buf(), error });
            }
        }
    }
}

fn parse_line(line: &str) -> Result<(TracedPosition, Option<NonZeroU64>), RecordError> {
    let sections: Vec<&str> = line.splitn(3, '|').collect();
    let [head, counts, fen] = sections[..] else {
        return Err("expected `RESULT w|b PHASE SCALE | TERM:WHITE:BLACK ... | FEN`".into());
    };
    let mut words = head.split_ascii_whitespace();
    let mut next = |missing: &'static str| words.next().ok_or(missing);
    let result = fields::text_result(next("no result before the counts")?)?;
    let turn = match next("no side to move before the counts")? {
        "w" => Color::White,
        "b" => Color::Black,
        word => {
            return Err(format!("side to move `{word}`, expected w or b").into());
        }
    };
    let phase = next("no phase before the counts")?;
    let phase = parse_amount("phase", phase)?;
    let scale = next("no scale factor before the counts")?;
    let scale = parse_amount("scale factor", scale)?;
    let (mut score, mut eval, mut game) = Default::default();
    for word in words {
        match word.split_once('=') {
            Some(("cp", text)) => score = Some(fields::text_score(text)?),
            Some(("eval", text)) => {
                let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                eval = Some(value.ok_or_else(|| format!("evaluation `{text}`"))?);
            }
            Some(("game", text)) => {
                game = Some(text.parse().map_err(|_| format!("game `{text}`"))?);
            }
            _ => {
                let expected = "expected cp=SCORE, eval=VALUE or game=NUMBER";
                return Err(format!("`{word}`, {expected}").into());
            }
        }
    }
    let position = fields::text_fen(fen.trim())?;
    if position.turn() != turn {
        let fen = fen.trim();
        return Err(format!("{turn} is to move, but not in the FEN `{fen}`").into());
    }
    let sample = fields::seen_by_white(position, score, result)?;
    let entries = counts.split_ascii_whitespace().map(parse_entry).collect::<Result<_, _>>()?;
    Ok((TracedPosition { sample, phase, scale, eval, entries }, game))
}

/// Parses a finite number from 0.
fn parse_amount(name: &str, text: &str) -> Result<f32, RecordError> {
    let value = text.parse().ok().filter(|value: &f32| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("{name} `{text}`, expected a number from 0").into())
}

fn parse_entry(text: &str) -> Result<TraceEntry, RecordError> {
    let read = || {
        let (term, counts) = text.split_once(':')?;
        let (white, black) = counts.split_once(':')?;
        let [white, black] = [white.parse().ok()?, black.parse().ok()?];
        Some(TraceEntry { term: term.parse().ok()?, white, black })
    };
    read().ok_or_else(|| {
        let ranges = "whole numbers from 0 to 65535 and -32768 to 32767";
        format!("`{text}`, expected TERM:WHITE:BLACK, {ranges}").into()
    })
}
