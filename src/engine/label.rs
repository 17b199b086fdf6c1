//! Positions scored by an engine.

use std::path::{Path, PathBuf};

use shakmaty::Position as _;

use super::job::{self, Kept};
use super::journal::Journal;
use super::mix::Mix;
use super::player::{Crew, Player};
use super::pool::Obstacle;
use super::search::Limit;
use super::uci::Line;
use super::{EngineError, Report, Watch};
use crate::format::{Format, Holds, Source, Writer};
use crate::sample::{Position, Sample};
use crate::score::Score;

/// Positions between two entries in the journal.
const EVERY: u64 = 256;

/// Which positions to score, and how.
#[derive(Clone)]
pub struct LabelJob {
    pub input: PathBuf,
    /// Not packed, and not there yet, unless a run before this one began it.
    pub output: PathBuf,
    pub format: &'static Format,
    pub limit: Limit,
    pub crew: Crew,
    /// How the score that is found is mixed with that of the input; none where it takes its place.
    pub mix: Option<Mix>,
    /// So many bad records of the input may be left out.
    pub bad_records: u64,
}

/// Gives each position of the input the score that the engine finds, and keeps results and order.
///
/// A position is searched without its past. Mate in n is +-(32,000 - n); positions without a legal
/// move are not searched, they score -32,000 where the side to move is mated and else 0. In formats
/// of games a position that is skipped keeps the score that it has, so that its game stays whole.
pub fn label(job: &LabelJob, watch: &dyn Watch) -> Result<Report, EngineError> {
    let mix = job.mix.map(|mix| ("mix", mix.to_string()));
    let searches = [("limit", job.limit.to_string())].into_iter().chain(mix);
    let searches: Vec<_> = searches.chain(job.crew.entrant.settings()?).collect();
    let work =
        |player: &mut dyn Player, piece: &Piece| score(player, &piece.sample.position, job.limit);
    let settings = [
        ("job", "label".to_string()),
        ("input", job::hash_of(&job.input)?),
        ("format", job.format.name.to_string()),
    ];
    let mut pieces = Pieces::open(&job.input, job.format, job.bad_records)?;
    if job.format.facts.moves == Holds::Always && pieces.source.format().facts.moves == Holds::Never
    {
        let made = job.input.display().to_string();
        return Err(EngineError::NoMoves { format: job.format.name, made });
    }
    let journal = Journal::open(&job.output, &[&settings[..], &searches].concat())?;
    let mut records = Records::new(&job.output, job.format, journal.progress().written)?;
    pieces.pass(journal.progress().items)?;
    let report = job::drive(
        &job.crew.workers(),
        journal,
        EVERY,
        pieces.by_ref(),
        work,
        |piece: &Piece, made, bytes| {
            let made = made.map(|score| piece.scored(score, job.mix));
            let stays = made.is_none().then(|| records.skipped(&piece.sample)).flatten();
            records.keep(piece, made, stays, bytes)
        },
        watch,
    )?;
    finished(report, pieces, &records)
}

/// The report of a job on positions; an output without any is an error.
pub(super) fn finished(
    report: Report,
    pieces: Pieces,
    records: &Records,
) -> Result<Report, EngineError> {
    if report.written == 0 && !report.stopped {
        let reason = report.skipped.first().map_or("no position was left", |skip| &skip.reason);
        let reason = reason.to_string();
        return Err(EngineError::Nothing { path: records.path.to_path_buf(), reason });
    }
    let bad_records = pieces.source.bad_records().clone();
    Ok(Report { bad_records, ..report })
}

fn score(player: &mut dyn Player, position: &Position, limit: Limit) -> Result<i16, Obstacle> {
    let line = line_of(position)?;
    let score = if !line.chess().legal_moves().is_empty() {
        player.search_anew(&line, limit)?.score
    } else if line.chess().is_check() {
        Score::Mate(0)
    } else {
        Score::Centipawns(0)
    };
    Ok(score.centipawns())
}

/// A position, for an engine.
pub(super) fn line_of(position: &Position) -> Result<Line, Obstacle> {
    let chess = position
        .to_chess()
        .map_err(|error| Obstacle::Item { fen: position.fen(), reason: error.to_string() })?;
    Ok(Line::new(chess))
}

/// A sample of the input.
pub(super) struct Piece {
    pub sample: Sample,
    /// Whether the output may be cut behind it.
    last_of_game: bool,
}

impl Piece {
    /// The sample with another score, or one between that and its own.
    fn scored(&self, new: i16, mix: Option<Mix>) -> Sample {
        let mixed = mix.zip(self.sample.score).map(|(mix, old)| mix.of(new, old));
        Sample { score: Some(mixed.unwrap_or(new)), ..self.sample }
    }
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
        loop {
            // A block never ends within a game.
            let rest = &self.block[self.at..];
            if let Some((&sample, behind)) = rest.split_first() {
                let of_game = |next: &Sample| next.game == sample.game && next.game.is_some();
                let last_of_game = !(self.games && behind.first().is_some_and(of_game));
                self.at += 1;
                return Some(Ok(Piece { sample, last_of_game }));
            }
            self.block.clear();
            self.at = 0;
            match self.source.next_block(&mut self.block) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
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

    /// A sample that is skipped where its game has to stay whole.
    pub fn skipped(&self, sample: &Sample) -> Option<Sample> {
        let in_game = sample.game.is_some() && self.format.facts.games != Holds::Never;
        in_game.then_some(*sample)
    }

    /// Appends what was made of a piece, or what stays of it, if anything.
    pub fn keep(
        &mut self,
        piece: &Piece,
        made: Option<Sample>,
        stays: Option<Sample>,
        bytes: &mut Vec<u8>,
    ) -> Result<Kept, EngineError> {
        self.written += u64::from(made.is_some());
        if let Some(sample) = made.or(stays) {
            self.add(&sample, bytes)?;
        }
        if piece.last_of_game {
            self.writer.finish(bytes);
        }
        Ok(Kept { written: made.is_some().into(), whole: piece.last_of_game })
    }

    fn add(&mut self, sample: &Sample, bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        let failed = |reason| EngineError::Write {
            path: self.path.to_path_buf(),
            format: self.format.name,
            number: self.written,
            reason,
        };
        if std::mem::take(&mut self.begun) {
            // The header of a table comes with its first sample, and only then.
            let mut passed_over = Vec::new();
            self.writer.write(sample, &mut passed_over).map_err(failed)?;
            self.writer.finish(&mut passed_over);
        }
        self.writer.write(sample, bytes).map_err(failed)
    }
}
