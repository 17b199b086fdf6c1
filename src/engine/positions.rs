//! Positions that an engine scores, or resolves to the quiet end of their principal variation, as
//! Ethereal's data were (A. Grant, Evaluation & Tuning in Chess Engines, section 2.2).

use std::ops::Range;
use std::path::PathBuf;

use shakmaty::{Chess, Move, Position as _};

use super::journal::Journal;
use super::player::{Crew, Limit, Player};
use super::pool::{Kept, Obstacle, drive};
use super::uci::Line;
use super::{EngineError, Report};
use crate::digest;
use crate::format::{Format, Holds, Source};
use crate::progress::Progress;
use crate::sample::{Position, Sample};
use crate::score::Score;

/// Positions between two entries in the journal.
const EVERY: u64 = 256;

/// Which positions to search, and what to make of them.
#[derive(Clone)]
pub struct PositionsJob {
    pub input: PathBuf,
    /// Not packed, and not there yet, unless a run before this one began it.
    pub output: PathBuf,
    pub format: &'static Format,
    pub task: Task,
    pub limit: Limit,
    pub crew: Crew,
    /// The positions of the input to search; in formats of games, those of games that begin there.
    pub range: Range<u64>,
    /// So many bad records of the input may be left out.
    pub bad_records: u64,
}

#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Gives it the score that is found. Mate in n is +-(32,000 - n). In formats of games a skipped
    /// position keeps its score, so that its game stays whole.
    Label,
    /// Writes the quiet end of the principal variation in its place, as a position of no game.
    Resolve,
}

/// Searches each position of the input without its past and writes the results, in order.
pub fn positions(job: &PositionsJob, watch: &dyn Progress) -> Result<Report, EngineError> {
    let PositionsJob { input, output, format, task, limit, .. } = job;
    let (name, facts) = (format.name, format.facts);
    let labels = matches!(task, Task::Label);
    let failed = |error| EngineError::Input { path: input.clone(), error };
    let mut settings = vec![
        ("job", if labels { "label" } else { "resolve" }.to_string()),
        ("input", digest::of_file(input).map_err(failed)?.1),
        ("range", format!("{:?}", job.range)),
        ("format", name.to_string()),
        ("limit", limit.to_string()),
    ];
    settings.extend(job.crew.entrant.settings()?);
    let mut items = Items::open(job)?;
    let made = match task {
        Task::Resolve => Some("the end of a variation".to_string()),
        Task::Label if items.source.format().facts.moves == Holds::Never => {
            Some(input.display().to_string())
        }
        Task::Label => None,
    };
    if let (Holds::Always, Some(made)) = (facts.moves, made) {
        return Err(EngineError::NoMoves { format: name, made });
    }
    let mut writer = format.writer.ok_or(EngineError::NoWriter(name))?();
    let journal = Journal::open(output, &settings)?;
    let mut written = journal.progress().written;
    for _ in 0..journal.progress().items {
        items.next().transpose()?;
    }
    let work = |player: &mut dyn Player, item: &Item| match task {
        Task::Label => label(player, &item.sample, *limit).map(Some),
        Task::Resolve => resolve(player, &item.sample, *limit),
    };
    let in_games = labels && facts.games != Holds::Never;
    let keep = |item: &Item, made: Option<Option<Sample>>, bytes: &mut Vec<u8>| {
        let stays = item.sample.game.is_some() && in_games;
        let added = u64::from(matches!(made, Some(Some(_))));
        written += added;
        if let Some(sample) = made.unwrap_or_else(|| stays.then_some(item.sample)) {
            let failed = |reason| {
                let path = output.clone();
                EngineError::Write { path, format: name, number: written, reason }
            };
            writer.write(&sample, bytes).map_err(failed)?;
        }
        if item.last_of_game {
            writer.finish(bytes);
        }
        Ok(Kept { written: added, whole: item.last_of_game })
    };
    let total = job.range.end - job.range.start;
    let report = drive(
        &job.crew.workers(),
        (journal, EVERY),
        items.by_ref(),
        work,
        keep,
        ("positions", total),
        watch,
    )?;
    let bad_records = items.source.bad_records().clone();
    Ok(Report { bad_records, ..report.unless_empty(output, "no position was left")? })
}

fn label(player: &mut dyn Player, sample: &Sample, limit: Limit) -> Result<Sample, Obstacle> {
    let line = line_of(&sample.position)?;
    let score = if !line.chess().legal_moves().is_empty() {
        player.search_anew(&line, limit)?.score
    } else if line.chess().is_check() {
        Score::Mate(0)
    } else {
        Score::Centipawns(0)
    };
    Ok(Sample { score: Some(score.centipawns()), ..*sample })
}

fn line_of(position: &Position) -> Result<Line, Obstacle> {
    let chess = position
        .to_chess()
        .map_err(|error| Obstacle::Item { fen: position.fen(), reason: error.to_string() })?;
    Ok(Line::new(chess))
}

/// The quiet end of a position's principal variation, if it has one.
fn resolve(
    player: &mut dyn Player,
    sample: &Sample,
    limit: Limit,
) -> Result<Option<Sample>, Obstacle> {
    let line = line_of(&sample.position)?;
    if line.chess().legal_moves().is_empty() {
        return Ok(None);
    }
    let searched = player.search_anew(&line, limit)?;
    let mut chess = line.chess().clone();
    for &legal in &searched.pv {
        chess.play_unchecked(legal);
    }
    if !is_quiet(&chess, searched.pv.last()) {
        return Ok(None);
    }
    let turned = chess.turn() != line.chess().turn();
    let score = searched.score.centipawns();
    let played = searched.pv.len() as u16;
    Ok(Some(Sample {
        position: Position::from_chess(&chess),
        result: if turned { 1.0 - sample.result } else { sample.result },
        score: Some(if turned { -score } else { score }),
        ply: sample.ply.map(|ply| ply.saturating_add(played)),
        played: None,
        game: sample.game,
        source: 0,
    }))
}

fn is_quiet(chess: &Chess, last: Option<&Move>) -> bool {
    let moves = chess.legal_moves();
    let taken = last.filter(|last| last.is_capture()).map(|last| last.to());
    let takes_back = |answer: &Move| answer.is_capture() && Some(answer.to()) == taken;
    !chess.is_check() && !moves.is_empty() && !moves.iter().any(takes_back)
}

struct Item {
    sample: Sample,
    /// Whether the output may be cut behind it.
    last_of_game: bool,
}

/// The samples of an input in a range, one by one.
struct Items {
    source: Source,
    block: Vec<Sample>,
    at: usize,
    /// Whether the output may hold games, which must not be cut.
    games: bool,
    range: Range<u64>,
    /// The number of the next sample, and that of the first of its game.
    number: u64,
    game: u64,
}

impl Items {
    fn open(job: &PositionsJob) -> Result<Self, EngineError> {
        let source = Source::open(&job.input, None, job.bad_records)?;
        let games = job.format.facts.games != Holds::Never;
        let range = job.range.clone();
        Ok(Self { source, block: Vec::new(), at: 0, games, range, number: 0, game: 0 })
    }
}

impl Iterator for Items {
    type Item = Result<Item, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.game < self.range.end {
            // A block never ends within a game.
            if let Some((&sample, behind)) = self.block[self.at..].split_first() {
                let of_game = |next: &Sample| next.game == sample.game && next.game.is_some();
                let last_of_game = !(self.games && behind.first().is_some_and(of_game));
                let is_chosen = self.game >= self.range.start;
                self.at += 1;
                self.number += 1;
                if last_of_game {
                    self.game = self.number;
                }
                if is_chosen {
                    return Some(Ok(Item { sample, last_of_game }));
                }
                continue;
            }
            self.block.clear();
            self.at = 0;
            match self.source.next_block(&mut self.block) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
        None
    }
}
