//! Games of a player against itself, for training.

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use super::game::{Adjudication, EngineGame};
use super::journal::Journal;
use super::opening::{Opener, Openings};
use super::player::{Limit, ParallelPlayers, Player};
use super::pool::{AppendedItem, ItemError, run_job};
use super::uci::GameLine;
use super::{EngineError, JobReport};
use crate::format::{Format, Presence, WriteError};
use crate::progress::Progress;
use crate::score::Score;

#[derive(Clone)]
pub struct SelfplayJob {
    /// Output file, uncompressed, and new unless an earlier run of the job started it.
    pub output: PathBuf,
    pub format: &'static Format,
    pub games: u64,
    pub range: Range<u64>,
    /// Seed. It, the number of the game, the engine and the settings below determine a game.
    pub seed: u64,
    pub limit: Limit,
    pub openings: Openings,
    pub adjudication: Adjudication,
    pub crew: ParallelPlayers,
}

/// Plays games and writes them whole, in order, each after all earlier ones.
///
/// # Errors
///
/// Fails with [`EngineError::NoGames`] if the format cannot store games, with
/// [`EngineError::Journal`] if the output exists or is of another job, with
/// [`EngineError::NodesIgnored`] or [`EngineError::Hopeless`] if the players fail, with
/// [`EngineError::Write`] if the format cannot store a position, and with [`EngineError::Nothing`]
/// if no game was written. Fails also if a player does not start, and as [`Opener::new`] does.
pub fn play_games(job: &SelfplayJob, watch: &dyn Progress) -> Result<JobReport, EngineError> {
    let Format { name, writer, facts, .. } = *job.format;
    let (Some(writer), true) = (writer, facts.moves != Presence::Never) else {
        return Err(EngineError::NoGames(name));
    };
    let opener = Opener::new(&job.openings, job.seed, job.games)?;
    opener.note.iter().for_each(|note| watch.report_remark(note));
    let mut settings = vec![
        ("job", "selfplay".to_string()),
        ("format", name.to_string()),
        ("games", job.games.to_string()),
        ("range", format!("{:?}", job.range)),
        ("seed", job.seed.to_string()),
        ("limit", job.limit.to_string()),
        ("adjudication", format!("{:?}", job.adjudication)),
    ];
    settings.extend(job.openings.list_settings()?);
    settings.extend(job.crew.entrant.list_settings()?);
    let work =
        |player: &mut dyn Player, &number: &u64| play_numbered_game(job, player, &opener, number);
    let mut unscored = [0; 2];
    let append = |&number: &u64, game: Option<EngineGame>, bytes: &mut Vec<u8>| {
        let (mut writer, game) = (writer(), game.as_ref());
        let is_first = unscored[1] == 0;
        for sample in game.into_iter().flat_map(EngineGame::to_samples) {
            unscored[0] += u64::from(sample.score.is_none());
            unscored[1] += 1;
            let failed = |reason| {
                let path = job.output.clone();
                WriteError::Sample { path, format: name, number: number + 1, reason }
            };
            writer.write_sample(&sample, bytes).map_err(failed)?;
        }
        if is_first && unscored[0] > 0 && unscored[0] == unscored[1] {
            let game = number + 1;
            watch.report_remark(&format!(
                "no move of game {game} has a score: the engine gives none, or bounds alone"
            ));
        }
        writer.finish_output(bytes);
        Ok(AppendedItem { written: game.is_some().into(), whole: true })
    };
    let journal = Journal::open_job(&job.output, &settings)?;
    let total = job.range.end - job.range.start;
    let items = job.range.clone().skip(journal.progress.items as usize).map(Ok);
    let report = run_job(&job.crew, (journal, 1), items, work, append, ("games", total), watch)?;
    let report = JobReport { unscored, ..report };
    report.require_written(&job.output, "the part contains no games")
}

/// Plays a game by its number, with a player that forgets earlier games.
fn play_numbered_game(
    job: &SelfplayJob,
    player: &mut dyn Player,
    opener: &Opener,
    number: u64,
) -> Result<EngineGame, ItemError> {
    let bound = job.openings.bound;
    let mut last = String::new();
    for start in opener.list_openings(number) {
        let line = GameLine::new(start.clone());
        let first_result = player.search_without_memory(&line, job.limit)?;
        let exceeds = |score: Score| score.to_centipawns().unsigned_abs() > bound.unsigned_abs();
        if first_result.score.is_some_and(exceeds) {
            last = line.to_fen();
            continue;
        }
        let mut first_result = Some(first_result);
        return EngineGame::play_game(start, job.adjudication, |line| {
            let first_result = first_result.take();
            let result = first_result.map_or_else(|| player.search_line(line, job.limit), Ok);
            Ok(ControlFlow::Continue(result?))
        });
    }
    let number = number + 1;
    let reason = format!("game {number} has no opening that is unfinished and within {bound} cp");
    Err(ItemError::skip_item(last, reason))
}
