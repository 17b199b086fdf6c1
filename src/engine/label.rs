//! Positions scored by an engine.

use std::path::{Path, PathBuf};

use shakmaty::Position as _;

use super::job::{self, Kept};
use super::journal::Journal;
use super::pool::{Crew, Obstacle};
use super::search::{Limit, Score};
use super::uci::{Line, Uci};
use super::{EngineError, Report, Watch};
use crate::format::{Format, Holds, Source, Writer};
use crate::sample::Sample;

/// Positions between two entries in the journal.
const EVERY: u64 = 256;

/// Which positions to score, and how.
#[derive(Clone, Debug)]
pub struct LabelJob {
    pub input: PathBuf,
    /// Not packed, and not there yet, unless a run before this one began it.
    pub output: PathBuf,
    pub format: &'static Format,
    pub limit: Limit,
    pub crew: Crew,
    /// So many bad records of the input may be left out.
    pub bad_records: u64,
}

/// Gives each position of the input the score that the engine finds, and keeps results and order.
///
/// A position is searched without its past. Mate in n is +-(32,000 - n); positions without a legal
/// move are not searched, they score -32,000 where the side to move is mated and else 0. Where a
/// position of a game is skipped, the game breaks in two in formats that hold games.
pub fn label(job: &LabelJob, watch: &dyn Watch) -> Result<Report, EngineError> {
    if job.format.facts.scores == Holds::Never {
        return Err(EngineError::NoScores(job.format.name));
    }
    let settings = [
        ("job", "label".to_string()),
        ("input", job::hash_of(&job.input)?),
        ("format", job.format.name.to_string()),
        ("limit", job.limit.to_string()),
    ];
    let mut pieces = Pieces::open(&job.input, job.format, job.bad_records)?;
    if job.format.facts.moves == Holds::Always && pieces.source.format().facts.moves == Holds::Never
    {
        let made = job.input.display().to_string();
        return Err(EngineError::NoMoves { format: job.format.name, made });
    }
    let settings = [settings.to_vec(), job::engine_settings(&job.crew)?].concat();
    let journal = Journal::open(&job.output, &settings)?;
    let mut records = Records::new(&job.output, job.format, journal.progress().written)?;
    pieces.pass(journal.progress().items)?;
    let report = job::drive(
        &job.crew,
        journal,
        EVERY,
        pieces.by_ref(),
        |engine, piece: &Piece| score(engine, &piece.sample, job.limit),
        |piece, made, bytes| records.keep(piece, made, bytes),
        watch,
    )?;
    finished(report, pieces, &job.output)
}

/// The report of a job on positions; an output without any is an error.
pub(super) fn finished(
    report: Report,
    pieces: Pieces,
    output: &Path,
) -> Result<Report, EngineError> {
    if report.written == 0 && !report.stopped {
        let reason = report.skipped.first().map_or("no position was left", |skip| &skip.reason);
        let reason = reason.to_string();
        return Err(EngineError::Nothing { path: output.to_path_buf(), reason });
    }
    Ok(Report { bad_records: pieces.source.bad_records().clone(), ..report })
}

fn score(engine: &mut Uci, sample: &Sample, limit: Limit) -> Result<Sample, Obstacle> {
    let line = line_of(sample)?;
    let score = if !line.chess().legal_moves().is_empty() {
        engine.search_anew(&line, limit)?.score
    } else if line.chess().is_check() {
        Score::Mate(0)
    } else {
        Score::Centipawns(0)
    };
    Ok(Sample { score: Some(score.centipawns()), ..*sample })
}

/// The position of a sample, for an engine.
pub(super) fn line_of(sample: &Sample) -> Result<Line, Obstacle> {
    let chess = sample.position.to_chess().map_err(|error| Obstacle::Item {
        fen: sample.position.fen(),
        reason: error.to_string(),
    })?;
    Ok(Line::new(chess))
}

/// A sample of the input.
pub(super) struct Piece {
    pub sample: Sample,
    /// Whether the output may be cut behind it.
    last_of_game: bool,
}

/// The samples of an input one by one.
pub(super) struct Pieces {
    pub source: Source,
    block: Vec<Sample>,
    at: usize,
    /// Whether the output may hold games, which must not be cut.
    games: bool,
}

impl Pieces {
    pub fn open(input: &Path, format: &Format, bad_records: u64) -> Result<Self, EngineError> {
        let source = Source::open(input, None, bad_records)?;
        let games = format.facts.games != Holds::Never;
        Ok(Self { source, block: Vec::new(), at: 0, games })
    }

    /// Leaves out the first samples.
    pub fn pass(&mut self, count: u64) -> Result<(), EngineError> {
        for _ in 0..count {
            self.next().transpose()?;
        }
        Ok(())
    }
}

impl Iterator for Pieces {
    type Item = Result<Piece, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.block.len() {
            self.block.clear();
            self.at = 0;
            match self.source.next_block(&mut self.block) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
        let sample = self.block[self.at];
        self.at += 1;
        // A block never ends within a game.
        let next = self.block.get(self.at);
        let follows = next.is_some_and(|next| next.game == sample.game && next.game.is_some());
        let last_of_game = !(self.games && follows);
        Some(Ok(Piece { sample, last_of_game }))
    }
}

/// The samples of an output.
pub(super) struct Records<'a> {
    path: &'a Path,
    format: &'static Format,
    writer: Box<dyn Writer>,
    written: u64,
    /// Whether an earlier run wrote what stands before the first sample of a file.
    begun: bool,
}

impl<'a> Records<'a> {
    /// Goes on with an output that has so many samples.
    pub fn new(path: &'a Path, format: &'static Format, written: u64) -> Result<Self, EngineError> {
        let writer = format.writer.ok_or(EngineError::NoWriter(format.name))?();
        Ok(Self { path, format, writer, written, begun: written > 0 })
    }

    /// Appends what was made of a piece, if anything.
    pub fn keep(
        &mut self,
        piece: &Piece,
        made: Option<Sample>,
        bytes: &mut Vec<u8>,
    ) -> Result<Kept, EngineError> {
        if let Some(sample) = made {
            self.written += 1;
            let failed = |reason| EngineError::Write {
                path: self.path.to_path_buf(),
                format: self.format.name,
                number: self.written,
                reason,
            };
            if std::mem::take(&mut self.begun) {
                // The header of a table comes with its first sample, and only then.
                let mut passed_over = Vec::new();
                self.writer.write(&sample, &mut passed_over).map_err(failed)?;
                self.writer.finish(&mut passed_over);
            }
            self.writer.write(&sample, bytes).map_err(failed)?;
        }
        if piece.last_of_game {
            self.writer.finish(bytes);
        }
        Ok(Kept { written: made.is_some().into(), whole: piece.last_of_game })
    }
}
