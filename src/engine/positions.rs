//! Scores of positions by an engine.

use std::iter::Peekable;
use std::ops::Range;
use std::path::PathBuf;
use std::vec;

use shakmaty::Position as _;

use super::journal::Journal;
use super::player::{Limit, ParallelPlayers, Player};
use super::pool::{AppendedItem, ItemError, run_job};
use super::uci::GameLine;
use super::{EngineError, JobReport};
use crate::digest;
use crate::format::{Format, Presence, SampleSource, WriteError};
use crate::progress::Progress;
use crate::sample::Sample;
use crate::score::Score;

/// Number of positions between two entries of the journal.
const EVERY: u64 = 256;

/// A job that scores positions. Mate in n is +-(32,000 - n). In formats of games a skipped position
/// keeps its score, so that its game stays whole.
#[derive(Clone)]
pub struct PositionsJob {
    pub input: PathBuf,
    /// Output file, uncompressed, and new unless an earlier run of the job started it.
    pub output: PathBuf,
    pub format: &'static Format,
    pub limit: Limit,
    pub crew: ParallelPlayers,
    /// Positions of the input to search; in formats of games, those of games that start there.
    pub range: Range<u64>,
    /// Largest number of bad records of the input that are skipped.
    pub bad_records: u64,
}

/// Searches each position of the input without its past and writes the samples with these scores,
/// in order.
///
/// # Errors
///
/// Fails with [`EngineError::Input`] or [`EngineError::Read`] if the input cannot be read, with
/// [`EngineError::NoMoves`] or [`EngineError::Write`] if the format cannot store its positions,
/// with [`EngineError::Journal`] if the output exists or is of another job, with
/// [`EngineError::NodesIgnored`] or [`EngineError::Hopeless`] if the players fail, and with
/// [`EngineError::Nothing`] if no position was scored. Fails also if a player does not start.
pub fn label_positions(job: &PositionsJob, watch: &dyn Progress) -> Result<JobReport, EngineError> {
    let PositionsJob { input, output, format, limit, .. } = job;
    let (name, facts) = (format.name, format.facts);
    let failed = |error| EngineError::Input { path: input.clone(), error };
    let mut settings = vec![
        ("job", "label".to_string()),
        ("input", digest::of_file(input).map_err(failed)?),
        ("range", format!("{:?}", job.range)),
        ("format", name.to_string()),
        ("limit", limit.to_string()),
    ];
    settings.extend(job.crew.entrant.list_settings()?);
    let in_games = facts.games != Presence::Never;
    let range = job.range.clone();
    let source = SampleSource::open_file(input, None, job.bad_records)?;
    let block = Vec::new().into_iter().peekable();
    let mut items = Items { source, block, games: in_games, range, number: 0, game: 0 };
    if facts.moves == Presence::Always && items.source.format().facts.moves == Presence::Never {
        return Err(EngineError::NoMoves { format: name, input: input.clone() });
    }
    let mut writer = format.new_writer(output)?;
    let journal = Journal::open_job(output, &settings)?;
    let mut written = journal.progress.written;
    for done in items.by_ref().take(journal.progress.items as usize) {
        done?;
    }
    let work =
        |player: &mut dyn Player, item: &PositionItem| label_sample(player, &item.sample, *limit);
    let append = |item: &PositionItem, made: Option<Sample>, bytes: &mut Vec<u8>| {
        let stays = item.sample.game.is_some() && in_games;
        let added = u64::from(made.is_some());
        written += added;
        if let Some(sample) = made.or(stays.then_some(item.sample)) {
            let failed = |reason| {
                let path = output.clone();
                WriteError::Sample { path, format: name, number: written, reason }
            };
            writer.write_sample(&sample, bytes).map_err(failed)?;
        }
        if item.last_of_game {
            writer.finish_output(bytes);
        }
        Ok(AppendedItem { written: added, whole: item.last_of_game })
    };
    let total = ("positions", job.range.end - job.range.start);
    let report = run_job(&job.crew, (journal, EVERY), items.by_ref(), work, append, total, watch)?;
    let bad_records = items.source.bad_records().clone();
    Ok(JobReport { bad_records, ..report.require_written(output, "all positions were skipped")? })
}

fn label_sample(
    player: &mut dyn Player,
    sample: &Sample,
    limit: Limit,
) -> Result<Sample, ItemError> {
    let position = &sample.position;
    let chess =
        position.to_chess().map_err(|error| ItemError::skip_item(position.to_fen(), error))?;
    let line = GameLine::new(chess);
    let score = if !line.chess.legal_moves().is_empty() {
        let score = player.search_without_memory(&line, limit)?.score;
        let reason = "the engine gave a move but no exact score";
        score.ok_or_else(|| ItemError::skip_item(line.to_fen(), reason))?
    } else if line.chess.is_check() {
        Score::Mate(0)
    } else {
        Score::Centipawns(0)
    };
    Ok(Sample { score: Some(score.to_centipawns()), ..*sample })
}

struct PositionItem {
    sample: Sample,
    last_of_game: bool,
}

/// The samples of an input in a range, one by one.
struct Items {
    source: SampleSource,
    block: Peekable<vec::IntoIter<Sample>>,
    /// Whether the output may have games, which must not be cut.
    games: bool,
    range: Range<u64>,
    /// Number of the next sample, and of the first sample of its game.
    number: u64,
    game: u64,
}

impl Iterator for Items {
    type Item = Result<PositionItem, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.game < self.range.end {
            let Some(sample) = self.block.next() else {
                let mut block = Vec::new();
                match self.source.next_block(&mut block) {
                    Ok(true) => self.block = block.into_iter().peekable(),
                    Ok(false) => return None,
                    Err(error) => return Some(Err(error.into())),
                }
                continue;
            };
            // No block ends within a game.
            let is_same_game = |next: &Sample| next.game == sample.game && next.game.is_some();
            let last_of_game = !(self.games && self.block.peek().is_some_and(is_same_game));
            let is_chosen = self.game >= self.range.start;
            self.number += 1;
            if last_of_game {
                self.game = self.number;
            }
            if is_chosen {
                return Some(Ok(PositionItem { sample, last_of_game }));
            }
        }
        None
    }
}
